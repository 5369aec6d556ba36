import json

import pytest

from fixtures import synthetic
from isthmus.errors import IsthmusError
from isthmus.results import Results, RunResult


def test_every_field_is_read():
    data = synthetic.result()
    run = RunResult.from_json(json.dumps(data))
    point, told = run.points[7], data["points"][7]
    assert point.values[1].text == told["values"][1]["text"]
    assert point.verdict.growth_high == told["verdict"]["growth_high"]
    assert point.measures[1].percentiles[2].value == told["measures"][1]["percentiles"][2]["value"]
    assert point.histograms[0].bins[3] == tuple(told["histograms"][0]["bins"][3])
    assert [c.from_ for c in point.channels] == [c["from"] for c in told["channels"]]
    assert run.machines[1].lanes[4] == ("io_link", 1)
    assert run.searches[2].trials[1].load == data["searches"][2]["trials"][1]["load"]
    assert run.searches[0].values[1] is None


def test_younger_fields_are_read():
    data = synthetic.result()
    data["points"][0]["verdict"]["origin"] = "model"
    run = RunResult.from_json(json.dumps(data))
    assert run.points[0].verdict.origin == "model"
    assert [p.resolved for p in run.points[0].measures[0].percentiles] == [True] * 3 + [False]
    assert run.searches[1].undecided == tuple(data["searches"][1]["undecided"])


def test_results_from_before_the_younger_fields_load():
    data = synthetic.result()
    for point in data["points"]:
        del point["verdict"]["origin"]
        for measure in point["measures"]:
            for percentile in measure["percentiles"]:
                del percentile["resolved"]
    for search in data["searches"]:
        del search["undecided"]
    run = RunResult.from_json(json.dumps(data))
    assert {p.verdict.origin for p in run.points} == {"simulation"}
    assert all(e.resolved for p in run.points for m in p.measures for e in m.percentiles)
    assert {s.undecided for s in run.searches} == {None}


def test_a_search_in_another_unit_is_refused():
    data = synthetic.result()
    data["searches"][0]["unit"] = "ms"
    with pytest.raises(IsthmusError, match="a search in 'ms'; searches are in '/ms'"):
        RunResult.from_json(json.dumps(data))


def test_truncated_result_is_refused_with_its_place():
    text = synthetic.result_json()
    with pytest.raises(IsthmusError, match=r"^out/x/result\.json:1: not a whole result file"):
        RunResult.from_json(text[:-100], "out/x/result.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "result schema 2; this isthmus reads schema 1"),
        ({"points": [{"index": 0}]}, "damaged result: .*no field 'values'"),
        ({"seed": "one"}, "damaged result: expected int, found 'one'"),
        ({"machines": {}}, "damaged result"),
    ],
)
def test_other_shapes_are_refused(change, message):
    data = {**synthetic.result(), **change}
    if "machines" in change:
        data["machines"] = [1]
    with pytest.raises(IsthmusError, match=message):
        RunResult.from_json(json.dumps(data))


def test_a_folder_without_a_result_is_refused(tmp_path):
    with pytest.raises(IsthmusError, match=r"no result here \(result\.json: No such file"):
        Results.load(tmp_path)

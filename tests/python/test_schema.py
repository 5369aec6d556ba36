import json
import os

import pytest

from fixtures import rings, synthetic
from isthmus.errors import IsthmusError
from isthmus.machines import HypercubeSummary, SciSummary
from isthmus.results import Results, RunResult


def test_every_field_is_read():
    data = synthetic.result()
    run = RunResult.from_json(json.dumps(data))
    point, told = run.points[7], data["points"][7]
    assert point.values[1].text == told["values"][1]["text"]
    assert point.verdict.growth_high == told["verdict"]["growth_high"]
    assert point.measures[1].percentiles[2].value == told["measures"][1]["percentiles"][2]["value"]
    assert point.histograms[0].bins.upper[3] == told["histograms"][0]["bins"]["upper"][3]
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


def test_each_kind_of_machine_has_its_class():
    cube, torus = (RunResult.from_json(json.dumps(d.result())) for d in (synthetic, rings))
    assert {type(m) for m in cube.machines} == {HypercubeSummary}
    assert {type(m) for m in torus.machines} == {SciSummary}
    data = rings.result()
    assert torus.machines[2].rings == data["machines"][2]["rings"]
    assert torus.machines[0].places[5] == tuple(data["machines"][0]["places"][5])
    assert torus.load.unit == "GB/s"
    assert torus.points[4].load == data["points"][4]["load"]
    assert torus.points[4].nodes[3].accepted == data["points"][4]["nodes"][3]["accepted"]
    assert {p.collapse for p in torus.points} == {None}
    data["machines"][0]["kind"] = "mesh"
    with pytest.raises(IsthmusError, match="kind 'mesh'; there are hypercube, sci, fat-tree"):
        RunResult.from_json(json.dumps(data))


def test_a_collapse_is_read():
    run = RunResult.from_json(json.dumps(rings.collapse(rings.result(), 4)))
    assert run.points[4].collapsed
    assert run.points[4].collapse.kind == "livelock"
    assert run.points[4].collapse.nodes == [3, 9, 8]


def test_the_links_of_a_fabric_are_those_of_its_rings_in_service():
    described = rings.machine("bidirectional")
    described["dead_rings"] = [1]
    data = rings.result()
    data["machines"][0] = described
    links = RunResult.from_json(json.dumps(data)).machines[0].links()
    assert len(links) == 15 * 4
    assert links[:5] == [(0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 3, 0), (2, 4, 5)]


def test_truncated_result_is_refused_with_its_place():
    text = synthetic.result_json()
    with pytest.raises(IsthmusError, match=r"^out/x/result\.json:1: not a whole result file"):
        RunResult.from_json(text[:-100], "out/x/result.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 1}, "result schema 1; this isthmus reads schema 6"),
        ({"points": [{"index": 0}]}, "damaged result: .*no field 'values'"),
        ({"seed": "one"}, "damaged result: seed: expected int, found 'one'"),
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


def _set(data, path, value):
    *way, last = path
    for step in way:
        data = data[step]
    data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("points", 1, "measures", 0, "mean"), "3.2", r"points\[1\].measures\[0\].mean: .*'3.2'"),
        (("points", 1, "measures", 0, "mean"), True, r"measures\[0\].mean: expected a number"),
        (
            ("points", 2, "verdict", "verdict"),
            "fine",
            r"points\[2\].verdict.verdict: 'fine'; .*",
        ),
        (
            ("points", 2, "verdict", "origin"),
            "oracle",
            r"verdict.origin: .oracle.; there are model",
        ),
        (("points", 3, "machine"), 77, r"points\[3\].machine: 77; there are \d+ machines"),
        (("points", 3, "machine"), -1, r"points\[3\].machine: -1; there are \d+ machines"),
        (("points", 3, "index"), 999, r"points\[3\].index: 999; expected 3, its place"),
        (("points", 1, "measures", 0, "mean"), -5.0, r"mean -5.0 is outside its interval"),
        (("points", 1, "measures", 0, "samples"), 10**18 * 20, r"samples: .*below 2\^63|samples"),
        (("title",), "x" * 3_000_000, r"title: .xxx.*; expected no control characters, at most"),
        (("title",), "a\x1b[31m", r"title: 'a\\x1b\[31m'; expected no control characters"),
        (("axes",), [], r"load_axis: 1; there are 0 axes"),
        (("load_axis",), 9, r"load_axis: 9; there are 2 axes"),
        (("points", 4, "values"), [], r"points\[4\].values: 0 values; there are 2 axes"),
        (("searches", 0, "machine"), 77, r"searches\[0\].machine: 77; there are"),
        (("searches", 1, "trials", 0, "verdict"), "?", r"searches\[1\].trials\[0\].verdict: '\?'"),
        (
            ("points", 0, "histograms", 0, "bins", "count"),
            [1, 2],
            r"points\[0\]\.histograms\[0\]\.bins: 40 lower bounds, 40 upper bounds, 2 counts; ",
        ),
        *(
            (("points", 2, "histograms", 0, "bins", name), value, rf"points\[2\]{message}")
            for name, value, message in (
                ("count", [0] * 40, r"\.histograms\[0\]\.bins: bin 0 has a count of 0; expected 1"),
                (
                    "lower",
                    [*range(40, 0, -1)],
                    r"\.histograms\[0\]\.bins: bin \d+ ends at \d+; exp",
                ),
                (
                    "upper",
                    [*range(40, 0, -1)],
                    r"\.histograms\[0\]\.bins: bin \d+ (ends|begins) at",
                ),
                ("count", [2**63 - 1] * 40, r"\.histograms\[0\]\.bins: expected bounds, and all"),
                ("lower", 3, r"\.histograms\[0\]\.bins\.lower: expected a list, found 3"),
            )
        ),
        *(
            (("points", 0, "histograms", 0, "step"), step, r"\.step: .*; expected 1e-100 to 1e100")
            for step in (0, -1.0, 1e308, 5e-324)
        ),
        (
            ("points", 2, "channels", 1, "busy"),
            None,
            r"points\[2\]\.channels\[1\]\.busy: expected a number, found null",
        ),
        (("points", 2, "channels", 1, "from"), -1, r"points\[2\]\.channels: -1; expected a place"),
        (("points", 2, "channels"), {}, r"points\[2\]\.channels: expected a list, found {}"),
        (("points", 0, "measures"), {"a": 1}, r"points\[0\].measures: expected a list, found"),
        (("points", 0, "converged"), 1, r"points\[0\].converged: expected bool, found 1"),
        (("points", 0, "replications"), True, r"replications: expected int, found true"),
        (("points", 0, "messages"), -5, r"points\[0\].messages: -5; expected 0 or more"),
        (("confidence",), 95, r"confidence: 95; expected a share"),
        (("points", 0, "simulated_ms"), 10**400, r"points\[0\].simulated_ms: "),
        (("machines", 0, "kind"), ["hypercube"], r"machines\[0\]: kind \['hypercube'\]; there are"),
    ],
)
def test_damage_is_told_with_file_and_field(path, value, message):
    data = synthetic.result()
    _set(data, path, value)
    with pytest.raises(IsthmusError, match=r"^out/result\.json: damaged result: .*" + message) as e:
        RunResult.from_json(json.dumps(data), "out/result.json")
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 250


def test_axes_that_are_gone_are_missed():
    data = {**synthetic.result(), "axes": [], "load_axis": None}
    with pytest.raises(IsthmusError, match=r"points\[0\].values: 2 values; there are 0 axes"):
        RunResult.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{}", r"result\.json: damaged result: byte 0 is not UTF-8"),
        (b"[" * 200_000, r"result\.json:1: not a whole result file"),
        (b'{"schema": ' + b"[" * 500 + b"]" * 500 + b"}", r"result schema \[\[.*…; this isthmus"),
        (b"1" * 5000, r"result\.json:1: not a whole result file \(Number out of range\)"),
        (b"", r"result\.json:1: not a whole result file"),
    ],
)
def test_what_is_no_result_at_all_is_one_error(tmp_path, content, message):
    (tmp_path / "result.json").write_bytes(content)
    with pytest.raises(IsthmusError, match=message) as error:
        Results.load(tmp_path)
    assert str(error.value).startswith(str(tmp_path))
    assert "\n" not in str(error.value)


def test_a_damaged_study_is_one_error(tmp_path):
    from isthmus.faults.page import read_study

    for content in (
        b"\xff",
        b"[]",
        b"{}",
        b'{"sites": 3}',
        b"[" * 200_000,
        b'{"sites": [{"a": 1}]}',
    ):
        (tmp_path / "faults.json").write_bytes(content)
        with pytest.raises(IsthmusError, match=r"faults\.json: damaged study") as error:
            read_study(tmp_path)
        assert "\n" not in str(error.value)


def _with(**changes):
    return {**synthetic.result(), **changes}


def _in_point(**changes):
    data = synthetic.result()
    data["points"][3].update(changes)
    return data


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (_in_point(load="much"), r"points\[3\]\.load: expected a number, found 'much'"),
        (_in_point(index=True), r"points\[3\]\.index: expected int, found true"),
        (_in_point(histograms=[{"measure": "x", "unit": "", "step": 1, "bins": {"lower": [0.5]}}]),
         r"points\[3\]\.histograms\[0\]\.bins\.lower\[0\]: expected int, found 0.5"),
        (_in_point(verdict=None), r"points\[3\]\.verdict: expected an object, found null"),
        (_with(machines=[{"kind": "sci"}]), r"machines\[0\]: no field 'fabric'"),
        (_with(name="../../x"), r"name: '\.\./\.\./x'; expected 1 to 80 letters, digits, - and _"),
        (_in_point(verdict={**synthetic.result()["points"][3]["verdict"], "error_rate": 7}),
         r"points\[3\]\.verdict\.error_rate: 7; expected a share between 0 and 1"),
        (_with(axes=[{"key": "x", "label": "x\x1b[2J", "unit": None}] * 2),
         r"axes\[0\]\.label: 'x\\x1b\[2J'; expected no control characters"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_with_its_place(data, place):
    with pytest.raises(IsthmusError, match=f"x: damaged result: {place}"):
        RunResult.from_json(json.dumps(data), "x")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_value_that_is_no_json_is_told_with_its_line(number):
    text = json.dumps(synthetic.result(), indent=1).replace('"seed": 1', f'"seed": {number}')
    line = text[: text.index(number)].count("\n") + 1
    with pytest.raises(IsthmusError, match=rf"^x:{line}: not a whole result file"):
        RunResult.from_json(text, "x")


def test_brackets_without_end_are_one_error():
    with pytest.raises(IsthmusError, match="not a whole result file"):
        RunResult.from_json('{"schema": 2, "points": ' + "[" * 200_000, "x")


@pytest.mark.parametrize("make", [lambda p: p.symlink_to("/dev/zero"), os.mkfifo])
def test_a_result_without_end_is_not_read(tmp_path, make):
    make(tmp_path / "result.json")
    with pytest.raises(IsthmusError, match=r"result\.json: no ordinary file"):
        Results.load(tmp_path)

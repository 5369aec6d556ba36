import json

import pytest

from fixtures import synthetic
from isthmus.answer import Bracket, answer, per_ms
from isthmus.results import Results, RunResult
from isthmus.results.series import view


def changed(edit):
    data = synthetic.result()
    edit(data)
    return answer(RunResult.from_json(json.dumps(data)))


def test_each_variant_is_judged_against_the_first(load_sweep):
    said = load_sweep.answer
    assert [s.series.label for s in said.series] == ["no I/O network", "b = 1", "b = 2", "b = 3"]
    assert [s.badge for s in said.series] == ["baseline", "far worse", "better", "far better"]
    assert said.headline == "read.network"
    assert said.conclusion == (
        "Against no I/O network: b = 1 is far worse; b = 2 is better; b = 3 is far better."
    )


def test_variants_are_compared_at_the_highest_load_at_which_all_are_stable(load_sweep):
    # b = 1 saturates at 11.7 messages/ms; of the loads 1/1.25, ..., 1/0.104, 1/0.078 per ms the
    # highest below is 1/0.104.
    assert load_sweep.answer.place_x == pytest.approx(1 / 0.104)


def test_sentences_hold_the_numbers(load_sweep):
    one, two = load_sweep.answer.series[1], load_sweep.answer.series[2]
    assert one.bracket.text == "11.5–11.9"
    assert one.saturation == "earlier"
    assert "saturates at 11.5–11.9 messages/ms, earlier than no I/O network (18.8–19.5)" in (
        one.sentence
    )
    ratio = one.ratios["read.network"]
    base, own = (
        p.measure("read.network").mean for p in (load_sweep.answer.series[0].point, one.point)
    )
    assert ratio.value == own / base
    assert f"take {own / base:.0f} times as long in the network" in one.sentence
    assert two.saturation == "later"
    assert "I/O reads are" in two.sentence
    assert "times quicker in the network" in two.sentence


def test_an_interval_that_holds_one_is_no_difference():
    def widen(data):
        for point in data["points"]:
            point["verdict"]["verdict"] = "stable"
            for measure in point["measures"]:
                measure["low"], measure["high"] = measure["mean"] / 1e3, measure["mean"] * 1e3
        for search in data["searches"]:
            search["highest_stable"], search["lowest_saturated"] = 1.0, 100.0

    said = changed(widen)
    assert {s.badge for s in said.series[1:]} == {"no clear difference"}
    assert said.conclusion.endswith("b = 1, 2 and 3 are not clearly different.")


def test_better_in_one_and_worse_in_the_other_is_mixed():
    def late(data):
        data["searches"][1]["highest_stable"] = 40.0
        data["searches"][1]["lowest_saturated"] = 41.0

    assert changed(late).series[1].badge == "mixed"


def test_without_a_search_the_points_tell_the_bracket():
    run = RunResult.from_json(synthetic.result_json(searches=False))
    said = answer(run)
    bracket = said.series[1].bracket
    assert (bracket.low, bracket.high) == (pytest.approx(1 / 0.104), pytest.approx(1 / 0.078))
    assert not bracket.searched
    assert said.series[2].bracket.high is None
    assert "stable up to 12.8 messages/ms, the highest load tried" in said.series[2].sentence


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # The points of b = 1 are stable up to 1/0.104 and saturated at 1/0.078 per ms.
        ((5.0, 40.0), (1 / 0.104, 1 / 0.078)),
        ((11.0, 40.0), (11.0, 1 / 0.078)),
        ((11.0, 12.0), (11.0, 12.0)),
        ((13.0, 14.0), (13.0, 14.0)),
        ((None, 40.0), (1 / 0.104, 1 / 0.078)),
    ],
)
def test_points_narrow_what_a_search_found(found, expected):
    def wide(data):
        search = data["searches"][1]
        search["highest_stable"], search["lowest_saturated"] = found

    bracket = changed(wide).series[1].bracket
    assert (bracket.low, bracket.high) == pytest.approx(expected)
    assert bracket.searched


def test_a_series_not_stable_where_the_baseline_is_says_so():
    def always(data):
        data["searches"] = []
        for point in data["points"][6:12]:
            point["verdict"]["verdict"] = "saturated"

    one = changed(always).series[1]
    assert one.badge == "far worse"
    assert "saturated at every load tried" in one.sentence
    assert "where no I/O network still is" in one.sentence


def test_loads_searched_as_interarrival_times_are_told_as_rates():
    assert per_ms(0.05, "ms") == 20.0
    assert per_ms(50.0, "us") == 20.0
    assert per_ms(20_000.0, "/s") == pytest.approx(20.0)
    assert per_ms(20.0, "/ms") == per_ms(20.0, "1/ms") == 20.0
    assert per_ms(None, "ms") is None


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ((1, 2), (3, 4), "earlier"),
        ((3, 4), (1, 2), "later"),
        ((1, 3), (2, 4), "alike"),
        ((5, None), (1, 2), "later"),
        ((None, 1), (2, 3), "earlier"),
        ((1, None), (2, 3), None),
    ],
)
def test_brackets_are_told_apart_only_if_they_do_not_overlap(own, other, expected):
    assert Bracket(*own, True).against(Bracket(*other, True)) == expected


def test_x_is_the_axis_with_most_values_where_the_load_is_not_swept(locality_sweep):
    layout = view(locality_sweep.run)
    assert not layout.by_load
    assert layout.x_label == "locality"
    assert locality_sweep.answer.place == "at locality = 0.0"
    assert not locality_sweep.answer.has_saturation


def test_a_run_of_one_point_has_an_answer_too():
    data = synthetic.result(searches=False)
    data["points"] = data["points"][:1]
    said = Results.from_json(json.dumps(data)).answer
    assert len(said.series) == 1
    assert said.series[0].badge == ""
    assert "I/O read time in the network" in said.conclusion


def test_where_nothing_was_simulated_the_model_answers():
    data = synthetic.result(searches=False)
    for point in data["points"]:
        for measure in point["measures"]:
            measure["mean"] = measure["low"] = measure["high"] = measure["residual"] = None
    said = answer(RunResult.from_json(json.dumps(data)))
    assert said.series[1].badge == "far worse"
    assert said.basis.endswith("from the queueing model.")

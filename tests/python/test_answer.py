import json
import math
from dataclasses import replace

import pytest

from fixtures import keep_points, synthetic
from isthmus.answer import answer
from isthmus.answer.grounds import SAME, Bracket, Ratio
from isthmus.answer.sentences import conclusion
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
    assert load_sweep.answer.place == "at 9.62 messages/ms"


def test_sentences_hold_the_numbers(load_sweep):
    one, two = load_sweep.answer.series[1], load_sweep.answer.series[2]
    assert one.bracket.text == "11.5–11.9"
    assert one.saturation == "earlier"
    assert (
        "saturates at 11.5–11.9 messages/ms (undecided at 11.6–11.8), "
        "earlier than no I/O network (18.8–19.5)" in one.sentence
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
    assert {s.badge for s in said.series[1:]} == {"unknown"}
    assert said.conclusion.endswith("of b = 1, 2 and 3 it is unknown, the intervals are too wide.")


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
    assert "where no I/O network still is stable" in one.sentence


def test_undecided_where_the_baseline_is_stable_is_no_verdict():
    def grey(data):
        data["searches"] = []
        for point in data["points"][6:12]:
            point["verdict"]["verdict"] = "undecided"

    one = changed(grey).series[1]
    assert one.badge == "unknown"
    assert one.sentence == "undecided at every load tried (at 0.8–12.8 messages/ms)"


@pytest.mark.parametrize(
    ("value", "low", "high", "tendency", "text"),
    [
        (1.01, 0.97, 1.04, "same", "about the same"),
        # Near 1, but it may as well be far from it.
        (1.01, 0.60, 1.60, "unclear", "unknown"),
        (0.98, 0.94, 1.02, "unclear", "unknown"),
        # Not 1, yet no more than SAME from it.
        (1.03, 1.02, 1.04, "same", "about the same"),
        (1.06, 1.04, 1.08, "longer", "1.06 × as long"),
        (2.4, 2.2, 2.6, "longer", "2.4 × as long"),
        (0.5, 0.4, 0.6, "shorter", "2.0 × shorter"),
        (0.5, 0.0, math.inf, "unclear", "unknown"),
    ],
)
def test_a_ratio_is_judged_by_its_interval(value, low, high, tendency, text):
    assert SAME == 0.05
    ratio = Ratio("read.network", None, None, value, low, high)
    assert (ratio.tendency, ratio.text) == (tendency, text)


def test_an_interval_that_reaches_down_to_zero_counts_as_it_is():
    def to_zero(data):
        for point in data["points"]:
            for measure in point["measures"]:
                if measure["name"] == "read.network":
                    measure["low"] = 0.0

    said = changed(to_zero)
    for each in said.series[1:]:
        ratio = each.ratios["read.network"]
        assert (ratio.low, ratio.high) == (0.0, math.inf)
        assert ratio.tendency == "unclear"
        assert "whether I/O reads" in each.sentence and "is unknown" in each.sentence


def test_what_stayed_undecided_is_told(load_sweep):
    knee = synthetic.KNEES_PER_MS[1]
    one = load_sweep.answer.series[1]
    assert one.bracket.undecided == (knee * 0.99, knee * 1.005)
    assert "saturates at 11.5–11.9 messages/ms (undecided at 11.6–11.8)" in one.sentence
    assert load_sweep.answer.series[2].bracket.undecided is None


@pytest.mark.parametrize(
    ("stable", "saturated", "words"),
    [
        (True, False, "stable up to 11.5, undecided at 20.0–30.0 messages/ms"),
        (False, True, "undecided at 5.00–9.00, saturated from 11.9 messages/ms"),
        (False, False, "undecided at every load tried (at 5.00–9.00 messages/ms)"),
    ],
)
def test_a_search_without_one_end_does_not_claim_to_know(stable, saturated, words):
    def open_ended(data):
        keep_points(data, lambda point: point["values"][0]["text"] != "1")
        search = data["searches"][1]
        search["undecided"] = [20.0, 30.0] if stable else [5.0, 9.0]
        if not stable:
            search["highest_stable"] = None
        if not saturated:
            search["lowest_saturated"] = None
        # One undecided point, so that the series exists.
        point = synthetic.result()["points"][6]
        point["verdict"]["verdict"] = "undecided"
        point["load"] = search["undecided"][0]
        data["points"].insert(6, point)
        for number, each in enumerate(data["points"]):
            each["index"] = number

    one = changed(open_ended).series[1]
    assert words in one.sentence


def test_points_that_stayed_undecided_are_not_said_to_be_untried():
    def grey(data):
        data["searches"] = []
        for point in data["points"][12:18]:
            if point["load"] > 9:
                point["verdict"]["verdict"] = "undecided"

    two = changed(grey).series[2]
    assert two.bracket.high is None
    assert two.sentence.startswith("stable up to 6.41, undecided at 9.6–12.8 messages/ms")


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


@pytest.mark.parametrize("searches", [True, False])
@pytest.mark.parametrize("loads", [1, 2])
def test_loads_are_never_variants(loads, searches):
    # Two loads, six localities: the localities are the variants, though they are more.
    data = synthetic.locality_result()
    data["axes"].insert(0, synthetic.result()["axes"][1])
    data["load_axis"] = 0
    gaps = ("0.625 ms", "0.313 ms")[:loads]
    doubled = []
    for point in data["points"][:6]:
        for gap in gaps:
            copy = json.loads(json.dumps(point))
            number = float(gap.split()[0])
            copy["values"] = [{"text": gap, "number": number}, *copy["values"]]
            copy["index"], copy["load"] = len(doubled), 1 / number
            doubled.append(copy)
    data["points"] = doubled
    if searches:
        data["searches"] = [synthetic.result()["searches"][0]]
        data["searches"][0]["values"] = [None, *data["points"][0]["values"][1:]]
    run = RunResult.from_json(json.dumps(data))
    layout = view(run)
    assert not any("interarrival" in s.label or " ms" in s.label for s in layout.series)
    assert layout.by_load == (loads == 2)
    if loads == 2:
        assert len(layout.series) == 6
        assert answer(run).place == "at 3.19 messages/ms"


def test_a_run_of_one_point_has_an_answer_too():
    data = synthetic.result(searches=False)
    data["points"] = data["points"][:1]
    said = Results.from_json(json.dumps(data)).answer
    assert len(said.series) == 1
    assert said.series[0].badge == ""
    assert "I/O read time in the network" in said.conclusion


def test_the_model_s_own_verdicts_say_where_variants_are_compared():
    data = synthetic.result(searches=False)
    for point in data["points"]:
        gap_ms = point["values"][1]["number"]
        # Some values stay finite beyond saturation; only the verdict tells.
        point["verdict"].update(origin="model", verdict="stable" if gap_ms > 0.2 else "saturated")
        for measure in point["measures"]:
            measure["mean"] = measure["low"] = measure["high"] = measure["residual"] = None
    said = answer(RunResult.from_json(json.dumps(data)))
    assert said.place == "at 3.19 messages/ms"
    assert all(s.point is not None for s in said.series)


def test_where_nothing_was_simulated_the_model_answers():
    data = synthetic.result(searches=False)
    for point in data["points"]:
        for measure in point["measures"]:
            measure["mean"] = measure["low"] = measure["high"] = measure["residual"] = None
    said = answer(RunResult.from_json(json.dumps(data)))
    assert said.series[1].badge == "far worse"
    assert said.basis.endswith("from the queueing model.")


def test_many_variants_alike_are_not_listed(load_sweep):
    """Eleven names in a headline tell nobody anything."""
    said = load_sweep.answer
    alike = [replace(s, badge="unknown") for s in said.series]
    told = conclusion([alike[0], *alike[1:] * 3], said.view)
    assert told.endswith("of all others it is unknown, the intervals are too wide.")


def test_variants_without_a_point_to_compare_say_so():
    """They were said to have too wide intervals, and no numbers."""

    def undecided(data):
        for point in data["points"]:
            point["verdict"]["verdict"] = "undecided"
        data["searches"] = []

    said = changed(undecided)
    assert "no point of both is stable" in said.conclusion
    assert said.series[1].sentence.startswith("undecided at every load tried (at 0.8–12.8 ")

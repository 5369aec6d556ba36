"""Verdicts look at intervals: what noise may and may not do, and where tolerances stand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from random import Random

import pytest

from fixtures import synthetic
from isthmus.errors import IsthmusError
from isthmus.papers import find
from isthmus.papers.compare import alike, all_of, greater, within
from isthmus.papers.row_results import Quantity, RowResults, unbounded
from isthmus.papers.tolerance import Tolerance, parsed
from isthmus.papers.verdict import VERDICTS, judge, with_unit
from isthmus.results import Results
from isthmus.value import Value
from test_papers import PAPER, write_rows


def drawn(chance, width):
    """A value with an interval of random ends around it."""
    middle = chance.choice([-1.0, 0.0, 0.2, 1.0, 1.1, 2.0]) + 0.3 * chance.random()
    return Value(middle, middle - width * chance.random(), middle + width * chance.random())


QUESTIONS = {
    "greater": greater,
    "alike by a share": lambda a, b: alike(a, b, Tolerance(share=0.3)),
    "alike by an amount": lambda a, b: alike(a, b, Tolerance(amount=0.3)),
    "within": lambda a, b: within(a, 0.9, 1.2),
}
EXACTLY = {
    "greater": lambda x, y: x > y,
    "alike by a share": lambda x, y: abs(x - y) <= 0.3 * max(abs(x), abs(y)),
    "alike by an amount": lambda x, y: abs(x - y) <= 0.3,
    "within": lambda x, y: 0.9 <= x <= 1.2,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_told_is_so_for_all_numbers_within_the_intervals(question):
    """True: for all pairs of a grid within both; false: for none; else undecided, for some."""
    chance, told = Random(17), []
    for _ in range(1500):
        a, b = drawn(chance, 0.2), drawn(chance, 0.2)
        grids = ([low + (high - low) * i / 12 for i in range(13)] for low, high in (a.ends, b.ends))
        xs, ys = (list(each) for each in grids)
        answers = {EXACTLY[question](x, y) for x in xs for y in ys}
        found = QUESTIONS[question](a, b)
        told.append(found)
        if found is not None:
            assert answers == {found}, (a, b)
        elif len(answers) == 1:
            # Undecided, though the grid sees but one answer: the other lies between its points.
            step = max(xs[1] - xs[0], ys[1] - ys[0])
            wider = [replace(v, low=v.ends[0] - step, high=v.ends[1] + step) for v in (a, b)]
            assert QUESTIONS[question](*wider) is None
    assert min(told.count(answer) for answer in (True, False, None)) > 50


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_wider_interval_never_tells_more(question):
    """Noise never helps: a wider interval turns an answer into none, and nothing else."""
    chance, lost = Random(18), 0
    for _ in range(2000):
        a, b = drawn(chance, 0.3), drawn(chance, 0.3)
        before = QUESTIONS[question](a, b)
        wide = [
            replace(v, low=v.ends[0] - 0.4 * chance.random(), high=v.ends[1] + chance.random())
            for v in (a, b)
        ]
        after = QUESTIONS[question](*wide)
        assert after is None or after is before
        lost += after is not before
    assert lost > 100


def test_a_claim_is_false_if_any_part_is_and_else_undecided_if_any_is():
    assert all_of([True, True]) is True
    assert all_of([True, None]) is None
    assert all_of([None, False, True]) is False


@pytest.fixture
def run():
    return Results.from_json(json.dumps(synthetic.result())).run


def changed(change):
    """The result of the fixture with each mean's interval changed."""
    data = synthetic.result()
    for point in data["points"]:
        for each in point["measures"]:
            change(each)
    return Results.from_json(json.dumps(data)).run


AT = {"mean": "0.156 ms"}


def test_a_curve_falls_only_if_every_step_does(run):
    curve = ("read.network", "mean")
    assert RowResults(run).falls(*curve, io_link=2).holds is True
    assert RowResults(run).rises(*curve, io_link=2).holds is False

    def widen(each):
        each["low"], each["high"] = each["mean"] * 0.8, each["mean"] * 1.2

    told = RowResults(changed(widen)).falls(*curve, io_link=2)
    assert told.holds is None
    assert " ± " in told.text


def test_a_mean_without_an_interval_decides_nothing(run):
    def bare(each):
        each["low"] = each["high"] = None

    r = RowResults(changed(bare), AT)
    found = r.mean("read.network", io_link=1)
    assert found.ends == (-math.inf, math.inf)
    assert found.text.endswith("(no interval)")
    assert r.greater(found, 0.001).holds is None
    # What the results hold no interval of is such a number, too; a model's value is exact.
    assert r.greater(unbounded(Quantity(0.5)), 0.000001).holds is None
    assert RowResults(run, AT).greater(r.analytic("read.network", io_link=1), 0.001).holds is True


def test_the_peak_of_noisy_points_may_be_any_of_them():
    def widen(each):
        each["low"], each["high"] = each["mean"] * 0.5, each["mean"] * 1.5

    r = RowResults(changed(widen))
    curve = [p.measure("read.network") for p in r.run.points if p.values[0].text == "2"]
    found = r.largest("read.network", "mean", io_link=2)
    assert found.ends == (max(m.low for m in curve), max(m.high for m in curve))
    lowest = r.smallest("read.network", "mean", io_link=2)
    assert lowest.ends == (min(m.low for m in curve), min(m.high for m in curve))


def test_verdicts_of_points_may_be_undecided(run):
    data = synthetic.result()
    data["points"][0]["verdict"]["verdict"] = "undecided"
    run = Results.from_json(json.dumps(data)).run
    r = RowResults(run, {"io_link": "0", "mean": run.points[0].values[1].text})
    assert r.all_are("stable").holds is None
    assert r.all_are("live").holds is True
    assert r.all_are("collapsed").holds is False


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "papers" / "tiny"
    (home / "scenarios").mkdir(parents=True)
    (home / "paper.toml").write_text(PAPER)
    return home


@pytest.mark.parametrize(
    ("select", "under", "verdict"),
    [
        ("11.7", "", "reproduced"),
        ("r.saturation(io_link=1)", "11.7", "undecided"),
        ("9", "11.7", "differs by reading"),
        ("9", "r.saturation(io_link=1)", "undecided"),
        ("9", "8", "not reproduced"),
    ],
)
def test_another_reading_helps_only_where_it_is_decided(run, home, select, under, verdict):
    row = {"id": "x", "rule": "within", "expected": "11.7", "tolerance": "1%"}
    write_rows(home, [{**row, "select": select, "under": under}])
    paper = find(str(home))
    assert judge(paper, paper.rows()[0], run).verdict == verdict
    assert verdict in VERDICTS


@pytest.mark.parametrize("select", ["11.7", "r.saturation(io_link=1)", "9"])
def test_what_cannot_be_compared_is_shown_and_not_judged(run, home, select):
    row = {"id": "x", "rule": "none", "expected": "11.7", "tolerance": "1%", "select": select}
    write_rows(home, [row])
    paper = find(str(home))
    with pytest.raises(IsthmusError, match=r"expected.csv:2: note: the rule `none` needs a reason"):
        judge(paper, paper.rows()[0], run)
    write_rows(home, [{**row, "note": "Measured on another machine."}])
    told = judge(paper, paper.rows()[0], run)
    assert told.verdict == "not comparable"
    assert told.detail == judge(paper, replace(paper.rows()[0], rule="within"), run).detail


def test_words_have_no_unit():
    assert with_unit("95.0 ± 0.5", 95.0, "µs") == "95.0 ± 0.5 µs"
    assert with_unit("not stated", "not stated", "MB/s") == "not stated"
    assert with_unit("2.00", 2.0, "") == "2.00"


def test_tolerances_are_named_and_have_a_reason(home):
    (home / "tolerances.toml").write_text(
        '[peak]\nvalue = "5%"\nreason = "Single\\n runs."\n'
        '[printed]\nvalue = "last digit"\nreason = "Nothing is drawn."\n'
    )
    row = {"id": "x", "rule": "within", "expected": "10.0", "select": "10.4"}
    write_rows(home, [{**row, "tolerance": "peak"}, {**row, "id": "y", "tolerance": "printed"}])
    paper = find(str(home))
    first, second = (judge(paper, row, None).as_json() for row in paper.rows())
    assert (first["tolerance"], first["tolerance_reason"]) == ("5%", "Single runs.")
    assert first["verdict"] == "reproduced"
    assert second["verdict"] == "not reproduced"


@pytest.mark.parametrize(
    ("text", "cell", "message"),
    [
        (
            '[a]\nvalue = "5%"\n',
            "a",
            r"tolerances\.toml: a: write a table with a value and a reason",
        ),
        (
            '[a]\nvalue = "much"\nreason = "b"\n',
            "a",
            r"tolerances\.toml: a: tolerance 'much': write",
        ),
        ('[a]\nvalue = "-1%"\nreason = "b"\n', "a", r"tolerance '-1%': write 3%"),
        (
            '[peak]\nvalue = "5%"\nreason = "b"\n',
            "peek",
            r"expected\.csv:2: tolerance: no tolerance",
        ),
        ('[peak]\nvalue = "5%"\nreason = "b"\n', "5%", r"no tolerance '5%' in tolerances\.toml"),
    ],
)
def test_tolerances_that_make_no_sense(home, text, cell, message):
    (home / "tolerances.toml").write_text(text)
    write_rows(home, [{"id": "x", "rule": "within", "tolerance": cell, "select": "1"}])
    with pytest.raises(IsthmusError, match=message):
        find(str(home)).rows()


@pytest.mark.parametrize(
    ("text", "expected", "around"),
    [
        ("last digit", "2.2", (2.15, 2.25)),
        ("last digit", "0.170", (0.1695, 0.1705)),
        ("last digit", "-8", (-8.5, -7.5)),
        ("5%", "-8", (-8.4, -7.6)),
        ("0.05", "8", (7.95, 8.05)),
        ("", "8", (8, 8)),
    ],
)
def test_what_a_tolerance_allows(text, expected, around):
    assert parsed(text, expected).around(float(expected)) == pytest.approx(around)

"""Checks: the arithmetic of values with intervals, and errors that say where."""

from __future__ import annotations

import csv
import math
import operator
import re
import shutil
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY, refused
from isthmus.errors import IsthmusError
from isthmus.papers import find
from isthmus.papers.cells import number, number_range
from isthmus.papers.checks import Checks
from isthmus.papers.quantity import Quantity
from isthmus.papers.verdict import check, judge
from test_papers import PAPER, ROWS, write_rows


def random_value(chance):
    middle = chance.choice([-2.0, -0.5, 0.0, 0.3, 1.0, 4.0]) + chance.random()
    if chance.random() < 0.3:
        return Quantity(middle)
    return Quantity(middle, middle - chance.random(), middle + chance.random())


def test_intervals_hold_whatever_their_parts_may_be():
    """Any numbers within the parts' intervals give one within that of the whole."""
    chance, bounded = Random(18), 0
    operations = [
        (each, each) for each in (operator.add, operator.sub, operator.mul, operator.truediv)
    ]
    operations.append((Quantity.above, lambda a, b: 100 * (a / b - 1)))
    operations.append((Quantity.below, lambda a, b: 100 * (1 - a / b)))
    for _ in range(5000):
        a, b = random_value(chance), random_value(chance)
        operation, exactly = chance.choice(operations)
        found = operation(a, b)
        assert found.value == pytest.approx(exactly(a.value, b.value))
        if a.low is None and b.low is None:
            assert found.low is None and found.high is None
            continue
        bounded += math.isfinite(found.low)
        slack = 1e-9 * (1 + abs(found.value))
        for _ in range(10):
            x, y = chance.uniform(*a.ends), chance.uniform(*b.ends)
            if y:
                assert found.low - slack <= exactly(x, y) <= found.high + slack
    assert bounded > 2500


def test_what_may_be_divided_by_zero_has_no_bounds():
    found = Quantity(3.0, 2.0, 4.0) / Quantity(0.5, -0.1, 1.1)
    assert (found.value, found.low, found.high) == (6.0, -math.inf, math.inf)
    assert (Quantity(3.0) / 0).value is None
    assert (found + 1).ends == (-math.inf, math.inf)


def test_numbers_stand_on_either_side():
    found = Quantity(3.0, 2.0, 4.0)
    assert (found + 1).ends == (1 + found).ends == (3, 5)
    assert (found - 1).ends == (1, 3)
    assert (10 - found).ends == (6, 8)
    assert (2 * found).ends == (found * 2).ends == (4, 8)
    assert (12 / found).ends == (3, 6)
    assert (-found).ends == (-4, -2)
    with pytest.raises(IsthmusError, match="'stable' stands where a number must"):
        found + Quantity(None, words="stable")


def test_replications_are_compared_in_pairs():
    a = Quantity(2.0, 1.0, 3.0, each=(1.0, 2.0, 3.0))
    b = Quantity(3.0, 2.0, 4.0, each=(2.0, 3.0, 4.0))
    assert (b - a).ends == pytest.approx((1.0, 1.0))
    assert b.above(a).value == pytest.approx(50.0)
    assert a.below(b).value == pytest.approx(100 / 3)


def test_a_bracket_keeps_being_one():
    bracket = Quantity(11.7, 11.5, 11.9, bracket=True)
    assert (bracket - 1).text == "10.5–10.9"
    assert (bracket / 2).ends == (5.75, 5.95)
    assert (Quantity(None) - bracket).value is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10-12.8", (10, 12.8)),
        ("-3--1", (-3, -1)),
        ("-3 - -1", (-3, -1)),
        ("−3–+1", (-3, 1)),
        ("1e-3-2e-3", (0.001, 0.002)),
        ("-1.5E+2 - -1e1", (-150, -10)),
        ("22.2", (22.2, 22.2)),
        ("-5", (-5, -5)),
        ("12.8-10", None),
        ("1-2-3", None),
        ("nan-inf", None),
        ("1e400", None),
        ("many", None),
        ("", None),
    ],
)
def test_ranges_have_signs_and_exponents(text, wanted):
    assert number_range(text) == wanted


def test_a_number_is_one_that_people_write():
    assert [number(t) for t in ("3", "-3.5", "+.5", "1e-3")] == [3, -3.5, 0.5, 0.001]
    assert [number(t) for t in ("nan", "inf", "1_0", "0x1", "", "3 4", "٣")] == [None] * 7


WRONG = [
    ("1 +", r"select: SyntaxError: invalid syntax .*line 1"),
    ("(1 + 2", r"select: SyntaxError: '\(' was never closed"),
    ("1; 2", r"select: SyntaxError: invalid syntax"),
    ("", r"select: SyntaxError: "),
    ("r.men('read.network')", r"select: no r\.men; there are r\.alike, "),
    (
        "sum(men(r) for x in (1, 2))",
        r"select: no 'men' in .*/checks\.py; it has SIZES, third",
    ),
    ("r.mean('read.network')", r"select: this check needs a scenario"),
    ("third(r, 0)", r"select: .*/checks\.py:4: ZeroDivisionError: float division by zero"),
    ("typo(r)", r"select: .*/checks\.py:7: AttributeError: no r\.men; there are r\.alike, "),
    ("1 > 0", r"select: True stands where a number must"),
    ("[1]", r"select: \[1\] stands where a number must"),
    ("(" * 300 + "1" + ")" * 300, r"select: .*(nested|memory|Error)"),
]
CHECKS = """\
SIZES = (1, 2)

def third(r, of):
    return 3.0 / of

def typo(results):
    return results.men()
"""


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_an_error_says_where(tmp_path, text, message):
    """File, line of the row and column of the table, and the line of ``checks.py``."""
    paper = folder_of(tmp_path, {"expected": "3", "rule": "within", "select": text})
    with pytest.raises(IsthmusError, match=message) as caught:
        judge(paper, paper.rows()[1], None)
    assert str(caught.value).startswith(f"{paper.table}:3: select: ")
    assert "\n" not in str(caught.value)


def test_functions_of_the_paper_are_called_by_name(tmp_path):
    row = {"expected": "1.5", "tolerance": "1%", "rule": "within", "at": "", "unit": ""}
    paper = folder_of(tmp_path, {**row, "select": "third(r, max(SIZES))"})
    assert judge(paper, paper.rows()[1], None).verdict == "reproduced"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def third(r):\n  return (", r"SyntaxError: .* \(checks\.py, line 2\)"),
        ("import nothing_of_this_name", r"checks\.py:1: ModuleNotFoundError: "),
    ],
)
def test_a_file_of_checks_that_makes_no_sense(tmp_path, text, message):
    paper = folder_of(tmp_path, {})
    (tmp_path / "checks.py").write_text(text)
    told = refused(lambda: check(paper, paper.rows()[1]))
    assert told.startswith(f"{paper.table}:3: select: ")
    assert re.search(message, told), told


def folder_of(home, change):
    """A paper of two rows, the second of which is changed."""
    (home / "scenarios").mkdir()
    (home / "scenarios/small.toml").write_text("")
    (home / "paper.toml").write_text(PAPER)
    (home / "checks.py").write_text(CHECKS)
    first = {**ROWS[0], "select": "r.less(1, 2)"}
    write_rows(home, [first, {**ROWS[1], "scenario": "", "under": "", **change}])
    return find(str(home))


def test_all_rows_are_read_before_anything_is_run(isthmus, tmp_path):
    home = tmp_path / "papers" / "tiny"
    home.mkdir(parents=True)
    for under, message in (("1 +", "SyntaxError: invalid syntax"), ("men(r)", "no 'men' in")):
        shutil.rmtree(home / "scenarios", ignore_errors=True)
        folder_of(home, {"under": under})
        done = isthmus("papers", "run", "tiny", "--json")
        assert done.returncode == 2
        assert f"expected.csv:3: under: {message}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not list((tmp_path / "out").glob("papers/tiny/small-*"))


def test_checks_are_run_neither_to_list_papers_nor_to_check_a_readme(isthmus, tmp_path):
    home = tmp_path / "papers" / "tiny"
    home.mkdir(parents=True)
    paper = folder_of(home, {})
    paper.checks.path.write_text("from pathlib import Path\nPath('ran').touch()\n")
    assert isthmus("papers").returncode == 0
    isthmus("papers", "readme", "--check", "tiny")
    assert not (tmp_path / "ran").exists()
    isthmus("papers", "run", "tiny")
    assert (tmp_path / "ran").exists()


def test_checks_of_another_user_are_run_only_if_the_folder_is_given(tmp_path, monkeypatch):
    home, inside = tmp_path / "papers" / "tiny", tmp_path / "mine"
    home.mkdir(parents=True)
    inside.mkdir()
    folder_of(home, {})
    monkeypatch.chdir(inside)
    assert find("tiny").folder == home
    owned, other = Path.lstat, home.parent
    monkeypatch.setattr(
        Path, "lstat", lambda path: SimpleNamespace(st_uid=4321) if path == other else owned(path)
    )
    told = refused(lambda: find("tiny"))
    assert told.startswith(f"{home.parent}: belongs to another user, and checks in it would be run")
    assert find("../papers/tiny").name == "tiny"
    monkeypatch.setenv("ISTHMUS_PAPERS", "../papers")
    assert find("tiny").name == "tiny"


def test_every_cell_of_the_papers_is_read():
    counted = 0
    for home in sorted(REPOSITORY.glob("papers/*/paper.toml")):
        paper = find(str(home.parent))
        for row in paper.rows():
            check(paper, row)
            assert len(row.select) < 200 and len(row.under) < 200, row.id
            counted += 1
    assert counted > 280


def test_every_function_of_the_papers_is_called():
    for path in sorted(REPOSITORY.glob("papers/*/checks.py")):
        paper = find(str(path.parent))
        cells = " ".join(f"{row.select} {row.under}" for row in paper.rows()) + paper.checks.text
        names = [name for name in paper.checks.names if not name.startswith("_")]
        assert names
        for name in names:
            assert len(re.findall(rf"\b{name}\b", cells)) > 1, (path, name)


def cells():
    """All expressions of the papers of the repository."""
    found = []
    for table in sorted(REPOSITORY.glob("papers/*/expected.csv")):
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                found += [row[name] for name in ("select", "under") if row[name]]
    return found


def mutant(chance, texts):
    """A cell with some characters taken out, put in, doubled or exchanged."""
    text = list(chance.choice(texts)[: chance.choice([20, 200, 5000])])
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            text[at : at + chance.choice([1, 3, 10])] = []
        elif kind == 1:
            text.insert(at, chance.choice("()+-*/<>~@;=,.'\" 0e_\t\n\x00½µ−and"))
        elif kind == 2:
            text[at:at] = text[max(0, at - 12) : at] * chance.choice([1, 1, 400])
        else:
            text[at:at] = list(chance.choice(texts)[:30])
    return "".join(text)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_garbage_gives_one_clear_error(tmp_path):
    """Every mutant is read, or refused in one line, and nothing of it is carried out."""
    chance, texts, refusals, accepted = Random(19), cells(), 0, 0
    checks = Checks(tmp_path / "checks.py")
    for _ in range(4000):
        text = mutant(chance, texts)
        try:
            checks.read(text)
            accepted += 1
        except IsthmusError as error:
            refusals += 1
            assert str(error).isprintable(), text
    assert accepted > 100 and refusals > 2000
    print(f"{refusals} mutants refused, {accepted} read")

"""The grammar of claims, against Python's own arithmetic and against garbage."""

from __future__ import annotations

import ast
import csv
import json
import math
import operator
from fractions import Fraction
from random import Random

import pytest

from conftest import REPOSITORY
from fixtures import synthetic
from isthmus.errors import IsthmusError
from isthmus.papers import arithmetic, find
from isthmus.papers.grammar import (
    DEPTH,
    ExpressionError,
    conditions,
    number,
    number_range,
    parse,
    selectors,
)
from isthmus.papers.select import Source, claim, value
from isthmus.papers.verdict import check, judge
from isthmus.results import Results
from isthmus.value import Value
from test_papers import PAPER, ROWS, write_rows

NOTHING = Source(None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10 - 3 - 2", 5),
        ("1 + 2 / 3", Fraction(5, 3)),
        ("8 / 4 / 2", 1),
        ("2 * 3 + 4 * 5", 26),
        ("2 + 3 * 4 - 6 / 3", 12),
        ("(10 - 3) * (2 + 1)", 21),
        ("10-3*2", 4),
        ("-3 - -2", -1),
        ("- (1 + 2) * 2", -6),
        ("2e3 + 1.5E-1", Fraction("2000.15")),
        ("90 below 100", 10),
        ("3 * 40 above 50 + 50", 20),
        ("equation 1 @ nodes=4 * 46 / 64", 1),
        ("(equation 1 @ nodes=4; ) * 46/64 + 1", 2),
    ],
)
def test_precedence_is_the_ordinary_one(text, wanted):
    assert value(text, NOTHING).value == pytest.approx(float(wanted), rel=1e-12)


_PYTHON = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def exactly(node, text):
    """What Python's own grammar makes of a text, in fractions: the oracle."""
    match node:
        case ast.Expression():
            return exactly(node.body, text)
        case ast.Constant():
            return Fraction(ast.get_source_segment(text, node))
        case ast.UnaryOp():
            return _PYTHON[type(node.op)](exactly(node.operand, text))
        case ast.BinOp():
            parts = exactly(node.left, text), exactly(node.right, text)
            return _PYTHON[type(node.op)](*parts)
        case ast.Compare():
            terms = [exactly(each, text) for each in (node.left, *node.comparators)]
            pairs = zip(node.ops, terms, terms[1:], strict=False)
            return all(_PYTHON[type(op)](a, b) for op, a, b in pairs)
        case ast.BoolOp():
            # All parts are done, so that a division by 0 in any of them is seen.
            parts = [exactly(each, text) for each in node.values]
            return all(parts)
    raise TypeError(ast.dump(node))


def drawn(chance, depth):
    """An arithmetic expression, at random."""
    kind = chance.random()
    if depth == 0 or kind < 0.2:
        return chance.choice(["0", "1", "2", "3", "7", "10", "0.5", ".25", "12.8", "1e2", "25E-1"])
    blank = chance.choice(["", " ", " ", "  "])
    if kind < 0.3:
        return chance.choice("-+") + blank + drawn(chance, depth - 1)
    if kind < 0.5:
        return f"({blank}{drawn(chance, depth - 1)}{blank})"
    sign = chance.choice("+-*/")
    return f"{drawn(chance, depth - 1)}{blank}{sign}{blank}{drawn(chance, depth - 1)}"


def drawn_claim(chance):
    """A claim about arithmetic expressions, at random."""
    clauses = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        terms = [drawn(chance, 3) for _ in range(chance.choice([2, 2, 3]))]
        clause = terms[0]
        for term in terms[1:]:
            clause += f" {chance.choice('<>')} {term}"
        clauses.append(chance.choice([clause, clause, f"({clause})"]))
    return " and ".join(clauses)


def test_arithmetic_is_that_of_python():
    chance, zeros, done = Random(16), 0, 0
    for _ in range(5000):
        text = drawn(chance, 5)
        try:
            wanted = exactly(ast.parse(text.strip(), mode="eval"), text.strip())
        except ZeroDivisionError:
            zeros += 1
            # A sum such as 0.5 - .25 - .25 is exactly 0; Value(None) where it is not seen as such.
            try:
                assert value(text, NOTHING).value is None, text
            except ExpressionError as error:
                assert "nothing can be divided" in str(error)
            continue
        done += 1
        assert value(text, NOTHING).value == pytest.approx(float(wanted), rel=1e-9, abs=1e-9), text
    assert done > 3000 and zeros > 100
    print(f"{done} expressions as Python has them, {zeros} divisions by 0 refused")


def test_comparisons_are_those_of_python():
    chance, told = Random(17), []
    for _ in range(3000):
        text = drawn_claim(chance)
        try:
            wanted = exactly(ast.parse(text, mode="eval"), text)
        except ZeroDivisionError:
            continue
        told.append(wanted)
        assert claim(text, NOTHING).holds is wanted, text
    assert told.count(True) > 200 and told.count(False) > 1000
    print(f"{len(told)} claims as Python has them, {told.count(True)} of them true")


def random_value(chance):
    middle = chance.choice([-2.0, -0.5, 0.0, 0.3, 1.0, 4.0]) + chance.random()
    if chance.random() < 0.3:
        return Value(middle)
    return Value(middle, middle - chance.random(), middle + chance.random())


def test_intervals_hold_whatever_their_parts_may_be():
    """Any numbers within the parts' intervals give one within that of the whole."""
    chance, bounded = Random(18), 0
    with_numbers = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "above": lambda a, b: 100 * (a / b - 1),
        "below": lambda a, b: 100 * (1 - a / b),
    }
    for _ in range(5000):
        a, b = random_value(chance), random_value(chance)
        sign = chance.choice(list(with_numbers))
        found = arithmetic.joined(sign, a, b)
        assert found.value == pytest.approx(with_numbers[sign](a.value, b.value))
        if a.low is None and b.low is None:
            assert found.low is None and found.high is None
            continue
        bounded += math.isfinite(found.low)
        slack = 1e-9 * (1 + abs(found.value))
        for _ in range(10):
            x, y = chance.uniform(*a.ends), chance.uniform(*b.ends)
            if y:
                assert found.low - slack <= with_numbers[sign](x, y) <= found.high + slack
    assert bounded > 2500


def test_what_may_be_divided_by_zero_has_no_bounds():
    found = arithmetic.over(Value(3.0, 2.0, 4.0), Value(0.5, -0.1, 1.1))
    assert (found.value, found.low, found.high) == (6.0, -math.inf, math.inf)
    assert arithmetic.over(Value(3.0), Value(0.0)).value is None
    assert arithmetic.plus(found, Value(1.0)).ends == (-math.inf, math.inf)


def test_a_selector_ends_where_it_says():
    tree = parse(
        "(mean read.network @ torus=uniform-ring (any); rate=2 /ms / 3 - node 4-15"
        " + mean a.b@x='and > b'/mean c) > setting machine.nic.payload in MB/s * 2",
        claims=True,
    )
    told = [(each.words, each.conditions) for each in selectors(tree)]
    assert told == [
        (("mean", "read.network"), {"torus": "uniform-ring (any)", "rate": "2 /ms"}),
        (("node", "4-15"), {}),
        (("mean", "a.b"), {"x": "and > b"}),
        (("mean", "c"), {}),
        (("setting", "machine.nic.payload", "in", "MB/s"), {}),
    ]
    alone = "path=two links and a change of ring; case=local, 70% hits; a=-1 - 2;"
    assert conditions(alone) == {
        "path": "two links and a change of ring",
        "case": "local, 70% hits",
        "a": "-1 - 2",
    }


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
    ("1 +", 4, "the expression ends where a number or a selector must stand"),
    ("1 + * 2", 5, r"'\* 2': a number or a selector must stand here"),
    ("(1 + 2", 1, r"no '\)' for this '\('"),
    ("1 + 2)", 6, r"no '\(' for this '\)'"),
    ("1 2", 3, "'2': an operator is missing"),
    ("1.2.3", 1, "'1.2.3' is not a number"),
    ("3 / (2 - 2)", 6, "this is 0, by which nothing can be divided"),
    ("4 below 5 above 6", 11, "a second 'above': say with parentheses which is meant"),
    ("1 + (2 > 1)", 6, "a claim stands where a number must"),
    ("1 + falls x along y", 5, "'falls x along y' is a claim and stands where a number must"),
    ("2 + men read", 5, "'men read': no such selector; there are mean"),
    ("2 + equation 1 @ nodes", 18, "'nodes': a condition is key=value"),
    ("2 + equation 1 @ nodes=", 24, "a value is missing"),
    ("2 + equation 1 @ nodes='4", 24, "no second ' for this one"),
    ("equation 1 @ nodes=4; nodes=6", 23, "'nodes' is given twice"),
    ("2 + mean read.network", 5, "this selector needs a scenario"),
    ("2 & 3", 3, "'& 3': an operator is missing"),
    ("(" * 60 + "1" + ")" * 60, DEPTH + 1, "nested more than 50 deep"),
]


@pytest.mark.parametrize(("text", "character", "message"), WRONG)
def test_an_error_says_where(tmp_path, text, character, message):
    """File, line of the row, column of the table, and character of the expression."""
    with pytest.raises(ExpressionError, match=message) as caught:
        value(text, NOTHING)
    assert caught.value.at + 1 == character
    paper, rows = folder_of(tmp_path, {"expected": "3", "rule": "within", "select": text})
    with pytest.raises(IsthmusError, match=message) as caught:
        judge(paper, rows[1], None)
    assert str(caught.value).startswith(f"{paper.table}:3: select: character {character}: ")
    assert "\n" not in str(caught.value)


def folder_of(home, change):
    """A paper of two rows, the second of which is changed."""
    (home / "scenarios").mkdir()
    (home / "scenarios/small.toml").write_text("")
    (home / "paper.toml").write_text(PAPER)
    write_rows(home, [ROWS[0], {**ROWS[1], "scenario": "", "under": "", **change}])
    paper = find(str(home))
    return paper, paper.rows()


def test_all_rows_are_read_before_anything_is_run(isthmus, tmp_path):
    home = tmp_path / "papers" / "tiny"
    home.mkdir(parents=True)
    folder_of(home, {"under": "1 +"})
    done = isthmus("papers", "run", "tiny", "--json")
    assert done.returncode == 2
    assert "expected.csv:3: under: character 4: the expression ends" in done.stderr
    assert not list((tmp_path / "out").glob("papers/tiny/small-*"))


def test_every_cell_of_the_papers_is_read():
    counted = 0
    for home in sorted(REPOSITORY.glob("papers/*/paper.toml")):
        paper = find(str(home.parent))
        for row in paper.rows():
            check(paper, row)
            counted += 1
    assert counted > 280


def cells():
    """All expressions of the papers of the repository."""
    found = []
    for table in sorted(REPOSITORY.glob("papers/*/expected.csv")):
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                found += [row[name] for name in ("select", "under", "at") if row[name]]
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


def test_garbage_gives_one_clear_error():
    """Every mutant is read, or refused with one line that names a place within it."""
    chance, texts, refused, accepted = Random(19), cells(), 0, 0
    run = Results.from_json(json.dumps(synthetic.result())).run
    for _ in range(4000):
        text = mutant(chance, texts)
        ask = chance.choice([claim, value, conditions])
        try:
            if ask is conditions:
                conditions(text)
            else:
                ask(text, Source(run))
            accepted += 1
        except ExpressionError as error:
            refused += 1
            told = str(error)
            assert told and "\n" not in told and len(told) <= 400, text
            assert 0 <= error.at <= len(text), text
    assert accepted > 100 and refused > 2000
    print(f"{refused} mutants refused, {accepted} read")


def test_long_sums_and_signs_need_no_stack():
    assert value("1 + " * 20_000 + "1", NOTHING).value == 20_001
    assert value("-" * 20_001 + "1", NOTHING).value == -1
    assert claim(" and ".join(["2 > 1"] * 5_000), NOTHING).holds


def test_the_guide_has_the_grammar():
    from isthmus.papers import grammar

    rules = [line.strip() for line in (grammar.__doc__ or "").splitlines() if " = " in line]
    guide = (REPOSITORY / "docs/papers.md").read_text()
    assert len(rules) == 10
    assert "\n".join(rules) in guide

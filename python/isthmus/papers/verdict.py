"""Whether what a paper says comes out: expected beside measured, by the row's rule."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.papers.compare import Truth, within
from isthmus.papers.folder import Paper, Row
from isthmus.papers.grammar import ExpressionError, number, number_range, parse
from isthmus.papers.model import Model
from isthmus.papers.select import Source, claim, conditions, value
from isthmus.papers.tolerance import Tolerance, parsed
from isthmus.results.schema import RunResult
from isthmus.value import Value

VERDICTS = (
    "reproduced",
    "differs by reading",
    "not reproduced",
    "undecided",
    "fitted",
    "as set",
    "not comparable",
)
"""In the order in which they are counted. `fitted` and `as set` are met by construction: a row that
is fitted, or that compares a setting with itself, reproduces nothing. `not comparable` is not
counted: the paper's number is of something that the scenario does not have.
"""
_MET = {"fitted": "fitted", "setting": "as set"}
"""What a row that meets its rule is called by its role, in place of reproduced."""
RULES = ("within", "inside", "holds", "is", "none")


@dataclass(frozen=True)
class Outcome:
    """What came out for one row."""

    row: Row
    measured: float | bool | str | None
    low: float | None
    high: float | None
    verdict: str
    detail: str
    """The numbers behind the verdict, for people."""
    other: str | None = None
    """Those of the other reading, where it is not reproduced either."""

    def as_json(self) -> dict[str, Any]:
        """One object of ``isthmus papers run --json``."""
        row = self.row
        return {
            "id": row.id,
            "where": row.where,
            "quantity": row.quantity,
            "conditions": row.conditions,
            "role": row.role,
            "same_as": row.same_as or None,
            "expected": expected(row),
            "measured": self.measured,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "unit": row.unit,
            "verdict": self.verdict,
            "rule": row.rule,
            "tolerance": row.tolerance,
            "tolerance_reason": row.reason,
            "scenario": row.scenario,
            "detail": self.detail,
            "other": self.other,
            "note": row.note,
        }


def _finite(end: float | None) -> float | None:
    """An end of an interval; none where there is no bound."""
    return end if end is not None and math.isfinite(end) else None


def expected(row: Row) -> float | str:
    """The expected value as a number where it is one."""
    found = number(row.expected)
    return row.expected if found is None else found


def judge(paper: Paper, row: Row, run: RunResult | None, model: Model | None = None) -> Outcome:
    """Take the row's value from a result and compare it.

    Raises:
        IsthmusError: a cell of the row makes no sense; file, line, column and place are told.

    """
    check(paper, row)
    told = _judged(paper, row, run, model)
    if told.verdict == "reproduced":
        return replace(told, verdict=_MET.get(row.role, told.verdict))
    return told


def _judged(paper: Paper, row: Row, run: RunResult | None, model: Model | None) -> Outcome:
    """The outcome without regard to the role of the row."""
    with _cell(paper, row, "select"):
        literal = _look(row, row.select, run, model)
    if literal.verdict != "not reproduced" or not row.under:
        return literal
    with _cell(paper, row, "under"):
        other = _look(row, row.under, run, model)
    if other.verdict == "not reproduced":
        return replace(literal, other=other.detail)
    detail = f"{other.detail} (as printed: {literal.detail})"
    verdict = "differs by reading" if other.verdict == "reproduced" else other.verdict
    return replace(other, verdict=verdict, detail=detail)


@contextmanager
def _cell(paper: Paper, row: Row, column: str) -> Iterator[None]:
    """Tell of an error in which cell of which row, and where in its expression, it is."""
    try:
        yield
    except ExpressionError as error:
        place = f"{paper.table}:{row.line}: {column}: character {error.at + 1}"
        raise IsthmusError(f"{place}: {error}") from error
    except IsthmusError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: {column}: {error}") from error


def check(paper: Paper, row: Row) -> None:
    """Read all cells of a row that are judged by, without a result.

    Raises:
        IsthmusError: one of them makes no sense; file, line, column and place are told.

    """
    with _cell(paper, row, "rule"):
        if row.rule not in RULES:
            raise IsthmusError(f"no rule {row.rule!r}; there are {', '.join(RULES)}")
    with _cell(paper, row, "tolerance"):
        parsed(row.tolerance, row.expected)
    with _cell(paper, row, "expected"):
        if row.rule == "within" and number(row.expected) is None:
            raise IsthmusError(f"{row.expected!r}: the rule `within` needs a number")
        if row.rule == "inside":
            _range(row)
    with _cell(paper, row, "note"):
        if row.rule == "none" and not row.note:
            raise IsthmusError("the rule `none` needs a reason why nothing can be compared")
    with _cell(paper, row, "at"):
        conditions(row.at)
    for column, text in (("select", row.select), ("under", row.under)):
        if text or column == "select":
            with _cell(paper, row, column):
                parse(text, claims=row.rule == "holds")


def _look(row: Row, select: str, run: RunResult | None, model: Model | None) -> Outcome:
    """The outcome by one selector, without regard to other readings."""
    tolerance = parsed(row.tolerance, row.expected)
    source = Source(run, conditions(row.at), tolerance.share, tolerance.amount, model)
    if row.rule == "holds":
        told = claim(select, source)
        return Outcome(row, told.holds, None, None, _verdict(told.holds), told.text)
    found = value(select, source)
    verdict = "not comparable" if row.rule == "none" else _verdict(_met(row, found, tolerance))
    shown = found.value if found.words is None else found.words
    return Outcome(row, shown, found.low, found.high, verdict, found.text)


def _verdict(met: Truth) -> str:
    return "undecided" if met is None else "reproduced" if met else "not reproduced"


def _met(row: Row, measured: Value, tolerance: Tolerance) -> Truth:
    if row.rule == "is":
        return None if measured.text == "undecided" else measured.text == row.expected
    if measured.words is not None:
        return False
    if row.rule == "within":
        return within(measured, *tolerance.around(float(expected(row))))
    return within(measured, *_range(row))


def _range(row: Row) -> tuple[float, float]:
    found = number_range(row.expected)
    if found is None:
        raise IsthmusError(
            f"{row.expected!r}: the rule `{row.rule}` needs a range such as 10-12.8, the smaller "
            "end first"
        )
    return found


def with_unit(detail: str, measured: object, unit: str) -> str:
    """Return what was measured with its unit, which words do not have."""
    return detail if isinstance(measured, str) else f"{detail} {unit}".strip()

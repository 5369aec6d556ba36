"""The verdict on a paper's claim: expected and measured value compared by the row's rule."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.papers.cells import conditions, number, number_range
from isthmus.papers.compare import Claim, Truth, all_of, within
from isthmus.papers.folder import Paper, Row
from isthmus.papers.model import Model
from isthmus.papers.quantity import quantity
from isthmus.papers.row_results import RowResults
from isthmus.papers.tolerance import parsed
from isthmus.results.schema import RunResult
from isthmus.value import Value

VERDICTS = {
    "reproduced": ("green", "better"),
    "differs by reading": ("yellow", "mixed"),
    "not reproduced": ("red", "worse"),
    "undecided": ("yellow", "mixed"),
    "fitted": ("dim", ""),
    "as set": ("dim", ""),
    "not comparable": ("dim", ""),
}
"""Verdicts in the order in which they are counted, with their style in a terminal and on a page.

Rows with `fitted` and `as set` meet their rule by construction: a fitted row, or a setting compared
with itself, reproduces nothing. `not comparable` is not counted: the scenario does not have the
quantity of the paper's number.
"""
_MET = {"fitted": "fitted", "setting": "as set"}
"""Verdict that replaces `reproduced` for rows of these roles."""
RULES = ("within", "inside", "holds", "is", "none")


@dataclass(frozen=True)
class Outcome:
    """The verdict on one row of a paper's table of claims, and the numbers behind it."""

    row: Row
    measured: float | bool | str | None
    low: float | None
    high: float | None
    verdict: str
    detail: str
    """The numbers behind the verdict, as text for users."""
    other: str | None = None
    """The numbers under the paper's other interpretation, if the claim is not reproduced under
    either; otherwise None.
    """

    def as_json(self) -> dict[str, Any]:
        """Return the verdict on the row as a JSON object, for ``isthmus papers run --json``."""
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
    """Return an end of an interval; None if it is infinite."""
    return end if end is not None and math.isfinite(end) else None


def expected(row: Row) -> float | str:
    """Return the expected value as a number if it is one, else as text."""
    found = number(row.expected)
    return row.expected if found is None else found


def judge(paper: Paper, row: Row, run: RunResult | None, model: Model | None = None) -> Outcome:
    """Evaluate the row on a result and judge its value.

    Raises:
        IsthmusError: a cell of the row is invalid; the message names file, line and column.
        NotSimulatedError: the row needs a simulation, and there is no `run`.

    """
    check(paper, row)
    tolerance = parsed(row.tolerance, row.expected)
    results = RowResults(run, conditions(row.at), tolerance, model)
    with _cell(paper, row, "select"):
        found = _judge_expression(paper, row, row.select, results)
    if found.verdict == "not reproduced" and row.under:
        with _cell(paper, row, "under"):
            other = _judge_expression(paper, row, row.under, results)
        if other.verdict == "not reproduced":
            return replace(found, other=other.detail)
        detail = f"{other.detail} (as printed: {found.detail})"
        verdict = "differs by reading" if other.verdict == "reproduced" else other.verdict
        return replace(other, verdict=verdict, detail=detail)
    if found.verdict == "reproduced":
        return replace(found, verdict=_MET.get(row.role, found.verdict))
    return found


@contextmanager
def _cell(paper: Paper, row: Row, column: str) -> Iterator[None]:
    """Add file, line and column of a cell to an error."""
    try:
        yield
    except IsthmusError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: {column}: {error}") from error


def check(paper: Paper, row: Row) -> None:
    """Check all cells of a row that decide its verdict, without a result.

    Raises:
        IsthmusError: a cell is invalid; the message names file, line and column.

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
                paper.checks.read(text)


def _judge_expression(paper: Paper, row: Row, expression: str, results: RowResults) -> Outcome:
    """Evaluate one expression of a row and judge its value, without regard to the row's role and
    other expressions.
    """
    found = paper.checks.value(expression, results)
    if row.rule == "holds":
        given = found if isinstance(found, list) else [found]
        claims = [claim for claim in given if isinstance(claim, Claim)]
        if not claims or len(claims) < len(given):
            raise IsthmusError("the rule `holds` needs a claim, such as r.greater(...), or a list")
        holds = all_of(claim.holds for claim in claims)
        return Outcome(row, holds, None, None, _verdict(holds), "; ".join(c.text for c in claims))
    value = quantity(found)
    verdict = "not comparable" if row.rule == "none" else _verdict(_meets_rule(row, value, results))
    shown = value.value if value.words is None else value.words
    return Outcome(row, shown, value.low, value.high, verdict, value.text)


def _verdict(met: Truth) -> str:
    """Return the verdict in words on a rule that is met, is not met, or cannot be decided."""
    return "undecided" if met is None else "reproduced" if met else "not reproduced"


def _meets_rule(row: Row, measured: Value, results: RowResults) -> Truth:
    """Return whether a measured value meets the rule of its row; None if undecided."""
    if row.rule == "is":
        return None if measured.text == "undecided" else measured.text == row.expected
    if measured.words is not None:
        return False
    if row.rule == "within":
        return within(measured, *results.tolerance.around(float(expected(row))))
    return within(measured, *_range(row))


def _range(row: Row) -> tuple[float, float]:
    """Return both ends of the expected range of a row."""
    found = number_range(row.expected)
    if found is None:
        raise IsthmusError(
            f"{row.expected!r}: the rule `{row.rule}` needs a range such as 10-12.8, the smaller "
            "end first"
        )
    return found


def with_unit(detail: str, measured: object, unit: str) -> str:
    """Return the text `detail` of a measured value with its unit. If the measured value is a text,
    return `detail` alone.
    """
    return detail if isinstance(measured, str) else f"{detail} {unit}".strip()

"""Whether what a paper says comes out: expected beside measured, by the row's rule."""

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
"""In the order in which they are counted, with their looks in a terminal and on a page.

`fitted` and `as set` are met by construction: a row that is fitted, or that compares a setting with
itself, reproduces nothing. `not comparable` is not counted: the paper's number is of something that
the scenario does not have.
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
        IsthmusError: a cell of the row makes no sense; the message names file, line and column.
        NotSimulatedError: the row needs a simulation, and there is no `run`.

    """
    check(paper, row)
    tolerance = parsed(row.tolerance, row.expected)
    results = RowResults(run, conditions(row.at), tolerance, model)
    with _cell(paper, row, "select"):
        found = _look(paper, row, row.select, results)
    if found.verdict == "not reproduced" and row.under:
        with _cell(paper, row, "under"):
            other = _look(paper, row, row.under, results)
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
    """Tell of an error in which cell of which row it is."""
    try:
        yield
    except IsthmusError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: {column}: {error}") from error


def check(paper: Paper, row: Row) -> None:
    """Read all cells of a row that are judged by, without a result.

    Raises:
        IsthmusError: one of them makes no sense; the message names file, line and column.

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


def _look(paper: Paper, row: Row, expression: str, results: RowResults) -> Outcome:
    """The outcome by one expression, without regard to other readings and to the row's role."""
    found = paper.checks.value(expression, results)
    if row.rule == "holds":
        given = found if isinstance(found, list) else [found]
        claims = [claim for claim in given if isinstance(claim, Claim)]
        if not claims or len(claims) < len(given):
            raise IsthmusError("the rule `holds` needs a claim, such as r.greater(...), or a list")
        holds = all_of(claim.holds for claim in claims)
        return Outcome(row, holds, None, None, _verdict(holds), "; ".join(c.text for c in claims))
    value = quantity(found)
    verdict = "not comparable" if row.rule == "none" else _verdict(_met(row, value, results))
    shown = value.value if value.words is None else value.words
    return Outcome(row, shown, value.low, value.high, verdict, value.text)


def _verdict(met: Truth) -> str:
    return "undecided" if met is None else "reproduced" if met else "not reproduced"


def _met(row: Row, measured: Value, results: RowResults) -> Truth:
    if row.rule == "is":
        return None if measured.text == "undecided" else measured.text == row.expected
    if measured.words is not None:
        return False
    if row.rule == "within":
        return within(measured, *results.tolerance.around(float(expected(row))))
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

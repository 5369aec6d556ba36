"""Whether what a paper says comes out: expected beside measured, by the row's rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.papers.folder import Paper, Row
from isthmus.papers.select import Source, Value, claim, conditions, value
from isthmus.results.schema import RunResult

VERDICTS = ("reproduced", "not reproduced", "differs by reading")
RULES = ("within", "inside", "overlaps", "holds")


@dataclass(frozen=True)
class Outcome:
    """What came out for one row."""

    row: Row
    measured: float | bool | None
    low: float | None
    high: float | None
    verdict: str
    detail: str
    """The numbers behind the verdict, for people."""

    def as_json(self) -> dict[str, Any]:
        """One object of ``isthmus papers run --json``."""
        row = self.row
        return {
            "id": row.id,
            "where": row.where,
            "quantity": row.quantity,
            "conditions": row.conditions,
            "expected": expected(row),
            "measured": self.measured,
            "low": self.low,
            "high": self.high,
            "unit": row.unit,
            "verdict": self.verdict,
            "rule": row.rule,
            "scenario": row.scenario,
            "detail": self.detail,
            "note": row.note,
        }


def expected(row: Row) -> float | str:
    """The expected value as a number where it is one."""
    try:
        return float(row.expected)
    except ValueError:
        return row.expected


def judge(paper: Paper, row: Row, run: RunResult | None) -> Outcome:
    """Take the row's value from a result and compare it.

    Raises:
        IsthmusError: a cell of the row makes no sense; file, line and column are told.

    """
    column = "select"
    try:
        if row.rule not in RULES:
            column = "rule"
            raise IsthmusError(f"no rule {row.rule!r}; there are {', '.join(RULES)}")
        share, amount = _tolerance(row)
        source = Source(run, conditions(row.at), share)
        if row.rule == "holds":
            told = claim(row.select, source)
            return Outcome(row, told.holds, None, None, _verdict(row, told.holds), told.text)
        measured = value(row.select, source)
        column = "expected"
        met = _met(row, measured, share, amount)
    except IsthmusError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: {column}: {error}") from error
    return Outcome(
        row, measured.value, measured.low, measured.high, _verdict(row, met), measured.text
    )


def _verdict(row: Row, met: bool) -> str:
    chosen = (row.if_met or VERDICTS[0]) if met else (row.if_not or VERDICTS[1])
    if chosen not in VERDICTS:
        raise IsthmusError(f"no verdict {chosen!r}; there are {', '.join(VERDICTS)}")
    return chosen


def _tolerance(row: Row) -> tuple[float, float | None]:
    """The tolerance as a share, and as an amount if it is one."""
    text = row.tolerance
    if not text:
        return 0.0, None
    try:
        return (float(text[:-1]) / 100, None) if text.endswith("%") else (0.0, float(text))
    except ValueError:
        raise IsthmusError(f"tolerance {text!r}: write 3% or an amount such as 0.05") from None


def _met(row: Row, measured: Value, share: float, amount: float | None) -> bool:
    if measured.value is None:
        return False
    low, high = measured.ends
    if row.rule == "within":
        wanted = expected(row)
        if isinstance(wanted, str):
            raise IsthmusError(f"{wanted!r}: the rule `within` needs a number")
        return abs(measured.value - wanted) <= (share * abs(wanted) if amount is None else amount)
    smallest, largest = _range(row)
    if row.rule == "inside":
        return smallest <= low and high <= largest
    return low <= largest and smallest <= high


def _range(row: Row) -> tuple[float, float]:
    first, _, last = row.expected.replace("–", "-").partition("-")
    try:
        return float(first), float(last or first)
    except ValueError:
        raise IsthmusError(
            f"{row.expected!r}: the rule `{row.rule}` needs a range such as 10-12.8"
        ) from None

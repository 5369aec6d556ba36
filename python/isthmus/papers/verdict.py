"""Whether what a paper says comes out: expected beside measured, by the row's rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.papers.folder import Paper, Row
from isthmus.papers.model import Model
from isthmus.papers.select import Source, claim, conditions, value
from isthmus.results.schema import RunResult
from isthmus.value import Value

VERDICTS = ("reproduced", "not reproduced", "differs by reading")
RULES = ("within", "inside", "overlaps", "holds", "is")
REACH = 0.5
"""How far an interval may reach beyond the range that `inside` asks for, in parts of the range."""


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


def judge(paper: Paper, row: Row, run: RunResult | None, model: Model | None = None) -> Outcome:
    """Take the row's value from a result and compare it.

    Raises:
        IsthmusError: a cell of the row makes no sense; file, line and column are told.

    """
    column = "rule"
    try:
        if row.rule not in RULES:
            raise IsthmusError(f"no rule {row.rule!r}; there are {', '.join(RULES)}")
        column = "select"
        literal = _look(row, row.select, run, model)
        if literal.verdict == VERDICTS[0] or not row.under:
            return literal
        column = "under"
        other = _look(row, row.under, run, model)
    except _UnfitError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: expected: {error}") from error
    except IsthmusError as error:
        raise IsthmusError(f"{paper.table}:{row.line}: {column}: {error}") from error
    if other.verdict == VERDICTS[0]:
        detail = f"{other.detail} (as printed: {literal.detail})"
        return replace(other, verdict=VERDICTS[2], detail=detail)
    return literal


class _UnfitError(IsthmusError):
    """The cell `expected` does not suit the rule."""


def _look(row: Row, select: str, run: RunResult | None, model: Model | None) -> Outcome:
    """The outcome by one selector, without regard to other readings."""
    share, amount = _tolerance(row)
    source = Source(run, conditions(row.at), share, model)
    if row.rule == "holds":
        told = claim(select, source)
        return Outcome(row, told.holds, None, None, _verdict(told.holds), told.text)
    found = value(select, source)
    met = _met(row, found, share, amount)
    shown = found.value if found.words is None else found.words
    return Outcome(row, shown, found.low, found.high, _verdict(met), found.text)


def _verdict(met: bool) -> str:
    return VERDICTS[0] if met else VERDICTS[1]


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
    if row.rule == "is":
        return measured.text == row.expected
    wanted = expected(row)
    if row.rule == "within" and isinstance(wanted, str):
        raise _UnfitError(f"{wanted!r}: the rule `within` needs a number")
    smallest, largest = (0.0, 0.0) if row.rule == "within" else _range(row)
    if measured.value is None:
        return False
    if isinstance(wanted, float) and row.rule == "within":
        return abs(measured.value - wanted) <= (share * abs(wanted) if amount is None else amount)
    low, high = measured.ends
    if row.rule == "inside":
        reach = REACH * (largest - smallest)
        within = smallest <= measured.value <= largest
        return within and smallest - reach <= low and high <= largest + reach
    return low <= largest and smallest <= high


def _range(row: Row) -> tuple[float, float]:
    first, _, last = row.expected.replace("–", "-").partition("-")
    try:
        return float(first), float(last or first)
    except ValueError:
        raise _UnfitError(
            f"{row.expected!r}: the rule `{row.rule}` needs a range such as 10-12.8"
        ) from None

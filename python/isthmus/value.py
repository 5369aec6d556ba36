"""A number with its interval. The core does the arithmetic between measures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isthmus import _core
from isthmus.core import ask
from isthmus.wording import estimate, interval

if TYPE_CHECKING:
    from isthmus.results.schema import Measure, Percentile

CONFIDENCE = 0.95
"""Default confidence level of intervals. Values without a confidence interval (exact numbers,
search brackets) also store it.
"""


@dataclass(frozen=True)
class Value:
    """A number of a result with its confidence interval, or words in place of a number."""

    value: float | None
    low: float | None = None
    high: float | None = None
    bracket: bool = False
    """Whether the interval is the bracket of a search rather than a confidence interval."""
    words: str | None = None
    """Words that stand in place of a number."""
    each: tuple[float, ...] = field(default=(), repr=False, compare=False)
    """Value of each replication, if there are any."""
    confidence: float = field(default=CONFIDENCE, repr=False, compare=False)
    """Confidence level of the interval."""

    @property
    def ends(self) -> tuple[float, float]:
        """Return both ends of the interval: infinite on an unknown side, the value itself without
        an interval, NaN without a value.
        """
        if self.low is None and self.high is None:
            middle = math.nan if self.value is None else self.value
            return middle, middle
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )

    @property
    def text(self) -> str:
        """The number as text: ``11.5–11.9`` or ``3.32 ± 0.02``."""
        return self.told()  # codespell:ignore told

    def told(self, digits: int = 3) -> str:  # codespell:ignore told
        """Return the number as text: as exact as its interval, or with `digits` significant digits
        if it has none.
        """
        if self.words is not None:
            return self.words
        if self.bracket:
            return interval(self.low, self.high, digits)
        if any(end is not None and math.isinf(end) for end in (self.low, self.high)):
            return f"{estimate(self.value, None, None, digits)} (no interval)"
        return estimate(self.value, self.low, self.high, digits)

    def scaled(self, factor: float) -> tuple[float | None, float | None, float | None]:
        """Return value and interval times a positive factor."""
        low, high = self.low, self.high
        return (
            None if self.value is None else factor * self.value,
            None if low is None else factor * low,
            None if high is None else factor * high,
        )

    @classmethod
    def of(cls, found: Measure | Percentile | None, confidence: float) -> Value:
        """Return a measured mean or percentile with its replications."""
        if found is None:
            return cls(None)
        middle = found.mean if hasattr(found, "mean") else found.value
        each = tuple(found.each)
        if middle is not None and not each and found.low is None and found.high is None:
            # Without an interval the error is unknown, so the value must not count as exact.
            each = (middle,)
        return cls(middle, found.low, found.high, each=each, confidence=confidence)

    def over(self, other: Value) -> Value:
        """Return `self` divided by `other`, both non-negative. The result has no value if `other`
        is zero.
        """
        return compare("ratio", [self, other])

    def minus(self, other: Value) -> Value:
        """Return `self` minus `other`, with the interval of the difference."""
        return compare("difference", [self, other])


def compare(operation: str | dict[str, list[float]], operands: Sequence[Value]) -> Value:
    """Return the result of an operation of the core on numbers, the only way to compare results.

    `operation` is ``ratio``, ``difference``, ``sum``, ``percent_more``, ``percent_less``,
    ``geometric_mean`` or ``{"mean": weights}``. Replications of the same number are compared in
    pairs. The value is None if an operand has none, or if the result is undefined, as for a ratio
    to zero.
    """
    if any(each.value is None for each in operands):
        return Value(None)
    confidence = max((each.confidence for each in operands), default=CONFIDENCE)
    question = {
        "operation": operation,
        "operands": [_operand(each) for each in operands],
        "confidence": confidence,
    }
    found = json.loads(ask(_core.compare, json.dumps(question)))
    bracket = any(each.bracket for each in operands)
    return _value(found, bracket, confidence)


@dataclass(frozen=True)
class Compared:
    """The comparison of two numbers of results: their difference and ratio."""

    difference: Value
    """The second number minus the first."""
    ratio: Value
    """The second number divided by the first; without a value if the first is zero."""
    differs: bool
    """Whether the two numbers differ, at the joint confidence of all comparisons."""


def differences(pairs: Sequence[tuple[Value, Value]], confidence: float) -> list[Compared]:
    """Compare the second number of each pair with the first, by the core.

    All comparisons are joint: the probability of any false difference is at most ``1 -
    confidence``. Every number must have a value.
    """
    question = {
        "pairs": [[_operand(first), _operand(second)] for first, second in pairs],
        "confidence": confidence,
    }
    answers = json.loads(ask(_core.differences, json.dumps(question)))
    return [
        Compared(
            _value(each["difference"], False, confidence),
            _value(each["ratio"], False, confidence),
            each["differs"],
        )
        for each in answers
    ]


def _operand(value: Value) -> dict[str, object]:
    """Convert a number to the form that the Rust core reads."""
    low, high = _end(value.low), _end(value.high)
    return {"value": value.value, "low": low, "high": high, "each": value.each}


def _value(found: dict[str, Any] | None, bracket: bool, confidence: float) -> Value:
    """Convert a quantity from the Rust core to a `Value`, without a number if `found` is None."""
    if found is None:
        return Value(None)
    each = tuple(found["each"])
    return Value(found["value"], found["low"], found["high"], bracket, None, each, confidence)


def _end(end: float | None) -> float | None:
    """Return an end of an interval; None if it is infinite."""
    return None if end is None or math.isinf(end) else end

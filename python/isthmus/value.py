"""A number with its interval. Arithmetic between measures is the core's."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isthmus.wording import estimate, interval

if TYPE_CHECKING:
    from isthmus.results.schema import Measure, Percentile

CONFIDENCE = 0.95
"""Of a number that nobody says it of: an exact one, or a bracket."""


@dataclass(frozen=True)
class Value:
    """A number with its interval, or words."""

    value: float | None
    low: float | None = None
    high: float | None = None
    bracket: bool = False
    """Whether the interval is a bracket of a search rather than one of confidence."""
    words: str | None = None
    """In place of a number."""
    each: tuple[float, ...] = field(default=(), repr=False, compare=False)
    """What each replication says, where it is of any."""
    confidence: float = field(default=CONFIDENCE, repr=False, compare=False)
    """Of its interval."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, infinite to a side of which nothing is known; the value itself where there
        is no interval; NaN where there is no value.
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
        """For people: ``11.5–11.9`` or ``3.32 ± 0.02``."""
        return self.told()

    def told(self, digits: int = 3) -> str:
        """The same, with so many digits or, of an interval, as many as it has."""
        if self.words is not None:
            return self.words
        if self.bracket:
            return interval(self.low, self.high, digits)
        if any(end is not None and math.isinf(end) for end in (self.low, self.high)):
            return f"{estimate(self.value, None, None, digits)} (no interval)"
        return estimate(self.value, self.low, self.high, digits)

    def scaled(self, factor: float) -> tuple[float | None, float | None, float | None]:
        """Value and interval times a positive factor."""
        low, high = self.low, self.high
        return (
            None if self.value is None else factor * self.value,
            None if low is None else factor * low,
            None if high is None else factor * high,
        )

    @classmethod
    def of(cls, found: Measure | Percentile | None, confidence: float) -> Value:
        """A measured mean or percentile, with what each replication says of it."""
        if found is None:
            return cls(None)
        middle = found.mean if hasattr(found, "mean") else found.value
        each = tuple(found.each)
        if middle is not None and not each and found.low is None and found.high is None:
            # Not exact: it is not known how far it may be off.
            each = (middle,)
        return cls(middle, found.low, found.high, each=each, confidence=confidence)

    def over(self, other: Value) -> Value:
        """The quotient of two numbers that cannot be negative; none over zero."""
        return compare("ratio", [self, other])

    def minus(self, other: Value) -> Value:
        """The difference."""
        return compare("difference", [self, other])


def compare(operation: str | dict[str, list[float]], operands: Sequence[Value]) -> Value:
    """What comes out of an operation on numbers, by the core: the one way to compare results.

    `operation` is ``ratio``, ``difference``, ``sum``, ``percent_more``, ``percent_less``,
    ``geometric_mean`` or ``{"mean": weights}``. Replications of the same number are compared in
    pairs. The value is None where an operand has none, or where there is none, as over zero.
    """
    from isthmus import _core
    from isthmus.core import ask

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
    """How the second of two numbers differs from the first."""

    difference: Value
    """The second less the first."""
    ratio: Value
    """The second over the first; no number where there is none, as over zero."""
    differs: bool
    """Whether they differ, at the confidence of all comparisons made together."""


def differences(pairs: Sequence[tuple[Value, Value]], confidence: float) -> list[Compared]:
    """How the second number of each pair differs from the first, by the core.

    All are judged together: that any is said to differ where none does has a chance of
    ``1 - confidence`` at most. Every number has a value.
    """
    from isthmus import _core
    from isthmus.core import ask

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
    low, high = _end(value.low), _end(value.high)
    return {"value": value.value, "low": low, "high": high, "each": value.each}


def _value(found: dict[str, Any] | None, bracket: bool, confidence: float) -> Value:
    """A quantity of the core; no number where it has none."""
    if found is None:
        return Value(None)
    each = tuple(found["each"])
    return Value(found["value"], found["low"], found["high"], bracket, None, each, confidence)


def _end(end: float | None) -> float | None:
    """An end of an interval, None where there is none."""
    return None if end is None or math.isinf(end) else end

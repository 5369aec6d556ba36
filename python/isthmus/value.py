"""A number with its interval, for arithmetic between measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isthmus.wording import estimate, interval


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

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; the value itself where there is none; NaN where there is no value."""
        middle = math.nan if self.value is None else self.value
        return (
            middle if self.low is None else self.low,
            middle if self.high is None else self.high,
        )

    @property
    def text(self) -> str:
        """For people: ``11.5–11.9`` or ``3.32 ± 0.02``."""
        if self.words is not None:
            return self.words
        if self.bracket:
            return interval(self.low, self.high)
        if any(end is not None and math.isinf(end) for end in (self.low, self.high)):
            return f"{estimate(self.value, None, None)} (no interval)"
        return estimate(self.value, self.low, self.high)

    def scaled(self, factor: float) -> tuple[float | None, float | None, float | None]:
        """Value and interval times a positive factor."""
        low, high = self.low, self.high
        return (
            None if self.value is None else factor * self.value,
            None if low is None else factor * low,
            None if high is None else factor * high,
        )

    def over(self, other: Value) -> Value:
        """The quotient of two positive values."""
        if self.value is None or not other.value:
            return Value(None)
        (a_low, a_high), (b_low, b_high) = self.ends, other.ends
        if b_low <= 0:
            return Value(self.value / other.value)
        return self._with_interval(other, self.value / other.value, a_low / b_high, a_high / b_low)

    def plus(self, other: Value) -> Value:
        """The sum."""
        if self.value is None or other.value is None:
            return Value(None)
        (a_low, a_high), (b_low, b_high) = self.ends, other.ends
        return self._with_interval(other, self.value + other.value, a_low + b_low, a_high + b_high)

    def minus(self, other: Value) -> Value:
        """The difference."""
        if self.value is None or other.value is None:
            return Value(None)
        (a_low, a_high), (b_low, b_high) = self.ends, other.ends
        return self._with_interval(other, self.value - other.value, a_low - b_high, a_high - b_low)

    def above(self, other: Value) -> Value:
        """How many percent more this is than `other`; both are positive."""
        ratio = self.over(other)
        if ratio.value is None:
            return ratio
        low, high = (100 * (end - 1) for end in ratio.ends)
        return ratio._with_interval(ratio, 100 * (ratio.value - 1), low, high)

    def below(self, other: Value) -> Value:
        """How many percent less this is than `other`; both are positive."""
        more = self.above(other)
        if more.value is None:
            return more
        low, high = more.ends
        return more._with_interval(more, -more.value, -high, -low)

    def _with_interval(self, other: Value, middle: float, low: float, high: float) -> Value:
        """Without an interval where neither part has one."""
        if self.low is None and other.low is None:
            return Value(middle)
        return Value(middle, low, high, self.bracket or other.bracket)

"""Arithmetic of values with intervals: the one place where claims get theirs.

Two measures of the same replications are compared in pairs by the core. Else the interval of a
result holds every number that the operation gives for numbers within the intervals of its parts:
nothing is assumed of how these vary together, so that it is too wide rather than too narrow. Where
a part has no interval it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import add, mul, sub

from isthmus.value import Value, compare

Ends = tuple[float, float]


def negative(a: Value) -> Value:
    """Less than nothing by as much."""
    return _combined(Value(0.0), a, sub)


def joined(sign: str, a: Value, b: Value) -> Value:
    """``a sign b``, for one of the operators of a claim; `Value(None)` where it has no value."""
    if sign in _PAIRED and len(a.each) == len(b.each) > 1:
        found = compare(_PAIRED[sign], [a, b])
        low = -math.inf if found.low is None else found.low
        high = math.inf if found.high is None else found.high
        return found if found.value is None else replace(found, low=low, high=high)
    return _OPERATORS[sign](a, b)


def over(a: Value, b: Value) -> Value:
    """The quotient; of any size where the divisor may be 0."""
    if a.value is None or b.value is None or b.value == 0:
        return Value(None)
    low, high = b.ends
    if low <= 0 <= high:
        return Value(a.value / b.value, -math.inf, math.inf, a.bracket or b.bracket)
    return _combined(a, b, lambda x, y: x / y)


def above(a: Value, b: Value) -> Value:
    """How many percent more `a` is than `b`."""
    return plus(times(Value(100.0), over(a, b)), Value(-100.0))


def below(a: Value, b: Value) -> Value:
    """How many percent less `a` is than `b`."""
    return negative(above(a, b))


def plus(a: Value, b: Value) -> Value:
    """The sum."""
    return _combined(a, b, add)


def minus(a: Value, b: Value) -> Value:
    """The difference."""
    return _combined(a, b, sub)


def times(a: Value, b: Value) -> Value:
    """The product."""
    return _combined(a, b, mul)


def _combined(a: Value, b: Value, operation: Callable[[float, float], float]) -> Value:
    """An operation that rises or falls with each part: its extremes lie at the ends."""
    if a.value is None or b.value is None:
        return Value(None)
    middle = operation(a.value, b.value)
    if a.low is None and b.low is None:
        return Value(middle) if math.isfinite(middle) else Value(None)
    low, high = _extremes(operation(x, y) for x in a.ends for y in b.ends)
    return Value(middle, low, high, a.bracket or b.bracket)


def _extremes(corners: Iterable[float]) -> Ends:
    """The smallest and the largest; without bounds where an end was without one."""
    found = list(corners)
    if any(math.isnan(each) for each in found):
        return -math.inf, math.inf
    return min(found), max(found)


_PAIRED = {
    "+": "sum",
    "-": "difference",
    "/": "ratio",
    "above": "percent_more",
    "below": "percent_less",
}
"""Operators that the core knows, by its names."""

_OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": plus,
    "-": minus,
    "*": times,
    "/": over,
    "above": above,
    "below": below,
}

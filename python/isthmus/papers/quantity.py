"""Arithmetic of values with intervals, the only source of the intervals of claims.

The core compares two measures of the same replications in pairs. In all other cases the interval of
a result contains every result for numbers within the intervals of its operands. No assumption is
made on how these vary together, so the interval is too wide rather than too narrow. An operand
without an interval is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from operator import add, mul, sub, truediv

from isthmus.errors import IsthmusError
from isthmus.value import Value, compare

PAIRED = {add: "sum", sub: "difference", truediv: "ratio"}
"""The core's names of the operations that compare measures of the same replications."""


class Quantity(Value):
    """A value that supports the operators ``+``, ``-``, ``*`` and ``/``, as a number does."""

    def __add__(self, other: Operand) -> Quantity:
        """Return the sum of this value and another, with its interval."""
        return _combined(add, self, other)

    def __radd__(self, other: Operand) -> Quantity:
        """Return the sum of a number and this value, with its interval."""
        return _combined(add, other, self)

    def __sub__(self, other: Operand) -> Quantity:
        """Return this value minus another, with its interval."""
        return _combined(sub, self, other)

    def __rsub__(self, other: Operand) -> Quantity:
        """Return a number minus this value, with its interval."""
        return _combined(sub, other, self)

    def __mul__(self, other: Operand) -> Quantity:
        """Return the product of this value and another, with its interval."""
        return _combined(mul, self, other)

    def __rmul__(self, other: Operand) -> Quantity:
        """Return the product of a number and this value, with its interval."""
        return _combined(mul, other, self)

    def __truediv__(self, other: Operand) -> Quantity:
        """Return this value divided by another, with its interval."""
        return _combined(truediv, self, other)

    def __rtruediv__(self, other: Operand) -> Quantity:
        """Return a number divided by this value, with its interval."""
        return _combined(truediv, other, self)

    def __neg__(self) -> Quantity:
        """Return the value with the opposite sign, and its interval."""
        return 0 - self

    def above(self, other: Operand) -> Quantity:
        """Return by how many percent this exceeds `other`."""
        return _paired("percent_more", self, numeric(other)) or 100 * (self / other) - 100

    def below(self, other: Operand) -> Quantity:
        """Return by how many percent this is below `other`."""
        return _paired("percent_less", self, numeric(other)) or -(100 * (self / other) - 100)


Operand = Value | float


def quantity(given: object) -> Quantity:
    """Convert a number, words or None to a quantity.

    Raises:
        IsthmusError: it is of another type.

    """
    match given:
        case Quantity():
            return given
        case Value():
            return Quantity(**vars(given))
        case str():
            return Quantity(None, words=given)
        case int() | float() if not isinstance(given, bool):
            return Quantity(float(given))
        case None:
            return Quantity(None)
    raise IsthmusError(f"{given!r} stands where a number must")


def numeric(given: object) -> Quantity:
    """Convert a number or None to a quantity (a value with an interval).

    Raises:
        IsthmusError: it is words, or of another type.

    """
    found = quantity(given)
    if found.words is not None:
        raise IsthmusError(f"{found.words!r} stands where a number must")
    return found


def _paired(operation: str, a: Quantity, b: Quantity) -> Quantity | None:
    """Compare two measures replication by replication, with an operation of the core.

    Return None if they do not have the same replications.
    """
    if not len(a.each) == len(b.each) > 1:
        return None
    found = quantity(compare(operation, [a, b]))
    if found.value is None:
        return found
    low = -math.inf if found.low is None else found.low
    return replace(found, low=low, high=math.inf if found.high is None else found.high)


def _combined(
    operation: Callable[[float, float], float], first: Operand, second: Operand
) -> Quantity:
    """Return ``first operation second``, without a value if it is undefined, as for a division by
    zero.
    """
    a, b = numeric(first), numeric(second)
    if operation in PAIRED and (found := _paired(PAIRED[operation], a, b)):
        return found
    if a.value is None or b.value is None or (operation is truediv and b.value == 0):
        return Quantity(None)
    middle = operation(a.value, b.value)
    if a.low is None and b.low is None:
        return Quantity(middle if math.isfinite(middle) else None)
    low, high = -math.inf, math.inf
    if not (operation is truediv and b.ends[0] <= 0 <= b.ends[1]):
        # Operations are monotonic in each operand, so their extremes are at the ends.
        corners = [operation(x, y) for x in a.ends for y in b.ends]
        if not any(math.isnan(each) for each in corners):
            low, high = min(corners), max(corners)
    return Quantity(middle, low, high, a.bracket or b.bracket)

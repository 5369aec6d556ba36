"""Claims about intervals: true, false, or undecided (`None`).

A comparison is true if it holds for all numbers within the intervals of both sides, and false if it
holds for none. A wide interval never makes a comparison true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from isthmus.papers.quantity import Operand, numeric
from isthmus.papers.tolerance import Tolerance
from isthmus.value import Value

Truth = bool | None
DIGITS = range(3, 7)
"""Numbers of significant digits to try: the first one is used with which different values have
different texts.
"""


@dataclass(frozen=True)
class Claim:
    """The outcome of a comparison of numbers: whether the claim holds (`None` if undecided),
    and the comparison as text.
    """

    holds: Truth
    text: str

    def __bool__(self) -> bool:
        """Raise a TypeError: an undecided claim is neither true nor false, so `and` and `if`
        must not be used.
        """
        raise TypeError("a claim may be undecided; write a list of claims in place of `and`")


def each_with_next(sign: str, test: Callable[[Value, Value], Truth], *given: Operand) -> Claim:
    """Return the claim that a test holds between each value and the next one, with the text of all
    values, such as ``a > b > c``; `sign` is the text between two values.

    Raises:
        IsthmusError: a value is not a number.

    """
    values = [numeric(each) for each in given]
    texts: list[str] = []
    for digits in DIGITS:
        # Take the first number of digits with which different values have different texts.
        texts = [value.told(digits) for value in values]  # codespell:ignore told
        pairs = zip(pairwise(values), pairwise(texts), strict=True)
        if all(one != other or a.value == b.value for (a, b), (one, other) in pairs):
            break
    return Claim(all_of(test(a, b) for a, b in pairwise(values)), f" {sign} ".join(texts))


def all_of(parts: Iterable[Truth]) -> Truth:
    """Return False if any of `parts` is False. Otherwise return None (undecided) if any is
    None, else True.
    """
    found = list(parts)
    if False in found:
        return False
    return None if None in found else True


def greater(a: Value, b: Value) -> Truth:
    """Return whether `a` is greater than `b`; None if a value is unknown or this is undecided."""
    if a.value is None or b.value is None:
        return None
    (a_low, a_high), (b_low, b_high) = a.ends, b.ends
    if a_low > b_high:
        return True
    return False if a_high <= b_low else None


def alike(a: Value, b: Value, tolerance: Tolerance) -> Truth:
    """Return whether two values differ by no more than the tolerance; None if a value is unknown or
    this is undecided. A relative tolerance refers to the larger value.

    The excess over the tolerance grows with the distance of the two values. So it is largest at two
    of the ends, and smallest where the intervals are nearest to each other.
    """
    if a.value is None or b.value is None:
        return None

    def exceeds(x: float, y: float) -> bool:
        """Return whether two numbers differ by more than `tolerance`, which has an absolute and a
        relative part.
        """
        return abs(x - y) > tolerance.amount + tolerance.share * max(abs(x), abs(y))

    (a_low, a_high), (b_low, b_high) = a.ends, b.ends
    if not (exceeds(a_low, b_high) or exceeds(a_high, b_low)):
        return True
    if a_low > b_high:
        return False if exceeds(a_low, b_high) else None
    if b_low > a_high:
        return False if exceeds(a_high, b_low) else None
    return None


def within(a: Value, low: float, high: float) -> Truth:
    """Return whether a value lies in the range from `low` to `high`; None if it is unknown or its
    interval only overlaps the range.
    """
    if a.value is None:
        return None
    a_low, a_high = a.ends
    if low <= a_low and a_high <= high:
        return True
    return False if a_high < low or a_low > high else None

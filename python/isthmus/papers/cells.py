"""Parsing of numbers, ranges and conditions in cells of tables."""

from __future__ import annotations

import re

from isthmus.core import overrides
from isthmus.errors import IsthmusError

Conditions = dict[str, str]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def number(text: str) -> float | None:
    """Parse a number with an optional sign; return `None` if it is invalid or too large."""
    found = re.fullmatch(rf"\s*([+\-−]?)({_NUMBER})\s*", text, re.ASCII)
    if found is None or (amount := float(found[2])) == float("inf"):
        return None
    return -amount if found[1] in ("-", "−") else amount


def number_range(text: str) -> tuple[float, float] | None:
    """Parse the ends of ``10-12.8``, ``-3 - -1`` or ``1e-3–2e-3``; a single number is both ends.

    Return `None` if the text is no range, or its first end is above its second.
    """
    signed = rf"[+\-−]?{_NUMBER}"
    found = re.fullmatch(rf"\s*({signed})(?:\s*[-–]\s*({signed}))?\s*", text, re.ASCII)
    if found is None:
        return None
    low, high = number(found[1]), number(found[2] or found[1])
    if low is None or high is None or low > high:
        return None
    return low, high


def settings(text: str) -> tuple[str, ...]:
    """Split a cell of the form ``key=value; key=value`` into its ``key=value`` texts.

    Raises:
        IsthmusError: the text has another form.

    """
    return tuple(overrides(tuple(word.strip() for word in text.split(";") if word.strip())))


def conditions(text: str) -> Conditions:
    """Parse a cell of the form ``key=value; key=value`` into a dictionary.

    Raises:
        IsthmusError: the text has another form, or gives a key twice.

    """
    found: Conditions = {}
    for word in settings(text):
        key, _, value = (part.strip() for part in word.partition("="))
        if key in found:
            raise IsthmusError(f"{key!r} is given twice")
        found[key] = value
    return found

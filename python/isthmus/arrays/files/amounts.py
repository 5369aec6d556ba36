"""Amounts of data with units, in the notation of scenarios."""

from __future__ import annotations

import re
from fractions import Fraction

from isthmus.arguments import shown
from isthmus.errors import IsthmusError

UNITS = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), start=1)},
}
"""Number of bytes of each unit of data."""
_FORM = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")


def bytes_of(name: str, value: object, least: int, most: int) -> int:
    """Return the bytes of an amount of data such as ``"1 MiB"``.

    Raises:
        IsthmusError: the unit is missing, or the bytes are not a whole number from `least` to
            `most`.

    """
    right = 'write a number and a unit, for example "1 MiB"'
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise IsthmusError(f"{name}: {shown(value)} is no amount of data; {right}")
    number, unit = found.groups()
    if unit not in UNITS:
        problem = f"`{unit}` is not a unit of data" if unit else "the unit is missing"
        raise IsthmusError(f'{name}: "{value}": {problem}; use one of {", ".join(UNITS)}')
    amount = Fraction(number) * UNITS[unit]
    if amount.denominator != 1:
        raise IsthmusError(f'{name}: "{value}" is not a whole number of bytes')
    if not least <= amount <= most:
        raise IsthmusError(f'{name}: "{value}"; it is from {text_of(least)} to {text_of(most)}')
    return int(amount)


def text_of(count: int) -> str:
    """Return a number of bytes as text, in the largest unit without a fraction."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % UNITS[unit] == 0:
            return f"{count // UNITS[unit]} {unit}"
    return f"{count} B"

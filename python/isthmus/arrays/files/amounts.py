"""Amounts of data with their units, as scenarios write them."""

from __future__ import annotations

import re
from fractions import Fraction

from isthmus.arguments import shown
from isthmus.errors import IsthmusError

UNITS = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), start=1)},
}
"""Bytes of each."""
_FORM = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")


def bytes_of(name: str, value: object, least: int, most: int) -> int:
    """The bytes of an amount of data such as ``"1 MiB"``.

    Raises:
        IsthmusError: it has no unit, is no whole number of bytes, or not from `least` to `most`.

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
        raise IsthmusError(f'{name}: "{value}"; it is from {told(least)} to {told(most)}')
    return int(amount)


def told(count: int) -> str:
    """An amount of data in the largest unit that it is a whole number of."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % UNITS[unit] == 0:
            return f"{count // UNITS[unit]} {unit}"
    return f"{count} B"

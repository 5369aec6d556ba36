"""Sizes and times as users write them."""

from __future__ import annotations

import json
import math
import operator
import re

from isthmus.arguments import refuse, shown
from isthmus.arrays.files.amounts import bytes_of
from isthmus.errors import IsthmusError

SIZE_MAX = 1 << 62
_TIME = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)\s*")
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def parse_size(name: str, value: object, least: int = 1) -> int:
    """Convert a size to bytes: a number of bytes, or text with a unit such as ``"1 MiB"``.

    `name` is the argument that errors name, `least` the minimum.

    Raises:
        IsthmusError: the value is neither, or too small.

    """
    if isinstance(value, str):
        return bytes_of(name, value, least, SIZE_MAX)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= SIZE_MAX:
        right = f'a number of bytes, {least} or more, or text with a unit, such as "1 MiB"'
        raise refuse(name, value, right)
    return value


def seconds(name: str, value: object) -> float | None:
    """Convert a time such as ``"10 s"`` to seconds, `math.inf` to None; errors name `name`.

    Raises:
        IsthmusError: the value is neither.

    """
    if isinstance(value, float) and value == math.inf:
        return None
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        right = 'text with a unit, such as "10 s", or math.inf'
        raise refuse(name, value, right)
    number, unit = found.groups()
    if unit not in _TIMES:
        problem = f"`{unit}` is not a unit of time" if unit else "the unit is missing"
        raise IsthmusError(f"{name}: {shown(value)}: {problem}; use one of {', '.join(_TIMES)}")
    return float(number) * _TIMES[unit]


def as_json(request: object) -> str:
    """Encode a request to the daemon as JSON; whole numbers may have a numpy type."""
    return json.dumps(request, default=operator.index)

"""Arguments of the package's functions: of the right type, or an error that names them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from isthmus.columns import cut, flat
from isthmus.errors import IsthmusError

SEED_MAX = 2**64 - 1
SECONDS_MAX = 1000 * 365 * 86400.0
"""More than anybody waits."""
TIME_UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units of times in seconds, as the core has them."""
_TIME = re.compile(
    r"\s*(?P<minus>-)?(?P<number>[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>[^\s0-9]+)\s*"
)
JOBS_MAX = 4096
"""Most threads that can be asked for."""
PES_MAX = 2**32 - 1
"""The largest number that the core takes."""
APPLICATIONS = ("sorting", "fft", "matrix-product", "grid", "io-bound", "search")
"""Applications that `balance` knows."""
FORMS = ("png", "svg")
"""The forms in which plots are written as files."""


def shown(value: object) -> str:
    """A value for a message: cut, in one line, whatever its `repr` does."""
    try:
        text = flat(repr(value))
    except Exception:
        text = f"<{type(value).__name__}>"
    return cut(text)


def refuse(name: str, value: object, right: str) -> IsthmusError:
    """An error that says what an argument is and what it should be."""
    kind = type(value).__name__
    what = shown(value)
    if isinstance(value, type):
        what, kind = value.__name__, "the class, not an object"
    return IsthmusError(f"{name}: {what} ({kind}) is of no use here; give {right}")


def one_of(name: str, value: object, kinds: tuple[type, ...], right: str) -> None:
    """Refuse what is of none of these kinds; True and False are no numbers."""
    flag = isinstance(value, bool) and bool not in kinds
    if flag or not isinstance(value, kinds):
        raise refuse(name, value, right)


def text(name: str, value: object, example: str) -> None:
    """Refuse what is not text."""
    one_of(name, value, (str,), f"text, such as {example!r}")
    if isinstance(value, str) and not utf8(value):
        raise refuse(name, value, f"text that UTF-8 can hold, such as {example!r}")


def utf8(value: str) -> bool:
    """Whether UTF-8 can hold it: it has no half of a pair of UTF-16."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def seconds(name: str, value: str, least: float, example: str, most: float = SECONDS_MAX) -> float:
    """A time with its unit, in seconds.

    Raises:
        IsthmusError: it is none, has no unit, or is less than `least` seconds or more than `most`.

    """
    number = _counted(value, "1 s")
    words = _TIME.fullmatch(value)
    if number is None and words and not words["minus"] and words["unit"] in TIME_UNITS:
        # The core takes no time of half a year; one who waits may be told of it.
        number = float(words["number"]) * TIME_UNITS[words["unit"]]
    if number is None:
        if words and words["minus"]:
            raise IsthmusError(
                f"{name}: {shown(value)} is less than nothing; give {least:g} s or more"
            )
        raise IsthmusError(
            f"{name}: {shown(value)} is no number with a unit of time; give a number and its "
            f"unit, such as {example!r} (units are s, min, h, and smaller ones)"
        )
    if number > most:
        raise IsthmusError(f"{name}: {shown(value)} is too long; give {most / 3600:,.0f} h or less")
    if number < least:
        raise IsthmusError(f"{name}: {shown(value)} is too little; give {least:g} s or more")
    return number


def amount(name: str, value: str, example: str) -> float:
    """An amount of memory with its unit, in bytes.

    Raises:
        IsthmusError: it is none, or has no unit.

    """
    number = _counted(value, "1 B")
    if number is None:
        raise IsthmusError(
            f"{name}: {shown(value)} is no amount of memory; give a number and its unit, such as "
            f"{example!r}"
        )
    return number


def _counted(value: str, one: str) -> float | None:
    """A quantity in the unit of another one; None if it is none of that kind."""
    import json

    from isthmus import _core
    from isthmus.core import ask

    (parsed,) = json.loads(ask(_core.quantities, json.dumps({"texts": [[one, value]]})))
    number = parsed["numbers"][1] if parsed["numbers"] else None
    return None if number is None else float(number)


def choice(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if not isinstance(value, str) or value not in known:
        words = [f'"{word}"' for word in known]
        raise IsthmusError(f"{name}: {shown(value)}; it is {', '.join(words[:-1])} or {words[-1]}")


def flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    one_of(name, value, (bool,), "True or False")


def path(name: str, value: object, example: str) -> None:
    """Refuse what cannot be the path of a file or folder."""
    one_of(name, value, (str, os.PathLike), f"a path, such as {example!r}")
    given = os.fsdecode(value)  # type: ignore[arg-type]
    if not given or "\0" in given or not utf8(given):
        raise refuse(name, value, f"a path, such as {example!r}")


def mapping(name: str, value: object, example: str) -> None:
    """Refuse what does not map text to something."""
    one_of(name, value, (Mapping,), f"a mapping, such as {example}")
    assert isinstance(value, Mapping)
    for each in value:
        if not isinstance(each, str):
            raise refuse(f"{name}: key", each, f"text, as in {example}")


def whole(name: str, value: object, least: int, most: int) -> None:
    """Refuse what is not a whole number in a range."""
    index: Any = value
    if not isinstance(value, int) and hasattr(value, "__index__"):
        with suppress(TypeError):  # a list of numpy has it, and refuses
            index = value.__index__()
    if isinstance(value, bool) or not isinstance(index, int) or not least <= index <= most:
        raise IsthmusError(
            f"{name}: {shown(value)} is impossible; give a whole number, {least} to {most}"
        )


def forms(name: str, value: object) -> tuple[str, ...]:
    """The forms of plots asked for: True is all of `FORMS`, False none.

    Raises:
        IsthmusError: it is neither, nor some of `FORMS`.

    """
    if isinstance(value, bool):
        return FORMS if value else ()
    if not isinstance(value, tuple | list) or not all(each in FORMS for each in value):
        raise refuse(name, value, "True, False or forms of plots, such as ('png', 'svg')")
    return tuple(value)


def items(what: str, given: Any) -> list[Any]:
    """Return the items of a list.

    Raises:
        IsthmusError: it is no list.

    """
    try:
        return list(given)
    except TypeError:
        raise refuse(what, given, "a list") from None


def same_lengths(what: str, **given: Any) -> list[list[Any]]:
    """Return lists that have one item for each dimension, in the order in which they are given.

    Raises:
        IsthmusError: their lengths differ.

    """
    found = {name: items(f"{what}: {name}", entries) for name, entries in given.items()}
    counts = {name: len(entries) for name, entries in found.items()}
    if len(set(counts.values())) > 1:
        lengths = [f"{name} {count}" for name, count in counts.items()]
        raise IsthmusError(
            f"{what}: dimensions of {', '.join(lengths[:-1])} and {lengths[-1]}; "
            "all have the same number"
        )
    return list(found.values())


def whole_numbers(what: str, numbers: Sequence[int], below: int, least: int = 0) -> list[int]:
    """Return whole numbers from `least` to before `below`.

    Raises:
        IsthmusError: another number, or no list.

    """
    import operator

    checked = []
    try:
        given = list(numbers)
    except TypeError:
        raise IsthmusError(f"{what}: {shown(numbers)}; it is a list of whole numbers") from None
    for number in given:
        try:
            one = operator.index(number)
        except TypeError:
            raise IsthmusError(f"{what}: {shown(number)}; it is a whole number") from None
        if not least <= one < below:
            raise IsthmusError(f"{what}: {one}; it is at least {least} and below {below}")
        checked.append(one)
    return checked

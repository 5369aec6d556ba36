"""Checks of the arguments of public functions; errors name the argument."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from isthmus.columns import cut, flat
from isthmus.errors import IsthmusError

SEED_MAX = 2**64 - 1
SECONDS_MAX = 1000 * 365 * 86400.0
"""Upper limit of times in arguments, in seconds: 1000 years."""
TIME_UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units of time in seconds, as in the core."""
_TIME = re.compile(
    r"\s*(?P<minus>-)?(?P<number>[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>[^\s0-9]+)\s*"
)
JOBS_MAX = 4096
"""Maximum number of threads that a run may request."""
PES_MAX = 2**32 - 1
"""Largest number of processing elements (PEs) that the Rust core accepts."""
APPLICATIONS = ("sorting", "fft", "matrix-product", "grid", "io-bound", "search")
"""Names of the applications that `balance` accepts."""
FORMS = ("png", "svg")
"""File formats in which plots can be written."""


def shown(value: object) -> str:
    """Return a value as one short line for an error message; if its `repr` fails, return the
    name of its type.
    """
    try:
        text = flat(repr(value))
    except Exception:
        text = f"<{type(value).__name__}>"
    return cut(text)


def refuse(name: str, value: object, right: str) -> IsthmusError:
    """Return the error for an invalid argument. Its text contains the name and the value of the
    argument, and `right`, which describes valid values.
    """
    kind = type(value).__name__
    what = shown(value)
    if isinstance(value, type):
        what, kind = value.__name__, "the class, not an object"
    return IsthmusError(f"{name}: {what} ({kind}) is of no use here; give {right}")


def one_of(name: str, value: object, kinds: tuple[type, ...], right: str) -> None:
    """Check that the type of an argument is one of `kinds`; raise an error otherwise. True and
    False do not count as numbers.
    """
    flag = isinstance(value, bool) and bool not in kinds
    if flag or not isinstance(value, kinds):
        raise refuse(name, value, right)


def text(name: str, value: object, example: str) -> None:
    """Check that an argument is a text; the error message contains an example of a valid one."""
    one_of(name, value, (str,), f"text, such as {example!r}")
    if isinstance(value, str) and not utf8(value):
        raise refuse(name, value, f"text that UTF-8 can hold, such as {example!r}")


def utf8(value: str) -> bool:
    """Return whether UTF-8 can encode a text: it has no unpaired surrogate."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def seconds(name: str, value: str, least: float, example: str, most: float = SECONDS_MAX) -> float:
    """Return an argument such as ``"10 min"`` in seconds.

    Raises:
        IsthmusError: the value is not a time, has no unit, or is outside `least` to `most` seconds.

    """
    import json

    from isthmus import _core
    from isthmus.core import ask

    (parsed,) = json.loads(ask(_core.quantities, json.dumps({"texts": [["1 s", value]]})))
    number = float(parsed["numbers"][1]) if parsed["numbers"] else None
    words = _TIME.fullmatch(value)
    if number is None and words and not words["minus"] and words["unit"] in TIME_UNITS:
        # Do not use the core's parser: it refuses times of half a year, which are valid timeouts.
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


def choice(name: str, value: object, known: Sequence[str]) -> None:
    """Check that an argument is one of the words in `known`; raise an error that names it
    otherwise.
    """
    if not isinstance(value, str) or value not in known:
        words = [f'"{word}"' for word in known]
        raise IsthmusError(f"{name}: {shown(value)}; it is {', '.join(words[:-1])} or {words[-1]}")


def flag(name: str, value: object) -> None:
    """Check that an argument is a bool; raise an error that names it otherwise."""
    one_of(name, value, (bool,), "True or False")


def path(name: str, value: object, example: str) -> None:
    """Check that an argument is a path; the error message contains the example of a valid one."""
    one_of(name, value, (str, os.PathLike), f"a path, such as {example!r}")
    given = os.fsdecode(value)  # type: ignore[arg-type]
    if not given or "\0" in given or not utf8(given):
        raise refuse(name, value, f"a path, such as {example!r}")


def token(name: str, file: str | os.PathLike[str]) -> str:
    """Return the token in a file. Errors name the argument `name`.

    Raises:
        IsthmusError: the file cannot be read, or has no token or several.

    """
    try:
        words = Path(file).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise IsthmusError(f"{name} {file}: {why}; give the file that the daemon has") from None
    if not words:
        raise IsthmusError(f"{name} {file}: it is empty; give the file that the daemon has")
    if len(words) > 1:
        raise IsthmusError(
            f"{name} {file}: it holds several words; a token is one, the only one there"
        )
    return words[0]


def mapping(name: str, value: object, example: str) -> None:
    """Check that an argument is a mapping with text keys. The error message names the argument and
    contains `example`.
    """
    one_of(name, value, (Mapping,), f"a mapping, such as {example}")
    assert isinstance(value, Mapping)
    for each in value:
        if not isinstance(each, str):
            raise refuse(f"{name}: key", each, f"text, as in {example}")


def whole(name: str, value: object, least: int, most: int) -> None:
    """Check that an argument is a whole number from `least` to `most`; raise an error that
    names it otherwise.
    """
    index: Any = value
    if not isinstance(value, int) and hasattr(value, "__index__"):
        with suppress(TypeError):  # numpy arrays have this method, but it fails
            index = value.__index__()
    if isinstance(value, bool) or not isinstance(index, int) or not least <= index <= most:
        raise IsthmusError(
            f"{name}: {shown(value)} is impossible; give a whole number, {least} to {most}"
        )


def forms(name: str, value: object) -> tuple[str, ...]:
    """Return the file formats in which an argument requests plots: True means all of `FORMS`, False
    means none.

    Raises:
        IsthmusError: the value is neither a bool nor some of `FORMS`.

    """
    if isinstance(value, bool):
        return FORMS if value else ()
    if not isinstance(value, tuple | list) or not all(each in FORMS for each in value):
        raise refuse(name, value, "True, False or forms of plots, such as ('png', 'svg')")
    return tuple(value)


def items(what: str, given: Any) -> list[Any]:
    """Return the items of an argument that must be a list; `what` is its name in errors.

    Raises:
        IsthmusError: the argument is not a list.

    """
    try:
        return list(given)
    except TypeError:
        raise refuse(what, given, "a list") from None


def same_lengths(what: str, **given: Any) -> list[list[Any]]:
    """Return arguments as lists, in the given order, after a check that all have the same length:
    one item for each dimension.

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
    """Return a list of whole numbers, after a check that each is from `least` to `below` - 1.
    `what` is the name of the argument in an error.

    Raises:
        IsthmusError: a number is outside this range, or the argument is not a list.

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

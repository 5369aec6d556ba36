"""Selection of the points of a result by their settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isthmus import arguments
from isthmus.columns import cut
from isthmus.errors import IsthmusError, meant
from isthmus.results.schema import RunResult, SearchResult
from isthmus.results.settings import Setting, Settings, columns
from isthmus.scenario_fields import attributes, plain

LISTED = 12
"""Maximum number of values that an error lists."""
NEAR = 1e-9
"""Values of a setting within this relative distance count as equal."""


def key_of(name: str, settings: Settings) -> str:
    """Return the key of a setting, from its key or an attribute of machine or workload.

    Raises:
        IsthmusError: the results have no such setting.

    """
    arguments.text("setting", name, "io_link_lanes")
    if name in settings:
        return name
    known = {short: key for short, key in attributes().items() if key in settings}
    key = known.get(name) or (f"workload.{name}" if name.startswith("jobs.") else name)
    if key in settings:
        return key
    varying = [key for key, each in settings.items() if not each.constant]
    otherwise = f"they differ in {', '.join(varying)}" if varying else "they differ in nothing"
    hint = meant(name, [*known, *settings], otherwise)
    raise IsthmusError(f"{name!r}: no setting of these results; {hint}")


def check_known(what: str, name: object, known: Iterable[str]) -> str:
    """Return a name if it is among the known names; `what` is the kind of name in the error.

    Raises:
        IsthmusError: the name is unknown; the message suggests a known one.

    """
    known = list(known)
    arguments.text(what, name, known[0] if known else "latency")
    if name not in known:
        listed = ", ".join(known[:LISTED]) + (", …" if len(known) > LISTED else "")
        hint = meant(str(name), known, f"there are {listed}" if known else "there is none")
        raise IsthmusError(f"no {what} {cut(repr(name))}; {hint}")
    return str(name)


def several(given: object) -> list[Any]:
    """Return one value, or those of a list, tuple or array, as a list of plain values."""
    values = plain(given, "sel")
    return values if isinstance(values, list) else [values]


def chosen(settings: Settings, where: Mapping[str, Any], points: Sequence[int]) -> list[int]:
    """Return the points among `points` (positions in the run) that have the requested settings.

    Raises:
        IsthmusError: the setting does not exist, or no point has such a value.

    """
    found = list(points)
    for name, wanted in where.items():
        fitting = set(_fitting(settings[key_of(name, settings)], name, wanted))
        found = [point for point in found if point in fitting]
    if where and points and not found:
        wanted = ", ".join(f"{name} = {arguments.shown(value)}" for name, value in where.items())
        raise IsthmusError(f"sel: no point has all of {wanted}; each of them is at some point")
    return found


def chosen_searches(run: RunResult, where: Mapping[str, Any]) -> list[SearchResult]:
    """Return the searches whose axes have these values.

    Raises:
        IsthmusError: an axis does not exist, or no search has such a value.

    """
    texts = [[v.text if v else None for v in search.values] for search in run.searches]
    settings = {
        axis.key: Setting(axis.key, [each[i] for each in texts]) for i, axis in enumerate(run.axes)
    }
    return [run.searches[i] for i in chosen(settings, where, range(len(texts)))]


def _fitting(setting: Setting, name: str, wanted: Any) -> list[int]:
    """Return the points at which a setting has one of the wanted values; refuse a value that no
    point has.
    """
    if isinstance(wanted, slice):
        return _points_within(setting, name, wanted)
    found: list[int] = []
    for value in several(wanted):
        at = _points_equal_to(setting, value)
        if not at:
            there = list(dict.fromkeys("none" if t is None else t for t in setting.texts))
            listed = ", ".join(there[:LISTED]) + (", …" if len(there) > LISTED else "")
            raise IsthmusError(
                f"{name}: {arguments.shown(value)} is none of its values; there are {cut(listed)}"
            )
        found += at
    return found


def _points_equal_to(setting: Setting, value: Any) -> list[int]:
    """Return the points at which a setting equals a value, as text or as a number."""
    text = value if isinstance(value, str) else str(value).lower()
    exact = [i for i, each in enumerate(setting.texts) if each == text]
    if exact or isinstance(value, bool):
        return exact
    numbers, (number,) = _as_numbers(setting, [value])
    if number is None:
        return []
    return [
        i for i, n in enumerate(numbers) if n is not None and math.isclose(n, number, rel_tol=NEAR)
    ]


def _points_within(setting: Setting, name: str, wanted: slice) -> list[int]:
    """Return the points at which a setting lies in a range."""
    numbers, (low, high) = _as_numbers(setting, [wanted.start, wanted.stop])
    missed = [
        end
        for end, number in ((wanted.start, low), (wanted.stop, high))
        if end is not None and number is None
    ]
    if missed or wanted.step is not None or not any(n is not None for n in numbers):
        raise arguments.refuse(name, wanted, "a range of its numbers, such as slice(1, 5)")
    found = [
        i
        for i, n in enumerate(numbers)
        if n is not None and (low is None or n >= low) and (high is None or n <= high)
    ]
    if not found:
        raise IsthmusError(f"{name}: none of its values is in {arguments.shown(wanted)}")
    return found


def _as_numbers(
    setting: Setting, wanted: Sequence[Any]
) -> tuple[list[float | None], list[float | None]]:
    """Return the values of a setting, and the wanted values, as numbers in one unit: that of the
    setting's first value.
    """
    of_text = [each if isinstance(each, str) else None for each in wanted]
    (column,) = columns([[*setting.texts, *of_text]])
    if column.numbers is None:
        (column,) = columns([setting.texts])
        asked: list[float | None] = [None] * len(wanted)
    else:
        asked = column.numbers[len(setting.texts) :]
    plainly = [
        float(each) if isinstance(each, int | float) and not isinstance(each, bool) else number
        for each, number in zip(wanted, asked, strict=True)
    ]
    return (column.numbers or [None] * len(setting.texts))[: len(setting.texts)], plainly

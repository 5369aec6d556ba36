"""Differences between two scenarios, in a few words."""

from __future__ import annotations

from isthmus.columns import cut

SHOWN = 3
"""Maximum number of differing fields that the comparison of two scenarios names."""
VALUE_MAX = 40
"""The maximum width of a value, in columns; the line shows two values for each field."""


def differences(kept: str, asked: str) -> str:
    """Describe the fields in which two effective scenarios differ; empty if `kept` is empty.

    Both texts have the core's form: one field per line, below its table. Example of a result:
    ``workload.locality is 0.5 there and 0.2 here; ...``.
    """
    there, here = _fields(kept), _fields(asked)
    if not there:
        return ""
    names = [name for name in dict.fromkeys([*there, *here]) if there.get(name) != here.get(name)]
    parts = [f"{n} is {_short(there.get(n))} there and {_short(here.get(n))} here" for n in names]
    if len(parts) > SHOWN:
        parts[SHOWN:] = [f"{len(parts) - SHOWN} more"]
    return "; ".join(parts)


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a scenario file by key, without title and description, which change no
    result.
    """
    found, table = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif " = " in line:
            name, _, value = line.partition(" = ")
            found[table + name] = value
    for words in ("title", "description"):
        found.pop(words, None)
    return found


def _short(value: str | None) -> str:
    """Return a value cut to `VALUE_MAX` columns, or ``left out`` if there is none."""
    if value is None:
        return "left out"
    return cut(value, VALUE_MAX)

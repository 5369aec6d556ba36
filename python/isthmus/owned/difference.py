"""What two scenarios differ in, in a few words."""

from __future__ import annotations

from isthmus.columns import cut

SHOWN = 3
"""Most fields named."""
VALUE_MAX = 40
"""Columns of a value: two of each field stand in the line."""


def differences(kept: str, asked: str) -> str:
    """``workload.locality is 0.5 there and 0.2 here; ...``; empty if nothing is known.

    Both are effective scenarios in the core's form: a field a line, below its table.
    """
    there, here = _fields(kept), _fields(asked)
    if not there:
        return ""
    names = [name for name in dict.fromkeys([*there, *here]) if there.get(name) != here.get(name)]
    told = [f"{n} is {_short(there.get(n))} there and {_short(here.get(n))} here" for n in names]
    if len(told) > SHOWN:
        told[SHOWN:] = [f"{len(told) - SHOWN} more"]
    return "; ".join(told)


def _fields(text: str) -> dict[str, str]:
    """Fields by their key; title and description change no result."""
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
    if value is None:
        return "left out"
    return cut(value, VALUE_MAX)

"""User input outside of scenarios: options, and fields of a TOML file with their positions.

The core reads the file and its changes, and returns the position of each value. An error names file
and line (or the change), field, problem and correction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from isthmus import _core
from isthmus.columns import cut, flat
from isthmus.core import ask
from isthmus.errors import IsthmusError, meant

_BARE = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
"""Pattern of a number without a unit."""
WHOLE_MAX = 2**63 - 1
"""Largest whole number that TOML supports."""
LIST_MAX = 1 << 20
"""Maximum number of items of a list in a user's file or option."""

_UNITS = {
    "an amount of data": ("B", '"64 KiB"', 1e18),
    "a time": ("s", '"10 us"', 86_400),
    "a bandwidth": ("B/s", '"5 GB/s"', 1e18),
}
"""Physical quantities, each with its base unit, an example, and the maximum."""


@dataclass(frozen=True)
class Given:
    """A value that a user has passed in a TOML file or an option, with its position for errors."""

    at: str
    """Position for errors: file and line, or the change."""
    field: str
    """Dotted key of the field."""
    kind: str
    """Type of the value: ``table``, ``list``, ``text``, ``integer``, ``number``, ``flag`` or
    ``other``.
    """
    value: Any

    def wrong(self, problem: str, right: str) -> IsthmusError:
        """Return an error on the value, with position, problem and correction."""
        field = f"{self.field}: " if self.field else ""
        return IsthmusError(f"{self.at}: {field}{problem}; {right}")

    def described(self) -> str:
        """Return a description of the value for an error."""
        if self.kind == "text":
            return f'the text "{cut(flat(self.value))}"'
        if self.kind in ("integer", "number"):
            return f"the number {self.value}"
        if self.kind == "flag":
            return "true" if self.value else "false"
        return {"table": "a table", "list": "a list"}.get(self.kind, str(self.value))

    def expected(self, what: str, example: str) -> IsthmusError:
        """Return the error that the value has the wrong type: `what` is expected."""
        return self.wrong(f"{self.described()} where {what} is expected", f"write {example}")

    def items(self, what: str, example: str) -> list[Given]:
        """Return the items of the value, which must be a list.

        Raises:
            IsthmusError: the value is not a list, or has too many items.

        """
        if self.kind != "list":
            raise self.expected(what, example)
        if len(self.value) > LIST_MAX:
            raise self.wrong(f"a list of {len(self.value):,} items", f"give at most {LIST_MAX:,}")
        return [given(item, f"{self.field}[{at}]") for at, item in enumerate(self.value)]

    def whole(self, least: int, most: int = WHOLE_MAX) -> int:
        """Return the value, which must be a whole number in a range.

        Raises:
            IsthmusError: the value is not a whole number, or is outside the range.

        """
        to = f"{least} or more" if most == WHOLE_MAX else f"{least} to {most}"
        if self.kind != "integer":
            raise self.expected("a whole number", f"a whole number, {to}")
        if not least <= self.value <= most:
            raise self.wrong(f"{self.value} is out of range", f"give {to}")
        return int(self.value)

    def wholes(self, least: int, example: str) -> list[int]:
        """Return the value, which must be a non-empty list of whole numbers.

        Raises:
            IsthmusError: the value is not such a list, or a number is below `least`.

        """
        found = [each.whole(least) for each in self.items("a list of whole numbers", example)]
        if not found:
            raise self.wrong("an empty list", f"write {example}")
        return found

    def word(self, words: Sequence[str]) -> str:
        """Return the value, which must be one of `words`.

        Raises:
            IsthmusError: the value is not one of these words.

        """
        known = ", ".join(f'"{word}"' for word in words)
        if self.kind != "text":
            raise self.expected("a word", f"one of {known}")
        if self.value not in words:
            hint = meant(str(self.value), words, f"it is one of {known}")
            raise self.wrong(f'"{cut(flat(self.value))}" is not known here', hint)
        return str(self.value)

    def text(self, example: str) -> str:
        """Return the value, which must be a text.

        Raises:
            IsthmusError: the value is not text.

        """
        if self.kind != "text":
            raise self.expected("a text", example)
        return str(self.value)

    def quantity(self, what: str, least: float = 0.0) -> float:
        """Return the value, which must be a number with a unit: ``an amount of data`` in bytes,
        ``a time`` in seconds, ``a bandwidth`` in bytes per second.

        Raises:
            IsthmusError: the unit is missing or of another kind, or the number is too small.

        """
        unit, example, most = _UNITS[what]
        bare = self.kind == "text" and _BARE.fullmatch(self.value)
        if bare or self.kind in ("integer", "number"):
            number = cut(str(self.value).strip())
            # Suggest the user's number only if it would be accepted.
            meant_ = f'"{number} {unit}"' if least <= float(self.value) <= most else example
            raise self.wrong(
                f"the unit of {number} is missing",
                f"write {what} with its unit, for example {meant_}",
            )
        if self.kind != "text":
            raise self.expected(what, example)
        question = {"texts": [[f"1 {unit}", self.value]]}
        (parsed,) = json.loads(ask(_core.quantities, json.dumps(question)))
        if not parsed["numbers"] or parsed["numbers"][1] is None:
            problem = f'"{cut(flat(self.value))}" is not {what}'
            raise self.wrong(problem, f"write a number and its unit, {example}")
        found = float(parsed["numbers"][1])
        if found < least:
            smallest = "above 0" if 0 < least <= 1e-9 else f"{least:g} {unit} or more"
            raise self.wrong(f'"{cut(flat(self.value))}" is too little', f"give {smallest}")
        if found > most:
            raise self.wrong(
                f'"{cut(flat(self.value))}" is too much', f"give {most:g} {unit} or less"
            )
        return found

    def data(self, least: int = 1) -> int:
        """Return the value, which must be an amount of data, in whole bytes.

        Raises:
            IsthmusError: the value is not an amount of data, or is below `least`.

        """
        return round(self.quantity("an amount of data", least))


def given(node: dict[str, Any], field: str) -> Given:
    """Convert a node of the TOML tree that the core parsed to the value of `field`."""
    (kind,) = (key for key in node if key != "at")
    return Given(node["at"], field, kind, node[kind])


class Table:
    """A table of a TOML file, with methods that read its fields and report unknown ones."""

    def __init__(self, table: Given, at: str) -> None:
        """Create a table from a value; `at` is the position of its key for errors.

        Raises:
            IsthmusError: the value is not a table.

        """
        if table.kind != "table":
            raise Given(at, table.field, table.kind, table.value).expected(
                "a table", f"fields under [{table.field}]"
            )
        self.at = at
        self.field = table.field
        self._known: list[str] = []
        self._fields: dict[str, tuple[str, Given]] = {}
        for key, place, node in table.value:
            self._fields[key] = (place, given(node, self.key(key)))

    def key(self, name: str) -> str:
        """Return the dotted key of a field of the table, such as ``device.disks``."""
        return f"{self.field}.{name}" if self.field else name

    def get(self, name: str) -> Given | None:
        """Return the value of a field, or None if the file does not contain it."""
        self._known.append(name)
        found = self._fields.get(name)
        return found[1] if found else None

    def need(self, name: str, example: str) -> Given:
        """Return the value of a required field.

        Raises:
            IsthmusError: the field is missing.

        """
        found = self.get(name)
        if found is None:
            near = get_close_matches(name, self._fields, n=1, cutoff=0.75)
            place = f" in place of {near[0]}" if near and near[0] not in self._known else ""
            right = f"write, for example, {name} = {example}{place}"
            raise self.wrong(name, "it is missing", right)
        return found

    def table(self, name: str) -> Table | None:
        """Return a sub-table, or None if the file does not contain it."""
        found = self.get(name)
        return None if found is None else Table(found, self._fields[name][0])

    def wrong(self, name: str, problem: str, right: str = "") -> IsthmusError:
        """Return an error on a field, at the position of the table if the field is missing."""
        place = self._fields[name][0] if name in self._fields else self.at
        end = f"; {right}" if right else ""
        return IsthmusError(f"{place}: {self.key(name) if name else self.field}: {problem}{end}")

    def at_field(self, error: IsthmusError) -> IsthmusError:
        """Add the position in the file to an error whose message begins with a field name."""
        words = str(error)
        found = re.match(r"(\w+): ", words)
        if found and found[1] in self._fields:
            return self.wrong(found[1], words[found.end() :])
        return self.wrong("", words)

    def end(self) -> None:
        """End the reading of a table: refuse its fields that were never read, as they are unknown.

        Raises:
            IsthmusError: an unknown field exists; the message suggests a similar name.

        """
        known = list(dict.fromkeys(self._known))
        for name in self._fields:
            if name not in known:
                hint = meant(name, known, f"known here: {', '.join(known)}")
                problem = "no such field" if len(name) <= 80 else "no such field, and a long name"
                raise self.wrong(name, problem, hint)


def read(text: str, file: str, changes: Sequence[str]) -> Table:
    """Parse the text of a TOML file and apply changes of the form ``key=value``.

    Raises:
        IsthmusError: the text is not TOML, or a change is invalid.

    """
    tree = json.loads(ask(_core.placed, text, file, list(changes)))
    return Table(given(tree, ""), file)

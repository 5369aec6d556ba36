"""Objects whose attributes are fields of a scenario; each attribute has a scenario key.

An attribute that is `None` takes the core's default, so that defaults are defined only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from functools import cache
from itertools import islice
from numbers import Integral, Real
from typing import Any, get_args, get_type_hints

from isthmus import arguments
from isthmus.errors import IsthmusError

Value = Any
"""Type of values in a scenario file: text, number, flag, or a list of these."""
INTEGER_MAX = 2**64
"""Largest absolute value of integers in a scenario. Python refuses to print very large integers."""
VALUES_MAX = 100_000
"""Maximum number of values in a list of a scenario."""


class Described:
    """A part of a scenario as an object: its attributes are fields.

    Objects with equal values are equal and have the same hash, whether the values are lists, tuples
    or arrays.
    """

    def __post_init__(self) -> None:
        """Replace lists, arrays and mappings in attributes by immutable values."""
        for each in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, each.name, _frozen(getattr(self, each.name)))

    @property
    def words(self) -> str:
        """Return the given attributes in words: ``kind stride, count 8``."""
        values = ((e.name, getattr(self, e.name)) for e in fields(self))  # type: ignore[arg-type]
        return ", ".join(
            f"{name} {_value_text(value)}" for name, value in values if value is not None
        )


class Names(Mapping[str, Any]):
    """A mapping of names to parts of a scenario, such as jobs; it is immutable and hashable."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Copy the names and values of a mapping."""
        self._given = dict(given)

    def __getitem__(self, name: str) -> Any:
        """Return the part of the scenario with this name."""
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names."""
        return iter(self._given)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._given)

    def __hash__(self) -> int:
        """Return a hash of names and values in order."""
        return hash(tuple(self._given.items()))

    def __eq__(self, other: object) -> bool:
        """Return whether a mapping has the same names and values in the same order."""
        # Compare the order too, since the order of jobs determines their random numbers.
        return isinstance(other, Mapping) and list(self.items()) == list(other.items())

    def __repr__(self) -> str:
        """Return the mapping as Python code."""
        return repr(self._given)


def _frozen(value: Any) -> Any:
    """Return an immutable value: lists and arrays become tuples, mappings become `Names`."""
    try:
        if isinstance(value, list | tuple):
            return tuple(_frozen(each) for each in value)
        if isinstance(value, Mapping) and not isinstance(value, Names):
            return Names(value)
        if hasattr(value, "tolist"):
            return _frozen(value.tolist())
    except RecursionError:
        pass  # a list that contains itself; `plain` refuses it
    return value


def _value_text(value: Any) -> str:
    """Return a value as text for a label."""
    if isinstance(value, Described):
        return f"({value.words})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


def key(name: str) -> Any:
    """Return a dataclass field with default None, whose value is the scenario field `name`."""
    return field(default=None, metadata={"key": name})


def part(name: str) -> Any:
    """Return a dataclass field with default None, whose value is an object for the scenario table
    `name`.
    """
    return field(default=None, metadata={"part": name})


def parts(name: str) -> Any:
    """Return a dataclass field with default None, whose value is a mapping of names to objects:
    object `n` is the scenario table `name.n`.
    """
    return field(default=None, metadata={"parts": name})


def settings(described: Any, prefix: str) -> Iterator[tuple[str, Value]]:
    """Yield the scenario key, below `prefix`, and value of each attribute that is not None."""
    for each in fields(described):
        value = getattr(described, each.name)
        if value is None:
            continue
        if isinstance(value, type):
            raise arguments.refuse(f"{prefix}.{each.name}", value, f"an object: {value.__name__}()")
        if "parts" in each.metadata:
            whose = f"{prefix}.{each.name}"
            arguments.mapping(whose, value, '{"io": Job(traffic="io")}')
            for name, one in value.items():
                if not hasattr(one, "__dataclass_fields__"):
                    raise arguments.refuse(f"{whose}[{name!r}]", one, 'a Job(traffic="io")')
                yield from settings(one, f"{prefix}.{each.metadata['parts']}.{_key(name)}")
        elif "part" in each.metadata and hasattr(value, "__dataclass_fields__"):
            yield from settings(value, f"{prefix}.{each.metadata['part']}")
        else:
            name = each.metadata.get("key") or each.metadata["part"]
            yield f"{prefix}.{name}", plain(value, f"{prefix}.{each.name}")


def names(kind: type, prefix: str) -> dict[str, str]:
    """Return the scenario key for each attribute of the dataclass `kind`. Attributes of nested
    objects have names with dots.
    """
    found = {}
    hints = get_type_hints(kind)
    for each in fields(kind):
        if "key" in each.metadata:
            found[each.name] = f"{prefix}.{each.metadata['key']}"
        if "parts" in each.metadata:
            found[each.name] = f"{prefix}.{each.metadata['parts']}"
        if "part" in each.metadata:
            inner = f"{prefix}.{each.metadata['part']}"
            found[each.name] = inner
            for part_kind in get_args(hints[each.name]):
                if hasattr(part_kind, "__dataclass_fields__"):
                    below = names(part_kind, inner)
                    found.update({f"{each.name}.{n}": k for n, k in below.items()})
    return found


@cache
def attributes() -> dict[str, str]:
    """Return the scenario keys of all attributes of machines and workloads."""
    from isthmus.objects import AnyWorkload, Machine

    known: dict[str, str] = {}
    for work in get_args(AnyWorkload):
        known.update(names(work, "workload"))
    for machine in get_args(Machine):
        known.update(names(machine, "machine"))
    return known


def plain(value: Any, name: str = "") -> Value:
    """Convert a value to text, numbers and lists, from tuples, ranges and numpy numbers.

    Messages call the value `name`.

    Raises:
        IsthmusError: it contains another type, or itself.

    """
    try:
        return _plain(value, name)
    except RecursionError:
        whose = f"{name}: " if name else ""
        raise IsthmusError(
            f"{whose}a {type(value).__name__} within itself without end; give a plain one"
        ) from None


def _plain(value: Any, name: str) -> Value:
    """Convert a value, which may be a list or mapping, to plain Python types as `plain` does."""
    # Convert numpy scalars to plain Python types, because numpy's `repr` is not valid TOML.
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) <= INTEGER_MAX:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each, name) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), name)
    whose = f"{name}: " if name else ""
    if hasattr(value, "__iter__"):
        values = list(islice(value, VALUES_MAX + 1))
        if len(values) > VALUES_MAX:
            raise IsthmusError(
                f"{whose}more values than a list may have; give {VALUES_MAX:,} at most"
            )
        return [_plain(each, name) for each in values]
    raise IsthmusError(
        f"{whose}{arguments.shown(value)}: not something a scenario can hold; give a number, "
        'text with a unit such as "0.156 ms", or a list of these'
    )


def toml_value(value: Value) -> str:
    """Return a value in TOML notation."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {toml_value(each)}" for name, each in value.items())
        return f"{{ {inner} }}"
    return "[" + ", ".join(toml_value(each) for each in value) + "]"


def _quoted(text: str) -> str:
    """Return a text as a TOML string."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c, c if c >= " " else f"\\u{ord(c):04x}") for c in text) + '"'


def _key(name: str) -> str:
    """Convert a name to a TOML key, in quotes if necessary."""
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isalnum() and bare.isascii() else _quoted(name)

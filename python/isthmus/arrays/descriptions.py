"""Redistributions as TOML files: an array, its source layout and its target layout.

::

    [array]
    shape = [8192, 8192]
    dtype = "float64"

    [from]
    kind = "block-cyclic"
    grid = [2, 2]
    blocks = [16, 16]

    [to]
    kind = "row-swath"
    ranks = 4
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isthmus import arguments, given
from isthmus.arrays.elements import DIMENSIONS_MAX, type_of
from isthmus.arrays.layout_words import Array, layout
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.given import Given, Table

if TYPE_CHECKING:
    import numpy as np

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Io:
    """The file on the I/O servers to which the ranks write the array after the redistribution, row
    by row.
    """

    stripe: int
    """Stripe size: consecutive bytes of the file on one server."""
    request: int
    """Maximum size of a request in bytes."""
    outstanding: int | None
    """Maximum number of outstanding requests of a rank; `None` for no limit."""


@dataclass(frozen=True)
class Costs:
    """The processor time of a rank for messages and for copies."""

    message_s: float = 0.0
    """Seconds for each message and each request, before it is sent."""
    copy_bytes_per_s: float | None = None
    """Speed of packing and unpacking in bytes per second; `None` if they take no time."""


@dataclass(frozen=True)
class Description:
    """A redistribution of an array between two layouts, as described in a TOML file."""

    file: str
    title: str
    dtype: np.dtype[Any]
    order: Literal["C", "F"]
    """Memory order of the arrays of each rank."""
    from_: Layout
    to: Layout
    costs: Costs
    io: Io | None
    nodes: str | list[int | str]
    """Machine nodes of the ranks, in the notation of scenarios."""

    @property
    def plan(self) -> Plan:
        """The plan that moves the array from one layout to the other."""
        return Plan(self.from_, self.to)

    @property
    def ranks(self) -> list[int]:
        """All ranks of both layouts, ascending."""
        return sorted({*self.from_.ranks, *self.to.ranks})

    @property
    def bytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.from_.shape) * self.dtype.itemsize


def load(path: str | Path, changes: Sequence[str] = ()) -> Description:
    """Read a file that describes a redistribution.

    Args:
        path: path of the file.
        changes: fields to override, ``key=value``, as on the command line.

    Raises:
        IsthmusError: the file cannot be read or is invalid; the message gives file, line, field
            and correction.

    """
    arguments.path("path", path, "examples/redistribute-panels.toml")
    return read(read_text(Path(path)), str(path), changes)


def read(text: str, file: str, changes: Sequence[str] = ()) -> Description:
    """Read a redistribution from the text of a TOML file; messages call it `file`."""
    root = given.read(text, file, changes)
    title = root.get("title")
    if (version := root.get("version")) is not None:
        version.whole(1, 1)
    array = root.table("array")
    if array is None:
        raise root.wrong("array", "it is missing", "write a table [array] with shape and dtype")
    shape, dtype, order = _array(array)
    layouts = []
    for name in ("from", "to"):
        table = root.table(name)
        if table is None:
            raise root.wrong(name, "it is missing", f"write a table [{name}] with a layout")
        layouts.append(layout(table, Array(shape, dtype.itemsize)))
    io, costs = root.table("io"), root.table("costs")
    described = Description(
        file=file,
        title=Path(file).stem if title is None else title.text('a title, "Panels"'),
        dtype=dtype,
        order=order,
        from_=layouts[0],
        to=layouts[1],
        costs=Costs() if costs is None else _costs(costs),
        io=None if io is None else _io(io),
        nodes=_nodes(root.get("nodes")),
    )
    root.end()
    return described


def _array(table: Table) -> tuple[tuple[int, ...], np.dtype[Any], Literal["C", "F"]]:
    """Read the table ``[array]``: shape, element type and memory order."""
    shape = table.need("shape", "[8192, 8192]")
    extents = shape.wholes(1, "[8192, 8192]")
    if len(extents) > DIMENSIONS_MAX:
        raise shape.wrong(f"{len(extents)} dimensions", f"give at most {DIMENSIONS_MAX}")
    dtype = _dtype(table.need("dtype", '"float64"'))
    if math.prod(extents) * dtype.itemsize >= 2**63:
        raise shape.wrong("an array of 2^63 bytes or more", "give a smaller one")
    order = table.get("order")
    in_columns = order is not None and order.word(["C", "F"]) == "F"
    table.end()
    return tuple(extents), dtype, "F" if in_columns else "C"


def _dtype(found: Given) -> np.dtype[Any]:
    """Read an element type: a numpy name, or a list of field names and types."""
    example = '"float64", or fields such as [["x", "float64"], ["id", "int32"]]'
    if found.kind == "list":
        parts = []
        for item in found.items("a list of fields", example):
            pair = item.items("a field", '["x", "float64"]')
            if len(pair) != 2:
                raise item.wrong(f"a field of {len(pair)} values", 'write ["x", "float64"]')
            parts.append((pair[0].text('a name, "x"'), _dtype(pair[1])))
        fields: Any = parts
    else:
        fields = found.text(example)
    try:
        return type_of("dtype", fields)
    except IsthmusError as error:
        raise found.wrong(
            f"{found.described()} is no type of elements that can be moved", f"write {example}"
        ) from error


def _costs(table: Table) -> Costs:
    """Read the table ``[costs]``: the processor time of a rank."""
    overhead, copy = table.get("message_overhead"), table.get("copy")
    costs = Costs(
        0.0 if overhead is None else overhead.quantity("a time"),
        None if copy is None else copy.quantity("a bandwidth", 1),
    )
    table.end()
    return costs


def _io(table: Table) -> Io:
    """Read the table ``[io]``: the striping of the file on the I/O servers."""
    stripe = table.get("stripe")
    length = 65_536 if stripe is None else stripe.data()
    request = table.get("request")
    outstanding = table.get("outstanding")
    limit = None
    if outstanding is not None and not (
        outstanding.kind == "text" and outstanding.word([UNLIMITED])
    ):
        limit = outstanding.whole(1, 65_536)
    io = Io(length, length if request is None else request.data(), limit)
    table.end()
    return io


def _nodes(found: Given | None) -> str | list[int | str]:
    """Read the machine nodes of the ranks, in the notation of scenario files; they are checked
    later, as part of a scenario.
    """
    if found is None:
        return "all"
    if found.kind == "text":
        return str(found.value)
    items = found.items("a set of nodes", '"all", "part 1 of 2" or [0, "8-15"]')
    return [
        each.text('a run of nodes, "8-15"') if each.kind == "text" else each.whole(0, 2**32 - 1)
        for each in items
    ]

"""The distribution from which a network interface takes an array in large blocks.

Steenkiste, "A High-Speed Network Interface for Distributed-Memory Systems", section 6.2.2: the
processors of a row combine what they hold into a transfer unit (TU), each one block of it; the
columns of processors share the links to the interface. On 8 x 8 processors with four links a column
pair has a link, and a TU of 64 KB has eight blocks of 8 KB.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from isthmus.arrays.layouts import Layout, block, cyclic
from isthmus.errors import IsthmusError


@dataclass(frozen=True)
class TransferUnit:
    """What crosses to the interface as one: blocks that follow one another in the array."""

    number: int
    start: int
    """Place of its first element in the array, row by row."""
    blocks: tuple[tuple[int, int], ...]
    """Rank and elements of each block, in order."""


@dataclass(frozen=True, eq=False)
class IoDistribution:
    """A layout from which transfer units are taken: see `io_distribution`."""

    layout: Layout
    """Who holds what."""
    rows: int
    """Rows of processors; each has whole transfer units."""
    columns: int
    """Processors of a row; each has a block of a transfer unit."""
    links: int
    """Links to the interface."""
    dim: int
    """Dimension along which blocks lie; those behind it are whole in each block."""
    block: int
    """Indices of that dimension in a block."""

    def link(self, rank: int) -> int:
        """Over which link a rank sends: neighbouring columns share one."""
        return self.layout.ranks.index(rank) % self.columns * self.links // self.columns

    def units(self) -> Iterator[TransferUnit]:
        """The transfer units in the order of the array, row by row.

        The last of a row of the array is shorter where the row is no multiple of them.
        """
        shape, ranks = self.layout.shape, self.layout.ranks
        slab = math.prod(shape[self.dim + 1 :])
        length = self.block * self.columns
        swath = -(-shape[0] // self.rows)
        number = 0
        for at in itertools.product(*map(range, shape[: self.dim])):
            for first in range(0, shape[self.dim], length):
                row = at[0] // swath if at else first // length % self.rows
                held = [
                    (column, min(self.block, shape[self.dim] - start))
                    for column in range(self.columns)
                    for start in [first + column * self.block]
                    if start < shape[self.dim]
                ]
                begin = 0
                for index, extent in zip((*at, first), shape, strict=False):
                    begin = begin * extent + index
                blocks = tuple(
                    (ranks[row * self.columns + column], count * slab) for column, count in held
                )
                yield TransferUnit(number, begin * slab, blocks)
                number += 1


def io_distribution(
    shape: tuple[int, ...],
    grid: tuple[int, int],
    *,
    links: int,
    tu: int,
    element: int,
    ranks: list[int] | None = None,
) -> IoDistribution:
    """Spread an array so that an interface can take it in large blocks.

    Args:
        shape: of the array, which is sent row by row.
        grid: rows and columns of processors.
        links: to the interface; the columns are divided among them.
        tu: bytes of a transfer unit, at most: each processor of a row has one block of it.
        element: bytes of an element.
        ranks: numbers of the processors, row by row; without it 0, 1, ...

    Returns:
        The layout (block-cyclic: `isthmus.arrays.Plan` leads to it from any other), the link of
        each rank and the transfer units in their order.

    Raises:
        IsthmusError: there are more links than columns, or a block has no element.

    """
    rows, columns = grid
    if not 1 <= links <= columns or columns % links:
        raise IsthmusError(
            f"links: {links}; each has as many of the {columns} columns as the others"
        )
    for what, size in (("tu", tu), ("element", element)):
        if not isinstance(size, int) or size < 1:
            raise IsthmusError(f"{what}: {size!r}; it is a number of bytes, at least 1")
    room = tu // columns
    if room < element:
        raise IsthmusError(
            f"tu: {tu} bytes have {room} for each of {columns} columns; an element has {element}"
        )
    slabs = [element * math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    along = next(dim for dim, slab in enumerate(slabs) if slab <= room)
    size = room // slabs[along]
    dims: list[Any] = [None] * len(shape)
    if along == 0:
        # Whole rows of the array are in a block: units go round the rows of processors.
        dims[0] = cyclic(size)
        layout = Layout.grid(shape, [rows * columns], dims, ranks=ranks)
    else:
        dims[0], dims[along] = block(axis=0), cyclic(size, axis=1)
        layout = Layout.grid(shape, [rows, columns], dims, ranks=ranks)
    return IoDistribution(layout, rows, columns, links, along, size)

"""The distribution from which a network interface takes an array in large blocks.

Steenkiste, "A High-Speed Network Interface for Distributed-Memory Systems", section 6.2.2: the
processors of a row combine what they hold into a transfer unit (TU), each one block of it; the
columns of processors share the links to the interface. On 8 x 8 processors with four links a column
pair has a link, and a TU of 64 KB has eight blocks of 8 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isthmus.arguments import whole_numbers
from isthmus.arrays.layouts import Layout, _Over, _told
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus import _core


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
    _core: _core.IoDistribution = field(repr=False)

    def link(self, rank: int) -> int:
        """Over which link a rank sends: neighbouring columns share one."""
        return int(_told(self._core.link, rank))

    def units(self) -> Iterator[TransferUnit]:
        """The transfer units in the order of the array, row by row.

        The last of a row of the array is shorter where the row is no multiple of them.
        """
        for number in range(self._core.unit_count):
            _, start, blocks = self._core.unit(number)
            yield TransferUnit(number, start, tuple(blocks))


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
        IsthmusError: columns cannot be divided among the links, or a block has no element.

    """
    from isthmus import _core

    extents = whole_numbers("grid", grid, 1 << 32)
    if len(extents) != 2:
        raise IsthmusError(f"grid: {extents}; it is the rows and the columns of processors")
    rows, columns = extents
    for what, size in (("tu", tu), ("element", element)):
        if not isinstance(size, int) or size < 1:
            raise IsthmusError(f"{what}: {size!r}; it is a number of bytes, at least 1")
    (links,) = whole_numbers("links", [links], 1 << 32)
    numbers = None if ranks is None else whole_numbers("ranks", ranks, 1 << 32)
    shape = tuple(whole_numbers("shape", shape, 1 << 64))
    core = _told(_core.IoDistribution, shape, (rows, columns), links, tu, element, numbers)
    over, dims = core.over
    layout = Layout(core.layout, _Over(tuple(over), tuple(dims), "row"))
    return IoDistribution(layout, rows, columns, links, core.dim, core.block, core)

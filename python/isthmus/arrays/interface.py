"""The distribution from which a network interface reads an array in large blocks.

Source: Steenkiste, "A High-Speed Network Interface for Distributed-Memory Systems", section 6.2.2.
The processors of a row combine their blocks into a transfer unit (TU), one block each. The columns
of processors share the links to the interface. On 8 x 8 processors with four links, two columns
share a link, and a TU of 64 KB has eight blocks of 8 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from isthmus import _core
from isthmus.arguments import whole_numbers
from isthmus.arrays.layouts import Layout, _call, _ProcessGrid
from isthmus.errors import IsthmusError


@dataclass(frozen=True)
class TransferUnit:
    """A transfer unit (TU): consecutive blocks of the array that are sent together to a network
    interface.
    """

    number: int
    start: int
    """Row-major index of the unit's first element in the array."""
    blocks: tuple[tuple[int, int], ...]
    """Rank and number of elements of each block, in order."""


@dataclass(frozen=True, eq=False)
class IoDistribution:
    """An array layout from which a network interface reads large blocks, and its transfer units."""

    layout: Layout
    """The mapping of elements of the array to ranks."""
    rows: int
    """Number of rows of processors; each row holds whole transfer units."""
    columns: int
    """Number of processors of a row; each holds one block of a transfer unit."""
    links: int
    """Number of links to the network interface."""
    dim: int
    """Dimension that is cut into blocks; later dimensions are whole in each block."""
    block: int
    """Number of consecutive indices of the dimension `dim` in one block."""
    _core: _core.IoDistribution = field(repr=False)

    def link(self, rank: int) -> int:
        """Return the number of the link from a rank to the interface; neighbouring columns share
        one.
        """
        return int(_call(self._core.link, rank))

    def units(self) -> Iterator[TransferUnit]:
        """Yield the transfer units in row-major order of the array.

        The last unit of a row is shorter if the row is not a multiple of the unit.
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
    """Distribute an array so that a network interface can read it in large blocks.

    Args:
        shape: shape of the array, which is sent row by row.
        grid: rows and columns of processors.
        links: number of links to the interface; the columns are divided among them.
        tu: maximum size of a transfer unit in bytes; each processor of a row holds one block of it.
        element: size of an element in bytes.
        ranks: numbers of the processors, row by row; the default is 0, 1, ...

    Returns:
        The block-cyclic layout (`isthmus.arrays.Plan` leads to it from any other), the link of
        each rank and the transfer units in their order.

    Raises:
        IsthmusError: columns cannot be divided among the links, or a block has no element.

    """
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
    core = _call(_core.IoDistribution, shape, (rows, columns), links, tu, element, numbers)
    over, dims = core.over
    layout = Layout(core.layout, _ProcessGrid(tuple(over), tuple(dims)))
    return IoDistribution(layout, rows, columns, links, core.dim, core.block, core)

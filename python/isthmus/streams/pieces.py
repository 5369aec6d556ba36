"""Pieces of an array on their way to or from an interface (Steenkiste 1996, sections 6.1 and 6.2).

An array is sent in row-major order. It is cut into pieces along one dimension, so that only a few
pieces are in the memory of the link owners. Each piece is redistributed from the array's layout for
the interface while the previous piece is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from isthmus.arguments import whole
from isthmus.arrays import IoDistribution, Layout, io_distribution
from isthmus.errors import IsthmusError

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Piece:
    """A part of the array, a box of indices, that is sent as one run of consecutive bytes."""

    box: tuple[tuple[int, int], ...]
    """First index and end index of each dimension."""


@dataclass(frozen=True)
class Cut:
    """Division of an array for transfer over links: into pieces, lines (ADUs) and blocks.

    An ADU (application data unit) is the data of one send operation of a stream.
    """

    shape: tuple[int, ...]
    links: int
    element: int
    dim: int
    """The dimension of the array that is cut into blocks."""
    block: int
    """Number of indices of `dim` in a block; a block is the part of a TU on one link."""
    along: int
    """The dimension along which pieces are cut: `dim`, or an earlier one."""
    step: int
    """Number of indices of `along` in a piece."""

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        links: int,
        element: int,
        tu: int,
        piece: int,
        line: int | None = None,
    ) -> Cut:
        """Cut an array for transfer over a number of links, into TUs (transfer units) and pieces.

        `tu` and `piece` are their approximate sizes in bytes. `line` is the dimension along which
        the array is cut into lines, one for each ADU (application data unit); by default the first
        dimension of which an index fits into a block.

        Raises:
            IsthmusError: a TU is too small for an element per link, or for an index of `line`.

        """
        spread: IoDistribution = io_distribution(
            shape, (1, links), links=links, tu=tu, element=element
        )
        dim, block = spread.dim, spread.block
        if line is not None:
            whole("line", line, 0, len(shape) - 1)
        if line is not None and line != dim:
            slab = element * math.prod(shape[line + 1 :])
            dim, block = line, tu // links // slab
            if block == 0:
                raise IsthmusError(
                    f"line: {line}; an index of it has {slab} bytes, a block of TUs of {tu} over "
                    f"{links} links {tu // links}: give a later dimension, or larger TUs"
                )
        # Cut along the first dimension of which one index fits into a piece. Blocks are never cut.
        sizes = [element * math.prod(shape[at + 1 :]) for at in range(dim + 1)]
        along = next((at for at in range(dim) if sizes[at] <= piece), dim)
        least = block * links if along == dim else 1
        step = max(piece // (sizes[along] * least), 1) * least
        return cls(shape, links, element, dim, block, along, step)

    @property
    def slab(self) -> int:
        """Bytes of the elements that share one index of dimension `dim` and of all earlier ones."""
        return self.element * math.prod(self.shape[self.dim + 1 :])

    @property
    def adu(self) -> int:
        """Bytes of an application data unit (ADU): a line of the array along `dim`, with all later
        dimensions.
        """
        return self.shape[self.dim] * self.slab

    @property
    def adus(self) -> int:
        """Number of application data units (ADUs); each is a line of the array."""
        return math.prod(self.shape[: self.dim])

    @property
    def granule(self) -> int:
        """Bytes of a block; the striping units (SUs) of a transfer unit are cut at multiples of
        it.
        """
        return self.block * self.slab

    @property
    def tu(self) -> int:
        """Bytes of a transfer unit (TU): one block for each link."""
        return min(self.granule * self.links, self.adu)

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in the order on the wire."""
        before = [range(extent) for extent in self.shape[: self.along]]
        for at in product(*before):
            for low in range(0, self.shape[self.along], self.step):
                high = min(low + self.step, self.shape[self.along])
                fixed = [(index, index + 1) for index in at]
                behind = [(0, extent) for extent in self.shape[self.along + 1 :]]
                yield Piece((*fixed, (low, high), *behind))

    def own(self, piece: Piece, links: Sequence[int]) -> list[tuple[int, int]]:
        """Return the ranges of indices along `dim` that go over `links`, in ascending order.

        The ranges of all links together form one range.
        """
        low, high = piece.box[self.dim]
        if len(links) == self.links:
            return [(low, high)]
        mine = set(links)
        # Split the range into blocks, and keep those that go over `links`. A piece begins at a TU,
        # or at a line and so at a block.
        starts = range(low, high, self.block)
        return [
            (start, min(start + self.block, high))
            for start in starts
            if start // self.block % self.links in mine
        ]

    def held(self, piece: Piece, links: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of an array with the elements of a piece that go over `links`."""
        extent = sum(high - low for low, high in self.own(piece, links))
        sizes = [high - low for low, high in piece.box]
        sizes[self.dim] = extent
        return tuple(sizes)

    def views(self, piece: Piece, links: Sequence[int]) -> list[Slices]:
        """Return the slices of each part of a piece, in an array of the shape that `held` returns.

        The parts are in the order of `layout`.
        """
        found, at = [], 0
        for low, high in self.own(piece, links):
            found.append((*(slice(None),) * self.dim, slice(at, at + high - low)))
            at += high - low
        return found

    def layout(self, piece: Piece, owners: Sequence[Sequence[int]]) -> Layout:
        """Return the layout of a piece over the ranks, given the links that each rank owns."""
        ranks = []
        for links in owners:
            boxes = []
            for low, high in self.own(piece, links) if links else []:
                box = list(piece.box)
                box[self.dim] = (low, high)
                boxes.append(tuple(slice(*each) for each in box))
            ranks.append(boxes)
        return Layout.boxes(self.shape, ranks, partial=True)

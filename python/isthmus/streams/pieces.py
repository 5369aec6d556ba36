"""Pieces of an array on their way to or from an interface (Steenkiste 1996, sections 6.1 and 6.2).

An array goes row by row. It is cut into pieces along one dimension, so that no more than a few of
them are in the memory of those who have the links; each is reshuffled from whatever layout the
array has to the distribution for an interface while the one before it is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.arguments import whole
from isthmus.arrays import IoDistribution, Layout, io_distribution
from isthmus.errors import IsthmusError

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Piece:
    """A box of the array, whose rows follow one another where it goes out."""

    box: tuple[tuple[int, int], ...]
    """By dimension from which index to before which."""


@dataclass(frozen=True)
class Cut:
    """How an array is cut for an interface: blocks, lines, pieces."""

    shape: tuple[int, ...]
    links: int
    element: int
    dim: int
    """The dimension along which blocks lie."""
    block: int
    """Indices of it in a block, which is what of a TU goes over one link."""
    along: int
    """The dimension along which pieces are cut: `dim`, or one before it."""
    step: int
    """Indices of it in a piece."""

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
        """Cut an array for so many links into TUs and pieces of about so many bytes.

        `line` is the dimension along which ADUs are lines; without it the first of which an index
        has room in a block.

        Raises:
            IsthmusError: a TU has no room for an element for each link, or for an index of `line`.

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
        # The first dimension of which an index is no more than a piece; blocks are not cut.
        sizes = [element * math.prod(shape[at + 1 :]) for at in range(dim + 1)]
        along = next((at for at in range(dim) if sizes[at] <= piece), dim)
        least = block * links if along == dim else 1
        step = max(piece // (sizes[along] * least), 1) * least
        return cls(shape, links, element, dim, block, along, step)

    @property
    def slab(self) -> int:
        """Bytes of one index of `dim`."""
        return self.element * math.prod(self.shape[self.dim + 1 :])

    @property
    def adu(self) -> int:
        """Bytes of an ADU: a line of the array along `dim`, with all that lies behind."""
        return self.shape[self.dim] * self.slab

    @property
    def adus(self) -> int:
        """Lines."""
        return math.prod(self.shape[: self.dim])

    @property
    def granule(self) -> int:
        """Bytes of a block."""
        return self.block * self.slab

    @property
    def tu(self) -> int:
        """Bytes of a TU."""
        return min(self.granule * self.links, self.adu)

    def pieces(self) -> Iterator[Piece]:
        """The pieces, in the order in which they go."""
        before = [range(extent) for extent in self.shape[: self.along]]
        for at in _all(before):
            for low in range(0, self.shape[self.along], self.step):
                high = min(low + self.step, self.shape[self.along])
                fixed = [(index, index + 1) for index in at]
                behind = [(0, extent) for extent in self.shape[self.along + 1 :]]
                yield Piece((*fixed, (low, high), *behind))

    def own(self, piece: Piece, links: Sequence[int]) -> list[tuple[int, int]]:
        """The indices along `dim`, from one to before another, of what goes over some links.

        They are in order, and those of all links are one range.
        """
        low, high = piece.box[self.dim]
        if len(links) == self.links:
            return [(low, high)]
        mine = set(links)
        # Pieces begin with a TU, if they do not begin with a line.
        starts = range(low, high, self.block)
        return [
            (start, min(start + self.block, high))
            for start in starts
            if start // self.block % self.links in mine
        ]

    def held(self, piece: Piece, links: Sequence[int]) -> tuple[int, ...]:
        """The shape of the array that holds what of a piece goes over some links."""
        extent = sum(high - low for low, high in self.own(piece, links))
        sizes = [high - low for low, high in piece.box]
        sizes[self.dim] = extent
        return tuple(sizes)

    def views(self, piece: Piece, links: Sequence[int]) -> list[Slices]:
        """Where in that array each part of it is, in the order of `layout`."""
        found, at = [], 0
        for low, high in self.own(piece, links):
            found.append((*(slice(None),) * self.dim, slice(at, at + high - low)))
            at += high - low
        return found

    def layout(self, piece: Piece, owners: Sequence[Sequence[int]]) -> Layout:
        """Who has what of a piece, by the links that each rank has."""
        ranks = []
        for links in owners:
            boxes = []
            for low, high in self.own(piece, links) if links else []:
                box = list(piece.box)
                box[self.dim] = (low, high)
                boxes.append(tuple(slice(*each) for each in box))
            ranks.append(boxes)
        return Layout.boxes(self.shape, ranks, partial=True)


def _all(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """All combinations, the last of each fastest."""
    if not ranges:
        yield ()
        return
    for first in ranges[0]:
        for rest in _all(ranges[1:]):
            yield (first, *rest)

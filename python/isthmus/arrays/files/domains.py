"""The parts of a file that each aggregator reads or writes, round by round.

An aggregator owns one range of the file, its *file domain*, and processes it in rounds of at most
its buffer size. Domains and rounds are lists of boxes of the array, which a plan can address.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus import _core

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""A rectangular region of an array: its first index and its end (exclusive) in each dimension."""


def extents(box: Box) -> tuple[int, ...]:
    """Return the extent of a box of the array in each dimension."""
    return tuple(end - start for start, end in zip(*box, strict=True))


def slices(box: Box) -> tuple[slice, ...]:
    """Return a box of the array as numpy slices."""
    return tuple(slice(start, end) for start, end in zip(*box, strict=True))


class Domains(ABC):
    """The file domains of all aggregators: the range of the file that each one reads or writes."""

    rounds: int
    """Number of rounds that the longest file domain takes."""
    room: int
    """Maximum bytes of the file that an aggregator processes in a round."""

    @abstractmethod
    def boxes(self, aggregator: int, number: int) -> list[Box]:
        """Return the array regions that an aggregator moves in round `number`, in the order of its
        buffer.
        """


@dataclass(frozen=True)
class Rules:
    """The parameters that divide a file into file domains: one range for each aggregator."""

    aggregators: int
    stripe: int
    """Alignment of domains and rounds in the file, in bytes."""
    buffer: int
    """Approximate number of bytes that an aggregator moves in a round, the size of its buffer."""


class Stretches(Domains):
    """File domains of a file with contiguous elements: one contiguous range for each aggregator.

    A range starts at a multiple of the stripe size, or at the first element or block after it.
    """

    def __init__(
        self,
        shape: Sequence[int],
        order: str,
        element: int,
        offset: int,
        rules: Rules,
        block: int = 1,
    ) -> None:
        """Divide a file into file domains, one for each aggregator (rank that accesses the file).

        Args:
            shape: shape of the array.
            order: order of the elements in the file.
            element: bytes of an element.
            offset: file offset of the first element.
            rules: parameters of the domains.
            block: elements of a block, which is never divided.

        """
        self._shape, self._columns = tuple(shape), order == "F"
        self._element, self._offset, self._block = element, offset, block
        self._elements = math.prod(shape)
        whole = rules.buffer // rules.stripe * rules.stripe
        self._step = whole or rules.buffer
        size = self._elements * element
        cuts = [
            (offset + size * part // rules.aggregators + rules.stripe // 2)
            // rules.stripe
            * rules.stripe
            for part in range(1, rules.aggregators)
        ]
        # The first domain starts at a stripe as well, possibly before the data.
        self._begins = [offset // rules.stripe * rules.stripe, *cuts]
        self._ends = [*cuts, offset + size]
        self.rounds = max(
            -(-max(0, end - begin) // self._step)
            for begin, end in zip(self._begins, self._ends, strict=True)
        )
        self.room = min(size, self._step + (block + 1) * element)

    def span(self, aggregator: int, number: int) -> tuple[int, int]:
        """Return the range of elements, its end excluded, that an aggregator moves in a round."""
        begin, end = self._begins[aggregator], self._ends[aggregator]
        at = begin + number * self._step
        return self._edge(min(at, end)), self._edge(min(at + self._step, end))

    def boxes(self, aggregator: int, number: int) -> list[Box]:
        """Return the array regions that make up the file range of a round, in file order."""
        first, end = self.span(aggregator, number)
        found = _core.stretch(self._shape, first, end, self._columns)
        return [(tuple(starts), tuple(ends)) for starts, ends in found]

    def _edge(self, byte: int) -> int:
        """Return the first element of the first block at or after a byte of the file."""
        together = self._element * self._block
        blocks = -(-max(0, byte - self._offset) // together)
        return min(blocks * self._block, self._elements)


class Chunks(Domains):
    """File domains of an array in chunks: each aggregator moves whole chunks, in row order."""

    def __init__(
        self, shape: Sequence[int], chunk: Sequence[int], element: int, rules: Rules
    ) -> None:
        """Divide the chunks of an array among the aggregators; `element` is the size of an
        element.
        """
        self._shape, self._chunk = tuple(shape), tuple(chunk)
        self._grid = [-(-extent // size) for extent, size in zip(shape, chunk, strict=True)]
        count = math.prod(self._grid)
        self._cuts = [count * part // rules.aggregators for part in range(rules.aggregators + 1)]
        size = element * math.prod(map(min, self._chunk, self._shape))
        self._step = max(1, rules.buffer // size) if size else 1
        most = max(end - begin for begin, end in zip(self._cuts, self._cuts[1:], strict=False))
        self.rounds = -(-most // self._step)
        self.room = size * min(self._step, most)

    def boxes(self, aggregator: int, number: int) -> list[Box]:
        """Return the array regions that an aggregator, a rank that accesses the file, moves in a
        round.
        """
        first = self._cuts[aggregator] + number * self._step
        end = min(first + self._step, self._cuts[aggregator + 1])
        return [self._box(chunk) for chunk in range(first, end)]

    def _box(self, number: int) -> Box:
        """Return the array region of a chunk, numbered row by row of the chunk grid."""
        at = []
        for count in reversed(self._grid):
            number, place = divmod(number, count)
            at.append(place)
        starts = tuple(place * size for place, size in zip(reversed(at), self._chunk, strict=True))
        behind = (start + size for start, size in zip(starts, self._chunk, strict=True))
        ends = tuple(map(min, behind, self._shape))
        return starts, ends


def slab(shape: Sequence[int], element: int, room: int) -> tuple[int, ...]:
    """Return the shape of the largest chunk of whole rows within `room` bytes, or of an element."""
    chunk: list[int] = []
    for extent in reversed(shape):
        fits = max(1, min(extent, room // max(1, element)))
        chunk.insert(0, fits)
        element *= fits
        room = room if fits == extent else 0
    return tuple(chunk)

"""Who among the aggregators writes or reads which part of a file, round by round.

An aggregator has one stretch of the file, its *file domain*, and goes through it in rounds of as
much as its buffer holds. Both are told in boxes of the array: what a plan can lead to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus import _core

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a box begins and where it ends, in each dimension."""


def extents(box: Box) -> tuple[int, ...]:
    """The extents of a box."""
    return tuple(end - start for start, end in zip(*box, strict=True))


def slices(box: Box) -> tuple[slice, ...]:
    """A box as numpy takes it."""
    return tuple(slice(start, end) for start, end in zip(*box, strict=True))


class Domains(ABC):
    """The file domains of so many aggregators."""

    rounds: int
    """After how many all are through."""
    room: int
    """Bytes of the largest part of a domain that is one round's."""

    @abstractmethod
    def boxes(self, aggregator: int, number: int) -> list[Box]:
        """What an aggregator has in a round, in the order in which it lies in its buffer."""


@dataclass(frozen=True)
class Rules:
    """How file domains are cut."""

    aggregators: int
    stripe: int
    """Domains and rounds begin at multiples of so many bytes of the file."""
    buffer: int
    """Bytes of a round, about."""


class Stretches(Domains):
    """Domains of a file in which the elements lie one behind the other.

    They begin at multiples of the stripe, or at the first element or block behind one.
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
        """Cut a file.

        Args:
            shape: of the array.
            order: of its elements in the file.
            element: bytes of one.
            offset: where the first lies in the file.
            rules: how to cut.
            block: elements that stay together.

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
        # The first begins at a stripe as well, some of which is before the data.
        self._begins = [offset // rules.stripe * rules.stripe, *cuts]
        self._ends = [*cuts, offset + size]
        self.rounds = max(
            -(-max(0, end - begin) // self._step)
            for begin, end in zip(self._begins, self._ends, strict=True)
        )
        self.room = min(size, self._step + (block + 1) * element)

    def span(self, aggregator: int, number: int) -> tuple[int, int]:
        """The first element of a round of an aggregator, and the first that is not of it."""
        begin, end = self._begins[aggregator], self._ends[aggregator]
        at = begin + number * self._step
        return self._edge(min(at, end)), self._edge(min(at + self._step, end))

    def boxes(self, aggregator: int, number: int) -> list[Box]:  # noqa: D102
        first, end = self.span(aggregator, number)
        found = _core.stretch(self._shape, first, end, self._columns)
        return [(tuple(starts), tuple(ends)) for starts, ends in found]

    def _edge(self, byte: int) -> int:
        """The first element, or the first of a block, at a byte of the file or behind it."""
        together = self._element * self._block
        blocks = -(-max(0, byte - self._offset) // together)
        return min(blocks * self._block, self._elements)


class Chunks(Domains):
    """Domains of an array in chunks: each has whole ones, row by row of their grid."""

    def __init__(
        self, shape: Sequence[int], chunk: Sequence[int], element: int, rules: Rules
    ) -> None:
        self._shape, self._chunk = tuple(shape), tuple(chunk)
        self._grid = [-(-extent // size) for extent, size in zip(shape, chunk, strict=True)]
        count = math.prod(self._grid)
        self._cuts = [count * part // rules.aggregators for part in range(rules.aggregators + 1)]
        size = element * math.prod(map(min, self._chunk, self._shape))
        self._step = max(1, rules.buffer // size) if size else 1
        most = max(end - begin for begin, end in zip(self._cuts, self._cuts[1:], strict=False))
        self.rounds = -(-most // self._step)
        self.room = size * min(self._step, most)

    def boxes(self, aggregator: int, number: int) -> list[Box]:  # noqa: D102
        first = self._cuts[aggregator] + number * self._step
        end = min(first + self._step, self._cuts[aggregator + 1])
        return [self._box(chunk) for chunk in range(first, end)]

    def _box(self, number: int) -> Box:
        at = []
        for count in reversed(self._grid):
            number, place = divmod(number, count)
            at.append(place)
        starts = tuple(place * size for place, size in zip(reversed(at), self._chunk, strict=True))
        behind = (start + size for start, size in zip(starts, self._chunk, strict=True))
        ends = tuple(map(min, behind, self._shape))
        return starts, ends


def slab(shape: Sequence[int], element: int, room: int) -> tuple[int, ...]:
    """The largest chunk of whole rows that has at most so many bytes, or one element."""
    chunk: list[int] = []
    for extent in reversed(shape):
        fits = max(1, min(extent, room // max(1, element)))
        chunk.insert(0, fits)
        element *= fits
        room = room if fits == extent else 0
    return tuple(chunk)

"""The buffers of aggregators, and the data movement between them and the ranks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus import _core
from isthmus.arrays import memory
from isthmus.arrays.elements import empty
from isthmus.arrays.files.domains import extents
from isthmus.arrays.layouts import Layout, _call
from isthmus.arrays.plans import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.domains import Box
    from isthmus.arrays.files.formats import Described
    from isthmus.arrays.mpi import Ranks
    from isthmus.arrays.mpi.shared import Shared

    Part = NDArray[Any]

BUFFERS = 2
"""Number of buffers of an aggregator: a thread reads or writes one while the other is filled or
emptied.
"""


class Buffers(ABC):
    """Two buffers for each aggregator, a rank that reads or writes a range of the file."""

    def __init__(self, array: Described, aggregators: list[int], rank: int) -> None:
        """Store the described array, the aggregators (ranks that access the file) and this rank."""
        self.array = array
        self.aggregators = aggregators
        self.rank = rank
        self.mine = aggregators.index(rank) if rank in aggregators else None
        """Index of this rank among the aggregators (ranks that access the file), or None."""

    @abstractmethod
    def of(self, aggregator: int, turn: int) -> NDArray[np.uint8]:
        """Return buffer number `turn` of an aggregator. A rank can access its own buffers."""

    @abstractmethod
    def fill(self, layout: Layout, held: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Fill the aggregators' buffers: copy this rank's elements of all boxes (regions)."""

    @abstractmethod
    def empty(self, layout: Layout, out: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Empty the aggregators' buffers: copy this rank's elements of all boxes (regions)."""

    def data(self, turn: int, boxes: list[list[Box]]) -> NDArray[np.uint8]:
        """Return the part of this rank's buffer that the boxes (array regions) of a round use."""
        if self.mine is None:
            return np.empty(0, np.uint8)
        size = sum(math.prod(extents(box)) for box in boxes[self.mine])
        return self.of(self.mine, turn)[: size * self.array.dtype.itemsize]

    def views(self, turn: int, boxes: list[list[Box]], aggregator: int | None) -> list[Part]:
        """Return numpy views of the array regions in an aggregator's buffer, if there is one."""
        if aggregator is None:
            return []
        buffer, dtype, at = self.of(aggregator, turn), self.array.dtype, 0
        order: Any = self.array.order
        found: list[Part] = []
        for box in boxes[aggregator]:
            shape = extents(box)
            found.append(np.ndarray(shape, dtype, buffer, at, order=order))
            at += math.prod(shape) * dtype.itemsize
        return found

    def aggregated(self, boxes: list[list[Box]]) -> Layout:
        """Return the layout in which each aggregator holds its boxes (array regions) of a round."""
        layout = Layout.boxes(self.array.shape, boxes, partial=True)
        return layout.on_ranks(self.aggregators)


class _OwnBuffers(Buffers):
    """Buffers in private memory of each rank."""

    def __init__(self, array: Described, aggregators: list[int], rank: int, room: int) -> None:
        """Allocate two buffers of `room` bytes, if this rank is an aggregator."""
        super().__init__(array, aggregators, rank)
        size = 0 if self.mine is None else room
        self._buffers = [empty("buffer", (size,), np.dtype(np.uint8)) for _ in range(BUFFERS)]

    def of(self, aggregator: int, turn: int) -> NDArray[np.uint8]:
        """Return buffer number `turn` of this rank. The rank cannot access those of others."""
        return self._buffers[turn]


class InOneProcess(_OwnBuffers):
    """Buffers of a single process that holds the data of all ranks; threads move the data."""

    def fill(self, layout: Layout, held: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Fill the buffer: copy the elements of all ranks to it, with threads."""
        plan = Plan(layout, self.aggregated(boxes))
        plan.redistribute(held, [self.views(turn, boxes, 0)])

    def empty(self, layout: Layout, out: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Empty the buffer: copy its elements to all ranks, with threads."""
        plan = Plan(self.aggregated(boxes), layout)
        plan.redistribute([self.views(turn, boxes, 0)], out)


class ByMessages(_OwnBuffers):
    """Buffers of ranks on several nodes, which exchange messages."""

    def __init__(self, array: Described, aggregators: list[int], ranks: Ranks, room: int) -> None:
        """Allocate two buffers of `room` bytes, if this rank is an aggregator."""
        super().__init__(array, aggregators, ranks.comm.rank, room)
        self._ranks = ranks

    def fill(self, layout: Layout, held: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Fill the aggregators' buffers: send this rank's elements to them as messages."""
        self._move(Plan(layout, self.aggregated(boxes)), held, self.views(turn, boxes, self.mine))

    def empty(self, layout: Layout, out: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Empty the aggregators' buffers: receive this rank's elements from them as messages."""
        self._move(Plan(self.aggregated(boxes), layout), self.views(turn, boxes, self.mine), out)

    def _move(self, plan: Plan, held: Any, out: Any) -> None:
        """Move elements between the arrays of ranks and the buffers, as messages."""
        from isthmus.arrays.mpi import Exchange

        order: Any = self.array.order
        with Exchange(self._ranks, plan, self.array.dtype, order=order) as exchange:
            exchange(held, out)


class InSharedMemory(Buffers):
    """Buffers that ranks on one node share; each rank copies its elements directly."""

    def __init__(
        self, array: Described, aggregators: list[int], rank: int, shared: Shared, room: int
    ) -> None:
        """Use memory that the ranks of the node share, with `room` bytes for each buffer."""
        super().__init__(array, aggregators, rank)
        self._shared, self._room = shared, room

    def of(self, aggregator: int, turn: int) -> NDArray[np.uint8]:
        """Return shared buffer number `turn` (0 or 1) of aggregator number `aggregator`."""
        own = self._shared.of[self.aggregators[aggregator]]
        return own[turn * self._room : (turn + 1) * self._room]

    def fill(self, layout: Layout, held: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Fill the aggregators' shared buffers: copy this rank's elements directly to them."""
        if self.rank not in layout.ranks:
            return
        plan = Plan(layout, self.aggregated(boxes))
        read = [memory.to_read(part) for part in memory.parts_of(held, "held")]
        for message in plan.sends(self.rank):
            aggregator = self.aggregators.index(message.to_rank)
            # Compute only the message of this rank: an aggregator may receive many others.
            pair = (self.rank, message.to_rank)
            share = _call(_core.Share.between, plan._core, pair, *self._elements)
            views = self.views(turn, boxes, aggregator)
            piece = (0, 0, message.elements)
            _call(share.unpack, [(piece, read)], [memory.given(view) for view in views])

    def empty(self, layout: Layout, out: Any, turn: int, boxes: list[list[Box]]) -> None:
        """Empty the aggregators' shared buffers: copy this rank's elements directly from them."""
        if self.rank not in layout.ranks:
            return
        plan = Plan(self.aggregated(boxes), layout)
        share = _call(_core.Share, plan._core, self.rank, *self._elements)
        sources = []
        for number, (sender, size) in enumerate(share.receives()):
            views = self.views(turn, boxes, self.aggregators.index(sender))
            sources.append(((number, 0, size), [memory.given(view) for view in views]))
        if sources:
            taken = memory.parts_of(out, "out")
            _call(share.unpack, sources, [memory.to_write(part, "out") for part in taken])

    @property
    def _elements(self) -> tuple[int, bool]:
        """Return the bytes of one element, and whether the file is column-major."""
        return self.array.dtype.itemsize, self.array.order == "F"

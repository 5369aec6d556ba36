"""A file read or written in rounds: what ranks hold to the buffers of aggregators, and on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.files.domains import Box, Domains, extents
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.formats import Described
    from isthmus.arrays.files.team import Team

    Part = NDArray[Any]
    Progress = Callable[[int, int], None]
    Work = Callable[[int, NDArray[np.uint8], list[Box], list[Part]], None]

BUFFERS = 2
"""While one is read or written by a thread the other is filled or emptied."""


class Rounds:
    """The rounds of the file domains of aggregators, each between a layout and their buffers."""

    def __init__(
        self,
        team: Team,
        array: Described,
        domains: Domains,
        aggregators: list[int],
        progress: Progress | None,
    ) -> None:
        self._team, self._array, self._domains = team, array, domains
        self._aggregators, self._progress = aggregators, progress
        self._mine = aggregators.index(team.rank) if team.rank in aggregators else None
        room = domains.room if self._mine is not None else 0
        self._buffers = [np.empty(room, np.uint8) for _ in range(BUFFERS)]
        self._moved = 0

    def write(self, layout: Layout, held: Any, put: Work) -> None:
        """Bring what ranks hold to the aggregators, which write it.

        Args:
            layout: who holds what.
            held: by this rank.
            put: writes a round of this rank: its number, the bytes, boxes and their arrays.

        Raises:
            IsthmusError: on all ranks alike, if one cannot go on.

        """
        with _Thread() as thread:
            for turn, number, boxes in self._numbered():
                self._ready(thread, turn)
                data, views = self._views(turn, boxes)
                plan = Plan(layout, self._aggregated(boxes))
                self._move(plan, held, views)
                if data.size:
                    thread.start(turn, put, number, data, self._own(boxes), views)
                self._count(boxes)
            for turn in range(BUFFERS):
                self._ready(thread, turn)

    def read(self, layout: Layout, out: Any, get: Work) -> None:
        """Bring what aggregators read to the ranks.

        Args:
            layout: who is to hold what.
            out: where this rank takes it.
            get: reads a round of this rank, as `put` of `write` writes it.

        Raises:
            IsthmusError: on all ranks alike, if one cannot go on.

        """

        def fetch(turn: int, number: int, boxes: list[list[Box]]) -> None:
            data, views = self._views(turn, boxes)
            if data.size:
                thread.start(turn, get, number, data, self._own(boxes), views)

        with _Thread() as thread:
            coming = self._numbered()
            now = next(coming, None)
            if now is not None:
                fetch(*now)
            while now is not None:
                turn, _, boxes = now
                self._ready(thread, turn)
                now = next(coming, None)
                if now is not None:
                    fetch(*now)
                _, views = self._views(turn, boxes)
                self._move(Plan(self._aggregated(boxes), layout), views, out)
                self._count(boxes)
            self._ready(thread, 0)

    def _numbered(self) -> Iterator[tuple[int, int, list[list[Box]]]]:
        """Of each round that moves anything the buffer, the number, and all aggregators' boxes."""
        turn = 0
        for number in range(self._domains.rounds):
            boxes = [
                self._domains.boxes(aggregator, number)
                for aggregator in range(len(self._aggregators))
            ]
            if any(boxes):
                yield turn, number, boxes
                turn = (turn + 1) % BUFFERS

    def _aggregated(self, boxes: list[list[Box]]) -> Layout:
        layout = Layout.boxes(self._array.shape, boxes, partial=True)
        return layout.on_ranks(self._aggregators)

    def _own(self, boxes: list[list[Box]]) -> list[Box]:
        return [] if self._mine is None else boxes[self._mine]

    def _views(self, turn: int, boxes: list[list[Box]]) -> tuple[NDArray[np.uint8], list[Part]]:
        """What of a buffer a round fills, and the arrays that it is for."""
        buffer, dtype, at = self._buffers[turn], self._array.dtype, 0
        order: Any = self._array.order
        views: list[Part] = []
        for box in self._own(boxes):
            shape = extents(box)
            views.append(np.ndarray(shape, dtype, buffer, at, order=order))
            at += math.prod(shape) * dtype.itemsize
        return buffer[:at], views

    def _move(self, plan: Plan, held: Any, out: Any) -> None:
        self._team.move(plan, held, out, self._array.dtype, self._array.order)

    def _count(self, boxes: list[list[Box]]) -> None:
        elements = sum(math.prod(extents(box)) for of_one in boxes for box in of_one)
        self._moved += elements * self._array.dtype.itemsize

    def _ready(self, thread: _Thread, turn: int) -> None:
        """Wait for a buffer; whatever has gone wrong on a rank is known to all then."""

        def look() -> None:
            thread.wait(turn)
            if self._progress is not None:
                self._progress(self._moved, self._array.size)

        self._team.together(look)


class _Thread:
    """One that reads or writes, with a buffer for each turn."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._under_way: dict[int, Future[None]] = {}

    def __enter__(self) -> _Thread:
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing is read into or written from buffers that are gone.
        self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, turn: int, work: Work, *given: Any) -> None:
        self._under_way[turn] = self._pool.submit(work, *given)

    def wait(self, turn: int) -> None:
        found = self._under_way.pop(turn, None)
        if found is not None:
            found.result()

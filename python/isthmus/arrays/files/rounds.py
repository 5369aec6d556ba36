"""A file read or written in rounds: what ranks hold to the buffers of aggregators, and on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.files.buffers import BUFFERS
from isthmus.arrays.files.domains import Box, extents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.buffers import Buffers
    from isthmus.arrays.files.domains import Domains
    from isthmus.arrays.files.team import Team
    from isthmus.arrays.layouts import Layout

    Part = NDArray[Any]
    Progress = Callable[[int, int], None]
    Work = Callable[[int, NDArray[np.uint8], list[Box], list[Part]], None]


@dataclass(frozen=True)
class _Round:
    number: int
    turn: int
    """Which of the buffers it takes."""
    boxes: list[list[Box]]
    """By aggregator."""


class Rounds:
    """The rounds of the file domains of aggregators, each between a layout and their buffers."""

    def __init__(
        self, team: Team, domains: Domains, buffers: Buffers, progress: Progress | None
    ) -> None:
        self._team, self._domains, self._buffers = team, domains, buffers
        self._progress = progress
        self._moved = 0
        self._failed: Exception | None = None

    def write(self, layout: Layout, held: Any, put: Work) -> None:
        """Bring what ranks hold to the aggregators, which write it.

        Args:
            layout: who holds what.
            held: by this rank.
            put: writes a round of this rank: its number, the bytes, boxes and their arrays.

        Raises:
            IsthmusError: on all ranks alike, if one cannot go on.

        """
        buffers = self._buffers
        with _Thread() as thread:
            before: _Round | None = None
            for now in self._all():
                # From here on all have filled the round before, and this one's buffer is free.
                self._ready(thread, now.turn)
                if before is not None:
                    self._start(thread, before, put)
                self._try(buffers.fill, layout, held, now)
                before = now
            if before is not None:
                self._ready(thread, 1 - before.turn)
                self._start(thread, before, put)
                self._ready(thread, before.turn)

    def read(self, layout: Layout, out: Any, get: Work) -> None:
        """Bring what aggregators read to the ranks.

        Args:
            layout: who is to hold what.
            out: where this rank takes it.
            get: reads a round of this rank, as `put` of `write` writes it.

        Raises:
            IsthmusError: on all ranks alike, if one cannot go on.

        """
        with _Thread() as thread:
            coming = self._all()
            now = next(coming, None)
            if now is not None:
                self._start(thread, now, get)
            while now is not None:
                # From here on this round has been read, and all have emptied the one before.
                self._ready(thread, now.turn)
                after = next(coming, None)
                if after is not None:
                    self._start(thread, after, get)
                self._try(self._buffers.empty, layout, out, now)
                now = after
            self._ready(thread, 0)

    def _all(self) -> Iterator[_Round]:
        """Those in which anything is moved."""
        turn = 0
        for number in range(self._domains.rounds):
            aggregators = range(len(self._buffers.aggregators))
            boxes = [self._domains.boxes(aggregator, number) for aggregator in aggregators]
            if any(boxes):
                yield _Round(number, turn, boxes)
                turn = (turn + 1) % BUFFERS

    def _start(self, thread: _Thread, now: _Round, work: Work) -> None:
        """Have a round of this rank written or read by the thread."""
        buffers = self._buffers
        data = buffers.data(now.turn, now.boxes)
        if data.size and buffers.mine is not None:
            views = buffers.views(now.turn, now.boxes, buffers.mine)
            thread.start(now.turn, work, now.number, data, now.boxes[buffers.mine], views)

    def _try(self, move: Any, layout: Layout, arrays: Any, now: _Round) -> None:
        """Move a round; what goes wrong is told to all with the next."""
        try:
            move(layout, arrays, now.turn, now.boxes)
        except Exception as error:
            self._failed = error
        elements = sum(math.prod(extents(box)) for of_one in now.boxes for box in of_one)
        self._moved += elements * self._buffers.array.dtype.itemsize

    def _ready(self, thread: _Thread, turn: int) -> None:
        """Meet all ranks, when the thread is done with a buffer.

        Raises:
            IsthmusError: on all ranks alike, if anything has gone wrong on one of them.

        """

        def look() -> None:
            thread.wait(turn)
            if self._failed is not None:
                raise self._failed
            if self._progress is not None:
                self._progress(self._moved, self._buffers.array.size)

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

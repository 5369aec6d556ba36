"""Reading and writing in rounds, between ranks, the buffers of aggregators and the file."""

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
    """One step in which each aggregator moves at most one buffer of data."""

    number: int
    turn: int
    """Number of the buffer, 0 or 1, that the round uses."""
    boxes: list[list[Box]]
    """Boxes of the array that each aggregator moves in the round."""


class Rounds:
    """The rounds that move array data between all ranks and the aggregators (ranks that access the
    file), one buffer of each aggregator at a time.
    """

    def __init__(
        self, team: Team, domains: Domains, buffers: Buffers, progress: Progress | None
    ) -> None:
        """Create the rounds that move data between these processes and the file.

        `domains` divides the file among the aggregators; `progress` reports how much is moved.
        """
        self._team, self._domains, self._buffers = team, domains, buffers
        self._progress = progress
        self._moved = 0
        self._failed: Exception | None = None

    def write(self, layout: Layout, held: Any, put: Work) -> None:
        """Move the arrays of ranks to the aggregators, which write them.

        Args:
            layout: mapping of elements to ranks.
            held: arrays of this rank.
            put: writes a round of this rank, given its number, bytes, boxes and their arrays.

        Raises:
            IsthmusError: on all ranks, if one of them fails.

        """
        buffers = self._buffers
        with _Thread() as thread:
            before: _Round | None = None
            for now in self._nonempty():
                # All ranks have now filled the previous round, and the buffer of this one is free.
                self._synchronise(thread, now.turn)
                if before is not None:
                    self._start(thread, before, put)
                self._move(buffers.fill, layout, held, now)
                before = now
            if before is not None:
                self._synchronise(thread, 1 - before.turn)
                self._start(thread, before, put)
                self._synchronise(thread, before.turn)

    def read(self, layout: Layout, out: Any, get: Work) -> None:
        """Move the data that aggregators read to the ranks.

        Args:
            layout: mapping of elements to ranks.
            out: arrays of this rank.
            get: reads a round of this rank, with the arguments of `put` in `write`.

        Raises:
            IsthmusError: on all ranks, if one of them fails.

        """
        with _Thread() as thread:
            coming = self._nonempty()
            now = next(coming, None)
            if now is not None:
                self._start(thread, now, get)
            while now is not None:
                # Wait until this round is read, and until all ranks have emptied the previous one.
                self._synchronise(thread, now.turn)
                after = next(coming, None)
                if after is not None:
                    self._start(thread, after, get)
                self._move(self._buffers.empty, layout, out, now)
                now = after
            self._synchronise(thread, 0)

    def _nonempty(self) -> Iterator[_Round]:
        """Yield the rounds in which data are moved."""
        turn = 0
        for number in range(self._domains.rounds):
            aggregators = range(len(self._buffers.aggregators))
            boxes = [self._domains.boxes(aggregator, number) for aggregator in aggregators]
            if any(boxes):
                yield _Round(number, turn, boxes)
                turn = (turn + 1) % BUFFERS

    def _start(self, thread: _Thread, now: _Round, work: Work) -> None:
        """Let the thread read or write this rank's buffer of a round."""
        buffers = self._buffers
        data = buffers.data(now.turn, now.boxes)
        if data.size and buffers.mine is not None:
            views = buffers.views(now.turn, now.boxes, buffers.mine)
            thread.start(now.turn, work, now.number, data, now.boxes[buffers.mine], views)

    def _move(self, move: Any, layout: Layout, arrays: Any, now: _Round) -> None:
        """Move the data of a round between ranks and buffers; the next synchronisation reports an
        error.
        """
        try:
            move(layout, arrays, now.turn, now.boxes)
        except Exception as error:
            self._failed = error
        elements = sum(math.prod(extents(box)) for of_one in now.boxes for box in of_one)
        self._moved += elements * self._buffers.array.dtype.itemsize

    def _synchronise(self, thread: _Thread, turn: int) -> None:
        """Synchronise all ranks once the thread has finished with a buffer.

        Raises:
            IsthmusError: on all ranks, if one of them has failed.

        """

        def check() -> None:
            """Wait for the thread and raise its error, or the error of this rank's last move."""
            thread.wait(turn)
            if self._failed is not None:
                raise self._failed
            if self._progress is not None:
                self._progress(self._moved, self._buffers.array.size)

        self._team.on_all(check)


class _Thread:
    """A thread that reads or writes the buffers of rounds."""

    def __init__(self) -> None:
        """Create the thread, which starts with the first call of `start`."""
        self._pool = ThreadPoolExecutor(1)
        self._under_way: dict[int, Future[None]] = {}

    def __enter__(self) -> _Thread:
        """Return the thread itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the thread, and cancel the work that it has not started."""
        # Wait for the thread, so that no buffer is used after it is freed.
        self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, turn: int, work: Work, *given: Any) -> None:
        """Start to read or write buffer number `turn` on the thread."""
        self._under_way[turn] = self._pool.submit(work, *given)

    def wait(self, turn: int) -> None:
        """Wait until the thread has finished with buffer number `turn`; raise its error."""
        found = self._under_way.pop(turn, None)
        if found is not None:
            found.result()

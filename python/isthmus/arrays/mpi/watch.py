"""Reports of ranks that wait for other ranks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from isthmus.arrays.mpi.board import BEGUN, Board, named
from isthmus.errors import IsthmusError

PATIENCE_S = 10.0
"""Seconds after which a waiting rank reports the ranks that it waits for."""
LOOK_S = 1.0
"""Seconds between checks whether other ranks have ended."""


class Watch:
    """A thread that watches how long this rank waits for other ranks of its node.

    Ranks on other nodes are not watched. A nested ``with`` continues the same wait.
    """

    def __init__(
        self, comm: Any, board: Board, patience_s: float, tell: Callable[[str], None] | None
    ) -> None:
        """Start the thread; `tell` receives its reports, None writes them to standard error."""
        self._comm = comm
        self._rank = comm.rank
        self._board = board
        self._patience_s = patience_s
        self._tell = tell or _write_to_stderr
        self._since: float | None = None
        self._depth = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Whether the thread has been ended."""
        return self._ended.is_set()

    def refuse_closed(self) -> None:
        """Raise an error if these ranks have been closed.

        Raises:
            IsthmusError: the ranks are closed.

        """
        if self.is_closed:
            raise IsthmusError("ranks: they are closed; make them again to go on")

    def __enter__(self) -> None:
        self.refuse_closed()
        self._depth += 1
        if self._depth == 1:
            self._board.mine[BEGUN] += 1
            self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._since = None

    def close(self) -> None:
        """End the thread that reports waiting ranks."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        """Until the watch is closed, report the ranks for which this rank waits too long, and the
        ranks that have ended.
        """
        reported = 0
        while not self._ended.wait(min(self._patience_s / 4, LOOK_S)):
            since, number = self._since, int(self._board.mine[BEGUN])
            if since is None:
                continue
            ended = self._board.ended()
            waited_s = time.monotonic() - since
            if ended and waited_s > LOOK_S:
                # Abort: this rank waits inside MPI for an ended rank and would never return.
                text = f"waits in vain for {named(ended)}: ended"  # codespell:ignore vain
                self._tell(f"rank {self._rank} {text}")
                self._comm.Abort(1)
            if number == reported or waited_s < self._patience_s:
                continue
            reported = number
            late = self._board.late(number)
            whom = (
                f"{named(late)}, not there yet"
                if late
                else "others, of whom all on this node are there"
            )
            self._tell(f"rank {self._rank} has waited {waited_s:.3g} s for {whom}")


@contextmanager
def waiting(rank: int, patience_s: float, tell: Callable[[str], None] | None) -> Iterator[None]:
    """Within this context, report this rank if it waits longer than `patience_s` for others to
    start. It is used before the ranks share memory.
    """
    words = f"rank {rank} has waited {patience_s:.3g} s for other ranks, which have not started yet"
    timer = threading.Timer(patience_s, tell or _write_to_stderr, [words])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _write_to_stderr(words: str) -> None:
    """Print a report on standard error."""
    print(f"isthmus: {words}", file=sys.stderr, flush=True)

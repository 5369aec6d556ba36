"""Ranks that wait for others say for whom."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATIENCE_S = 10.0
"""After how many seconds a rank says for whom it waits."""


class Watch:
    """A board of how many exchanges each rank has begun, and a thread that looks at it.

    The board is in memory that the ranks of a node share. Of ranks on other nodes it knows nothing.
    """

    def __init__(
        self, comm: Any, node: Any, patience_s: float, tell: Callable[[str], None] | None
    ) -> None:
        from mpi4py import MPI

        self._rank = comm.rank
        self._patience_s = patience_s
        self._tell = tell or _say
        self._window = MPI.Win.Allocate_shared(8, 8, comm=node)
        self._begun = {
            rank: self._of(place) for place, rank in enumerate(node.allgather(comm.rank))
        }
        self._begun[self._rank][0] = 0
        node.Barrier()
        self._since: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _of(self, place: int) -> NDArray[np.int64]:
        shared: Any = self._window.Shared_query(place)[0]
        return np.frombuffer(shared, np.int64)

    def __enter__(self) -> None:
        self._begun[self._rank][0] += 1
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._since = None

    def close(self) -> None:
        """End the thread and give back the board; all ranks of the node do together."""
        self._ended.set()
        self._thread.join()
        self._begun = {}
        self._window.Free()

    def _look(self) -> None:
        told = 0
        while not self._ended.wait(self._patience_s / 4):
            since, number = self._since, int(self._begun[self._rank][0])
            if since is None or number == told:
                continue
            waited_s = time.monotonic() - since
            if waited_s < self._patience_s:
                continue
            told = number
            late = [rank for rank, begun in self._begun.items() if int(begun[0]) < number]
            ranks = " and ".join(
                [", ".join(map(str, late[:-1])), str(late[-1])] if len(late) > 1 else map(str, late)
            )
            whom = (
                f"rank{'s' if len(late) > 1 else ''} {ranks}, not there yet"
                if late
                else ("others, of whom all on this node are there")
            )
            self._tell(
                f"rank {self._rank} has waited {waited_s:.3g} s in exchange {number} for {whom}"
            )


def _say(words: str) -> None:
    print(f"isthmus: {words}", file=sys.stderr, flush=True)

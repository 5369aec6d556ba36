"""Where the ranks of a node meet: memory that all of them see."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus import _core
from isthmus.arrays.agreed import AgreedError
from isthmus.arrays.mpi.shared import Shared
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

MET, FLAGS, BEGUN, PROCESS, STARTED, COLUMNS = 0, 1, 3, 4, 5, 8
"""What of a rank is in which column; flags have two, which take turns."""
POLLS = 64
"""After so many looks at the others a rank that waits lets its MPI go on."""
SPIN_S = 5e-3
"""After so many seconds it sleeps between looks, so that those that are late have the cores."""
LIVES_S = 0.25
"""After so many seconds it looks whether those that it waits for live."""


class RankEndedError(IsthmusError):
    """A rank has ended without having come to where others wait for it."""


class Board:
    """A row of numbers for each rank of a node, which the rank writes and all read."""

    def __init__(self, comm: Any, node: Any) -> None:
        self._comm = comm
        self.ranks: list[int] = node.allgather(comm.rank)
        """By row the number of the rank in the communicator."""
        problem, shared = "", np.zeros(COLUMNS * 8, np.uint8)
        if node.size > 1:
            try:
                shared = Shared(node, COLUMNS * 8 * node.size if node.rank == 0 else 0).of[0]
            except IsthmusError as error:
                problem = str(error)
        # One node may lack the memory while others have it.
        for said in comm.allgather(problem):
            if said:
                raise AgreedError(said)
        self.rows: NDArray[np.int64] = shared.view(np.int64).reshape(-1, COLUMNS)
        self.mine = self.rows[node.rank]
        self.mine[:] = 0
        self.mine[PROCESS], self.mine[STARTED] = os.getpid(), _started(os.getpid())
        self._met = self.rows[:, MET]
        self._flags = [self.rows[:, FLAGS + turn] for turn in range(2)]
        self._number = 0
        _core.fence()
        node.Barrier()

    def meet(self, flags: int = 0) -> int:
        """Wait for all ranks of the node; what they wrote before is seen after.

        Returns:
            The flags of all, bit by bit.

        Raises:
            RankEndedError: one of them has ended.

        """
        self._number = number = self._number + 1
        # Nobody writes a turn's flags again before all have met once more, having read them.
        self.mine[FLAGS + number % 2] = flags
        _core.fence()
        self.mine[MET] = number
        if self._met.min() < number:
            self._wait(number)
        _core.fence()
        return int(np.bitwise_or.reduce(self._flags[number % 2]))

    def _wait(self, number: int) -> None:
        begin = time.monotonic()
        looked, polls, sleeps = begin, 0, False
        while self._met.min() < number:
            polls += 1
            if polls % POLLS and not sleeps:
                os.sched_yield()
                continue
            # A rank that is late may wait for a message of this one to go on its way.
            self._comm.Iprobe()
            now = time.monotonic()
            sleeps = now - begin > SPIN_S
            if sleeps:
                time.sleep(1e-4)
            if now - looked > LIVES_S:
                looked = now
                self._look_for(number)

    def _look_for(self, number: int) -> None:
        """Whether all that have not come yet live."""
        ended = [rank for rank, row in self._rows() if row[MET] < number and _has_ended(row)]
        if ended:
            raise RankEndedError(f"rank {self._comm.rank} waits in vain for {named(ended)}: ended")

    def _rows(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        return zip(self.ranks, self.rows, strict=True)

    def late(self, number: int) -> list[int]:
        """Those ranks that have not begun this exchange."""
        return [rank for rank, row in self._rows() if row[BEGUN] < number]

    def ended(self) -> list[int]:
        """Those ranks that have ended."""
        return [rank for rank, row in self._rows() if _has_ended(row)]


def named(ranks: list[int]) -> str:
    """Ranks, for people."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _has_ended(row: NDArray[np.int64]) -> bool:
    return _started(int(row[PROCESS])) != int(row[STARTED])


def _started(process: int) -> int:
    """When a process began, in ticks; 0 if it has ended, 1 where that cannot be known."""
    if not Path("/proc/self/stat").exists():
        return 1
    try:
        words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if words[0] in {"Z", "X"} else int(words[19])

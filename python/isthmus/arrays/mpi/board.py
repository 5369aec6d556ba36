"""A barrier of the ranks of a node through shared memory."""

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
"""Columns of a rank's row: barriers reached, flags (two columns, which alternate), exchanges
started, process number, start time of the process. Then the number of columns.
"""
POLLS = 64
"""Number of polls after which a waiting rank lets MPI make progress."""
SPIN_S = 5e-3
"""Seconds after which a waiting rank sleeps between polls, to leave the cores to late ranks."""
ALIVE_CHECK_S = 0.25
"""Seconds between checks whether the ranks that this rank waits for still run."""


class RankEndedError(IsthmusError):
    """A rank has ended while other ranks wait for it."""


class Board:
    """A table in shared memory with a row of numbers for each rank of a node: the rank writes its
    row, all ranks read it.
    """

    def __init__(self, comm: Any, node: Any) -> None:
        """Allocate the table; a collective call. `comm` contains all ranks, `node` those of this
        node.
        """
        self._comm = comm
        self.ranks: list[int] = node.allgather(comm.rank)
        """For each row of the table, the rank in the communicator that writes it."""
        problem, shared = "", np.zeros(COLUMNS * 8, np.uint8)
        if node.size > 1:
            try:
                shared = Shared(node, COLUMNS * 8 * node.size if node.rank == 0 else 0).of[0]
            except IsthmusError as error:
                problem = str(error)
        # Allocation may fail on some nodes only, so all ranks exchange their problems.
        for reported in comm.allgather(problem):
            if reported:
                raise AgreedError(reported)
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
        """Wait for all ranks of the node; their earlier writes are visible afterwards.

        Returns:
            The bitwise OR of the flags of all ranks.

        Raises:
            RankEndedError: a rank of the node has ended.

        """
        self._number = number = self._number + 1
        # Two columns alternate, so no rank overwrites flags before all ranks have read them.
        self.mine[FLAGS + number % 2] = flags
        _core.fence()
        self.mine[MET] = number
        if self._met.min() < number:
            self._wait(number)
        _core.fence()
        return int(np.bitwise_or.reduce(self._flags[number % 2]))

    def _wait(self, number: int) -> None:
        """Wait until all ranks have reached this barrier; raise an error if one has ended."""
        begin = time.monotonic()
        checked, polls, sleeps = begin, 0, False
        while self._met.min() < number:
            polls += 1
            if polls % POLLS and not sleeps:
                os.sched_yield()
                continue
            # A late rank may wait for a message of this rank; the probe lets MPI send it.
            self._comm.Iprobe()
            now = time.monotonic()
            sleeps = now - begin > SPIN_S
            if sleeps:
                time.sleep(1e-4)
            if now - checked > ALIVE_CHECK_S:
                checked = now
                self._refuse_ended(number)

    def _refuse_ended(self, number: int) -> None:
        """Raise an error if a rank that this rank waits for has ended."""
        ended = [rank for rank, row in self._rows() if row[MET] < number and _has_ended(row)]
        if ended:
            text = f"waits in vain for {named(ended)}: ended"  # codespell:ignore vain
            raise RankEndedError(f"rank {self._comm.rank} {text}")

    def _rows(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each rank of the node with its row of the shared table."""
        return zip(self.ranks, self.rows, strict=True)

    def late(self, number: int) -> list[int]:
        """Return the ranks that have not started the exchange with this number."""
        return [rank for rank, row in self._rows() if row[BEGUN] < number]

    def ended(self) -> list[int]:
        """Return the ranks of the node whose processes have ended."""
        return [rank for rank, row in self._rows() if _has_ended(row)]


def named(ranks: list[int]) -> str:
    """Return rank numbers as text: ``ranks 1, 2 and 3``."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _has_ended(row: NDArray[np.int64]) -> bool:
    """Return whether the process that wrote a row has ended."""
    return _started(int(row[PROCESS])) != int(row[STARTED])


def _started(process: int) -> int:
    """Return the start time of a process in ticks; 0 if it has ended, 1 without ``/proc``."""
    if not Path("/proc/self/stat").exists():
        return 1
    try:
        words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if words[0] in {"Z", "X"} else int(words[19])

"""Redistribution of pieces of an array, by threads of one process or by ranks of MPI."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from isthmus.arrays import Layout, Plan, memory
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    from isthmus.arrays.mpi import Ranks
    from isthmus.streams.stream import Stream


class Threads:
    """Redistribution by threads of this process, which has the whole array and all links."""

    def __init__(self, threads: int | None) -> None:
        """Use this number of threads; None for one per processor."""
        self._threads = threads

    def own(self, links: int) -> list[int]:
        """Return the numbers of the links that this process serves: all, 0 to `links` - 1."""
        return list(range(links))

    def owners(self, links: int) -> list[list[int]]:
        """Return the numbers of the links that each rank serves: one rank serves all links."""
        return [self.own(links)]

    def dtype(self, layout: Layout, held: Any, what: str) -> np.dtype[Any]:
        """Return the element type that all arrays have in common.

        Raises:
            IsthmusError: the arrays have several types, or none.

        """
        if not isinstance(held, (list, tuple)) or len(held) != len(layout.ranks):
            count = len(layout.ranks)
            raise IsthmusError(f"{what}: a list of what each of the layout's {count} ranks holds")
        parts = [part for own in held for part in memory.parts_of(own, what)]
        found = memory.one_type(parts, what)
        if found is None:
            raise IsthmusError(f"{what}: no rank holds any")
        return found

    def gather(self, plan: Plan, held: Any, parts: list[Any]) -> None:
        """Copy a piece of the array from the user's arrays to `parts`, the buffers to send."""
        plan.redistribute(held, out=[parts], threads=self._threads)

    def spread(self, plan: Plan, parts: list[Any], held: Any) -> None:
        """Copy a received piece of the array from the link buffers `parts` to the user's arrays
        `held`, as `plan` says.
        """
        plan.redistribute([parts], out=held, threads=self._threads)

    def agree(self, problem: BaseException | None) -> None:
        """Raise `problem` if it is not None. Threads have no other ranks that must raise it too."""
        if problem is not None:
            raise problem


class MpiMovers:
    """Redistribution by the ranks of a communicator, each with its part of the array; links are
    assigned round-robin.
    """

    def __init__(self, ranks: Ranks) -> None:
        """Store the ranks of the MPI communicator, which redistribute the arrays."""
        self._ranks = ranks

    def own(self, links: int) -> list[int]:
        """Return the numbers of the links that this rank serves."""
        return self.owners(links)[self._ranks.comm.rank]

    def owners(self, links: int) -> list[list[int]]:
        """Return the numbers of the links that each rank serves, assigned round-robin."""
        size = self._ranks.comm.size
        return [list(range(rank, links, size)) for rank in range(size)]

    def dtype(self, layout: Layout, held: Any, what: str) -> np.dtype[Any]:
        """Return the element type that the arrays of all ranks have in common."""
        kind, _ = self._ranks.same(held)
        return kind

    def gather(self, plan: Plan, held: Any, parts: list[Any]) -> None:
        """Copy a piece of the array from the arrays `held` of all ranks to `parts`, the buffers to
        send, as `plan` says.
        """
        self._ranks.exchange(plan, held, parts)

    def spread(self, plan: Plan, parts: list[Any], held: Any) -> None:
        """Copy a received piece of the array from the link buffers `parts` to the arrays `held` of
        all ranks, as `plan` says.
        """
        self._ranks.exchange(plan, parts, held)

    def agree(self, problem: BaseException | None) -> None:
        """Raise an error on all ranks if any rank passes a `problem` that is not None."""
        try:
            self._ranks.agree(0, "" if problem is None else str(problem))
        except IsthmusError as error:
            raise (problem or error) from None


Movers = Threads | MpiMovers
"""An object that copies pieces of an array between the user's arrays and the buffers of the links,
by threads or by MPI ranks.
"""


class CancelOnError:
    """Context manager for the transfer of an array: an error in the block cancels the stream."""

    def __init__(self, stream: Stream, thread: ThreadPoolExecutor) -> None:
        """Store the stream to cancel on an error, and the thread that moves its data."""
        self._stream = stream
        self._thread = thread

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            # Ignore an error of the cancellation, so that the caller gets the error of the block.
            with suppress(IsthmusError):
                self._stream.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

"""Who reshuffles pieces of an array: threads of one process, or ranks of MPI."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from isthmus.arrays import Layout, Plan, memory
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    from isthmus.arrays.mpi import Ranks
    from isthmus.streams.stream import Stream


class Movers(Protocol):
    """Who reshuffles pieces of an array."""

    def own(self, links: int) -> list[int]:
        """The links that this process has, of so many."""

    def owners(self, links: int) -> list[list[int]]:
        """By rank the links that it has."""

    def dtype(self, layout: Layout, held: Any, what: str) -> np.dtype[Any]:
        """The type of the elements, which all have.

        Raises:
            IsthmusError: arrays of several types, or none.

        """

    def gather(self, plan: Plan, held: Any, parts: list[Any]) -> None:
        """Move a piece from where the array lies to the parts for the interface."""

    def spread(self, plan: Plan, parts: list[Any], held: Any) -> None:
        """Move a piece from the parts for the interface to where the array lies."""

    def agree(self, problem: BaseException | None) -> None:
        """Raise what went wrong, wherever it did."""


class Threads:
    """Threads of this process, which holds all of the array and all links."""

    def __init__(self, threads: int | None) -> None:
        self._threads = threads

    def own(self, links: int) -> list[int]:
        """All."""
        return list(range(links))

    def owners(self, links: int) -> list[list[int]]:
        """All are one rank's."""
        return [self.own(links)]

    def dtype(self, layout: Layout, held: Any, what: str) -> np.dtype[Any]:
        """The type of all arrays."""
        if not isinstance(held, (list, tuple)) or len(held) != len(layout.ranks):
            count = len(layout.ranks)
            raise IsthmusError(f"{what}: a list of what each of the layout's {count} ranks holds")
        parts = [part for own in held for part in memory.parts_of(own, what)]
        found = memory.one_type(parts, what)
        if found is None:
            raise IsthmusError(f"{what}: no rank holds any")
        return found

    def gather(self, plan: Plan, held: Any, parts: list[Any]) -> None:
        """Move by threads."""
        plan.redistribute(held, out=[parts], threads=self._threads)

    def spread(self, plan: Plan, parts: list[Any], held: Any) -> None:
        """Move by threads."""
        plan.redistribute([parts], out=held, threads=self._threads)

    def agree(self, problem: BaseException | None) -> None:
        """Raise it."""
        if problem is not None:
            raise problem


class OfMpi:
    """Ranks of a communicator, each with its part of the array; links are theirs in turn."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def own(self, links: int) -> list[int]:
        """Of this rank."""
        return self.owners(links)[self._ranks.comm.rank]

    def owners(self, links: int) -> list[list[int]]:
        """Link by link, one rank after another."""
        size = self._ranks.comm.size
        return [list(range(rank, links, size)) for rank in range(size)]

    def dtype(self, layout: Layout, held: Any, what: str) -> np.dtype[Any]:
        """The type of all ranks' arrays."""
        kind, _ = self._ranks.same(held)
        return kind

    def gather(self, plan: Plan, held: Any, parts: list[Any]) -> None:
        """Exchange between ranks."""
        self._ranks.exchange(plan, held, parts)

    def spread(self, plan: Plan, parts: list[Any], held: Any) -> None:
        """Exchange between ranks."""
        self._ranks.exchange(plan, parts, held)

    def agree(self, problem: BaseException | None) -> None:
        """Raise what any rank says, on all."""
        try:
            self._ranks.agree(0, "" if problem is None else str(problem))
        except IsthmusError as told:
            raise (problem or told) from None


class Together:
    """The time in which an array is moved: if that fails, its stream is cancelled."""

    def __init__(self, stream: Stream, thread: ThreadPoolExecutor) -> None:
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
            # What went wrong first is told.
            with suppress(IsthmusError):
                self._stream.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

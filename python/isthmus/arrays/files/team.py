"""Who reads or writes a file together: the ranks of a communicator, or one process alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from isthmus.arguments import refuse
from isthmus.arrays.agreed import AgreedError, words_of
from isthmus.arrays.files.buffers import (
    BUFFERS,
    Buffers,
    ByMessages,
    InOneProcess,
    InSharedMemory,
)
from isthmus.core import processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.arrays.files.formats import Described
    from isthmus.arrays.mpi import Ranks
    from isthmus.arrays.mpi.shared import Shared

T = TypeVar("T")


class Team(ABC):
    """All of those who open a file. Each calls its methods, in the same order."""

    rank: int
    size: int
    is_one_node: bool
    """Whether its ranks are processes that see the same memory."""

    @abstractmethod
    def together(self, function: Callable[[], T]) -> T:
        """Do something on each rank.

        Raises:
            IsthmusError: on all ranks alike, if it cannot be done on one of them, which is named.

        """

    @abstractmethod
    def first(self, function: Callable[[], T]) -> T:
        """Do something on rank 0, and know on all ranks what came of it.

        Raises:
            IsthmusError: on all ranks alike, if it cannot be done.

        """

    @abstractmethod
    def all_are(self, ready: bool) -> bool:
        """Whether all ranks are."""

    @abstractmethod
    def everyone(self, value: T) -> list[T]:
        """What each rank says."""

    @abstractmethod
    def to_first(self, value: T) -> list[T]:
        """What each rank says, on rank 0; nothing on the others."""

    @abstractmethod
    def buffers(self, array: Described, aggregators: list[int], room: int) -> Buffers:
        """Set aside buffers of so many bytes for aggregators."""

    @abstractmethod
    def nodes(self) -> list[tuple[list[int], int]]:
        """The ranks of each node, and how many processors they may use."""

    def close(self) -> None:  # noqa: B027
        """Give back what was set aside."""


class Alone(Team):
    """One process, which holds what all ranks of a layout hold; threads move it."""

    rank = 0
    size = 1
    is_one_node = False

    def together(self, function: Callable[[], T]) -> T:  # noqa: D102
        return function()

    def first(self, function: Callable[[], T]) -> T:  # noqa: D102
        return function()

    def all_are(self, ready: bool) -> bool:  # noqa: D102
        return ready

    def everyone(self, value: T) -> list[T]:  # noqa: D102
        return [value]

    def to_first(self, value: T) -> list[T]:  # noqa: D102
        return [value]

    def buffers(self, array: Described, aggregators: list[int], room: int) -> Buffers:  # noqa: D102
        return InOneProcess(array, aggregators, self.rank, room)

    def nodes(self) -> list[tuple[list[int], int]]:  # noqa: D102
        return [([0], processors())]


class Crew(Team):
    """The ranks of a communicator of mpi4py."""

    def __init__(self, ranks: Ranks, *, owned: bool) -> None:
        ranks.watch.refuse_closed()
        self._ranks, self._owned = ranks, owned
        self._shared: Shared | None = None
        self._room = 0
        self.rank = ranks.comm.rank
        self.size = ranks.comm.size
        self.is_one_node = ranks.is_one_node

    def together(self, function: Callable[[], T]) -> T:  # noqa: D102
        try:
            done = function()
        except Exception as error:
            try:
                self._agree(words_of(error))
            except IsthmusError as agreed:
                raise agreed from error
            raise
        self._agree("")
        return done

    def first(self, function: Callable[[], T]) -> T:  # noqa: D102
        found: Any = None
        cause: Exception | None = None
        if self.rank == 0:
            try:
                found = (function(), "")
            except Exception as error:
                found, cause = (None, words_of(error)), error
        with self._ranks.watch:
            value, problem = self._ranks.comm.bcast(found, 0)
        if problem:
            raise AgreedError(problem) from cause
        told: T = value
        return told

    def all_are(self, ready: bool) -> bool:  # noqa: D102
        with self._ranks.watch:
            return not self._ranks.agree(not ready)

    def everyone(self, value: T) -> list[T]:  # noqa: D102
        with self._ranks.watch:
            told: list[T] = self._ranks.comm.allgather(value)
        return told

    def to_first(self, value: T) -> list[T]:  # noqa: D102
        with self._ranks.watch:
            told: list[T] | None = self._ranks.comm.gather(value, 0)
        return told or []

    def buffers(self, array: Described, aggregators: list[int], room: int) -> Buffers:  # noqa: D102
        if not self.is_one_node:
            return ByMessages(array, aggregators, self._ranks, room)
        from isthmus.arrays.mpi.shared import Shared

        (room,) = self._ranks.most(room)
        if self._shared is None or room > self._room:
            size = BUFFERS * room if self.rank in aggregators else 0
            self._shared, self._room = Shared(self._ranks.node, size), room
        return InSharedMemory(array, aggregators, self.rank, self._shared, self._room)

    def nodes(self) -> list[tuple[list[int], int]]:  # noqa: D102
        return self._ranks.nodes()

    def close(self) -> None:  # noqa: D102
        self._shared = None
        if self._owned:
            self._ranks.close()

    def _agree(self, problem: str) -> None:
        """All go on, or none; on one node they see then what others have written to buffers."""
        with self._ranks.watch:
            self._ranks.agree(0, problem)


def team_of(comm: Any) -> Team:
    """All of a communicator, or this process alone.

    Raises:
        IsthmusError: it is no communicator, or one through which ranks cannot talk.

    """
    if comm is None:
        return Alone()
    from isthmus.arrays.mpi import Ranks

    if isinstance(comm, Ranks):
        return Crew(comm, owned=False)
    return Crew(Ranks(comm), owned=True)


def aggregators_of(team: Team, asked: Any) -> list[int]:
    """The ranks that read and write the file.

    Args:
        team: all ranks.
        asked: how many, or which. Without it on each node one for each processor, at most all.

    Raises:
        IsthmusError: there are not so many ranks, or no such rank.

    """
    if asked is None or isinstance(asked, int):
        nodes = team.nodes()
        if asked is None:
            shares = [min(len(ranks), usable) for ranks, usable in nodes]
        elif isinstance(asked, bool) or not 1 <= asked <= team.size:
            raise AgreedError(f"aggregators: {asked}; there are 1 to {team.size}")
        else:
            # One on each node, then one more on each that has ranks left.
            shares = [0] * len(nodes)
            turns = sorted(
                (turn, node) for node, (ranks, _) in enumerate(nodes) for turn in range(len(ranks))
            )
            for _, node in turns[:asked]:
                shares[node] += 1
        return sorted(
            ranks[place * len(ranks) // share]
            for (ranks, _), share in zip(nodes, shares, strict=True)
            for place in range(share)
        )
    listed = list(asked) if isinstance(asked, Sequence) and not isinstance(asked, str) else []
    numbers = [rank for rank in listed if isinstance(rank, int)]
    if not listed or len(numbers) != len(listed) or len({*numbers}) != len(numbers):
        raise AgreedError(
            str(refuse("aggregators", asked, "a number of ranks, or a list of ranks, each once"))
        )
    for rank in listed:
        if isinstance(rank, bool) or not 0 <= rank < team.size:
            raise AgreedError(f"aggregators: {rank!r} is no rank; they are 0 to {team.size - 1}")
    return listed

"""The processes that access a file together: the ranks of a communicator, or one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from isthmus.arguments import refuse
from isthmus.arrays.agreed import AgreedError, error_text
from isthmus.arrays.files.buffers import BUFFERS, Buffers, ByMessages, InOneProcess, InSharedMemory
from isthmus.core import processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.arrays.files.formats import Described
    from isthmus.arrays.mpi import Ranks
    from isthmus.arrays.mpi.shared import Shared

T = TypeVar("T")


class Team:
    """The processes that open a file together. Each calls the methods in the same order.

    This base class is for a single process, which holds the data of all ranks; its threads move
    them.
    """

    alone = True
    """Whether a single process holds the data of all ranks."""
    rank = 0
    size = 1
    is_one_node = False
    """Whether all ranks are on one node, so that they share memory; False for a single process."""

    def on_all(self, function: Callable[[], T]) -> T:
        """Call a function on each rank.

        Raises:
            IsthmusError: on all ranks, if it fails on one; the message names the rank.

        """
        return function()

    def on_first(self, function: Callable[[], T]) -> T:
        """Call a function on rank 0 and return its result on all ranks.

        Raises:
            IsthmusError: on all ranks, if it fails.

        """
        return function()

    def all_ready(self, ready: bool) -> bool:
        """Return whether `ready` is true on all ranks."""
        return ready

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        return [value]

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks on rank 0; an empty list on the others."""
        return [value]

    def buffers(self, array: Described, aggregators: list[int], room: int) -> Buffers:
        """Allocate buffers of `room` bytes for the aggregators."""
        return InOneProcess(array, aggregators, self.rank, room)

    def nodes(self) -> list[tuple[list[int], int]]:
        """Return the ranks of each node, with the number of processors that they may use."""
        return [([0], processors())]

    def close(self) -> None:
        """Release the buffers."""


class RankTeam(Team):
    """The processes that open a file together: the ranks of a communicator of mpi4py."""

    alone = False

    def __init__(self, ranks: Ranks, *, owned: bool) -> None:
        """Use these ranks; with `owned`, `close` closes them as well."""
        ranks.watch.refuse_closed()
        self._ranks, self._owned = ranks, owned
        self._shared: Shared | None = None
        self._room = 0
        self.rank = ranks.comm.rank
        self.size = ranks.comm.size
        self.is_one_node = ranks.is_one_node

    def on_all(self, function: Callable[[], T]) -> T:
        """Call a function on each rank; raise an error of any rank on all ranks."""
        try:
            done = function()
        except Exception as error:
            try:
                self._agree(error_text(error))
            except IsthmusError as agreed:
                raise agreed from error
            raise
        self._agree("")
        return done

    def on_first(self, function: Callable[[], T]) -> T:
        """Call a function on rank 0 and broadcast its result."""
        found: Any = None
        cause: Exception | None = None
        if self.rank == 0:
            try:
                found = (function(), "")
            except Exception as error:
                found, cause = (None, error_text(error)), error
        with self._ranks.watch:
            value, problem = self._ranks.comm.bcast(found, 0)
        if problem:
            raise AgreedError(problem) from cause
        answer: T = value
        return answer

    def all_ready(self, ready: bool) -> bool:
        """Return whether all ranks are ready, by a collective operation."""
        with self._ranks.watch:
            return not self._ranks.agree(not ready)

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks, by a collective operation."""
        with self._ranks.watch:
            answers: list[T] = self._ranks.comm.allgather(value)
        return answers

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks on rank 0, by a collective operation."""
        with self._ranks.watch:
            answers: list[T] | None = self._ranks.comm.gather(value, 0)
        return answers or []

    def buffers(self, array: Described, aggregators: list[int], room: int) -> Buffers:
        """Allocate buffers in shared memory on a single node, else in private memory."""
        if not self.is_one_node:
            return ByMessages(array, aggregators, self._ranks, room)
        from isthmus.arrays.mpi.shared import Shared

        (room,) = self._ranks.most(room)
        if self._shared is None or room > self._room:
            size = BUFFERS * room if self.rank in aggregators else 0
            self._shared, self._room = Shared(self._ranks.node, size), room
        return InSharedMemory(array, aggregators, self.rank, self._shared, self._room)

    def nodes(self) -> list[tuple[list[int], int]]:
        """Return the ranks of each node, with the number of processors that they may use."""
        return self._ranks.nodes()

    def close(self) -> None:
        """Release the shared buffers."""
        self._shared = None
        if self._owned:
            self._ranks.close()

    def _agree(self, problem: str) -> None:
        """Raise an error on all ranks if any rank has a problem (a text that is not empty).

        On a single node, data that ranks wrote to shared buffers before the call is visible to all
        ranks afterwards.
        """
        with self._ranks.watch:
            self._ranks.agree(0, problem)


def team_of(comm: Any) -> Team:
    """Return the team of the ranks of a communicator; that of this process alone if it is None.

    Raises:
        IsthmusError: the communicator is unusable.

    """
    if comm is None:
        return Team()
    from isthmus.arrays.mpi import Ranks

    if isinstance(comm, Ranks):
        return RankTeam(comm, owned=False)
    return RankTeam(Ranks(comm), owned=True)


def aggregators_of(team: Team, asked: Any) -> list[int]:
    """Return the ranks that read and write the file.

    Args:
        team: all ranks.
        asked: number or list of ranks; the default is one for each processor of each node.

    Raises:
        IsthmusError: there are fewer ranks, or a rank does not exist.

    """
    if asked is None or isinstance(asked, int):
        nodes = team.nodes()
        if asked is None:
            shares = [min(len(ranks), usable) for ranks, usable in nodes]
        elif isinstance(asked, bool) or not 1 <= asked <= team.size:
            raise AgreedError(f"aggregators: {asked}; there are 1 to {team.size}")
        else:
            # Distribute the aggregators round-robin over the nodes.
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

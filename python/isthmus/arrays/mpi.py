"""Plans carried out by the ranks of an MPI program (``mpi4py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.layouts import _told
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.plans import Plan

    Part = NDArray[Any]

Form = Literal["alltoall", "pairwise", "window"]


def exchange(
    comm: Any,
    plan: Plan,
    held: Any = None,
    out: Any = None,
    *,
    dtype: Any = None,
    order: Literal["C", "F"] | None = None,
    form: Form | None = None,
) -> list[Part]:
    """Move an array from one layout to another; all ranks of a communicator call it.

    Args:
        comm: the communicator; ranks of the layouts are its ranks.
        plan: the same on all ranks.
        held: what this rank holds before: an array, or a list of arrays where it has several
            parts; nothing on a rank that the layout does not have.
        out: the same for what it holds afterwards; made if not given.
        dtype: of the elements, on a rank that holds nothing before and is given no `out`.
        order: in memory, of what is made; without it that of the first array.
        form: how data go. ``"alltoall"``: packed, one collective. ``"pairwise"``: packed for one
            rank while others are on their way. ``"window"``: packed where the receiver reads it, in
            memory that the ranks of one node share. Without it ``"window"`` where all ranks are on
            one node, else ``"alltoall"``.

    Returns:
        The parts of this rank in the layout that data go to; none if it is not in it.

    Raises:
        IsthmusError: on all ranks alike if on one of them arrays do not fit their layouts, which it
            names; nothing has been moved.

    """
    move = _Move(comm, plan, held, out, dtype, order)
    node = None
    if form in {None, "window"}:
        node = _one_node(comm)
        if form == "window" and node is None:
            raise IsthmusError('form: "window", but the ranks are not all on one node')
    if node is not None:
        with node:
            move.by_window(node.comm)
    elif form == "pairwise":
        move.by_pairs()
    elif form in {None, "alltoall"}:
        move.by_collective()
    else:
        raise IsthmusError(f'form: {form!r}; it is "alltoall", "pairwise" or "window"')
    return move.parts


class _Node:
    """A communicator whose ranks share memory; freed at the end."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def __enter__(self) -> _Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.comm.Free()


def _one_node(comm: Any) -> _Node | None:
    """The same ranks in the same order, if all of them share memory."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
    if comm.allreduce(node.size == comm.size, op=MPI.LAND):
        return _Node(node)
    node.Free()
    return None


class _Move:
    """One rank's side of a plan."""

    def __init__(
        self, comm: Any, plan: Plan, held: Any, out: Any, dtype: Any, order: str | None
    ) -> None:
        self.comm = comm
        self.plan = plan
        self._core = plan._core
        self.given: list[Part] = []
        self.parts: list[Part] = []
        self.gives = comm.rank in plan.from_.ranks
        self.takes = comm.rank in plan.to.ranks
        problem = ""
        kind: np.dtype[Any] | None = None
        try:
            kind = self._arrays(held, out, dtype)
        except IsthmusError as error:
            problem = str(error)
        told = comm.allgather(
            (problem, None if kind is None else kind.str, memory.columns(self.given))
        )
        wrong = [f"rank {rank}: {problem}" for rank, (problem, _, _) in enumerate(told) if problem]
        if wrong:
            raise IsthmusError(wrong[0])
        kinds = {told_kind for _, told_kind, _ in told if told_kind is not None}
        if len(kinds) > 1:
            raise IsthmusError(
                f"elements are of the types {sorted(kinds)} on different ranks; all are of one"
            )
        holders = [at for at, (_, told_kind, _) in enumerate(told) if told_kind is not None]
        if not holders:
            raise IsthmusError("no rank holds any array, and none says of what type they are")
        kind = kind or comm.bcast(kind, root=holders[0])
        if any(told_kind is None for _, told_kind, _ in told) and kind is not None:
            kind = comm.bcast(kind, root=holders[0])
        assert kind is not None
        # How elements lie in messages has to be the same for all.
        self.packing = (kind.itemsize, any(columns for _, _, columns in told))
        if not self.parts and self.takes:
            made: Any = order or ("F" if self.packing[1] else "C")
            self.parts = plan.to.empty(comm.rank, kind, order=made)
        self.sends = plan.sends(comm.rank) if self.gives else []
        self.receives = plan.receives(comm.rank) if self.takes else []
        self.read = [memory.to_read(part) for part in self.given]
        self.write = [memory.to_write(part, "out") for part in self.parts]

    def _arrays(self, held: Any, out: Any, dtype: Any) -> np.dtype[Any] | None:
        rank = self.comm.rank
        for layout in (self.plan.from_, self.plan.to):
            beyond = max(layout.ranks)
            if beyond >= self.comm.size:
                raise IsthmusError(
                    f"a layout has rank {beyond}, but the communicator only {self.comm.size}"
                )
        if held is not None:
            self.given = memory.parts_of(held)
        if self.gives:
            memory.check(self.plan.from_, rank, self.given, "held")
        elif self.given:
            raise IsthmusError(f"held: the layout that data come from has no rank {rank}")
        if out is not None:
            self.parts = memory.parts_of(out)
            if not self.takes:
                raise IsthmusError(f"out: the layout that data go to has no rank {rank}")
            memory.check(self.plan.to, rank, self.parts, "out")
            for part in self.parts:
                memory.to_write(part, "out")
        kind = memory.one_type([*self.given, *self.parts], "held and out")
        return kind if kind is not None or dtype is None else np.dtype(dtype)

    def _pack(self, peers: list[int], message: NDArray[np.uint8]) -> None:
        _told(self._core.pack, self.comm.rank, peers, self.packing, self.read, message)

    def _unpack(self, peers: list[int], message: NDArray[np.uint8]) -> None:
        _told(self._core.unpack, self.comm.rank, peers, self.packing, message, self.write)

    def _size(self, message: Any) -> int:
        return int(message.elements) * self.packing[0]

    def by_collective(self) -> None:
        """Pack all, one ``Alltoallv``, unpack all."""
        counts = np.zeros((2, self.comm.size), np.int64)
        for message in self.sends:
            counts[0, message.to_rank] = self._size(message)
        for message in self.receives:
            counts[1, message.from_rank] = self._size(message)
        starts = np.cumsum(counts, axis=1) - counts
        out = np.empty(counts[0].sum(), np.uint8)
        back = np.empty(counts[1].sum(), np.uint8)
        # In order of ranks, as the counts are.
        sends = sorted(self.sends, key=lambda message: message.to_rank)
        receives = sorted(self.receives, key=lambda message: message.from_rank)
        if sends:
            self._pack([message.to_rank for message in sends], out)
        self.comm.Alltoallv(
            [out, counts[0], starts[0], _byte()], [back, counts[1], starts[1], _byte()]
        )
        if receives:
            self._unpack([message.from_rank for message in receives], back)

    def by_pairs(self) -> None:
        """Pack for one rank after another, and unpack what has arrived meanwhile."""
        from mpi4py import MPI

        mine, size = self.comm.rank, self.comm.size
        arriving = {}
        for message in self.receives:
            if message.from_rank != mine:
                back = np.empty(self._size(message), np.uint8)
                arriving[message.from_rank] = (self.comm.Irecv(back, message.from_rank), back)
        leaving = []
        # Each begins with its neighbour, so that not all send to one.
        for message in sorted(self.sends, key=lambda message: (message.to_rank - mine) % size):
            out = np.empty(self._size(message), np.uint8)
            self._pack([message.to_rank], out)
            if message.to_rank == mine:
                self._unpack([mine], out)
            else:
                leaving.append((self.comm.Isend(out, message.to_rank), out))
        senders = list(arriving)
        requests = [arriving[sender][0] for sender in senders]
        for _ in senders:
            which = MPI.Request.Waitany(requests)
            self._unpack([senders[which]], arriving[senders[which]][1])
        MPI.Request.Waitall([request for request, _ in leaving])

    def by_window(self, node: Any) -> None:
        """Pack where the receiver reads it, in memory that all share."""
        from mpi4py import MPI

        offers = np.zeros(node.size + 1, np.int64)
        sends = sorted(self.sends, key=lambda message: message.to_rank)
        for message in sends:
            offers[message.to_rank] = self._size(message)
        ends = np.cumsum(offers)
        table = np.empty((node.size, node.size + 1), np.int64)
        node.Allgather(ends, table)
        window = MPI.Win.Allocate_shared(int(ends[-1]), 1, comm=node)
        try:
            window.Lock_all()
            if sends:
                mine = _bytes(window.Shared_query(node.rank)[0])
                self._pack([message.to_rank for message in sends], mine[: int(ends[-1])])
            window.Sync()
            node.Barrier()
            window.Sync()
            for message in sorted(
                self.receives, key=lambda m: (m.from_rank - node.rank) % node.size
            ):
                theirs = _bytes(window.Shared_query(message.from_rank)[0])
                end = int(table[message.from_rank, node.rank])
                self._unpack([message.from_rank], theirs[end - self._size(message) : end])
            window.Unlock_all()
            node.Barrier()
        finally:
            window.Free()


def _bytes(memory: Any) -> NDArray[np.uint8]:
    return np.frombuffer(memory, np.uint8)


def _byte() -> Any:
    from mpi4py import MPI

    return MPI.BYTE

"""Plans carried out by the ranks of an MPI program (``mpi4py``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.layouts import _told
from isthmus.arrays.watch import PATIENCE_S, Watch
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.plans import Plan

    Part = NDArray[Any]

Form = Literal["alltoall", "pairwise", "window"]
FORMS = ("alltoall", "pairwise", "window")
DOUBLE_MAX = 4 << 20
"""Most bytes that a rank sends for a window to have two buffers."""


class Exchange:
    """A plan, ready to be carried out again and again by the ranks of a communicator.

    All ranks make it, call it and close it together; ranks of the layouts are ranks of the
    communicator. Messages go through memory that is set aside once: as many bytes as a rank sends
    and receives, or, with windows, as it sends::

        with Exchange(comm, plan, "f8", order="F") as exchange:
            for step in range(100):
                after = exchange(before)
    """

    def __init__(
        self,
        comm: Any,
        plan: Plan,
        dtype: Any,
        *,
        order: Literal["C", "F"] = "C",
        form: Form | None = None,
        patience_s: float = PATIENCE_S,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Get ready; all ranks give the same.

        Args:
            comm: the communicator.
            plan: from one layout to another.
            dtype: of the elements; anything but Python objects.
            order: which index counts fastest in messages, and in arrays that are made: as in the
                arrays that are given is best.
            form: how data go. ``"alltoall"``: packed, one collective. ``"pairwise"``: packed for
                one rank while others are on their way. ``"window"``: packed where the receiver
                reads it, in memory that the ranks of one node share. Without it ``"window"`` where
                all ranks are on one node, else ``"alltoall"``.
            patience_s: after so many seconds a rank that waits for others says for whom, once an
                exchange.
            tell: what it says this with; without it on standard error.

        Raises:
            IsthmusError: on all ranks alike: a layout has ranks that the communicator lacks, or
                ``"window"`` is asked for and ranks are on several nodes.

        """
        from mpi4py import MPI

        self.plan = plan
        self.dtype = np.dtype(dtype)
        self.order = order
        for layout in (plan.from_, plan.to):
            if max(layout.ranks) >= comm.size:
                raise IsthmusError(
                    f"a layout has rank {max(layout.ranks)}, but the communicator has "
                    f"{comm.size} ranks"
                )
        if form is not None and form not in FORMS:
            raise IsthmusError(f'form: {form!r}; it is "alltoall", "pairwise" or "window"')
        if not patience_s > 0:
            raise IsthmusError(f"patience_s: {patience_s}; it is a number of seconds above 0")
        self._core = plan._core
        self._gives = comm.rank in plan.from_.ranks
        self._takes = comm.rank in plan.to.ranks
        self._packing = (self.dtype.itemsize, order == "F")
        sends = plan.sends(comm.rank) if self._gives else []
        receives = plan.receives(comm.rank) if self._takes else []
        self._out = np.zeros(comm.size, np.int64)
        self._back = np.zeros(comm.size, np.int64)
        for message in sends:
            self._out[message.to_rank] = message.elements * self.dtype.itemsize
        for message in receives:
            self._back[message.from_rank] = message.elements * self.dtype.itemsize
        # In order of ranks, as messages lie in memory.
        self._receivers = [int(rank) for rank in np.flatnonzero(self._out)]
        self._senders = [int(rank) for rank in np.flatnonzero(self._back)]
        # One of its own: messages of the program on the one it gave are not taken for these.
        self.comm = comm.Dup()
        self._node = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
        is_one = comm.allreduce(self._node.size == comm.size, op=MPI.LAND)
        if form == "window" and not is_one:
            self._node.Free()
            self.comm.Free()
            raise IsthmusError('form: "window", but the ranks are not all on one node')
        self.form: Form = form or ("window" if is_one else "alltoall")
        ways: dict[str, type[_Way]] = {
            "alltoall": _Collective,
            "pairwise": _Pairs,
            "window": _Window,
        }
        self._way = ways[self.form](self)
        self._watch = Watch(comm, self._node, patience_s, tell)
        self._read: list[memory.Given] = []
        self._write: list[memory.Given] = []
        self._known: list[Any] = []

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A rank that has failed cannot wait for the others, who may be anywhere.
        if kind is None:
            self.close()

    def close(self) -> None:
        """Give back what was set aside; all ranks do together."""
        self._way.close()
        self._watch.close()
        self._node.Free()
        self.comm.Free()

    def __call__(self, held: Any = None, out: Any = None) -> list[Part]:
        """Move an array.

        Args:
            held: what this rank holds before: an array, or a list of arrays where it has several
                parts; nothing on a rank that the layout does not have.
            out: the same for what it holds afterwards; made if not given.

        Returns:
            The parts of this rank in the layout that data go to; none if it is not in it.

        Raises:
            IsthmusError: on all ranks alike if on one of them arrays do not fit their layouts,
                which it names; nothing has been moved.

        """
        problem = ""
        parts: list[Part] = []
        try:
            parts = self._arrays(held, out)
        except IsthmusError as error:
            problem = str(error)
        with self._watch:
            self._way.move(problem)
        return parts

    def _arrays(self, held: Any, out: Any) -> list[Part]:
        rank, plan = self.comm.rank, self.plan
        given = [] if held is None else memory.parts_of(held)
        parts = [] if out is None else memory.parts_of(out)
        # The same arrays as the last time are not looked at again: steps move the same ones.
        known = [memory.place(part) for part in (*given, *parts)]
        if out is not None and known == self._known:
            return parts
        self._known = []
        if self._gives:
            memory.check(plan.from_, rank, given, "held")
        elif given:
            raise IsthmusError("held: the layout that data come from does not have this rank")
        if out is None and self._takes:
            parts = plan.to.empty(rank, self.dtype, order=self.order)
        elif self._takes:
            memory.check(plan.to, rank, parts, "out")
        elif parts:
            raise IsthmusError("out: the layout that data go to does not have this rank")
        for part in (*given, *parts):
            if part.dtype != self.dtype:
                raise IsthmusError(
                    f"elements of type {part.dtype}; the exchange is of {self.dtype}"
                )
        self._read = [memory.to_read(part) for part in given]
        self._write = [memory.to_write(part, "out") for part in parts]
        if all(stride >= 0 for part in given for stride in part.strides):
            self._known = known
        return parts

    def _pack(self, peers: list[int], message: NDArray[np.uint8]) -> None:
        if peers:
            _told(self._core.pack, self.comm.rank, peers, self._packing, self._read, message)

    def _unpack(self, messages: list[tuple[int, NDArray[np.uint8]]]) -> None:
        if messages:
            _told(self._core.unpack, self.comm.rank, messages, self._packing, self._write)


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
    """Move an array from one layout to another once; all ranks of a communicator call it.

    Arguments are those of `Exchange` and of its call. What is not said of elements and order is
    found out from the arrays of all ranks; `dtype` is needed only where no rank holds any.

    Raises:
        IsthmusError: on all ranks alike if on one of them something does not fit, which it names;
            nothing has been moved.

    """
    problem, kind, columns = "", None, False
    try:
        given = [arrays for arrays in (held, out) if arrays is not None]
        parts = [part for arrays in given for part in memory.parts_of(arrays)]
        kind = memory.one_type(parts, "held and out")
        if kind is None and dtype is not None:
            kind = np.dtype(dtype)
        columns = memory.columns(parts)
    except IsthmusError as error:
        problem = str(error)
    _agree(comm, problem)
    told = comm.allgather((kind, columns))
    kinds = list(dict.fromkeys(other for other, _ in told if other is not None))
    if len(kinds) != 1:
        raise IsthmusError(
            f"elements are of the types {', '.join(map(str, kinds))}; on all ranks they are of one"
            if kinds
            else "no rank holds any array, and none says of what type elements are"
        )
    fastest = order or ("F" if any(columns for _, columns in told) else "C")
    with Exchange(comm, plan, kinds[0], order=fastest, form=form) as one:
        return one(held, out)


def _agree(comm: Any, problem: str) -> None:
    """Whether all ranks can go on; if not, all say what the first that cannot has found."""
    from mpi4py import MPI

    flag = np.array([bool(problem)], np.int32)
    comm.Allreduce(MPI.IN_PLACE, flag, op=MPI.MAX)
    if flag[0]:
        told = comm.allgather(problem)
        raise IsthmusError(next(f"rank {at}: {said}" for at, said in enumerate(told) if said))


class _Way(ABC):
    """How messages get from rank to rank."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.comm = exchange.comm
        self.starts = np.cumsum(exchange._out) - exchange._out

    @abstractmethod
    def move(self, problem: str) -> None:
        """Move all, unless a rank has a problem: then all raise it."""

    def close(self) -> None:  # noqa: B027
        """Give back what was set aside, which is nothing but memory of its own."""


class _Buffered(_Way):
    """Through memory of each rank's own."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self.out = np.empty(exchange._out.sum(), np.uint8)
        self.back = np.empty(exchange._back.sum(), np.uint8)
        self.ends = np.cumsum(exchange._back)

    def arrived(self, sender: int) -> NDArray[np.uint8]:
        end = int(self.ends[sender])
        return self.back[end - int(self.exchange._back[sender]) : end]


class _Collective(_Buffered):
    """Pack all, one ``Alltoallv``, unpack all."""

    def move(self, problem: str) -> None:
        from mpi4py import MPI

        _agree(self.comm, problem)
        exchange = self.exchange
        exchange._pack(exchange._receivers, self.out)
        self.comm.Alltoallv(
            [self.out, exchange._out, self.starts, MPI.BYTE],
            [self.back, exchange._back, self.ends - exchange._back, MPI.BYTE],
        )
        exchange._unpack([(sender, self.arrived(sender)) for sender in exchange._senders])


class _Pairs(_Buffered):
    """Pack for one rank after another, and unpack what has arrived meanwhile."""

    def move(self, problem: str) -> None:
        from mpi4py import MPI

        _agree(self.comm, problem)
        exchange, mine, size = self.exchange, self.comm.rank, self.comm.size
        others = [sender for sender in exchange._senders if sender != mine]
        arriving = [self.comm.Irecv(self.arrived(sender), sender) for sender in others]
        leaving = []
        # Each begins with its neighbour, so that not all send to one.
        for receiver in sorted(exchange._receivers, key=lambda rank: (rank - mine) % size):
            start = int(self.starts[receiver])
            message = self.out[start : start + int(exchange._out[receiver])]
            exchange._pack([receiver], message)
            if receiver == mine:
                exchange._unpack([(mine, message)])
            else:
                leaving.append(self.comm.Isend(message, receiver))
        for _ in others:
            sender = others[MPI.Request.Waitany(arriving)]
            exchange._unpack([(sender, self.arrived(sender))])
        MPI.Request.Waitall(leaving)


class _Window(_Way):
    """Pack where the receiver reads it, in memory that the ranks of a node share."""

    def __init__(self, exchange: Exchange) -> None:
        from mpi4py import MPI

        super().__init__(exchange)
        # Of the same ranks in the same order as the communicator.
        self.node = node = exchange._node
        size = int(exchange._out.sum())
        # With two buffers that take turns, whoever packs has heard from all others since they read
        # what was there; with one they have to be waited for.
        turns = 2 if node.allreduce(size, op=MPI.MAX) <= DOUBLE_MAX else 1
        # Where the message of each sender to this rank begins.
        self.begins = np.empty(node.size, np.int64)
        node.Alltoall(self.starts, self.begins)
        sizes = node.allgather(size)
        self.window = MPI.Win.Allocate_shared(turns * size, 1, comm=node)
        self.window.Lock_all()
        self.outs = [self._of(node.rank)[turn * size : (turn + 1) * size] for turn in range(turns)]
        self.mail = [
            [
                (sender, self._of(sender)[begin : begin + int(exchange._back[sender])])
                for sender in exchange._senders
                for begin in [turn * sizes[sender] + int(self.begins[sender])]
            ]
            for turn in range(turns)
        ]
        self.turn = 0

    def _of(self, rank: int) -> NDArray[np.uint8]:
        shared: Any = self.window.Shared_query(rank)[0]
        return np.frombuffer(shared, np.uint8)

    def move(self, problem: str) -> None:
        exchange, turn = self.exchange, self.turn
        if not problem:
            exchange._pack(exchange._receivers, self.outs[turn])
        self.window.Sync()
        # All have packed once all have said that they can go on.
        _agree(self.node, problem)
        self.window.Sync()
        exchange._unpack(self.mail[turn])
        if len(self.outs) == 1:
            self.node.Barrier()
        else:
            self.turn = 1 - turn

    def close(self) -> None:
        self.node.Barrier()
        self.outs, self.mail = [], []
        self.window.Unlock_all()
        self.window.Free()

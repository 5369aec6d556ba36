"""The ranks of a communicator, ready to exchange arrays."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arrays import costs, memory
from isthmus.arrays.agreed import (
    AgreedError,
    can_close_after,
    error_text,
    refuse_differences,
    refuse_problems,
)
from isthmus.arrays.elements import refuse_order, type_of
from isthmus.arrays.mpi.board import Board
from isthmus.arrays.mpi.communicator import refuse_unless_communicator
from isthmus.arrays.mpi.forms import FORMS, Form, transports
from isthmus.arrays.mpi.shared import can_share
from isthmus.arrays.mpi.watch import PATIENCE_S, Watch, waiting
from isthmus.arrays.plans import Plan
from isthmus.core import processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from typing_extensions import Self

    from isthmus.arrays.costs import Rates
    from isthmus.arrays.mpi.forms.transport import Transport
    from isthmus.arrays.mpi.share import Share

    Part = NDArray[Any]


BUFFER_MAX = 1 << 48
"""Largest `buffer_bytes`; the allocation itself may still fail."""
ADVANTAGE_MIN = 1.25
"""Minimum predicted advantage with which another method replaces the default method. The median
error of predictions is one eighth, so smaller differences are noise.
"""


class ClosedTogether(ABC):
    """Base of objects that all ranks close collectively, at the end of a ``with`` block without
    errors.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if can_close_after(kind):
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Release the resources of this object; all ranks must call it."""


class Ranks(ClosedTogether):
    """The ranks of a communicator, and the memory through which they exchange arrays.

    All ranks create, use and close it collectively. Ranks of layouts are ranks of the communicator.
    Messages are sent in pieces, through buffers whose size does not depend on the arrays::

        with Ranks(MPI.COMM_WORLD) as ranks:
            panel = ranks.exchange(plan, blocks)
    """

    def __init__(
        self,
        comm: Any,
        *,
        buffer_bytes: int | None = None,
        patience_s: float = PATIENCE_S,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare the communication; all ranks pass the same arguments.

        Args:
            comm: the communicator.
            buffer_bytes: memory that a rank allocates for each form of exchange. The default is 8
                MiB for windows, which stay in the caches, and 32 MiB for messages. An exchange in
                place allocates as many bytes as a rank sends, and between nodes also as many as it
                receives.
            patience_s: seconds after which a waiting rank reports the ranks that it waits for, once
                per exchange.
            tell: receives this report; the default writes it to standard error.

        Raises:
            IsthmusError: a number is out of range, or the communicator is null, freed, or an
                inter-communicator.

        """
        refuse_unless_communicator(comm)
        from mpi4py import MPI

        problem = _settings_problem(buffer_bytes, patience_s)
        with waiting(comm.rank, PATIENCE_S if problem else patience_s, tell):
            answers = comm.allgather((problem, {"buffer_bytes": str(buffer_bytes)}))
        refuse_problems([problem for problem, _ in answers])
        refuse_differences([said for _, said in answers])
        # A duplicate communicator separates messages of the program from those of exchanges.
        self.comm = comm.Dup()
        self.buffer_bytes = buffer_bytes
        self.node = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
        if not can_share(self.node):
            # Without shared memory, treat each rank as a node of its own.
            self.node.Free()
            self.node = MPI.COMM_SELF.Dup()
        self.is_one_node = bool(comm.allreduce(self.node.size == comm.size, op=MPI.LAND))
        """Whether all ranks can share memory."""
        try:
            self.board = Board(self.comm, self.node)
        except AgreedError:
            self.node.Free()
            self.comm.Free()
            raise
        self.watch = Watch(self.comm, self.board, patience_s, tell)
        self.rates: Rates | None = None
        """Measured costs of exchanges, by which the fastest method is chosen; None before
        `calibrate`.
        """
        self._transports: dict[Form, Transport] = {}

    def close(self) -> None:
        """Release the shared memory; all ranks must call it."""
        if self.watch.is_closed:
            return
        for way in self._transports.values():
            way.close()
        self._transports = {}
        self.watch.close()
        self.node.Free()
        self.comm.Free()

    def exchange(
        self,
        plan: Plan,
        held: Any = None,
        out: Any = None,
        *,
        dtype: Any = None,
        order: Literal["C", "F"] | None = None,
        form: Form | None = None,
    ) -> list[Part]:
        """Move an array once from one layout to another; all ranks must call it.

        Arguments and errors are those of the function `isthmus.arrays.exchange`.
        """
        from isthmus.arrays.mpi.exchange import Exchange

        kind, fastest = self.same(held, out, dtype, order, plan)
        with Exchange(self, plan, kind, order=fastest, form=form) as one:
            return one(held, out)

    def admit(self, plan: Plan) -> None:
        """Refuse a plan whose layouts have more ranks than the communicator.

        Raises:
            IsthmusError: a layout has a rank that does not exist.

        """
        for layout in (plan.from_, plan.to):
            if max(layout.ranks) >= self.comm.size:
                raise AgreedError(
                    f"a layout has rank {max(layout.ranks)}, but the communicator has "
                    f"{self.comm.size} ranks"
                )

    def way(self, form: Form | None, share: Share) -> Transport:
        """Return the object that transfers data by the method `form`; without a form, by the best
        one. Its memory is allocated for the messages of this rank.

        Raises:
            IsthmusError: the form does not exist, or does not fit these ranks.

        """
        if form is not None and not (isinstance(form, str) and form in FORMS):
            raise AgreedError(f"form: {form!r}; it is {', '.join(FORMS[:-1])} or {FORMS[-1]}")
        self.admit(share.plan)
        if form == "window" and not self.is_one_node:
            raise AgreedError('form: "window", but the ranks are not all on one node')
        chosen: Form = form or self._best(share)
        if chosen not in self._transports:
            self._transports[chosen] = transports()[chosen](self)
        return self._transports[chosen]

    def forms(self) -> list[Form]:
        """Return the forms (methods) of an exchange that can be the fastest between these ranks."""
        if self.is_one_node:
            # Leave out the methods that pack elements into messages: with shared memory they are
            # never the fastest.
            return ["datatype", "window"]
        return ["alltoall", "pairwise", "datatype"]

    def _best(self, share: Share) -> Form:
        """Return the method with the shortest predicted time. Without measured rates, return the
        default: "window" on one node, otherwise "alltoall".
        """
        general: Form = "window" if self.is_one_node else "alltoall"
        if self.rates is None:
            return general
        # Skip forms that do not fit these ranks: rates that were measured elsewhere may include
        # some.
        candidates: list[Form] = [
            form
            for form in FORMS
            if form in self.rates.forms and (self.is_one_node or form != "window")
        ]
        if not candidates:
            return general
        try:
            seconds = self._seconds(self.rates, share, candidates)
        except IsthmusError as error:
            # All ranks estimate with the same measured rates, so all raise this error.
            raise AgreedError(str(error)) from error
        fastest = min(candidates, key=lambda form: seconds[form])
        if seconds.get(general, math.inf) < ADVANTAGE_MIN * seconds[fastest]:
            fastest = general
        # Rank 0 decides: floating-point sums may differ between ranks in the last digit.
        chosen: Form = self.comm.bcast(fastest, 0)
        return chosen

    def _seconds(self, rates: Rates, share: Share, forms: list[Form]) -> dict[Form, float]:
        """Return the predicted seconds of an exchange for each method. All ranks must call it: each
        computes the costs of its own messages, and the ranks then combine them.
        """
        from mpi4py import MPI

        rates.refuse_more_ranks(share.plan)
        orders = (share.order, share.order)
        one = costs.work_of(share.plan, share.rank, share.dtype, orders)
        size = self.comm.allreduce(one.size)
        spent = np.array([rates.spent(form, size, one) for form in forms])
        sums, most = np.empty_like(spent), np.empty_like(spent)
        self.comm.Allreduce(spent, sums, op=MPI.SUM)
        self.comm.Allreduce(spent, most, op=MPI.MAX)
        return {form: rates.seconds(form, sums[at], most[at]) for at, form in enumerate(forms)}

    def agree(self, flags: int, problem: str = "") -> int:
        """Exchange flags and problems between all ranks. Return the bitwise OR of the flags, or
        raise the first rank's problem on all ranks.
        """
        agreed = flags << 1 | bool(problem)
        if self.is_one_node:
            agreed = self.board.meet(agreed)
        else:
            from mpi4py import MPI

            words = np.array([agreed], np.int32)
            self.comm.Allreduce(MPI.IN_PLACE, words, op=MPI.BOR)
            agreed = int(words[0])
        if agreed & 1:
            refuse_problems(self.comm.allgather(problem))
        return agreed >> 1

    def most(self, *numbers: int) -> list[int]:
        """Return, for each number, the maximum over all ranks; all ranks must call it."""
        from mpi4py import MPI

        highest = np.array(numbers, np.int64)
        with self.watch:
            self.comm.Allreduce(MPI.IN_PLACE, highest, op=MPI.MAX)
        return [int(number) for number in highest]

    def nodes(self) -> list[tuple[list[int], int]]:
        """Return the ranks and the usable processors of each node; all ranks must call it."""
        with self.watch:
            leader = self.node.bcast(self.comm.rank, 0)
            answers = self.comm.allgather((leader, usable()))
        places: dict[int, list[int]] = {}
        may_use: dict[int, set[int]] = {}
        for rank, (chief, mine) in enumerate(answers):
            places.setdefault(chief, []).append(rank)
            may_use.setdefault(chief, set()).update(mine)
        return [(ranks, len(may_use[chief])) for chief, ranks in places.items()]

    def same(
        self, held: Any, out: Any = None, dtype: Any = None, order: Any = None, plan: Any = None
    ) -> tuple[np.dtype[Any], Literal["C", "F"]]:
        """Return the element type and the memory order of the arrays in an exchange. They are the
        same on all ranks; arguments left out follow from the arrays.
        """
        problem, kind, columns = "", None, False
        try:
            refuse_order("order", order)
            parts = [
                part
                for what, arrays in (("held", held), ("out", out))
                if arrays is not None
                for part in memory.parts_of(arrays, what)
            ]
            kind = memory.one_type(parts, "held and out")
            if kind is None and dtype is not None:
                kind = type_of("dtype", dtype)
            order = order or (plan.to.order if isinstance(plan, Plan) else None)
            columns = memory.columns(parts)
        except Exception as error:
            problem = error_text(error)
        with self.watch:
            answers = self.comm.allgather((problem, kind, columns))
        refuse_problems([problem for problem, *_ in answers])
        kinds = list(dict.fromkeys(other for _, other, _ in answers if other is not None))
        if len(kinds) != 1:
            raise AgreedError(
                f"elements are of the types {', '.join(map(str, kinds))}; on all ranks they are of "
                "one"
                if kinds
                else "no rank holds any array, and none says of what type elements are"
            )
        return kinds[0], order or ("F" if any(columns for *_, columns in answers) else "C")


def _settings_problem(buffer_bytes: Any, patience_s: Any) -> str:
    """Return the text of an error in the settings of `Ranks`, or an empty text."""
    if not isinstance(patience_s, (int, float)) or not patience_s > 0:
        return f"patience_s: {patience_s!r}; it is a number of seconds above 0"
    if buffer_bytes is not None and not (
        isinstance(buffer_bytes, int) and 1 <= buffer_bytes <= BUFFER_MAX
    ):
        return f"buffer_bytes: {buffer_bytes!r}; it is a number of bytes above 0, at most 2^48"
    return ""


def usable() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return sorted(affinity(0)) if affinity else list(range(processors()))

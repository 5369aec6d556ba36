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
    may_close,
    refuse_others,
    refuse_problems,
    words_of,
)
from isthmus.arrays.elements import refuse_order, type_of
from isthmus.arrays.mpi.board import Board
from isthmus.arrays.mpi.communicator import refuse_unless_communicator
from isthmus.arrays.mpi.forms import FORMS, Form, ways
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
    from isthmus.arrays.mpi.forms.way import Way
    from isthmus.arrays.mpi.share import Share

    Part = NDArray[Any]


BUFFER_MAX = 1 << 48
"""Most bytes that a rank may be asked to set aside; whether it has them is found out later."""
SURE = 1.25
"""So much quicker than the form that is the quickest in general another must be predicted to be:
predictions are wrong by an eighth in the median, and what lies closer is decided by noise.
"""


class ClosedTogether(ABC):
    """What all ranks close together, at the end of a ``with`` that none of them failed in."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if may_close(kind):
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Give back what was set aside; all ranks do together."""


class Ranks(ClosedTogether):
    """The ranks of a communicator, and the memory through which they exchange arrays.

    All ranks make it, use it and close it together; ranks of layouts are ranks of the communicator.
    Messages go in pieces through memory of a bounded size, whatever the size of arrays::

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
        """Get ready; all ranks give the same.

        Args:
            comm: the communicator.
            buffer_bytes: memory that a rank sets aside for each form in which it exchanges. Without
                it 8 MiB for windows, which stay in the caches of processors, and 32 MiB for
                messages. An exchange in place sets aside as much as a rank sends, between
                nodes what it receives as well.
            patience_s: after so many seconds a rank that waits for others says for whom, once an
                exchange.
            tell: what it says this with; without it on standard error.

        Raises:
            IsthmusError: a number is out of range, or it is no communicator: null, freed, between
                two groups.

        """
        refuse_unless_communicator(comm)
        from mpi4py import MPI

        problem = _wrong(buffer_bytes, patience_s)
        with waiting(comm.rank, PATIENCE_S if problem else patience_s, tell):
            told = comm.allgather((problem, {"buffer_bytes": str(buffer_bytes)}))
        refuse_problems([problem for problem, _ in told])
        refuse_others([said for _, said in told])
        # One of its own: messages of the program on the one it gave are not taken for these.
        self.comm = comm.Dup()
        self.buffer_bytes = buffer_bytes
        self.node = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
        if not can_share(self.node):
            # As if each were on a node of its own.
            self.node.Free()
            self.node = MPI.COMM_SELF.Dup()
        self.is_one_node = bool(comm.allreduce(self.node.size == comm.size, op=MPI.LAND))
        """Whether all see memory of one another."""
        try:
            self.board = Board(self.comm, self.node)
        except AgreedError:
            self.node.Free()
            self.comm.Free()
            raise
        self.watch = Watch(self.comm, self.board, patience_s, tell)
        self.rates: Rates | None = None
        """What exchanges cost here, once `calibrate` has measured it."""
        self._ways: dict[Form, Way] = {}

    def close(self) -> None:
        """Give back what was set aside; all ranks do together."""
        if self.watch.is_closed:
            return
        for way in self._ways.values():
            way.close()
        self._ways = {}
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
        """Move an array from one layout to another once; all ranks call it.

        Arguments and errors are those of `exchange`.
        """
        from isthmus.arrays.mpi.exchange import Exchange

        kind, fastest = self.same(held, out, dtype, order, plan)
        with Exchange(self, plan, kind, order=fastest, form=form) as one:
            return one(held, out)

    def way(self, form: Form | None, share: Share) -> Way:
        """How data of this share go; memory for it is set aside.

        Raises:
            IsthmusError: there is no such form, or it is not for these ranks.

        """
        if form is not None and not (isinstance(form, str) and form in FORMS):
            raise AgreedError(f"form: {form!r}; it is {', '.join(FORMS[:-1])} or {FORMS[-1]}")
        for layout in (share.plan.from_, share.plan.to):
            if max(layout.ranks) >= self.comm.size:
                raise AgreedError(
                    f"a layout has rank {max(layout.ranks)}, but the communicator has "
                    f"{self.comm.size} ranks"
                )
        if form == "window" and not self.is_one_node:
            raise AgreedError('form: "window", but the ranks are not all on one node')
        chosen: Form = form or self._best(share)
        if chosen not in self._ways:
            self._ways[chosen] = ways()[chosen](self)
        return self._ways[chosen]

    def forms(self) -> list[Form]:
        """The forms that can be the quickest between these ranks."""
        if self.is_one_node:
            # Memory that is shared leaves nothing to gain by packing for MPI.
            return ["datatype", "window"]
        return ["alltoall", "pairwise", "datatype"]

    def _best(self, share: Share) -> Form:
        """The form that is predicted to be the quickest, or is in general."""
        general: Form = "window" if self.is_one_node else "alltoall"
        if self.rates is None:
            return general
        # What was measured elsewhere may not be for these ranks.
        can: list[Form] = [
            form
            for form in FORMS
            if form in self.rates.forms and (self.is_one_node or form != "window")
        ]
        if not can:
            return general
        try:
            seconds = self._seconds(self.rates, share, can)
        except IsthmusError as error:
            # All have the same rates.
            raise AgreedError(str(error)) from error
        quickest = min(can, key=lambda form: seconds[form])
        if seconds.get(general, math.inf) < SURE * seconds[quickest]:
            quickest = general
        # One says: sums of fractions need not be the same everywhere to the last digit.
        chosen: Form = self.comm.bcast(quickest, 0)
        return chosen

    def _seconds(self, rates: Rates, share: Share, forms: list[Form]) -> dict[Form, float]:
        """What an exchange is predicted to take; each rank looks at its own messages alone."""
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
        """What any rank says, bit by bit; all ranks raise what the first says that cannot go on."""
        told = flags << 1 | bool(problem)
        if self.is_one_node:
            told = self.board.meet(told)
        else:
            from mpi4py import MPI

            words = np.array([told], np.int32)
            self.comm.Allreduce(MPI.IN_PLACE, words, op=MPI.BOR)
            told = int(words[0])
        if told & 1:
            refuse_problems(self.comm.allgather(problem))
        return told >> 1

    def most(self, *numbers: int) -> list[int]:
        """Of each number the greatest of all ranks."""
        from mpi4py import MPI

        told = np.array(numbers, np.int64)
        with self.watch:
            self.comm.Allreduce(MPI.IN_PLACE, told, op=MPI.MAX)
        return [int(number) for number in told]

    def nodes(self) -> list[tuple[list[int], int]]:
        """The ranks of each node, and how many processors they may use; all ranks ask."""
        with self.watch:
            leader = self.node.bcast(self.comm.rank, 0)
            told = self.comm.allgather((leader, usable()))
        places: dict[int, list[int]] = {}
        may_use: dict[int, set[int]] = {}
        for rank, (chief, mine) in enumerate(told):
            places.setdefault(chief, []).append(rank)
            may_use.setdefault(chief, set()).update(mine)
        return [(ranks, len(may_use[chief])) for chief, ranks in places.items()]

    def same(
        self, held: Any, out: Any = None, dtype: Any = None, order: Any = None, plan: Any = None
    ) -> tuple[np.dtype[Any], Literal["C", "F"]]:
        """Find out what is not said of elements and order from the arrays of all ranks."""
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
            problem = words_of(error)
        with self.watch:
            told = self.comm.allgather((problem, kind, columns))
        refuse_problems([problem for problem, *_ in told])
        kinds = list(dict.fromkeys(other for _, other, _ in told if other is not None))
        if len(kinds) != 1:
            raise AgreedError(
                f"elements are of the types {', '.join(map(str, kinds))}; on all ranks they are of "
                "one"
                if kinds
                else "no rank holds any array, and none says of what type elements are"
            )
        return kinds[0], order or ("F" if any(columns for *_, columns in told) else "C")


def _wrong(buffer_bytes: Any, patience_s: Any) -> str:
    """What is wrong with settings."""
    if not isinstance(patience_s, (int, float)) or not patience_s > 0:
        return f"patience_s: {patience_s!r}; it is a number of seconds above 0"
    if buffer_bytes is not None and not (
        isinstance(buffer_bytes, int) and 1 <= buffer_bytes <= BUFFER_MAX
    ):
        return f"buffer_bytes: {buffer_bytes!r}; it is a number of bytes above 0, at most 2^48"
    return ""


def usable() -> list[int]:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return sorted(affinity(0)) if affinity else list(range(processors()))

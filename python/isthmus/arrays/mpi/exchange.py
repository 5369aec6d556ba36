"""A plan, ready to be carried out again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from isthmus.arrays import memory
from isthmus.arrays.agreed import AgreedError, refuse_others, refuse_problems, words_of
from isthmus.arrays.elements import type_of
from isthmus.arrays.mpi.ranks import ClosedTogether, Ranks
from isthmus.arrays.mpi.share import Share
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.plans import Plan

    Part = NDArray[Any]


class Exchange(ClosedTogether):
    """A plan, ready to be carried out again and again by the ranks of a communicator.

    All ranks make it, call it and close it together::

        with Exchange(comm, plan, "f8", order="F") as exchange:
            for step in range(100):
                after = exchange(before)
    """

    def __init__(
        self,
        ranks: Any,
        plan: Plan,
        dtype: Any,
        *,
        order: Literal["C", "F"] | None = None,
        form: Form | None = None,
        **settings: Any,
    ) -> None:
        """Get ready; all ranks give the same.

        Args:
            ranks: `Ranks`, which stay open, or a communicator.
            plan: from one layout to another.
            dtype: of the elements; anything but Python objects.
            order: which index counts fastest in messages, and in arrays that are made: as in the
                arrays that are given is best. Without it that of the layout that data go to
                (`Layout.order`), else ``"C"``.
            form: how data go. ``"window"``: packed where the receiver reads it, in memory that the
                ranks of one node share. ``"alltoall"``: packed, collectives. ``"pairwise"``: packed
                for one rank while others are on their way. ``"datatype"``: not packed, one
                collective with derived datatypes. Without it the one that is predicted to be the
                quickest, if `calibrate` has measured these ranks, else ``"window"`` where all are
                on one node and ``"alltoall"`` where not.
            settings: of `Ranks`, where a communicator is given.

        Raises:
            IsthmusError: on all ranks alike: a layout has ranks that the communicator lacks, or
                ``"window"`` is asked for and ranks are on several nodes.

        """
        self.plan = plan
        self._owns = not isinstance(ranks, Ranks)
        self._ranks = Ranks(ranks, **settings) if self._owns else ranks
        try:
            with self._ranks.watch:
                self._share = self._ready(dtype, order, form)
                self.dtype, self.order = self._share.dtype, self._share.order
                self._way = self._ranks.way(form, self._share)
                self._course = self._way.course(self._share)
        except AgreedError:
            if self._owns:
                self._ranks.close()
            raise
        self.form: Form = self._way.form
        self._shared: tuple[Part, ...] | None = None
        self._closed = False

    def _ready(self, dtype: Any, order: Literal["C", "F"] | None, form: Form | None) -> Share:
        """What this rank has to do, if all ranks give the same: wrong elements would come of
        anything else.
        """
        comm, problem, said, share = self._ranks.comm, "", {}, None
        try:
            share = Share(self.plan, comm.rank, type_of("dtype", dtype), order)
            said = {
                "the layout that data come from": self.plan.from_.fingerprint,
                "the layout that data go to": self.plan.to.fingerprint,
                "dtype": str(share.dtype),
                "order": share.order,
                "form": str(form),
            }
        except Exception as error:
            problem = words_of(error)
        told = comm.allgather((problem, said))
        refuse_problems([problem for problem, _ in told])
        refuse_others([said for _, said in told])
        assert share is not None
        return share

    def close(self) -> None:
        """Give back what was set aside; all ranks do together."""
        if not self._closed:
            self._closed = True
            self._course.close()
            if self._owns:
                self._ranks.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise IsthmusError("exchange: it is closed; make another")

    def allocate(self) -> list[Part]:
        """Make arrays to hold before, in memory that the ranks of a node share; all ranks do.

        Where all ranks pass theirs, nothing is packed: each reads what it gets where it lies. They
        are there until the exchange is closed.

        Raises:
            IsthmusError: the form is not ``"window"``.

        """
        self._refuse_closed()
        parts = self._course.allocate()
        self._shared = tuple(parts)
        return parts

    def __call__(self, held: Any = None, out: Any = None) -> list[Part]:
        """Move an array.

        Args:
            held: what this rank holds before: an array, or a list of arrays where it has several
                parts; nothing on a rank that the layout does not have.
            out: the same for what it holds afterwards; made if not given. It may lie in the memory
                of what is held, which is lost then; as many bytes as the rank sends, between nodes
                also those that it receives, are set aside meanwhile.

        Returns:
            The parts of this rank in the layout that data go to; none if it is not in it.

        Raises:
            IsthmusError: on all ranks alike if on one of them arrays do not fit their layouts,
                which it names; nothing has been moved.

        """
        self._refuse_closed()
        brought = self._share.bring(held, out)
        brought.shared = not brought.problem and self._is_shared(held)
        with self._ranks.watch:
            self._course.move(brought)
        if not self._share.keeps(brought):
            self._course.forget()
        return brought.parts

    def _is_shared(self, held: Any) -> bool:
        """Whether these are the arrays that `allocate` has made, however they are given."""
        if self._shared is None:
            return False
        given = [] if held is None else memory.parts_of(held, "held")
        return len(given) == len(self._shared) and all(
            one is made for one, made in zip(given, self._shared, strict=True)
        )


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
    found out from the arrays of all ranks; `dtype` is needed only where no rank holds any. The
    order of the layout that data go to (`Layout.order`) comes before that of the arrays.

    Raises:
        IsthmusError: on all ranks alike if on one of them something does not fit, which it names;
            nothing has been moved.

    """
    with Ranks(comm) as ranks:
        return ranks.exchange(plan, held, out, dtype=dtype, order=order, form=form)

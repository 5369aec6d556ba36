"""Repeated execution of a plan by the ranks of a communicator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from isthmus.arrays import memory
from isthmus.arrays.agreed import AgreedError, error_text, refuse_differences, refuse_problems
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
    """A redistribution of an array that the ranks of a communicator can execute repeatedly.

    All ranks create, call and close it collectively::

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
        """Prepare the exchange; all ranks pass the same arguments.

        Args:
            ranks: a `Ranks` object, which stays open, or a communicator.
            plan: the plan to execute.
            dtype: type of the elements; Python objects are refused.
            order: memory order of messages and of new arrays; the order of the given arrays is
                fastest. The default is that of the target layout (`Layout.order`), else ``"C"``.
            form: how data are sent. ``"window"``: packed into memory that the ranks of one node
                share. ``"alltoall"``: packed, with collectives. ``"pairwise"``: packed for one rank
                while earlier messages are in flight. ``"datatype"``: not packed, one collective
                with derived datatypes. The default is the form with the shortest predicted time if
                `calibrate` has measured these ranks. Otherwise it is ``"window"`` on one node and
                ``"alltoall"`` on several.
            settings: keywords of `Ranks`, if a communicator is given.

        Raises:
            IsthmusError: on all ranks: a layout has ranks outside the communicator, or ``"window"``
                is requested across several nodes.

        """
        self.plan = plan
        self._owns = not isinstance(ranks, Ranks)
        self._ranks = Ranks(ranks, **settings) if self._owns else ranks
        try:
            with self._ranks.watch:
                self._share = self._agreed_share(dtype, order, form)
                self.dtype, self.order = self._share.dtype, self._share.order
                self._transport = self._ranks.way(form, self._share)
                self._transfer = self._transport.transfer(self._share)
        except AgreedError:
            if self._owns:
                self._ranks.close()
            raise
        self.form: Form = self._transport.form
        self._shared: tuple[Part, ...] | None = None
        self._closed = False

    def _agreed_share(
        self, dtype: Any, order: Literal["C", "F"] | None, form: Form | None
    ) -> Share:
        """Return the messages of this rank; refuse arguments that differ between ranks, as they
        would lead to wrong elements.
        """
        comm, problem, values, share = self._ranks.comm, "", {}, None
        try:
            share = Share(self.plan, comm.rank, type_of("dtype", dtype), order)
            values = {
                "the layout that data come from": self.plan.from_.fingerprint,
                "the layout that data go to": self.plan.to.fingerprint,
                "dtype": str(share.dtype),
                "order": share.order,
                "form": str(form),
            }
        except Exception as error:
            problem = error_text(error)
        answers = comm.allgather((problem, values))
        refuse_problems([problem for problem, _ in answers])
        refuse_differences([values for _, values in answers])
        assert share is not None
        return share

    def close(self) -> None:
        """Release the memory of the exchange. All ranks must call this together."""
        if not self._closed:
            self._closed = True
            self._transfer.close()
            if self._owns:
                self._ranks.close()

    def _refuse_closed(self) -> None:
        """Raise an error if the exchange is closed."""
        if self._closed:
            raise IsthmusError("exchange: it is closed; make another")

    def allocate(self) -> list[Part]:
        """Allocate source arrays in memory that the ranks of a node share; a collective call.

        If all ranks pass these arrays, data are not packed: each receiver reads them in place. The
        arrays live until the exchange is closed.

        Raises:
            IsthmusError: the form is not ``"window"``.

        """
        self._refuse_closed()
        parts = self._transfer.allocate()
        self._shared = tuple(parts)
        return parts

    def __call__(self, held: Any = None, out: Any = None) -> list[Part]:
        """Move an array.

        Args:
            held: source array of this rank, or a list of arrays if it has several parts; None on a
                rank outside the source layout.
            out: the same for the target layout; allocated by default. It may overlap `held`, which
                is overwritten then. Such an exchange allocates as many bytes as the rank sends, and
                between nodes also as many as it receives.

        Returns:
            The parts of this rank in the target layout; none if it is outside of it.

        Raises:
            IsthmusError: on all ranks, if the arrays of one do not fit their layouts. The message
                names the rank; no data were moved.

        """
        self._refuse_closed()
        operands = self._share.prepare(held, out)
        operands.shared = not operands.problem and self._is_shared(held)
        with self._ranks.watch:
            self._transfer.move(operands)
        if not self._share.is_cached(operands):
            self._transfer.forget()
        return operands.parts

    def _is_shared(self, held: Any) -> bool:
        """Return whether these are the arrays in shared memory that `allocate` returned."""
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
    """Move an array from one layout to another once; a collective call.

    Arguments are those of `Exchange` and of its call. The default type and order are those of the
    arrays of all ranks; `dtype` is needed only if no rank holds an array. The order of the target
    layout (`Layout.order`) takes precedence over that of the arrays.

    Raises:
        IsthmusError: on all ranks, if an argument of one does not fit. The message names the rank;
            no data were moved.

    """
    with Ranks(comm) as ranks:
        return ranks.exchange(plan, held, out, dtype=dtype, order=order, form=form)

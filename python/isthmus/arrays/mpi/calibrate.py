"""What exchanges cost on the machine at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.arrays import calibration
from isthmus.arrays.costs import Measured, Rates
from isthmus.arrays.mpi.exchange import Exchange
from isthmus.core import processors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks


def calibrate(ranks: Ranks, *, forms: Sequence[Form] | None = None, seconds: float = 1.0) -> Rates:
    """Measure what exchanges between these ranks cost, in about so many seconds; all ranks do.

    From then on exchanges of these ranks go in the form that is predicted to be the quickest.

    Args:
        ranks: that exchange.
        forms: that are measured; without it those that can be the quickest.
        seconds: that it takes, more where three exchanges of each kind take longer.

    """
    from mpi4py import MPI

    comm = ranks.comm
    chosen = list(forms) if forms is not None else ranks.forms()
    plans = list(calibration.cases(comm.size))
    found: dict[str, list[Measured]] = {form: [] for form in chosen}
    for side, run, plan in plans:
        there = plan.to.extents(0)[0][0] == side
        held = plan.from_.empty(comm.rank, "f8", order="F")
        out = plan.to.empty(comm.rank, "f8", order="F")
        for part in (*held, *out):
            part[...] = 0
        for form in chosen:
            with Exchange(ranks, plan, "f8", order="F", form=form) as exchange:

                def move(exchange: Exchange = exchange, held: Any = held, out: Any = out) -> None:
                    comm.Barrier()
                    exchange(held, out)

                took = calibration.repeated(
                    move,
                    seconds / len(plans) / len(chosen),
                    lambda mine: float(comm.allreduce(mine, op=MPI.MAX)),
                )
            whole = side * 8
            found[form].append(
                Measured(side * side * 8, whole if there else run, run if there else whole, took)
            )
    here = processors() * max(1, comm.size // ranks.node.size)
    rates = Rates(comm.size, min(comm.size, here), dict(found))
    ranks.rates = comm.bcast(rates)
    return ranks.rates

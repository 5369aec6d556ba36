"""What exchanges cost on the machine at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.arrays import calibration
from isthmus.arrays.costs import Rates
from isthmus.arrays.mpi.exchange import Exchange
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks


def calibrate(ranks: Ranks, *, forms: Sequence[Form] | None = None, seconds: float = 1.0) -> Rates:
    """Measure what exchanges between these ranks cost, in about so many seconds; all ranks do.

    From then on exchanges of these ranks go in the form that is predicted to be the quickest, by a
    quarter at least where it is not the one that is so in general.

    Args:
        ranks: that exchange.
        forms: that are measured; without it those that can be the quickest.
        seconds: that it takes, more where six exchanges of each kind take longer: on two processors
            two to four.

    Raises:
        IsthmusError: no form is given, or one that is not for these ranks.

    """
    from mpi4py import MPI

    comm = ranks.comm
    chosen = list(forms) if forms is not None else ranks.forms()
    if not chosen:
        raise IsthmusError(
            "forms: none is given; without forms those that can be the quickest are measured"
        )
    plans = list(calibration.cases(comm.size))
    took: dict[str, list[list[float]]] = {form: [[] for _ in plans] for form in chosen}
    memory = (calibration.Memory(), calibration.Memory())
    for number, case in calibration.passes(plans):
        plan = case.plan
        held = memory[0].arrays(plan.from_, comm.rank)
        out = memory[1].arrays(plan.to, comm.rank)
        for form in chosen:
            with Exchange(ranks, plan, calibration.DTYPE, order="F", form=form) as exchange:

                def move(exchange: Exchange = exchange, held: Any = held, out: Any = out) -> None:
                    comm.Barrier()
                    exchange(held, out)

                took[form][number] += calibration.repeated(
                    move,
                    seconds / len(plans) / len(chosen) / calibration.PASSES,
                    lambda mine: float(comm.allreduce(mine, op=MPI.MAX)),
                )
    here = sum(usable for _, usable in ranks.nodes())
    found = {
        form: [case.took(times) for case, times in zip(plans, by_case, strict=True)]
        for form, by_case in took.items()
    }
    rates = Rates(comm.size, min(comm.size, here), found)
    ranks.rates = comm.bcast(rates)
    return ranks.rates

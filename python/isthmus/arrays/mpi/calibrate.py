"""Measurement of the costs of exchanges on this machine."""

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
    """Measure the costs of exchanges between these ranks; a collective call.

    Later exchanges of these ranks use the form with the shortest predicted time. The general
    default is replaced only if another form is faster by at least a quarter.

    Args:
        ranks: the ranks that exchange.
        forms: forms to measure; the default is all candidate forms.
        seconds: approximate duration; more if six exchanges of each kind take longer (2 to 4
            seconds on two processors).

    Raises:
        IsthmusError: `forms` is empty, or a form does not fit these ranks.

    """
    from mpi4py import MPI

    comm = ranks.comm
    chosen = list(forms) if forms is not None else ranks.forms()
    if not chosen:
        raise IsthmusError(
            "forms: none is given; without forms those that can be the quickest are measured"
        )
    plans = list(calibration.cases(comm.size))
    seconds_of: dict[str, list[list[float]]] = {form: [[] for _ in plans] for form in chosen}
    memory = (calibration.Memory(), calibration.Memory())
    for number, case in calibration.passes(plans):
        plan = case.plan
        held = memory[0].arrays(plan.from_, comm.rank)
        out = memory[1].arrays(plan.to, comm.rank)
        for form in chosen:
            with Exchange(ranks, plan, calibration.DTYPE, order="F", form=form) as exchange:

                def move(exchange: Exchange = exchange, held: Any = held, out: Any = out) -> None:
                    """Execute the exchange once, after a barrier; default arguments bind the
                    variables of this loop pass.
                    """
                    comm.Barrier()
                    exchange(held, out)

                seconds_of[form][number] += calibration.repeated(
                    move,
                    seconds / len(plans) / len(chosen) / calibration.PASSES,
                    lambda mine: float(comm.allreduce(mine, op=MPI.MAX)),
                )
    here = sum(usable for _, usable in ranks.nodes())
    found = {
        form: [case.measured(times) for case, times in zip(plans, by_case, strict=True)]
        for form, by_case in seconds_of.items()
    }
    rates = Rates(comm.size, min(comm.size, here), found)
    ranks.rates = comm.bcast(rates)
    return ranks.rates

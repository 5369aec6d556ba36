"""Random pairs of layouts between ranks: ``mpiexec -n 4 python array_ranks.py CASES``."""

from __future__ import annotations

import sys
from collections import Counter

from mpi4py import MPI

from array_cases import case, same
from isthmus.arrays import Plan
from isthmus.arrays.mpi import exchange

FORMS = ("alltoall", "pairwise", "window", None)


def main() -> None:
    comm = MPI.COMM_WORLD
    count: Counter[str] = Counter()
    for seed in range(int(sys.argv[1])):
        from_, to, whole, (before, after), orders = case(seed, comm.size)
        plan = Plan(from_, to)
        form = FORMS[seed % len(FORMS)]
        gives, takes = comm.rank in from_.ranks, comm.rank in to.ranks
        held = before[from_.ranks.index(comm.rank)] if gives else None
        found = exchange(comm, plan, held, dtype=whole.dtype, order=orders[1], form=form)
        wanted = after[to.ranks.index(comm.rank)] if takes else []
        right = len(found) == len(wanted) and all(map(same, found, wanted))
        if not all(comm.allgather(right)):
            if comm.rank == 0:
                print(f"case {seed}, {form}: {plan}")
            sys.exit(1)
        count[str(form)] += 1
        count["elements"] += whole.size
    if comm.rank == 0:
        print(f"{sys.argv[1]} pairs of layouts on {comm.size} ranks: {dict(count)}")


main()

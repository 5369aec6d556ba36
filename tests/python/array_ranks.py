"""Random pairs of layouts between ranks: ``mpiexec -n 4 python array_ranks.py CASES [MOST]``.

Through memory of all sizes, from arrays that others can read, and in place; as if MPI could count
to MOST only.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import numpy as np
from mpi4py import MPI

from array_cases import case, same
from isthmus.arrays import Plan
from isthmus.arrays.mpi import FORMS, Exchange, Ranks, exchange
from isthmus.arrays.mpi.forms import datatypes, packed


def in_place(held, wanted, orders):
    """The same arrays in one piece of memory, and in it those that will be held."""
    sizes = [sum(part.nbytes for part in parts) for parts in (held, wanted)]
    # Not from the same byte on, so that what comes is not always where it was.
    memory = np.zeros(max(sizes) + 3, np.uint8)
    found = []
    for parts, order, first in ((held, orders[0], 0), (wanted, orders[1], 3)):
        views, begin = [], first
        for part in parts:
            view = memory[begin : begin + part.nbytes].view(part.dtype)
            views.append(view.reshape(part.shape, order=order))
            begin += part.nbytes
        found.append(views)
    for view, part in zip(found[0], held, strict=True):
        view[...] = part
    return found


def main() -> None:
    comm = MPI.COMM_WORLD
    count: Counter[str] = Counter()
    cases = int(sys.argv[1])
    if most := sys.argv[2:]:
        packed.SLICE_BYTES = datatypes.COUNT_MOST = int(most[0])
    for seed in range(cases):
        from_, to, whole, (before, after), orders = case(seed, comm.size)
        plan, chance = Plan(from_, to), random.Random(seed)
        form = [*FORMS, None][seed % (len(FORMS) + 1)]
        way = chance.choice(["once", "again", "shared", "in place"])
        buffer = chance.choice([None, 1, 64 * chance.randint(1, 40), 4096])
        gives, takes = comm.rank in from_.ranks, comm.rank in to.ranks
        held = before[from_.ranks.index(comm.rank)] if gives else []
        wanted = after[to.ranks.index(comm.rank)] if takes else []
        if way == "once":
            found = exchange(comm, plan, held, dtype=whole.dtype, order=orders[1], form=form)
        else:
            with (
                Ranks(comm, buffer_bytes=buffer) as ranks,
                Exchange(ranks, plan, whole.dtype, order=orders[1], form=form) as one,
            ):
                out = None
                if way == "shared" and one.form == "window":
                    count["read where it lies"] += 1
                    shared = one.allocate()
                    for there, part in zip(shared, held, strict=True):
                        there[...] = part
                    # Once with a rank that passes arrays of its own, then with none.
                    held = held if comm.rank == seed % comm.size else shared
                    one(held)
                    held = shared
                elif way == "in place":
                    held, out = in_place(held, wanted, orders)
                    count["overlap"] += any(np.may_share_memory(a, b) for a in held for b in out)
                found = one(held, out)
                if way == "again":
                    found = one(held)
        right = len(found) == len(wanted) and all(map(same, found, wanted))
        if not all(comm.allgather(right)):
            if comm.rank == 0:
                print(f"case {seed}, {form}, {way}, buffer of {buffer} bytes: {plan}")
            sys.exit(1)
        count[str(form)] += 1
        count[way] += 1
        count["elements"] += whole.size
    if comm.rank == 0:
        print(f"{cases} pairs of layouts on {comm.size} ranks: {dict(count)}")


main()

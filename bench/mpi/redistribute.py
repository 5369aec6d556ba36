"""A matrix of doubles in blocks, made into panels of columns; ``redistribution.py`` calls it.

``mpiexec -n 4 python redistribute.py SIDE BLOCK RUNS [FORM]`` prints, run by run, seconds of the
slowest rank and CPU seconds of all ranks. Without a form, calibration chooses it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, Ranks, calibrate


def main() -> None:
    """Measure, and check that each element is in its place."""
    side, block, runs = map(int, sys.argv[1:4])
    form = sys.argv[4] if len(sys.argv) > 4 else None
    comm = MPI.COMM_WORLD
    across = round(comm.size**0.5)
    blocks = Layout.block_cyclic((side, side), (across, across), (block, block))
    panels = Layout.block((side, side), (1, comm.size))
    rows, columns = blocks.indices(comm.rank)[0]
    # Each element encodes its place in the matrix.
    held = np.asfortranarray(rows[:, None] + side * columns[None, :].astype(float))
    out = panels.empty(comm.rank, "f8", order="F")
    with Ranks(comm) as ranks:
        if form is None:
            calibrate(ranks)
        exchange = Exchange(ranks, Plan(blocks, panels), "f8", order="F", form=form)
        for number in range(runs + 1):
            # Clear the output, so that old data cannot pass for that of this run.
            for part in out:
                part.fill(0)
            comm.Barrier()
            begin = time.perf_counter()
            cpu = time.process_time()
            exchange(held, out)
            took = comm.allreduce(time.perf_counter() - begin, op=MPI.MAX)
            cpu = comm.allreduce(time.process_time() - cpu)
            if comm.rank == 0 and number > 0:
                print(took, cpu, flush=True)
        exchange.close()
    rows, columns = panels.indices(comm.rank)[0]
    wanted = rows[:, None] + side * columns[None, :].astype(float)
    assert np.array_equal(out[0], wanted), "an element is out of its place"


main()

"""A matrix of doubles in blocks of columns, reshuffled and written row by row to one file.

``mpiexec -n 4 python reshuffled.py SIDE BLOCK RUNS PATH``: prints, run by run, ``write SECONDS
CPU``, from opening a new file to having closed it: seconds of the slowest rank, CPU seconds of all.
Aggregators are named: without that nothing is reshuffled for a file in memory.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from mpi4py import MPI

import isthmus
from isthmus.arrays import Layout
from isthmus.arrays.mpi import Ranks


def main() -> None:
    """Measure, and check that each element is in its place."""
    side, block, runs = map(int, sys.argv[1:4])
    path = Path(sys.argv[4])
    comm = MPI.COMM_WORLD
    layout = Layout.block_cyclic((side, side), (1, comm.size), (side, block))
    rows, columns = layout.indices(comm.rank)[0]
    aggregators = min(comm.size, len(os.sched_getaffinity(0)))
    held = rows[:, None] * float(side) + columns[None, :]
    with Ranks(comm) as ranks:
        for number in range(runs + 1):
            if comm.rank == 0:
                with suppress(FileNotFoundError):
                    path.unlink()
            comm.Barrier()
            begin, cpu = time.perf_counter(), time.process_time()
            with isthmus.open_array(
                path, "w", comm=ranks, format="raw", sync=False, aggregators=aggregators
            ) as file:
                file.write(held, layout)
            took = comm.allreduce(time.perf_counter() - begin, op=MPI.MAX)
            spent = comm.allreduce(time.process_time() - cpu)
            if comm.rank == 0 and number > 0:
                print("write", took, spent, flush=True)
    if comm.rank == 0:
        found = np.memmap(path, "f8", "r", shape=(side, side))
        wanted = np.arange(side, dtype=float)
        for row in range(side):
            assert np.array_equal(found[row], row * float(side) + wanted), row
        path.unlink()


main()

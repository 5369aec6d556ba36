"""A matrix of doubles in blocks, written to one file column by column and read again.

``mpiexec -n 4 python redistribute_file.py SIDE BLOCK RUNS PATH over|new [keep]`` prints two kinds
of lines for each run. ``write SECONDS CPU`` and ``read SECONDS CPU`` cover the time from opening to
closing the file; ``write_call`` and ``read_call`` cover the call alone. Seconds are those of the
slowest rank, CPU seconds those of all ranks. With ``over`` the file exists and its space is reused,
or with ``keep`` is not; with ``new`` the file does not exist.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from mpi4py import MPI

import isthmus
from isthmus.arrays import Layout


@contextmanager
def timed(spans: dict[str, tuple[float, float]], what: str) -> Iterator[None]:
    """Record seconds and CPU seconds of a step on this rank."""
    begin, cpu = time.perf_counter(), time.process_time()
    yield
    spans[what] = (time.perf_counter() - begin, time.process_time() - cpu)


def main() -> None:
    """Measure, and check that each element is in its place."""
    side, block, runs = map(int, sys.argv[1:4])
    path, is_new = Path(sys.argv[4]), sys.argv[5] == "new"
    comm = MPI.COMM_WORLD
    across = round(comm.size**0.5)
    blocks = Layout.block_cyclic((side, side), (across, across), (block, block))
    rows, columns = blocks.indices(comm.rank)[0]
    # Each element encodes its place in the matrix.
    held = np.asfortranarray(rows[:, None] + side * columns[None, :].astype(float))
    again = np.zeros_like(held, order="F")
    # Data need not be on disk, as for the peers.
    to_write = {
        "dtype": "f8",
        "shape": (side, side),
        "order": "F",
        "sync": False,
        "format": "raw",
        "keep": "keep" in sys.argv[6:],
    }
    to_read = {"dtype": "f8", "shape": (side, side), "order": "F", "format": "raw"}
    for number in range(runs + 1):
        if is_new and comm.rank == 0:
            with suppress(FileNotFoundError):
                path.unlink()
        spans: dict[str, tuple[float, float]] = {}
        comm.Barrier()
        with (
            timed(spans, "write"),
            isthmus.open_array(path, "w", comm=comm, **to_write) as file,
            timed(spans, "write_call"),
        ):
            file.write(held, blocks)
        # Clear the memory, so that old data cannot pass for data that is read now.
        again.fill(0)
        comm.Barrier()
        with (
            timed(spans, "read"),
            isthmus.open_array(path, comm=comm, **to_read) as file,
            timed(spans, "read_call"),
        ):
            file.read(blocks, [again])
        for what, (took, cpu) in spans.items():
            most, whole = comm.allreduce(took, op=MPI.MAX), comm.allreduce(cpu)
            if comm.rank == 0 and number > 0:
                print(what, most, whole, flush=True)
    assert np.array_equal(again, held), "what is read is not what was written"
    # The file is the matrix in column-major order, independent of the reader.
    assert path.stat().st_size == side * side * 8
    first, last = comm.rank * side // comm.size, (comm.rank + 1) * side // comm.size
    panel = np.fromfile(path, "f8", (last - first) * side, offset=first * side * 8)
    wanted = np.arange(first * side, last * side, dtype=float)
    assert np.array_equal(panel, wanted), "an element is out of its place"


main()

"""Arrays between ranks and streams: ``mpiexec -n 4 python stream_ranks.py ADDRESS SINK CASES``.

Each array goes to the sink, and over a connection of the daemon with itself to another layout.
"""

import sys
import threading

import numpy as np
from mpi4py import MPI

from array_cases import case, same
from isthmus.errors import IsthmusError
from isthmus.streams import connect_ranks, recv_array, send_array

PATIENCE = "60 s"


def place(layout, rank, held):
    """What a rank holds, if it is in the layout."""
    return held[layout.ranks.index(rank)] if rank in layout.ranks else None


def main(address, sink, cases):
    comm = MPI.COMM_WORLD
    right = True
    with connect_ranks(address, comm, name="ranks", patience=PATIENCE) as nic:
        out = nic.open(sink)
        for seed in range(cases):
            before, _, whole, held, _ = case(seed, 4)
            mine = place(before, comm.rank, held[0])
            links = 1 + seed % 6
            tu = links * whole.itemsize + 700
            status = send_array(mine, before, out, links=links, tu=tu, piece=3000)
            assert status.bytes == whole.nbytes
        out.close()
        # What goes wrong on one rank is told on all.
        try:
            nic.open("file:/etc/isthmus-test")
        except IsthmusError as error:
            assert "may be written" in str(error) or "file" in str(error)
        else:
            raise AssertionError("that was let through")
        right = comm.allreduce(right and back(nic, comm, address, cases), op=MPI.LAND)
    if comm.rank == 0 and right:
        print(f"all {cases} came back")


def back(nic, comm, address, cases):
    """Send from one process of its own, receive between ranks."""
    from isthmus.streams import connect

    into = nic.open("raw:accept:127.0.0.1:0", window="1 MiB")
    there = into.status().destination if comm.rank == 0 else None
    there = comm.bcast(there, 0)
    sender = None
    if comm.rank == 0:
        sender = threading.Thread(target=_send, args=(connect, address, there, cases))
        sender.start()
    right = True
    for seed in range(cases):
        _, after, whole, held, orders = case(seed, 4)
        mine = (
            after.empty(comm.rank, whole.dtype, order=orders[1])
            if comm.rank in after.ranks
            else None
        )
        links = 1 + (seed + 3) % 6
        tu, line = links * whole.itemsize + 99, whole.ndim - 1
        recv_array(mine, after, into, links=links, tu=tu, piece=2000, line=line)
        wanted = place(after, comm.rank, held[1]) or []
        right &= all(same(part, other) for part, other in zip(mine or [], wanted, strict=True))
    if sender is not None:
        sender.join(60)
    return right


def _send(connect, address, there, cases):
    with connect(address, name="sends", patience=PATIENCE) as nic:
        out = nic.open(f"raw:tcp:{there.removeprefix('raw:accept:')}")
        for seed in range(cases):
            whole = np.ascontiguousarray(case(seed, 4)[2])
            tu = max(whole.itemsize * 4, 512)
            send_array(whole, None, out, tu=tu, line=whole.ndim - 1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

"""Random files between ranks: ``mpiexec -n 4 python array_file_ranks.py CASES FOLDER [memory]``.

Each is written by all ranks and read by all and by the first ones alone. In a folder in memory most
are those that ranks reach each for itself.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from mpi4py import MPI

import isthmus
from array_cases import same
from array_file_cases import file_case, how, to_read
from isthmus.arrays.files import mapped
from isthmus.arrays.mpi import Ranks


def main() -> None:
    comm = MPI.COMM_WORLD
    count: Counter[str] = Counter()
    memory = sys.argv[3:] == ["memory"]
    moves = mapped.Mapped.move

    def counted(self, *arguments):
        count["by each rank"] += 1
        moves(self, *arguments)

    mapped.Mapped.move = counted
    few = comm.Split(0 if comm.rank < max(1, comm.size - 1) else 1)
    fewer = max(1, comm.size - 1)
    with Ranks(comm) as ranks, Ranks(comm) as apart:
        # As they are on several nodes.
        apart.is_one_node = False
        means = [comm, ranks, apart]
        for seed in range(int(sys.argv[1])):
            # In turns by all, and by all but one.
            readers = comm.size if seed % 2 else fewer
            suffix, settings, whole, (from_, before), (to, after), chance = file_case(
                seed, comm.size, readers
            )
            path = Path(sys.argv[2]) / f"{seed}{suffix}"
            mine = before[from_.ranks.index(comm.rank)] if comm.rank in from_.ranks else None
            cut = how(chance, comm.size)
            if memory and seed % 8:
                settings["checksums"], cut["aggregators"] = False, None
            mapped.PIECE, mapped.FAULT_AROUND = 1 + seed * 37 % 400, seed * 59 % 300
            with isthmus.open_array(
                path, "w", comm=means[seed % 3], dtype=whole.dtype, **settings, **cut
            ) as file:
                file.write(mine, from_)
                assert (file.shape, file.dtype) == (whole.shape, whole.dtype)
            cut = how(chance, readers)
            if memory and seed % 5:
                cut["aggregators"] = None
            right = True
            if comm.rank < readers:
                team = means[seed // 2 % 3] if readers == comm.size else few
                said = to_read(suffix, settings, whole)
                with isthmus.open_array(path, comm=team, **said, **cut) as file:
                    found = file.read(to)
                    part = tuple(slice(None, None, 1 + comm.rank) for _ in whole.shape)
                    right = same(file[part], whole[part])
                wanted = after[to.ranks.index(comm.rank)] if comm.rank in to.ranks else []
                right &= len(found) == len(wanted) and all(map(same, found, wanted))
            if not all(comm.allgather(right)):
                if comm.rank == 0:
                    print(f"case {seed}: {path}, {settings}, {cut}")
                sys.exit(1)
            count[suffix] += 1
            count["bytes"] += whole.nbytes
    if comm.rank == 0:
        print(f"{sys.argv[1]} files on {comm.size} ranks: {dict(count)}")


main()

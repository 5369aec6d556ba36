"""Files of MPI-IO beside ours: ``mpiexec -n 4 python array_darray.py CASES FOLDER``.

The ranks write random arrays, each as MPI means it: the file is seen through a type of
``Create_darray`` or ``Create_subarray``, and all write what they hold in one call. Each file is
compared, byte by byte, with the array as numpy has it and with the file that ours writes of what
the ranks hold, told by the very arguments of that type.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import isthmus
from array_cases import same
from isthmus.arrays import Layout

DTYPES = ("f8", "f4", "i2", "u1", "c16", [("a", "i4"), ("b", "f8"), ("c", "S3")])
BLOCK, CYCLIC, NONE = MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC, MPI.DISTRIBUTE_NONE
USUAL = MPI.DISTRIBUTE_DFLT_DARG
ORDERS = {"C": MPI.ORDER_C, "F": MPI.ORDER_F}
NAMES = {BLOCK: "block", CYCLIC: "cyclic", NONE: "none"}


@dataclass(frozen=True)
class Case:
    """An array, and what each rank holds of it: index lists, found by looking at each index."""

    whole: np.ndarray
    order: str
    told: dict[str, Any]
    """What the type of MPI is made of: the arguments of a darray, or a box for each rank."""
    indices: list[list[list[int]]]
    """By rank and dimension."""

    def held(self, rank: int) -> np.ndarray:
        """What a rank holds, an array of its own in the order of the file."""
        return np.array(self.whole[np.ix_(*self.indices[rank])], order=self.order)

    def __str__(self) -> str:
        return f"{self.whole.dtype} {self.whole.shape} {self.order} {self.told}"


def process_grid(chance: random.Random, dims: int, ranks: int) -> list[int]:
    """Extents with the product `ranks`."""
    grid = [1] * dims
    rest = ranks
    for factor in (2, 3, 5, 7):
        while rest % factor == 0:
            grid[chance.randrange(dims)] *= factor
            rest //= factor
    assert rest == 1
    return grid


def darray(chance: random.Random, shape: tuple[int, ...], ranks: int):
    """Arguments of ``Create_darray``, and who holds what."""
    processes = process_grid(chance, len(shape), ranks)
    rules, arguments, held = [], [], []
    for extent, over in zip(shape, processes, strict=True):
        rule = chance.choice([BLOCK, CYCLIC, CYCLIC, *([NONE] if over == 1 else [])])
        argument = USUAL
        if rule == CYCLIC and chance.random() < 0.8:
            argument = chance.randint(1, extent + 1)
        elif rule == BLOCK and chance.random() < 0.5:
            argument = -(-extent // over) + chance.randrange(3)
        size = {CYCLIC: 1, BLOCK: -(-extent // over), NONE: extent}[rule]
        size = size if argument == USUAL else argument
        rules.append(rule)
        arguments.append(argument)
        held.append(
            [[i for i in range(extent) if i // size % over == place] for place in range(over)]
        )
    told = {
        "sizes": list(shape),
        "distributions": rules,
        "arguments": arguments,
        "processes": processes,
    }
    # Ranks of the grid are numbered row by row, whatever the order of the array.
    places = itertools.product(*map(range, processes))
    return told, [[held[dim][at] for dim, at in enumerate(place)] for place in places]


def boxes(chance: random.Random, shape: tuple[int, ...], ranks: int):
    """The array, cut in two until each rank has a box, which may be empty."""
    pieces = [[(0, extent) for extent in shape]]
    while len(pieces) < ranks:
        piece = pieces.pop(chance.randrange(len(pieces)))
        dim = chance.randrange(len(shape))
        start, end = piece[dim]
        at = chance.randint(start, end)
        pieces += [[*piece[:dim], cut, *piece[dim + 1 :]] for cut in ((start, at), (at, end))]
    chance.shuffle(pieces)
    return {"boxes": pieces}, [[list(range(*along)) for along in piece] for piece in pieces]


def case(seed: int, ranks: int) -> Case:
    """A random array and its parts: two of three are a darray."""
    chance = random.Random(seed)
    dims = 1 + seed % 5
    most = [200, 24, 10, 6, 5][dims - 1]
    shape = tuple(chance.randint(1, most) for _ in range(dims))
    told, indices = (boxes if seed // 5 % 3 == 2 else darray)(chance, shape, ranks)
    dtype = np.dtype(chance.choice(DTYPES))
    data = np.frombuffer(chance.randbytes(int(np.prod(shape)) * dtype.itemsize), np.uint8)
    whole = data.view(dtype).reshape(shape)
    return Case(whole, chance.choice("CF"), told, indices)


def view(case: Case, element: MPI.Datatype, comm: MPI.Comm) -> MPI.Datatype:
    """The type through which a rank sees the file."""
    order = ORDERS[case.order]
    if "boxes" in case.told:
        box = case.told["boxes"][comm.rank]
        extents = [end - start for start, end in box]
        if 0 in extents:  # no type has no elements; none are written through this one
            return element.Dup()
        starts = [start for start, _ in box]
        return element.Create_subarray(case.whole.shape, extents, starts, order)
    return element.Create_darray(comm.size, comm.rank, *case.told.values(), order)


def with_mpi(comm: MPI.Comm, case: Case, path: Path) -> None:
    """Write with MPI-IO: each rank what it holds, through its type, in one call."""
    held = case.held(comm.rank)
    element = MPI.BYTE.Create_contiguous(case.whole.itemsize).Commit()
    seen = view(case, element, comm).Commit()
    # By its bytes in the order of the file, which is that in memory.
    flat = np.frombuffer(held.tobytes(order=case.order), np.uint8)
    file = MPI.File.Open(comm, str(path), MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Set_view(0, element, seen)
    file.Write_all([flat, held.size, element])
    file.Close()
    seen.Free()
    element.Free()


def layout(case: Case) -> Layout:
    """The same in our words: arguments of the darray as they are, or the boxes."""
    if "boxes" not in case.told:
        return Layout.darray(**case.told)
    # Boxes of a layout are not empty.
    return Layout.boxes(
        case.whole.shape,
        [
            [tuple(slice(*along) for along in box)] if all(case.indices[rank]) else []
            for rank, box in enumerate(case.told["boxes"])
        ],
    )


def held_parts(of: Layout, rank: int) -> int:
    """In how many parts a rank holds its elements."""
    return len(of.extents(rank)) if rank in of.ranks else 0


def with_ours(comm: MPI.Comm, case: Case, path: Path) -> None:
    """Write with ours what each rank holds."""
    of = layout(case)
    held = case.held(comm.rank) if held_parts(of, comm.rank) else None
    about = {"shape": case.whole.shape, "dtype": case.whole.dtype, "order": case.order}
    with isthmus.open_array(path, "w", comm=comm, format="raw", **about) as file:
        file.write(held, of)


def is_read(comm: MPI.Comm, case: Case, path: Path) -> bool:
    """Whether each rank reads with ours what it holds, out of a file that may be MPI's."""
    of = layout(case)
    about = {"shape": case.whole.shape, "dtype": case.whole.dtype, "order": case.order}
    with isthmus.open_array(path, comm=comm, format="raw", **about) as file:
        found = file.read(of)
    wanted = [case.held(comm.rank)] if held_parts(of, comm.rank) else []
    return len(found) == len(wanted) and all(map(same, found, wanted))


def main() -> None:
    comm = MPI.COMM_WORLD
    cases, folder = int(sys.argv[1]), Path(sys.argv[2])
    count: Counter[str] = Counter()
    wrong = 0
    for seed in range(cases):
        now = case(seed, comm.size)
        theirs, ours = folder / f"{seed}.mpi", folder / f"{seed}.ours"
        with_mpi(comm, now, theirs)
        with_ours(comm, now, ours)
        read = comm.allreduce(is_read(comm, now, theirs), op=MPI.LAND)
        if comm.rank == 0:
            problems = {
                "MPI-IO and numpy differ": theirs.read_bytes() != now.whole.tobytes(now.order),
                "ours and MPI-IO differ": ours.read_bytes() != theirs.read_bytes(),
                "ours reads something else from the file of MPI-IO": not read,
            }
            for problem, is_so in problems.items():
                if is_so:
                    print(f"case {seed}: {problem}: {now}", flush=True)
            wrong += any(problems.values())
            theirs.unlink()
            ours.unlink()
            count["boxes" if "boxes" in now.told else "darray"] += 1
            count[f"order {now.order}"] += 1
            count[f"{now.whole.ndim} dimensions"] += 1
            for rule in now.told.get("distributions", ()):
                count[NAMES[rule]] += 1
        comm.Barrier()
    if comm.rank == 0:
        library = re.sub(r"[:\s]+", " ", re.split(r"[,\n]", MPI.Get_library_version())[0])
        print(f"{cases} files of {comm.size} ranks, {wrong} wrong, {library}: {dict(count)}")
    sys.exit(1 if comm.bcast(wrong) else 0)


main()

"""Exchanges that were predicted and then made; ``prediction.py`` calls it.

``mpiexec -n 4 python predicted.py CASES RUNS``: calibrates, and prints a JSON object of what was
measured for that, and by case its name, form, bytes, predicted and measured seconds. Cases are made
by chance, always the same; none is one of those that calibration measures.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import asdict
from itertools import product
from math import prod
from typing import Any

from mpi4py import MPI

from isthmus.arrays import Layout, Plan
from isthmus.arrays.calibration import repeated
from isthmus.arrays.mpi import Exchange, Ranks, calibrate


def grids(ranks: int, dims: int) -> list[tuple[int, ...]]:
    """The grids of so many processes with so many axes."""
    axes = [side for side in range(1, ranks + 1) if ranks % side == 0]
    return [grid for grid in product(axes, repeat=dims) if prod(grid) == ranks]


def layout(chance: random.Random, shape: tuple[int, ...], ranks: int) -> tuple[str, Layout]:
    """One that an application might have, and its name."""
    grid = chance.choice(grids(ranks, len(shape)))
    if chance.random() < 0.4:
        return f"block {grid}", Layout.block(shape, grid)
    blocks = [min(extent, chance.choice([2, 3, 8, 24, 50, 100])) for extent in shape]
    return f"cyclic {grid} of {tuple(blocks)}", Layout.block_cyclic(shape, grid, blocks)


def main() -> None:
    """Calibrate, predict, measure."""
    comm = MPI.COMM_WORLD
    count, runs = int(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20)
    found = []
    with Ranks(comm) as ranks:
        begin = time.perf_counter()
        rates = calibrate(ranks)
        took = time.perf_counter() - begin
        for number in range(count):
            # From a quarter of a megabyte to a quarter of a gigabyte, evenly by size.
            size = 2 ** (18 + 10 * number / max(count - 1, 1))
            dims, dtype = chance.randint(2, 3), chance.choice(["f4", "f8", "c16"])
            side = (size / int(dtype[1:])) ** (1 / dims)
            shape = tuple(round(side * chance.uniform(0.7, 1.4)) for _ in range(dims))
            (before, from_), (after, to) = (layout(chance, shape, comm.size) for _ in range(2))
            order = chance.choice(["C", "F"])
            plan = Plan(from_, to)
            form = ranks.forms()[number % len(ranks.forms())]
            predicted = rates.predict(plan, dtype, orders=(order, order), form=form)
            held = from_.empty(comm.rank, dtype, order=order)
            out = to.empty(comm.rank, dtype, order=order)
            for part in (*held, *out):
                part[...] = 0
            with Exchange(ranks, plan, dtype, order=order, form=form) as exchange:

                def move(exchange: Exchange = exchange, held: Any = held, out: Any = out) -> None:
                    comm.Barrier()
                    exchange(held, out)

                measured = repeated(
                    move, 0.2, lambda mine: comm.allreduce(mine, op=MPI.MAX), least=runs
                )
            found.append(
                {
                    "case": f"{' x '.join(map(str, shape))} {dtype} {order}: {before} to {after}",
                    "form": form,
                    "bytes": prod(shape) * int(dtype[1:]),
                    "predicted_s": predicted,
                    "measured_s": measured,
                }
            )
    if comm.rank == 0:
        print(json.dumps({"calibrated_in_s": took, "rates": asdict(rates), "cases": found}))


main()

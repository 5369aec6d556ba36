"""Exchanges that were predicted and then made; ``exchanges.py`` calls it.

``mpiexec -n 4 python predicted.py CASES RUNS``: calibrates, and prints a JSON object of what was
measured for that, and by case its name, form, bytes, predicted and measured seconds. Cases are made
by chance, always the same; none is one of those that calibration measures.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from math import prod
from typing import Any

from mpi4py import MPI

from isthmus.arrays import Layout, Plan
from isthmus.arrays.calibration import repeated
from isthmus.arrays.mpi import Exchange, Ranks, calibrate

TURNS = 3


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


@dataclass(frozen=True)
class Case:
    """An exchange that an application might make."""

    name: str
    plan: Plan
    dtype: str
    order: Any
    form: Any
    size: int


def case(chance: random.Random, number: int, count: int, ranks: Ranks) -> Case:
    """One of so many, from a quarter of a megabyte to a quarter of a gigabyte, evenly by size."""
    size = 2 ** (18 + 10 * number / max(count - 1, 1))
    dims, dtype = chance.randint(2, 3), chance.choice(["f4", "f8", "c16"])
    side = (size / int(dtype[1:])) ** (1 / dims)
    shape = tuple(round(side * chance.uniform(0.7, 1.4)) for _ in range(dims))
    (before, from_), (after, to) = (layout(chance, shape, ranks.comm.size) for _ in range(2))
    order = chance.choice(["C", "F"])
    form = ranks.forms()[number % len(ranks.forms())]
    name = f"{' x '.join(map(str, shape))} {dtype} {order}: {before} to {after}"
    return Case(name, Plan(from_, to), dtype, order, form, prod(shape) * int(dtype[1:]))


def measured(ranks: Ranks, one: Case, runs: int) -> list[float]:
    """Seconds of the slowest rank, at least so often."""
    comm = ranks.comm
    held = one.plan.from_.empty(comm.rank, one.dtype, order=one.order)
    out = one.plan.to.empty(comm.rank, one.dtype, order=one.order)
    for part in (*held, *out):
        part[...] = 0
    with Exchange(ranks, one.plan, one.dtype, order=one.order, form=one.form) as exchange:

        def move() -> None:
            comm.Barrier()
            exchange(held, out)

        return repeated(move, 0.1, lambda mine: comm.allreduce(mine, op=MPI.MAX), least=runs)


def main() -> None:
    """Calibrate, predict, measure."""
    comm = MPI.COMM_WORLD
    count, runs = int(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20)
    with Ranks(comm) as ranks:
        begin = time.perf_counter()
        rates = calibrate(ranks)
        took = time.perf_counter() - begin
        cases = [case(chance, number, count, ranks) for number in range(count)]
        predicted = [
            rates.predict(one.plan, one.dtype, orders=(one.order, one.order), form=one.form)
            for one in cases
        ]
        # In turns, as calibration measures: a machine that is slow for a moment is so for one turn.
        times: list[list[float]] = [[] for _ in cases]
        for _, (number, one) in product(range(TURNS), enumerate(cases)):
            times[number] += measured(ranks, one, runs)
    found = [
        {
            "case": one.name,
            "form": one.form,
            "bytes": one.size,
            "predicted_s": foreseen,
            "measured_s": statistics.median(took),
        }
        for one, foreseen, took in zip(cases, predicted, times, strict=True)
    ]
    if comm.rank == 0:
        print(json.dumps({"calibrated_in_s": took, "rates": asdict(rates), "cases": found}))


main()

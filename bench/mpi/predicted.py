"""Exchanges that were predicted and then made; ``exchanges.py`` calls it.

``mpiexec -n 4 python predicted.py CASES RUNS TURNS``: in turns, calibrates, predicts and measures,
and prints a JSON object: what was calibrated, and by case its name, form, bytes, predicted and
measured seconds. Cases are made by chance, always the same; none is one of those that calibration
measures.

What is predicted holds for the machine that was calibrated. Virtual ones change: an exchange that
is always the same is measured before and after calibration and after the cases, and where it took
10% more or less the turn is no test of the prediction. Such turns are made again, and reported;
where there are not three others, all count.
"""

from __future__ import annotations

import json
import math
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
"""In which the machine stayed as it was."""
DRIFT = 0.1
REFERENCE = (1024, 1024)


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


def reference(ranks: Ranks) -> dict[str, float]:
    """What an exchange that is always the same takes, by form."""
    size = ranks.comm.size
    rows = Layout.block_cyclic(REFERENCE, (size, 1), (8, 1))
    plan = Plan(rows, Layout.block(REFERENCE, (1, size)))
    return {
        form: statistics.median(
            measured(ranks, Case("reference", plan, "f8", "F", form, prod(REFERENCE) * 8), 15)
        )
        for form in ranks.forms()
    }


@dataclass
class Turn:
    """One calibration, and what it foretold."""

    rates: dict[str, Any]
    calibrated_in_s: float
    references: list[dict[str, float]]
    predicted: list[float]
    measured: list[float]

    @property
    def drift(self) -> float:
        """By how much the machine changed meanwhile."""
        times = [[each[form] for each in self.references] for form in self.references[0]]
        return max(math.log(max(of_form) / min(of_form)) for of_form in times)

    @property
    def error(self) -> float:
        """How far half of the predictions are off, at most."""
        pairs = zip(self.predicted, self.measured, strict=True)
        return statistics.median(abs(foreseen / took - 1) for foreseen, took in pairs)


def turn(ranks: Ranks, cases: list[Case], runs: int) -> Turn:
    """Calibrate, predict, measure."""
    references = [reference(ranks)]
    begin = time.perf_counter()
    rates = calibrate(ranks)
    took = time.perf_counter() - begin
    references.append(reference(ranks))
    predicted = [
        rates.predict(one.plan, one.dtype, orders=(one.order, one.order), form=one.form)
        for one in cases
    ]
    times = [statistics.median(measured(ranks, one, runs)) for one in cases]
    references.append(reference(ranks))
    return Turn(asdict(rates), took, references, predicted, times)


def main() -> None:
    """Turns until there are enough in which the machine stayed as it was, or so many."""
    comm = MPI.COMM_WORLD
    count, runs, most = map(int, sys.argv[1:])
    chance = random.Random(20)
    turns: list[Turn] = []
    with Ranks(comm) as ranks:
        cases = [case(chance, number, count, ranks) for number in range(count)]
        while len(turns) < most and sum(one.drift < DRIFT for one in turns) < TURNS:
            turns.append(comm.bcast(turn(ranks, cases, runs)))
    steady = [one for one in turns if one.drift < DRIFT]
    judged = steady if len(steady) == TURNS else turns
    found = [
        {
            "case": one.name,
            "form": one.form,
            "bytes": one.size,
            "predicted_s": statistics.median(turn.predicted[number] for turn in judged),
            "measured_s": statistics.median(turn.measured[number] for turn in judged),
        }
        for number, one in enumerate(cases)
    ]
    report = {
        "cases": found,
        "turns": [
            {
                "drift": one.drift,
                "median_error": one.error,
                "calibrated_in_s": one.calibrated_in_s,
                "references_s": one.references,
            }
            for one in turns
        ],
        "steady_turns": len(steady),
        "rates": judged[0].rates,
    }
    if comm.rank == 0:
        print(json.dumps(report))


main()

"""Exchanges that are predicted and then made; ``exchanges.py`` calls this program.

``mpiexec -n 4 python predicted.py CASES RUNS TURNS`` calibrates, predicts and measures in turns. It
prints a JSON object with the calibration, and for each case its name, form, bytes, predicted and
measured seconds. Cases are random with a fixed seed; none is one of the calibration's.

A prediction holds for the calibrated machine, but virtual machines change. So a reference exchange
is measured before and after calibration and after the cases. If its time changes by 10% or more,
the turn does not test the prediction; it is repeated, and reported. Without three good turns, all
turns count.
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

from isthmus.arrays import Layout, Plan, calibration
from isthmus.arrays.calibration import repeated
from isthmus.arrays.mpi import Exchange, Ranks, calibrate

TURNS = 3
"""Number of turns in which the machine must stay the same."""
DRIFT = 0.1
REFERENCE = (1024, 1024)


def grids(ranks: int, dims: int) -> list[tuple[int, ...]]:
    """Return the grids of a number of processes with a number of axes."""
    axes = [side for side in range(1, ranks + 1) if ranks % side == 0]
    return [grid for grid in product(axes, repeat=dims) if prod(grid) == ranks]


def layout(chance: random.Random, shape: tuple[int, ...], ranks: int) -> tuple[str, Layout]:
    """Return a random layout that an application might have, and its name."""
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
    """Return a random exchange of a quarter of a megabyte to a quarter of a gigabyte."""
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
    """Return seconds of the slowest rank, for at least `runs` runs."""
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
    """Return the time of the reference exchange, by form."""
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
    """One calibration and its predictions."""

    rates: dict[str, Any]
    calibrated_in_s: float
    references: list[dict[str, float]]
    predicted: list[float]
    measured: list[float]

    @property
    def drift(self) -> float:
        """Relative change of the machine's speed during the turn."""
        times = [[each[form] for each in self.references] for form in self.references[0]]
        return max(math.log(max(of_form) / min(of_form)) for of_form in times)

    @property
    def error(self) -> float:
        """The median relative error of the predictions."""
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
    """Make turns until the machine stayed the same in enough of them, up to a limit."""
    comm = MPI.COMM_WORLD
    count, runs, most = map(int, sys.argv[1:])
    chance = random.Random(20)
    turns: list[Turn] = []
    if most == 1:
        # A single turn says little, so each of its measurements is made once.
        calibration.PASSES = 1
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

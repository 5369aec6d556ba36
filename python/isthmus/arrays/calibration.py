"""Exchanges that are measured so that others can be predicted."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from isthmus.arrays.costs import THREADS, Measured, Rates
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.core import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDES = (16, 256, 1024, 3072)
"""Of the matrices of doubles that are moved: 2 KB to 75 MB, with what they become more than caches
hold."""
BLOCKS = (1, 8, 64)
"""Elements of a block; the last one that is measured is as long as a column."""


def cases(ranks: int) -> Iterator[tuple[int, int, Plan]]:
    """Side and block of matrices, and plans between blocks of rows that go round and panels."""
    for side in SIDES:
        for block in dict.fromkeys(min(block, side // 4) for block in BLOCKS):
            rows = Layout.block_cyclic((side, side), (ranks, 1), (block, 1))
            panels = Layout.block((side, side), (1, ranks))
            yield side, block * 8, Plan(rows, panels)
            yield side, block * 8, Plan(panels, rows)


def calibrate_threads(threads: int | None = None, *, seconds: float = 1.0) -> Rates:
    """Measure what it costs to move arrays by threads, in about so many seconds."""
    count = processors() if threads is None else threads
    measured = []
    plans = list(cases(4))
    for side, run, plan in plans:
        there = plan.to.extents(0)[0][0] == side
        held = [plan.from_.empty(rank, "f8", order="F") for rank in range(4)]
        out = [plan.to.empty(rank, "f8", order="F") for rank in range(4)]
        for parts in (*held, *out):
            parts[0][...] = 0

        def move(plan: Plan = plan, held: object = held, out: object = out) -> None:
            plan.redistribute(held, out, threads=count)  # type: ignore[arg-type]

        took = repeated(move, seconds / len(plans))
        whole = side * 8
        measured.append(
            Measured(side * side * 8, whole if there else run, run if there else whole, took)
        )
    return Rates(count, min(count, processors()), {THREADS: measured})


def repeated(
    move: Callable[[], None],
    seconds: float,
    agree: Callable[[float], float] = float,
    *,
    least: int = 3,
) -> float:
    """The median time of something that is done for about so long, at least so often.

    With ranks that do it together `agree` tells all of them the longest time.
    """
    move()
    times: list[float] = []
    while len(times) < least or (sum(times) < seconds and len(times) < 50):
        begin = time.perf_counter()
        move()
        times.append(agree(time.perf_counter() - begin))
    return statistics.median(times)

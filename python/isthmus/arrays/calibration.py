"""Exchanges that are measured so that others can be predicted."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.arrays.costs import THREADS, Measured, Rates
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.core import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SIDES = (16, 256, 1024, 3072)
"""Of the matrices of doubles that are moved: 2 KB to 75 MB, with what they become more than caches
hold."""
PASSES = 3
"""What disturbs a machine for a moment is not to be there whenever one of them is measured."""
BLOCKS = (1, 8, 64)
"""Elements of a block; the last one that is measured is as long as a column."""


@dataclass(frozen=True)
class Case:
    """An exchange of a matrix of doubles, column by column in memory."""

    plan: Plan
    size: int
    """Bytes of the matrix."""
    packed: int
    """Bytes of a run when it is packed."""
    unpacked: int
    """Bytes of a run when it is unpacked."""

    def took(self, seconds: Sequence[float]) -> Measured:
        """What was measured, again and again."""
        return Measured(self.size, self.packed, self.unpacked, statistics.median(seconds))


def cases(ranks: int) -> Iterator[Case]:
    """Plans between blocks of rows that go round and panels, and from blocks to larger blocks."""
    for side in SIDES:
        size, whole = side * side * 8, side * 8
        for block in dict.fromkeys(min(block, side // 4) for block in BLOCKS):
            rows = Layout.block_cyclic((side, side), (ranks, 1), (block, 1))
            panels = Layout.block((side, side), (1, ranks))
            larger = Layout.block_cyclic((side, side), (ranks, 1), (block * 3, 1))
            run = block * 8
            yield Case(Plan(rows, panels), size, whole, run)
            yield Case(Plan(panels, rows), size, run, whole)
            yield Case(Plan(rows, larger), size, run, run)


def passes(plans: Sequence[Case]) -> Iterator[tuple[int, Case]]:
    """Each exchange and its number, all of them one after the other, several times."""
    for _ in range(PASSES):
        yield from enumerate(plans)


def calibrate_threads(threads: int | None = None, *, seconds: float = 1.0) -> Rates:
    """Measure what it costs to move arrays by threads, in about so many seconds."""
    count = processors() if threads is None else threads
    plans = list(cases(4))
    took: list[list[float]] = [[] for _ in plans]
    for number, case in passes(plans):
        plan = case.plan
        held = [plan.from_.empty(rank, "f8", order="F") for rank in range(4)]
        out = [plan.to.empty(rank, "f8", order="F") for rank in range(4)]
        for parts in (*held, *out):
            parts[0][...] = 0

        def move(plan: Plan = plan, held: object = held, out: object = out) -> None:
            plan.redistribute(held, out, threads=count)  # type: ignore[arg-type]

        took[number] += repeated(move, seconds / len(plans) / PASSES)
    measured = [case.took(times) for case, times in zip(plans, took, strict=True)]
    return Rates(count, min(count, processors()), {THREADS: measured})


def repeated(
    move: Callable[[], None],
    seconds: float,
    agree: Callable[[float], float] = float,
    *,
    least: int = 2,
) -> list[float]:
    """What something takes that is done for about so long, at least so often.

    With ranks that do it together `agree` tells all of them the longest time.
    """
    move()
    times: list[float] = []
    while len(times) < least or (sum(times) < seconds and len(times) < 50):
        begin = time.perf_counter()
        move()
        times.append(agree(time.perf_counter() - begin))
    return times

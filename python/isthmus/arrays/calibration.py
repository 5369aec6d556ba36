"""Exchanges that are measured so that others can be predicted."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.costs import THREADS, Measured, Rates
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.core import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

SIDES = (16, 256, 1024, 2048)
"""Columns of the matrices that are moved, of twice as many numbers of 4 bytes and some: 3 KB to
34 MB, with what they become more than caches hold. Like most arrays they have no columns of whole
cache lines: a short run is in one line more."""
PASSES = 3
"""What disturbs a machine for a moment is not to be there whenever one of them is measured."""
BLOCKS = (1, 2, 3, 4, 8, 16, 32, 128)
"""Elements of a block, 4 to 512 bytes."""
DTYPE = "f4"
THREADS_RANKS = 4
"""Whose arrays threads move."""


@dataclass(frozen=True)
class Case:
    """An exchange of a matrix, column by column in memory."""

    plan: Plan
    packed: int
    """Bytes of a run when it is packed."""
    unpacked: int
    """Bytes of a run when it is unpacked."""

    def took(self, seconds: Sequence[float]) -> Measured:
        """What was measured, again and again."""
        item = np.dtype(DTYPE).itemsize
        messages = self.plan.messages()
        size = sum(message.elements for message in messages)
        moved = sum(each.elements for each in messages if each.from_rank != each.to_rank)
        middle = statistics.median(seconds)
        return Measured(size * item, moved * item, self.packed, self.unpacked, middle)


def cases(ranks: int) -> Iterator[Case]:
    """Plans between blocks of rows that go round and panels, and from panels to themselves."""
    item = np.dtype(DTYPE).itemsize
    for side in SIDES:
        shape = (2 * side + 13, side)
        panels, whole = Layout.block(shape, (1, ranks)), shape[0] * item
        yield Case(Plan(panels, panels), whole, whole)
        for block in (block for block in BLOCKS if 8 * block <= side):
            rows, run = Layout.block_cyclic(shape, (ranks, 1), (block, 1)), block * item
            yield Case(Plan(rows, panels), whole, run)
            yield Case(Plan(panels, rows), run, whole)


class Memory:
    """For arrays of a matrix, again and again: what was touched before is not made anew."""

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = [np.zeros(0, DTYPE)]

    def arrays(self, layout: Layout, rank: int) -> list[NDArray[Any]]:
        """The array of a rank, column by column."""
        (shape,) = layout.extents(rank)
        size = math.prod(shape)
        if size > self.parts[0].size:
            self.parts = [np.zeros(size, DTYPE)]
        return [self.parts[0][:size].reshape(shape, order="F")]


def passes(plans: Sequence[Case]) -> Iterator[tuple[int, Case]]:
    """Each exchange and its number, all of them one after the other, several times."""
    for _ in range(PASSES):
        yield from enumerate(plans)


def calibrate_threads(threads: int | None = None, *, seconds: float = 1.0) -> Rates:
    """Measure what it costs to move arrays by threads, in about so many seconds."""
    count = processors() if threads is None else threads
    # Threads copy once, so that it is the same which side has the short runs.
    plans = [case for case in cases(THREADS_RANKS) if case.packed >= case.unpacked]
    took: list[list[float]] = [[] for _ in plans]
    memories = [(Memory(), Memory()) for _ in range(THREADS_RANKS)]
    for number, case in passes(plans):
        plan = case.plan
        held = [held.arrays(plan.from_, rank) for rank, (held, _) in enumerate(memories)]
        out = [out.arrays(plan.to, rank) for rank, (_, out) in enumerate(memories)]

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
    least: int = 1,
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

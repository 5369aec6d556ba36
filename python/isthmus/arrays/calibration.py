"""Measurements of exchanges (redistributions of an array between ranks or threads), from which the
times of other exchanges are predicted.
"""

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
"""Numbers of columns of the measured matrices. Each has about twice as many rows of 4-byte numbers,
so the matrices have 3 KB to 34 MB. The largest do not fit into the caches. The size of a column is
not a multiple of a cache line, as in most arrays."""
PASSES = 3
"""Number of passes over all cases, so that a short disturbance cannot affect every measurement of a
case.
"""
BLOCKS = (1, 2, 3, 4, 8, 16, 32, 128)
"""Sizes of the blocks of the measured block-cyclic distributions, in rows of 4 bytes in each
column: runs of 4 to 512 bytes.
"""
DTYPE = "f4"
THREADS_RANKS = 4
"""Number of simulated ranks in the redistributions that threads of one process carry out."""


@dataclass(frozen=True)
class Case:
    """A redistribution whose duration is measured: a plan for a matrix stored column by column."""

    plan: Plan
    packed: int
    """Length in bytes of the contiguous runs that the sender packs."""
    unpacked: int
    """Length in bytes of the contiguous runs that the receiver unpacks."""

    def measured(self, seconds: Sequence[float]) -> Measured:
        """Return the measurement of this case, given the times of its repetitions; its time is
        their median.
        """
        item = np.dtype(DTYPE).itemsize
        messages = self.plan.messages()
        size = sum(message.elements for message in messages)
        moved = sum(each.elements for each in messages if each.from_rank != each.to_rank)
        middle = statistics.median(seconds)
        return Measured(size * item, moved * item, self.packed, self.unpacked, middle)


def cases(ranks: int) -> Iterator[Case]:
    """Yield the redistributions of a matrix to measure. They convert between cyclic blocks of rows
    and blocks of whole columns (panels), or copy panels to the same panels.
    """
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
    """Memory that the arrays of all measured cases reuse, so its pages are mapped only once."""

    def __init__(self) -> None:
        """Create an object without memory for arrays; the method `arrays` allocates it."""
        self.parts: list[NDArray[Any]] = [np.zeros(0, DTYPE)]

    def arrays(self, layout: Layout, rank: int) -> list[NDArray[Any]]:
        """Return an array, stored column by column in this memory, with the shape of the part that
        a rank has in a layout.
        """
        (shape,) = layout.extents(rank)
        size = math.prod(shape)
        if size > self.parts[0].size:
            self.parts = [np.zeros(size, DTYPE)]
        return [self.parts[0][:size].reshape(shape, order="F")]


def passes(plans: Sequence[Case]) -> Iterator[tuple[int, Case]]:
    """Yield each case and its number, in `PASSES` passes over all cases."""
    for _ in range(PASSES):
        yield from enumerate(plans)


def calibrate_threads(threads: int | None = None, *, seconds: float = 1.0) -> Rates:
    """Measure how fast threads redistribute arrays in one process; takes about `seconds`."""
    count = processors() if threads is None else threads
    # Leave out cases whose sender has the shorter runs. Threads copy data directly from sender to
    # receiver, so short runs cost the same on both sides.
    plans = [case for case in cases(THREADS_RANKS) if case.packed >= case.unpacked]
    seconds_of: list[list[float]] = [[] for _ in plans]
    memories = [(Memory(), Memory()) for _ in range(THREADS_RANKS)]
    for number, case in passes(plans):
        plan = case.plan
        held = [held.arrays(plan.from_, rank) for rank, (held, _) in enumerate(memories)]
        out = [out.arrays(plan.to, rank) for rank, (_, out) in enumerate(memories)]

        def move(plan: Plan = plan, held: object = held, out: object = out) -> None:
            """Move the matrix once; default arguments bind the variables of this loop pass."""
            plan.redistribute(held, out, threads=count)  # type: ignore[arg-type]

        seconds_of[number] += repeated(move, seconds / len(plans) / PASSES)
    measured = [case.measured(times) for case, times in zip(plans, seconds_of, strict=True)]
    return Rates(count, min(count, processors()), {THREADS: measured})


def repeated(
    move: Callable[[], None],
    seconds: float,
    agree: Callable[[float], float] = float,
    *,
    least: int = 1,
) -> list[float]:
    """Call `move` for about `seconds` and at least `least` times; return the time of each call.

    With several ranks, `agree` returns the longest time of all of them.
    """
    move()
    times: list[float] = []
    while len(times) < least or (sum(times) < seconds and len(times) < 50):
        begin = time.perf_counter()
        move()
        times.append(agree(time.perf_counter() - begin))
    return times

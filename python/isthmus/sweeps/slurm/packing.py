"""Points and searches packed into tasks that take about as long as one another."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import groupby, islice

TASK_S = 60.0
"""Seconds that a task should take at least, so that its start does not matter."""
TASKS = 100
"""Most tasks where nobody says how many, and no time limit asks for more."""
SHARE_OF_LIMIT = 0.5
"""Of the time limit, what tasks are packed for: what is predicted is not exact."""


def packed(costs: Sequence[float], tasks: int) -> list[list[int]]:
    """Positions packed into at most so many tasks, whose costs come to much the same.

    The longest first, each into the task that has the least so far: the longest task is at most 4/3
    of the best packing's (Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math.
    17(2), 1969). Of those that cost the same, neighbours come to the same task, as ranges are
    short. Ties are decided by position, so that the same costs give the same tasks.
    """
    found: list[list[int]] = [[] for _ in range(min(tasks, len(costs)))]
    heap = [(0.0, task) for task in range(len(found))]
    longest_first = sorted(range(len(costs)), key=lambda at: (-costs[at], at))
    for each, same in groupby(longest_first, key=costs.__getitem__):
        alike, many = list(same), [0] * len(found)
        for _ in alike:
            cost, task = heap[0]
            many[task] += 1
            heapq.heapreplace(heap, (cost + each, task))
        rest = iter(alike)
        for task, count in enumerate(many):
            found[task] += islice(rest, count)
    return found


def tasks_for(costs: Sequence[float], threads: int, limit_s: float | None) -> int:
    """How many tasks, where nobody says: so few that each takes `TASK_S`, so many that
    each ends within half of the time limit, and never more than there are units.

    Args:
        costs: seconds of one thread for each unit.
        threads: those of a task.
        limit_s: the time limit of a task, if it is known.

    """
    total = sum(costs) / threads
    wanted = min(max(1, math.floor(total / TASK_S)), TASKS)
    if limit_s is not None:
        wanted = max(wanted, math.ceil(total / (SHARE_OF_LIMIT * limit_s)))
    return min(wanted, len(costs))

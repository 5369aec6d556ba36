"""Packing of points and searches into tasks of about equal duration."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import groupby, islice

TASK_S = 60.0
"""Minimum planned duration of a Slurm task in seconds, so that its start-up cost is small."""
TASKS = 100
"""Default maximum number of tasks of an array job, unless the time limit requires more."""
SHARE_OF_LIMIT = 0.5
"""The share of the time limit that tasks may use, since predictions are inexact."""


def packed(costs: Sequence[float], tasks: int) -> list[list[int]]:
    """Pack units of work, named by their positions in `costs`, into at most `tasks` tasks of about
    equal cost.

    Each position, the most expensive first, goes to the task with the least cost so far: the
    longest task is at most 4/3 of the optimum (Graham, Bounds on multiprocessing timing anomalies,
    SIAM J. Appl. Math. 17(2), 1969). Neighbours of equal cost go to the same task, which keeps the
    lists of ranges short. Position breaks ties, so that equal costs give equal tasks.
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
    """Return a suitable number of tasks for an array job, from the predicted costs of its units.

    Each task should take at least `TASK_S` and must end within half of the time limit. The number
    never exceeds the number of units.

    Args:
        costs: seconds of one thread for each unit.
        threads: threads of a task.
        limit_s: time limit of a task, if it is known.

    """
    total = sum(costs) / threads
    wanted = min(max(1, math.floor(total / TASK_S)), TASKS)
    if limit_s is not None:
        wanted = max(wanted, math.ceil(total / (SHARE_OF_LIMIT * limit_s)))
    return min(wanted, len(costs))

"""How long a run will still take, by what its points and searches took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from isthmus.sweeps.workers import Took

SEARCH_POINTS = 20
"""Points that a search is taken for as long as only one of both has been seen."""
RECENT = 200
"""Of how many finished points, and of how many searches, the mean is taken, at most."""
LATE_S = 60.0
"""Seconds for which it is looked how many were at work."""


def left_s(points: int, searches: int, took: Iterable[Took], at_work: int, now: float) -> float:
    """Seconds until so many points and searches are done, by as many threads as of late.

    Points count apart from searches, which take many times as long and are begun first.

    Args:
        points: those that are missing, whoever is at them.
        searches: the same.
        took: what those took that are done; one at least.
        at_work: how many threads have said to be at something.
        now: by the clock of `took`.

    """
    ended = sorted(took, key=lambda each: each.ended_s)
    point_s = _mean_s([each for each in ended if not _is_search(each)])
    search_s = _mean_s([each for each in ended if _is_search(each)])
    if point_s is None:
        point_s = (search_s or 0.0) / SEARCH_POINTS
    if search_s is None:
        search_s = SEARCH_POINTS * point_s
    work_s = points * point_s + searches * search_s
    return work_s / max(at_work, _threads(ended, now), 1)


def _is_search(took: Took) -> bool:
    return took.entry.startswith("search-")


def _mean_s(took: Sequence[Took]) -> float | None:
    return mean(each.seconds for each in took[-RECENT:]) if took else None


def _threads(took: Sequence[Took], now: float) -> float:
    """How many were at work of late, by what was finished: who does short points is often between
    two of them, and at none.
    """
    since = max(now - LATE_S, min(each.ended_s - each.seconds for each in took))
    span_s = now - since
    if span_s <= 0:
        return 0.0
    late = (min(each.seconds, each.ended_s - since) for each in took if each.ended_s > since)
    return sum(late) / span_s

"""Estimates of a run's remaining time, from the times of finished points and searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from isthmus.sweeps.selection import Selection
from isthmus.sweeps.workers import Timing

SEARCH_POINTS = 20
"""A search counts as this number of points, if durations of searches or of points are unknown."""
RECENT = 200
"""Number of the latest finished points from whose durations the mean duration is computed, and
the same for searches.
"""
LATE_S = 60.0
"""The number of busy threads is averaged over this recent period, in seconds."""


def remaining_s(missing: Selection, timings: Iterable[Timing], at_work: int, now: float) -> float:
    """Return the estimated time in seconds until the remaining points and searches of a run are
    done.

    Points and searches have separate means: searches take many times as long and are started first.
    The progress of units that are being worked on is unknown and counts as zero.

    Args:
        missing: units that are in progress or still to do.
        timings: times of finished units; at least one.
        at_work: how many threads work on a unit now.
        now: the current time, by the clock of `timings`.

    """
    points, searches = len(missing.points), len(missing.searches)
    if not points + searches:
        return 0.0
    ended = sorted(timings, key=lambda each: each.ended_s)
    point_s = _mean_s([each for each in ended if not _is_search(each.entry)])
    search_s = _mean_s([each for each in ended if _is_search(each.entry)])
    if point_s is None:
        point_s = (search_s or 0.0) / SEARCH_POINTS
    if search_s is None:
        search_s = SEARCH_POINTS * point_s
    # Count at most one thread per remaining point or search: further threads are idle at the end.
    threads = min(max(at_work, _threads(ended, now), 1), points + searches)
    longest_s = search_s if searches else point_s
    return max((points * point_s + searches * search_s) / threads, longest_s)


def remaining_alone_s(missing: Selection, ended: Mapping[str, float], began: float) -> float | None:
    """Return the estimated seconds until the remaining points and searches are done, if one process
    alone works on the folder and records no durations. Return None while unknown.

    Args:
        missing: units that are in progress or still to do.
        ended: time at which each entry of the journal was finished.
        began: time since which the process is alone, by the same clock.

    """
    left = len(missing.points) + SEARCH_POINTS * len(missing.searches)
    if not left:
        return 0.0
    late = {entry: at_s for entry, at_s in ended.items() if at_s > began}
    if not late:
        return None
    worth = sum(SEARCH_POINTS if _is_search(entry) else 1 for entry in late)
    return (max(late.values()) - began) * left / worth


def _is_search(entry: str) -> bool:
    """Return whether a journal entry belongs to a search."""
    return entry.startswith("search")


def _mean_s(timings: Sequence[Timing]) -> float | None:
    """Return the mean duration in seconds of the latest finished points or searches in the
    list; None if it is empty.
    """
    return mean(each.seconds for each in timings[-RECENT:]) if timings else None


def _threads(timings: Iterable[Timing], now: float) -> float:
    """Return the mean number of threads that were busy recently, computed from the times of
    finished points and searches.

    Threads that do short points are often between two of them, so leases would undercount them.
    """
    spans = [(each.ended_s - each.seconds, min(each.ended_s, now)) for each in timings]
    late = [(began, ended) for began, ended in spans if ended > now - LATE_S and began < now]
    # Start the period when its first point or search started, or later, so that a pause before it
    # does not count.
    since = max(now - LATE_S, min((began for began, _ in late), default=now))
    if since >= now:
        return 0.0
    return sum(ended - max(began, since) for began, ended in late) / (now - since)

"""How long a run will still take, by what its points and searches took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from isthmus.sweeps.selection import Selection
from isthmus.sweeps.workers import Took

SEARCH_POINTS = 20
"""Points that a search is taken for where it was not seen how both compare."""
RECENT = 200
"""Of how many finished points, and of how many searches, the mean is taken, at most."""
LATE_S = 60.0
"""Seconds for which it is looked how many were at work."""


def left_s(missing: Selection, took: Iterable[Took], at_work: int, now: float) -> float:
    """Seconds until points and searches are done, by as many threads as of late.

    Points count apart from searches, which take many times as long and are begun first. Nothing is
    taken off for what those at work have done of theirs, of which nobody tells.

    Args:
        missing: what somebody is at or will be.
        took: what those took that are done; one at least.
        at_work: how many threads have said to be at something.
        now: by the clock of `took`.

    """
    points, searches = len(missing.points), len(missing.searches)
    if not points + searches:
        return 0.0
    ended = sorted(took, key=lambda each: each.ended_s)
    point_s = _mean_s([each for each in ended if not _is_search(each.entry)])
    search_s = _mean_s([each for each in ended if _is_search(each.entry)])
    if point_s is None:
        point_s = (search_s or 0.0) / SEARCH_POINTS
    if search_s is None:
        search_s = SEARCH_POINTS * point_s
    # Who has nothing left to do does not help with the last ones, which take as long as they do.
    threads = min(max(at_work, _threads(ended, now), 1), points + searches)
    longest_s = search_s if searches else point_s
    return max((points * point_s + searches * search_s) / threads, longest_s)


def left_alone_s(missing: Selection, ended: Mapping[str, float], began: float) -> float | None:
    """The same for a process that is alone in a folder and says of no point how long it took.

    Args:
        missing: what it is at or will be.
        ended: when entries of the journal were finished.
        began: since when it is alone, by the same clock.

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
    return entry.startswith("search")


def _mean_s(took: Sequence[Took]) -> float | None:
    return mean(each.seconds for each in took[-RECENT:]) if took else None


def _threads(took: Iterable[Took], now: float) -> float:
    """How many were at work of late, by what was finished: who does short points is often between
    two of them, and at none.
    """
    spans = [(each.ended_s - each.seconds, min(each.ended_s, now)) for each in took]
    late = [(began, ended) for began, ended in spans if ended > now - LATE_S and began < now]
    # Work may have begun anew a moment ago, after a long pause.
    since = max(now - LATE_S, min((began for began, _ in late), default=now))
    if since >= now:
        return 0.0
    return sum(ended - max(began, since) for began, ended in late) / (now - since)

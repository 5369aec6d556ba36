"""Machines with the utilisation of their links: choice of variants, and use of each link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isthmus.machines import MachineSummary
from isthmus.results.packed import ChannelUse
from isthmus.results.schema import PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import compared_point

SHOWN = 4
"""Maximum number of variants that one picture shows."""

Use = dict[tuple[int, int], float]
"""Utilisation of each undirected link, by its two end nodes in ascending order."""
Variant = tuple[str, PointResult, MachineSummary]
"""A machine in a picture: the label of its variant, the point whose results it shows, and its
description.
"""


def variants(view: View) -> list[Variant]:
    """Return the variants of the machine to draw in a picture, at most `SHOWN`."""
    drawn = [(s, p) for s in view.series if (p := compared_point(view, s))]
    return [(s.label, p, view.run.machines[p.machine]) for s, p in all_at_work(drawn)[:SHOWN]]


def all_at_work(drawn: Sequence[tuple[Series, PointResult]]) -> list[tuple[Series, PointResult]]:
    """Return those points at which the largest number of jobs run together: they load a machine
    most.
    """
    most = max((len(p.active) for _, p in drawn), default=0)
    return [(s, p) for s, p in drawn if len(p.active) == most]


def ceiling(shown: Iterable[Variant]) -> float:
    """Return the utilisation that the strongest colour stands for: the highest one of the pictured
    links, but at least 0.05 and at most 1.
    """
    used = [
        c.utilisation
        for _, p, m in shown
        for c in p.channels
        if c.is_link and m.is_pictured(c.kind)
    ]
    return min(1.0, max([0.05, *used]))


def uses(channels: Iterable[ChannelUse]) -> Use:
    """Return the utilisation of each link between two nodes: the larger of those of its two
    directions.
    """
    used: Use = {}
    for each in channels:
        if each.from_ is not None and each.to is not None:
            ends = (min(each.from_, each.to), max(each.from_, each.to))
            used[ends] = max(used.get(ends, 0.0), each.utilisation)
    return used


def busiest_last(used: Use) -> list[tuple[int, int]]:
    """Return the links in the order in which to draw them: the busiest last, so that it lies on
    top.
    """
    return sorted(used, key=lambda ends: (used[ends], ends))


def kinds_of_link(described: MachineSummary, point: PointResult) -> list[ChannelUse]:
    """Return one entry for each kind of link, with the mean over its links, in the order in which
    messages cross the kinds.
    """
    order = {kind: place for place, kind in enumerate(described.channels)}

    def crossed(use: ChannelUse) -> tuple[int, int]:
        """Return the sort key of an entry for a kind of link. It sorts kinds in the order in
        which messages cross them: up through the levels of a tree, then down.
        """
        name, _, level = use.kind.partition(" ")
        number = int(level or 0)
        return order.get(name, len(order)), -number if name == "down" else number

    return sorted((c for c in point.channels if c.from_ is None and c.is_link), key=crossed)

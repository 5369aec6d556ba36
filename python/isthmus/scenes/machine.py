"""Machines with their links by how busy they are: which variants, and how often a link is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isthmus.machines import MachineSummary
from isthmus.results.schema import ChannelUse, PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import compared_point

SHOWN = 4
"""Most variants in one picture."""

Use = dict[tuple[int, int], float]
"""Utilisation by undirected link, ends in order."""
Variant = tuple[str, PointResult, MachineSummary]
"""Its label, the point at which it is compared, and what it runs on."""


def variants(view: View) -> list[Variant]:
    """The variants that are drawn."""
    drawn = [(s, p) for s in view.series if (p := compared_point(view, s))]
    return [(s.label, p, view.run.machines[p.machine]) for s, p in all_at_work(drawn)[:SHOWN]]


def all_at_work(drawn: Sequence[tuple[Series, PointResult]]) -> list[tuple[Series, PointResult]]:
    """Where jobs run alone and together, what all of them do together is what fills a machine."""
    most = max((len(p.active) for _, p in drawn), default=0)
    return [(s, p) for s, p in drawn if len(p.active) == most]


def ceiling(shown: Iterable[Variant]) -> float:
    """The utilisation that has the strongest colour."""
    used = [
        c.utilisation
        for _, p, m in shown
        for c in p.channels
        if c.is_link and m.is_pictured(c.kind)
    ]
    return min(1.0, max([0.05, *used]))


def uses(channels: Iterable[ChannelUse]) -> Use:
    """Utilisation of each link, of the two directions the busier one."""
    used: Use = {}
    for each in channels:
        if each.from_ is not None and each.to is not None:
            ends = (min(each.from_, each.to), max(each.from_, each.to))
            used[ends] = max(used.get(ends, 0.0), each.utilisation)
    return used


def busiest_last(used: Use) -> list[tuple[int, int]]:
    """Links in the order in which they are drawn, so that busy ones lie on top."""
    return sorted(used, key=lambda ends: (used[ends], ends))


def kinds_of_link(described: MachineSummary, point: PointResult) -> list[ChannelUse]:
    """Where links are not drawn: the mean link of each kind, as messages pass."""
    order = {kind: place for place, kind in enumerate(described.channels)}

    def crossed(use: ChannelUse) -> tuple[int, int]:
        """Up through the levels, then down."""
        way, _, level = use.kind.partition(" ")
        number = int(level or 0)
        return order.get(way, len(order)), -number if way == "down" else number

    return sorted((c for c in point.channels if c.from_ is None and c.is_link), key=crossed)

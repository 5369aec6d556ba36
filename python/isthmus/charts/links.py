"""Links of a machine kind by kind: for those that have no picture of their own, or are large."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.charts.chart import Panel
from isthmus.charts.strips import Told, strips
from isthmus.machines import MachineSummary
from isthmus.results.schema import PointResult
from isthmus.scenes.machine import Variant, kinds_of_link


def link_panels(shown: Sequence[Variant], top: float) -> list[Panel]:
    """Each variant."""
    return [link_strips(label, described, point, top) for label, point, described in shown]


def link_strips(label: str, described: MachineSummary, point: PointResult, top: float) -> Panel:
    """Of each kind of link the mean and the busiest."""
    told = [
        Told(described.channel_label(c.kind), c.utilisation, c.highest)
        for c in kinds_of_link(described, point)
    ]
    x_title = "mean of a kind of link, and to the busiest"
    return strips(label, told, top, described.title, x_title=x_title, step=24, ends=False)

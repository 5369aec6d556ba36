"""Bars for each kind of link, for machines without a drawing or too large for one."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.charts.chart import Panel
from isthmus.charts.strips import Strip, strips
from isthmus.machines import MachineSummary
from isthmus.results.schema import PointResult
from isthmus.scenes.machine import Variant, kinds_of_link


def link_panels(shown: Sequence[Variant], top: float) -> list[Panel]:
    """Return a panel of bars for each variant of a machine; `top` is the highest utilisation of
    all.
    """
    return [link_strips(label, described, point, top) for label, point, described in shown]


def link_strips(label: str, described: MachineSummary, point: PointResult, top: float) -> Panel:
    """Return bars with the mean and the highest utilisation of each kind of link."""
    parts = [
        Strip(described.channel_label(c.kind), c.utilisation, c.highest)
        for c in kinds_of_link(described, point)
    ]
    x_title = "mean of a kind of link, and to the busiest"
    return strips(label, parts, top, described.title, x_title=x_title, step=24, ends=False)

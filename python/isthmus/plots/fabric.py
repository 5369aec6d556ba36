"""A fabric of rings on paper: nodes, directed links as bent arrows, links out of service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator, PercentFormatter

from isthmus.machines import SciSummary
from isthmus.plots.pictures import Picture, square
from isthmus.plots.style import BUSY, INK, MUTED, PAPER, bare, dots, label
from isthmus.results.schema import PointResult
from isthmus.scenes import rings


def _draw(axes: Sequence[Axes], described: SciSummary, point: PointResult, norm: Normalize) -> None:
    """Draw a fabric of SCI rings with its link utilisation; bars by ring if it is large."""
    ax = axes[0]
    used, mean = rings.used_links(described, point), rings.mean_link(point)
    if not rings.is_drawn(described):
        _strip(ax, described, used, norm, mean)
        return
    values = used or [mean] * len(described.links())
    panel(ax, described, [BUSY(norm(v)) for v in values])
    bare(ax, f"{described.fabric}\n{rings.state(described)}\nmean link {mean:.0%} busy")


def panel(ax: Axes, described: SciSummary, colours: Sequence[Any]) -> None:
    """Draw a fabric of SCI rings, with a colour for each link in service."""
    places = described.places
    layout = rings.Layout(places, described.rings)
    dead = rings.arrows(layout, rings.dead_links(described))
    _arrows(ax, dead, ["#b9c0c9"] * len(dead), dotted=True)
    _arrows(ax, rings.arrows(layout, described.links()), colours, dotted=False)
    lost = rings.lost_nodes(described)
    small = len(places) <= rings.NAMED_NODES
    size = 170 if small else 46
    dots(
        ax,
        places,
        s=size,
        color=PAPER,
        edgecolor=[MUTED if n in lost else INK for n in range(len(places))],
        linewidth=0.9,
        zorder=4,
    )
    if small:
        for node, place in enumerate(places):
            label(ax, str(node), place, 7, MUTED if node in lost else INK, zorder=5)
    gone = (places[n] for n in lost)
    dots(ax, gone, marker="x", s=size * 1.5, color="#b3261e", linewidth=1.8, zorder=6)
    ax.autoscale_view()
    ax.margins(0.06)


def _arrows(
    ax: Axes, arrows: Sequence[rings.Arrow], colours: Sequence[Any], *, dotted: bool
) -> None:
    """Draw links as arrows; links out of service are dotted."""
    drawn = list(zip(arrows, colours, strict=True))
    lines = [line for arrow, _ in drawn for line in arrow.lines]
    line_colours = [colour for arrow, colour in drawn for _ in arrow.lines]
    style = (0, (1, 2)) if dotted else "-"
    width = 1.0 if dotted else 1.7
    ax.add_collection(
        LineCollection(lines, colors=line_colours, linewidths=width, linestyles=style, zorder=2)
    )
    if not dotted:
        heads = [arrow.head for arrow in arrows]
        ax.add_collection(PolyCollection(heads, facecolors=list(colours), zorder=3))


def _strip(
    ax: Axes, described: SciSummary, used: list[float], norm: Normalize, mean: float
) -> None:
    """Draw mean and range of the link utilisation of each ring, for fabrics too large to draw."""
    by_ring = rings.by_ring(described, used)
    spans = [[(ring, min(each)), (ring, max(each))] for ring, each in by_ring.items()]
    means = [sum(each) / len(each) for each in by_ring.values()]
    ax.add_collection(
        LineCollection(spans, colors=[BUSY(norm(m)) for m in means], linewidths=1.6, zorder=2)
    )
    ax.scatter(list(by_ring), means, s=7, color=INK, zorder=3)
    ax.axhline(mean, color=MUTED, lw=0.9, ls=(0, (2, 2)), zorder=1)
    ax.set_xlim(-1, described.ring_count)
    ax.set_ylim(0, norm.vmax)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("utilisation of its links")
    what = f"{described.fabric}: {described.nodes:,} nodes"
    ax.set_xlabel(f"number of the ring\n{what}\nmean link {mean:.0%} busy", color=MUTED)


def _size(across: int) -> tuple[float, float]:
    """Return the size of the axes of a fabric in inches, by the number of axes in a row."""
    width, height = square(across)
    return width + 0.6, height + 0.6


FABRICS = Picture(_draw, _size, (0.7, 0.5))

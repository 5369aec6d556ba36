"""A fabric of rings on paper: nodes, directed links as bent arrows, what is out of service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator, PercentFormatter

from isthmus.charts.rings import (
    BEND,
    STEPS,
    Layout,
    Link,
    Place,
    curve,
    failed_nodes,
    head,
    state,
    steps,
    stubs,
    used_links,
)
from isthmus.plots.style import BUSY, INK, MUTED, PAPER, bare
from isthmus.results.machines import SciSummary
from isthmus.results.schema import PointResult

DRAWN_NODES = 100
"""Most nodes of a fabric that is drawn node by node."""
NAMED_NODES = 64
"""Most nodes whose numbers are written."""


def busy_panel(ax: Axes, described: SciSummary, point: PointResult, norm: Normalize) -> None:
    """Draw a fabric with its links coloured by how busy they were; by ring if it is large."""
    used = used_links(described, point)
    mean = next((c.utilisation for c in point.channels if c.from_ is None and c.kind == "link"), 0)
    if described.nodes > DRAWN_NODES or not described.places:
        _strip(ax, described, used, norm, float(mean))
        return
    values = used or [float(mean)] * len(described.links())
    panel(ax, described, [BUSY(norm(v)) for v in values])
    bare(ax, f"{described.fabric}\n{state(described)}\nmean link {mean:.0%} busy")


def panel(ax: Axes, described: SciSummary, colours: Sequence[Any]) -> None:
    """Draw a fabric, a colour for each link in service."""
    places = described.places
    layout = Layout(places, described.rings)
    dead = [(0, a, b) for r in described.dead_rings for a, b in steps(described.rings[r])]
    _links(ax, layout, dead, ["#b9c0c9"] * len(dead), dotted=True)
    _links(ax, layout, described.links(), colours, dotted=False)
    crossed = set(described.cut_off) | set(failed_nodes(described))
    small = len(places) <= NAMED_NODES
    size = 170 if small else 46
    ax.scatter(
        [x for x, _ in places],
        [y for _, y in places],
        s=size,
        color=PAPER,
        edgecolor=[MUTED if n in crossed else INK for n in range(len(places))],
        linewidth=0.9,
        zorder=4,
    )
    if small:
        for node, place in enumerate(places):
            ax.annotate(
                str(node),
                place,
                ha="center",
                va="center",
                fontsize=7,
                color=MUTED if node in crossed else INK,
                zorder=5,
            )
    gone = [places[n] for n in sorted(crossed)]
    ax.scatter(
        [x for x, _ in gone],
        [y for _, y in gone],
        marker="x",
        s=size * 1.5,
        color="#b3261e",
        linewidth=1.8,
        zorder=6,
    )
    ax.autoscale_view()
    ax.margins(0.06)


def _links(
    ax: Axes, layout: Layout, links: Sequence[Link], colours: Sequence[Any], *, dotted: bool
) -> None:
    seen: dict[tuple[int, int], int] = {}
    lines: list[list[Place]] = []
    heads: list[list[Place]] = []
    line_colours: list[Any] = []
    head_colours: list[Any] = []
    for (_, a, b), colour in zip(links, colours, strict=True):
        beside = seen.get((a, b), 0)
        seen[a, b] = beside + 1
        start, end = layout.places[a], layout.places[b]
        if layout.around(a, b):
            out, back = stubs(start, end, layout.step * layout.side, layout.step, beside)
            lines += [out, back]
            line_colours += [colour, colour]
            heads.append(head(out[-2], out[-1], layout.step))
        else:
            line = curve(start, end, layout.side * BEND * (1 + 0.8 * beside))
            lines.append(line)
            line_colours.append(colour)
            heads.append(head(line[STEPS // 2], line[STEPS // 2 + 1], layout.step))
        head_colours.append(colour)
    style = (0, (1, 2)) if dotted else "-"
    width = 1.0 if dotted else 1.7
    ax.add_collection(
        LineCollection(lines, colors=line_colours, linewidths=width, linestyles=style, zorder=2)
    )
    if not dotted:
        ax.add_collection(PolyCollection(heads, facecolors=head_colours, zorder=3))


def _strip(
    ax: Axes, described: SciSummary, used: list[float], norm: Normalize, mean: float
) -> None:
    """For fabrics too large to draw: of each ring the mean and the span of its links."""
    by_ring: dict[int, list[float]] = {}
    for (ring, _, _), value in zip(described.links() if used else [], used, strict=True):
        by_ring.setdefault(ring, []).append(value)
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

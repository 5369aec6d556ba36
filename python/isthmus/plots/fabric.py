"""A fabric of rings on paper: nodes, directed links as bent arrows, what is out of service."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator, PercentFormatter

from isthmus.plots.style import BUSY, INK, MUTED, PAPER, bare
from isthmus.results.machines import SciSummary, rings_text
from isthmus.results.schema import PointResult
from isthmus.wording import counted

DRAWN_NODES = 100
"""Most nodes of a fabric that is drawn node by node."""
NAMED_NODES = 64
"""Most nodes whose numbers are written."""
BEND = 0.13
"""How far a link bends to one side, so that opposite links lie beside one another."""
STUB = 0.36
"""Length of what is drawn of a link that wraps around, in steps of the grid."""
STEPS = 9

Place = tuple[float, float]
Link = tuple[int, int, int]
"""Ring, begin, end."""


def used_links(described: SciSummary, point: PointResult) -> list[float]:
    """Utilisation of each link in service, in the order of `SciSummary.links`; empty if the point
    does not tell each.
    """
    single = [c for c in point.channels if c.kind == "link" and c.from_ is not None]
    links = described.links()
    if len(single) != len(links):
        return []
    assert all((c.from_, c.to) == (a, b) for c, (_, a, b) in zip(single, links, strict=True))
    return [c.utilisation for c in single]


def busy_panel(ax: Axes, described: SciSummary, point: PointResult, norm: Normalize) -> None:
    """Draw a fabric with its links coloured by how busy they were; by ring if it is large."""
    used = used_links(described, point)
    mean = next((c.utilisation for c in point.channels if c.from_ is None and c.kind == "link"), 0)
    if described.nodes > DRAWN_NODES or not described.places:
        _strip(ax, described, used, norm, float(mean))
        return
    values = used or [float(mean)] * len(described.links())
    panel(ax, described, [BUSY(norm(v)) for v in values])
    bare(ax, f"{described.fabric}\n{_state(described)}\nmean link {mean:.0%} busy")


def panel(ax: Axes, described: SciSummary, colours: Sequence[Any]) -> None:
    """Draw a fabric, a colour for each link in service."""
    places = described.places
    layout = _Layout(places, described.rings)
    dead = [(0, a, b) for r in described.dead_rings for a, b in _steps(described.rings[r])]
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


def failed_nodes(described: SciSummary) -> list[int]:
    """Nodes that have failed themselves: without a ring, and not merely cut off."""
    alive = {a for _, a, _ in described.links()}
    gone = alive | set(described.cut_off)
    return [node for node in range(described.nodes) if node not in gone]


def _state(described: SciSummary) -> str:
    text = rings_text(described.ring_count, sorted({len(r) for r in described.rings}))
    if described.dead_rings:
        text += f", {len(described.dead_rings)} out of service"
    if described.cut_off:
        text += f", {counted(len(described.cut_off), 'node')} cut off"
    return text


def _steps(ring: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


class _Layout:
    """Where links run: which wrap around a grid, and to which side all others bend."""

    def __init__(self, places: Sequence[Place], rings: Sequence[Sequence[int]]) -> None:
        self.places = places
        self.steps: dict[int, float] = {}
        """The shortest link in each direction; on a grid one step of it."""
        for ring in rings:
            for a, b in _steps(ring):
                length = math.dist(places[a], places[b])
                way = self._direction(a, b)
                self.steps[way] = min(length, self.steps.get(way, length))
        self.step = min(self.steps.values(), default=1.0)
        # On a circle there are no steps: a chord may be parallel to a side and longer.
        middle = [sum(at) / len(places) for at in zip(*places, strict=True)]
        radii = [math.dist(place, middle) for place in places]
        self.grid = max(radii) - min(radii) > 1e-6
        # Into the rings, where these enclose an area; most turn the same way where that matters.
        areas = [self._area(ring) for ring in rings]
        turns = sum(math.copysign(1.0, area) for area in areas if abs(area) > 1e-9)
        self.side = -1.0 if turns > 0 else 1.0
        """1 if links bend to their right, -1 if to their left."""

    def _direction(self, a: int, b: int) -> int:
        """The direction of a link or its opposite, in steps that tell any two of a grid apart."""
        (x, y), (u, v) = self.places[a], self.places[b]
        return round(math.atan2(v - y, u - x) / math.pi * 1e6) % 1_000_000

    def _area(self, ring: Sequence[int]) -> float:
        """Area that a ring encloses, positive if it turns to the left; 0 if a link wraps around."""
        steps = _steps(ring)
        if any(self.around(a, b) for a, b in steps):
            return 0.0
        at = self.places
        return sum(at[a][0] * at[b][1] - at[b][0] * at[a][1] for a, b in steps) / 2

    def around(self, a: int, b: int) -> bool:
        """Whether the link from a to b wraps around: along a line, longer than one step."""
        one = self.steps[self._direction(a, b)]
        return self.grid and math.dist(self.places[a], self.places[b]) > 1.4 * one


def _links(
    ax: Axes, layout: _Layout, links: Sequence[Link], colours: Sequence[Any], *, dotted: bool
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
            out, back = _stubs(start, end, layout.step * layout.side, layout.step, beside)
            lines += [out, back]
            line_colours += [colour, colour]
            heads.append(_head(out[-2], out[-1], layout.step))
        else:
            curve = _curve(start, end, layout.side * BEND * (1 + 0.8 * beside))
            lines.append(curve)
            line_colours.append(colour)
            heads.append(_head(curve[STEPS // 2], curve[STEPS // 2 + 1], layout.step))
        head_colours.append(colour)
    style = (0, (1, 2)) if dotted else "-"
    width = 1.0 if dotted else 1.7
    ax.add_collection(
        LineCollection(lines, colors=line_colours, linewidths=width, linestyles=style, zorder=2)
    )
    if not dotted:
        ax.add_collection(PolyCollection(heads, facecolors=head_colours, zorder=3))


def _curve(start: Place, end: Place, bend: float) -> list[Place]:
    """A quadratic curve that bends to the right of its direction, or left if `bend` is negative."""
    (x, y), (u, v) = start, end
    middle = ((x + u) / 2 + 2 * bend * (v - y), (y + v) / 2 - 2 * bend * (u - x))
    points = []
    for k in range(STEPS + 1):
        t = k / STEPS
        weights = ((1 - t) ** 2, 2 * t * (1 - t), t**2)
        points.append(
            (
                weights[0] * x + weights[1] * middle[0] + weights[2] * u,
                weights[0] * y + weights[1] * middle[1] + weights[2] * v,
            )
        )
    return points


def _stubs(
    start: Place, end: Place, side: float, step: float, beside: int
) -> tuple[list[Place], list[Place]]:
    """What is drawn of a link that wraps around: out of its begin, into its end."""
    (x, y), (u, v) = start, end
    length = math.dist(start, end)
    dx, dy = (x - u) / length, (y - v) / length
    # To the same side of the direction in which it leaves as links bend.
    shift = side * BEND * (0.6 + 0.5 * beside)
    right = (dy * shift, -dx * shift)
    reach = step * STUB
    out = [
        (x + right[0], y + right[1]),
        (x + right[0] + dx * reach, y + right[1] + dy * reach),
    ]
    back = [
        (u + right[0] - dx * reach, v + right[1] - dy * reach),
        (u + right[0], v + right[1]),
    ]
    return out, back


def _head(before: Place, at: Place, step: float) -> list[Place]:
    """A small arrow head that ends at `at`."""
    length = math.dist(before, at) or 1.0
    dx, dy = (at[0] - before[0]) / length, (at[1] - before[1]) / length
    long, wide = 0.13 * step, 0.055 * step
    foot = (at[0] - dx * long, at[1] - dy * long)
    return [
        at,
        (foot[0] - dy * wide, foot[1] + dx * wide),
        (foot[0] + dy * wide, foot[1] - dx * wide),
    ]


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

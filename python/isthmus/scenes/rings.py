"""A fabric of rings: positions of links on paper, links out of service, and utilisation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.machines import SciSummary
from isthmus.machines.sci import rings_text
from isthmus.results.schema import PointResult
from isthmus.wording import counted

DRAWN_NODES = 100
"""The maximum number of nodes of a fabric that is drawn node by node."""
NAMED_NODES = 64
"""Maximum number of nodes of a fabric in which the picture prints node numbers."""
BEND = 0.13
"""Sideways bend of a link, so that opposite links lie beside each other."""
STUB = 0.36
"""Length of the drawn part of a link that wraps around, in steps of the grid."""
STEPS = 9

Place = tuple[float, float]
Link = tuple[int, int, int]
"""A link of a fabric: the number of its ring, and its start and end node."""


def used_links(described: SciSummary, point: PointResult) -> list[float]:
    """Return the utilisation of each link in service, in the order of `SciSummary.links`; empty if
    the point has no data of single links.
    """
    single = [c for c in point.channels if c.kind == "link" and c.from_ is not None]
    links = described.links()
    if len(single) != len(links):
        return []
    assert all((c.from_, c.to) == (a, b) for c, (_, a, b) in zip(single, links, strict=True))
    return [c.utilisation for c in single]


def mean_link(point: PointResult) -> float:
    """Return the mean utilisation of the links; 0 if the point has no data of links."""
    means = (c.utilisation for c in point.channels if c.from_ is None and c.kind == "link")
    return float(next(means, 0.0))


def is_drawn(described: SciSummary) -> bool:
    """Return whether a fabric is small enough to be drawn node by node."""
    return described.nodes <= DRAWN_NODES and bool(described.places)


def by_ring(described: SciSummary, used: Sequence[float]) -> dict[int, list[float]]:
    """Return the utilisations of each ring's links in service, for fabrics too large to draw."""
    rings: dict[int, list[float]] = {}
    for (ring, _, _), value in zip(described.links() if used else [], used, strict=True):
        rings.setdefault(ring, []).append(value)
    return rings


def dead_links(described: SciSummary) -> list[Link]:
    """Return the links of rings that are out of service."""
    return [(0, a, b) for r in described.dead_rings for a, b in steps(described.rings[r])]


def lost_nodes(described: SciSummary) -> list[int]:
    """Return the nodes that have failed or are disconnected."""
    return sorted(set(described.cut_off) | set(failed_nodes(described)))


def failed_nodes(described: SciSummary) -> list[int]:
    """Return the nodes that have failed themselves: they lie on no ring, but are not merely
    disconnected.
    """
    alive = {a for _, a, _ in described.links()}
    gone = alive | set(described.cut_off)
    return [node for node in range(described.nodes) if node not in gone]


def state(described: SciSummary) -> str:
    """Return a text on the rings, rings out of service, and nodes that are disconnected."""
    text = rings_text(described.ring_count, sorted({len(r) for r in described.rings}))
    if described.dead_rings:
        text += f", {len(described.dead_rings)} out of service"
    if described.cut_off:
        text += f", {counted(len(described.cut_off), 'node')} cut off"
    return text


def steps(ring: Sequence[int]) -> list[tuple[int, int]]:
    """Return the start and end node of each link of a ring."""
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


class Layout:
    """Geometry of the links on paper: which links wrap around a grid, and the side to which others
    bend.
    """

    def __init__(self, places: Sequence[Place], rings: Sequence[Sequence[int]]) -> None:
        """Measure the step of the grid in each direction, and choose the side to which links
        bend.
        """
        self.places = places
        self.steps: dict[int, float] = {}
        """Length of the shortest link in each direction; on a grid, one step of it."""
        for ring in rings:
            for a, b in steps(ring):
                length = math.dist(places[a], places[b])
                direction = self._direction(a, b)
                self.steps[direction] = min(length, self.steps.get(direction, length))
        self.step = min(self.steps.values(), default=1.0)
        # Nodes on a circle are drawn without a grid: a link may be parallel to a shorter one and
        # still not wrap around.
        middle = [sum(at) / len(places) for at in zip(*places, strict=True)]
        radii = [math.dist(place, middle) for place in places]
        self.grid = max(radii) - min(radii) > 1e-6
        # Choose the side to which links bend: the inside of most rings that enclose an area.
        areas = [self._area(ring) for ring in rings]
        turns = sum(math.copysign(1.0, area) for area in areas if abs(area) > 1e-9)
        self.side = -1.0 if turns > 0 else 1.0
        """1 if links bend to their right, -1 if to their left."""

    def _direction(self, a: int, b: int) -> int:
        """Return a number for the direction of the line through two nodes. On a grid, different
        directions have different numbers.
        """
        (x, y), (u, v) = self.places[a], self.places[b]
        return round(math.atan2(v - y, u - x) / math.pi * 1e6) % 1_000_000

    def _area(self, ring: Sequence[int]) -> float:
        """Return the area that a ring encloses, positive if it turns left; 0 if a link wraps
        around.
        """
        turns = steps(ring)
        if any(self.around(a, b) for a, b in turns):
            return 0.0
        at = self.places
        return sum(at[a][0] * at[b][1] - at[b][0] * at[a][1] for a, b in turns) / 2

    def around(self, a: int, b: int) -> bool:
        """Return whether the link from a to b wraps around: it is longer than a step in its
        direction.
        """
        one = self.steps[self._direction(a, b)]
        return self.grid and math.dist(self.places[a], self.places[b]) > 1.4 * one


def curve(start: Place, end: Place, bend: float) -> list[Place]:
    """Return a quadratic curve that bends to the right, or to the left if `bend` is negative."""
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


def stubs(
    start: Place, end: Place, side: float, step: float, beside: int
) -> tuple[list[Place], list[Place]]:
    """Return the two drawn parts of a link that wraps around: at its start and at its end."""
    (x, y), (u, v) = start, end
    length = math.dist(start, end)
    dx, dy = (x - u) / length, (y - v) / length
    # Shift the stub sideways, in the direction in which links bend.
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


def head(before: Place, at: Place, step: float) -> list[Place]:
    """Return a small arrow head that ends at `at`."""
    length = math.dist(before, at) or 1.0
    dx, dy = (at[0] - before[0]) / length, (at[1] - before[1]) / length
    long, wide = 0.13 * step, 0.055 * step
    foot = (at[0] - dx * long, at[1] - dy * long)
    return [
        at,
        (foot[0] - dy * wide, foot[1] + dx * wide),
        (foot[0] + dy * wide, foot[1] - dx * wide),
    ]


@dataclass(frozen=True)
class Arrow:
    """A directed link on paper: its line, or two stubs if it wraps around, and its arrow head."""

    lines: list[list[Place]]
    head: list[Place]


def arrows(layout: Layout, links: Iterable[Link]) -> list[Arrow]:
    """Return an arrow for each link. Arrows between the same two nodes lie beside each other."""
    found = []
    seen: dict[tuple[int, int], int] = {}
    for _, a, b in links:
        beside = seen.get((a, b), 0)
        seen[a, b] = beside + 1
        start, end = layout.places[a], layout.places[b]
        if layout.around(a, b):
            out, back = stubs(start, end, layout.step * layout.side, layout.step, beside)
            found.append(Arrow([out, back], head(out[-2], out[-1], layout.step)))
        else:
            line = curve(start, end, layout.side * BEND * (1 + 0.8 * beside))
            middle = STEPS // 2
            found.append(Arrow([line], head(line[middle], line[middle + 1], layout.step)))
    return found

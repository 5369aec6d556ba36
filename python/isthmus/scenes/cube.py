"""The networks of a hypercube: positions of nodes on paper, and utilisation of links."""

from __future__ import annotations

from dataclasses import dataclass, field

from isthmus.machines import HypercubeSummary
from isthmus.results.schema import PointResult
from isthmus.scenes.machine import Use, uses

DRAWN_DIMENSION = 7
"""The largest dimension of a hypercube that is drawn node by node."""

# The offset (x, y) in the picture along each dimension of the cube. No two links lie on one line.
_STEPS = [
    (1.0, 0.0),
    (0.0, 1.0),
    (0.42, 0.33),
    (2.35, 0.16),
    (-0.16, 2.3),
    (5.1, -0.3),
    (0.3, 4.9),
]

_SMALL_STEPS = [(1.0, 0.0), (0.0, 1.0), (0.42, 0.33), (1.75, -1.15)]
"""Offsets (x, y) in the picture along each dimension of a cube, for up to four dimensions."""


def project(node: int, dimension: int) -> tuple[float, float]:
    """Return the position (x, y) of a node of a hypercube in the picture."""
    table = _SMALL_STEPS if dimension <= len(_SMALL_STEPS) else _STEPS
    steps = [table[bit] for bit in range(dimension) if node >> bit & 1]
    return sum(s[0] for s in steps), sum(s[1] for s in steps)


def io_dimension(count: int) -> int:
    """Return the dimension of the hypercube, possibly incomplete, that joins `count` I/O nodes."""
    return max(count - 1, 1).bit_length()


@dataclass(frozen=True)
class Network:
    """The network of PEs, or of I/O nodes, with the utilisation of its links at one point."""

    dimension: int
    nodes: int
    lanes: int
    """Number of lanes (virtual channels) of each link."""
    mean: float | None
    """Mean utilisation of the links; None if unknown."""
    used: Use = field(repr=False)

    @property
    def drawn(self) -> bool:
        """Whether the network is small enough to be drawn node by node."""
        return self.dimension <= DRAWN_DIMENSION

    def places(self) -> list[tuple[float, float]]:
        """Return the positions (x, y) of the network's nodes in the picture."""
        return [project(node, self.dimension) for node in range(self.nodes)]

    def links(self) -> list[tuple[int, int, float]]:
        """Return the two end nodes and the utilisation of each link, the busiest last."""
        found = [
            (node, other)
            for node in range(self.nodes)
            for bit in range(self.dimension)
            if (other := node | 1 << bit) != node and other < self.nodes
        ]
        rest = self.mean or 0.0
        found.sort(key=lambda ends: self.used.get(ends, rest))
        return [(a, b, self.used.get((a, b), rest)) for a, b in found]

    def by_dimension(self) -> list[tuple[int, float, float | None]]:
        """Return each dimension with the mean and the highest utilisation of its links, for cubes
        too large to draw.
        """
        values: list[list[float]] = [[] for _ in range(self.dimension)]
        for (a, b), value in self.used.items():
            values[(a ^ b).bit_length() - 1].append(value)
        rows = []
        for bit, each in enumerate(values):
            mean = sum(each) / len(each) if each else self.mean
            if mean is not None:
                rows.append((bit, mean, max(each) if each else None))
        return rows


def pe_network(described: HypercubeSummary, point: PointResult) -> Network:
    """Return the network of the PEs."""
    return _network("link", described.dimension, described.pes, described, point)


def io_network(described: HypercubeSummary, point: PointResult) -> Network:
    """Return the network of the I/O nodes."""
    count = len(described.io_nodes)
    return _network("io_link", io_dimension(count), count, described, point)


def _network(
    kind: str, dimension: int, nodes: int, described: HypercubeSummary, point: PointResult
) -> Network:
    """Return the hypercube network whose links are of this kind, with their utilisation."""
    channels = [use for use in point.channels if use.kind == kind]
    means = [c.utilisation for c in channels if c.from_ is None or c.to is None]
    mean = means[-1] if means else None
    lanes = dict(described.lanes).get(kind, 1)
    return Network(dimension, nodes, lanes, mean, uses(channels))

"""A fat tree: nodes in a row below the switches of each level, with the jobs below the nodes."""

from __future__ import annotations

from isthmus.machines import FatTreeSummary
from isthmus.results.packed import ChannelUse
from isthmus.results.schema import PointResult

DRAWN_NODES = 128
"""The maximum number of nodes of a tree that is drawn link by link."""


def single_links(described: FatTreeSummary, point: PointResult) -> list[ChannelUse]:
    """Return the links that are drawn one by one; empty for a large tree or missing data."""
    if described.nodes > DRAWN_NODES:
        return []
    return [c for c in point.channels if c.from_ is not None and c.to is not None]


def places(described: FatTreeSummary) -> list[tuple[float, float]]:
    """Return the drawing position (x, y) of each node and switch: nodes below, and the switches of
    each level spread over the same width.
    """
    width, height = float(described.nodes), described.nodes / 5
    found = [(n + 0.5, 0.0) for n in range(described.nodes)]
    for level, count in enumerate(described.switches, 1):
        found += [((s + 0.5) * width / count, level * height) for s in range(count)]
    return found


def row_step(described: FatTreeSummary) -> float:
    """Return the vertical distance between the rows of marks for jobs."""
    return described.nodes / 26


def rows_below(point: PointResult) -> list[tuple[str, list[int], int | None]]:
    """Return the rows below the tree: each job that ran, with its nodes and its position among all
    jobs; then the I/O servers, without a position.
    """
    rows: list[tuple[str, list[int], int | None]] = [
        (job.name, job.nodes, n) for n, job in enumerate(point.jobs) if job.active
    ]
    if point.servers:
        rows.append(("I/O servers", point.servers, None))
    return rows

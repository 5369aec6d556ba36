"""A fat tree: nodes in a row below the switches of each level, links coloured by utilisation."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.charts.chart import Panel
from isthmus.charts.links import link_strips
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.looks import colour_number
from isthmus.machines import FatTreeSummary
from isthmus.results.schema import PointResult
from isthmus.scenes import tree
from isthmus.scenes.machine import Variant, busiest_last, uses


def tree_panels(shown: Sequence[Variant], top: float) -> list[Panel]:
    """Return a panel for each variant of a fat tree; `top` is the highest utilisation of all."""
    return [_tree(label, m, p, top) for label, p, m in shown if isinstance(m, FatTreeSummary)]


def _tree(label: str, described: FatTreeSummary, point: PointResult, top: float) -> Panel:
    """Return a drawing of a fat tree and the utilisation of its links, or bars if it is large."""
    single = tree.single_links(described, point)
    if not single:
        return link_strips(label, described, point, top)
    places = tree.places(described)
    used = uses(single)
    drawing = Drawing(size=460.0, wide=1.0)
    for a, b in busiest_last(used):
        tooltip = f"{_name(described, a)} – {_name(described, b)}: {used[a, b]:.0%} busy"
        drawing.line([places[a], places[b]], busy_colour(used[a, b], top), 1.2, tooltip)
    for vertex in range(described.nodes, len(places)):
        drawing.dot(places[vertex], 3.4, "square", "pe", _name(described, vertex))
    note = _rows(drawing, described, point, places)
    mean = sum(c.utilisation for c in single) / len(single)
    text = f"{described.title}; mean link {mean:.0%} busy{note}"
    return Panel(label, None, drawing.svg(label), text, width=340, most=640)


def _name(described: FatTreeSummary, vertex: int) -> str:
    """Return the name of a vertex: a node, or a switch with its level."""
    level = described.level(vertex)
    return f"node {vertex}" if level == 0 else f"switch {vertex} (level {level})"


def _rows(
    drawing: Drawing,
    described: FatTreeSummary,
    point: PointResult,
    places: list[tuple[float, float]],
) -> str:
    """Draw the nodes, and below them a row of marks for each active job and the I/O servers.

    Return a text for the caption that names the rows.
    """
    step = tree.row_step(described)
    for node in range(described.nodes):
        drawing.dot(places[node], 1.9, "circle", "pe", f"node {node}")
    rows = tree.rows_below(point)
    for row, (name, nodes, job) in enumerate(rows, 1):
        css = "io" if job is None else f"job s{colour_number(job + 1)}"
        for n in nodes:
            drawing.dot((places[n][0], -row * step), 2.4, "square", css, f"node {n}: {name}")
    if not rows:
        return ""
    return ". Rows below, from the top: " + ", ".join(f"{n} ({len(at)})" for n, at, _ in rows)

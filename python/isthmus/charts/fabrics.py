"""Fabrics of rings: directed links coloured by utilisation, and failed parts."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.charts.chart import Panel
from isthmus.charts.strips import ROWS, STEP, Strip, busy, strips
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.machines import SciSummary
from isthmus.results.schema import PointResult
from isthmus.scenes import rings
from isthmus.scenes.machine import Variant


def fabric_panels(shown: Sequence[Variant], top: float) -> list[Panel]:
    """Return a panel for each variant of an SCI fabric; `top` is the highest utilisation of all."""
    return [_fabric(label, m, p, top) for label, p, m in shown if isinstance(m, SciSummary)]


def _fabric(label: str, described: SciSummary, point: PointResult, top: float) -> Panel:
    """Return the drawing of a fabric of SCI rings, or bars by ring if it is large."""
    used = rings.used_links(described, point)
    mean = rings.mean_link(point)
    note = f"{described.fabric}, {rings.state(described)}{busy(mean)}"
    if not rings.is_drawn(described):
        by_ring = rings.by_ring(described, used)
        parts = [Strip(f"ring {r}", sum(v) / len(v), max(v)) for r, v in by_ring.items()]
        parts = parts or [Strip("mean of all rings", mean, None)]
        # Let the bars of more than `ROWS` rings share a fixed total height.
        step = STEP if len(parts) <= ROWS else None
        return strips(label, parts, top, note, step=step)
    values = used or [mean] * len(described.links())
    ends = zip(described.links(), values, strict=True)
    names = [f"{a} → {b}: {share:.0%} busy" for (_, a, b), share in ends]
    svg = fabric_svg(described, [busy_colour(v, top) for v in values], names, label)
    return Panel(label, None, svg, note, width=280, most=440)


def fabric_svg(
    described: SciSummary, colours: Sequence[str], names: Sequence[str], label: str
) -> str:
    """Return the SVG drawing of a fabric of SCI rings; each link has a colour and a tooltip."""
    places = described.places
    layout = rings.Layout(places, described.rings)
    drawing = Drawing(size=340.0)
    for arrow in rings.arrows(layout, rings.dead_links(described)):
        for line in arrow.lines:
            drawing.line(line, "var(--grid)", 1.0, "", "dead")
    alive = rings.arrows(layout, described.links())
    for arrow, colour, tooltip in zip(alive, colours, names, strict=True):
        for line in arrow.lines:
            drawing.line(line, colour, 1.9, tooltip)
        drawing.head(arrow.head, colour)
    lost = rings.lost_nodes(described)
    small = len(places) <= rings.NAMED_NODES
    radius = 7.5 if small else 3.8
    for node, place in enumerate(places):
        drawing.dot(place, radius, "circle", "pe out" if node in lost else "pe", f"node {node}")
        if small:
            drawing.word(place, str(node), 7.5, "out" if node in lost else "")
    for node in lost:
        drawing.dot(places[node], radius, "cross", "gone")
    return drawing.svg(label)

"""The machine with its links coloured by how busy they are, up to four variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.answer import answer
from isthmus.charts.chart import Chart, Panel, Spec, Symbol, Table, brief
from isthmus.charts.cube import project
from isthmus.charts.rings import (
    BEND,
    STEPS,
    Layout,
    Link,
    curve,
    failed_nodes,
    head,
    state,
    steps,
    stubs,
    used_links,
)
from isthmus.charts.spec import INK, MUTED, axis, layered, rows_axis, tip
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.charts.trees import tree_panels
from isthmus.results.machines import FatTreeSummary, HypercubeSummary, MachineSummary, SciSummary
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.results.shown import compared_point

DRAWN_DIMENSION = 7
"""Largest hypercube that is drawn node by node."""
DRAWN_NODES = 100
"""Most nodes of a fabric that is drawn node by node."""
NAMED_NODES = 64
"""Most nodes whose numbers are written."""
SHOWN = 4
"""Most variants in one picture."""

Use = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Told:
    """What a strip tells of a part of a machine that is too large to draw."""

    name: str
    mean: float
    highest: float | None


def machine(view: View) -> Chart:
    """Draw up to four variants; of hypercubes the PE network and the I/O network."""
    drawn = [(s, p) for s in view.series if (p := compared_point(view, s))]
    # Where jobs run alone and together, what all of them do together is what fills the links.
    most = max((len(p.active) for _, p in drawn), default=0)
    shown = [(s.label, p) for s, p in drawn if len(p.active) == most][:SHOWN]
    variants = [(label, p, view.run.machines[p.machine]) for label, p in shown]
    top = ceiling(variants)
    panels: list[Panel] = []
    for label, point, described in variants:
        if isinstance(described, FatTreeSummary):
            panels += tree_panels(label, described, point, top)
        elif isinstance(described, SciSummary):
            panels.append(_fabric(label, described, point, top))
        else:
            panels.append(_cube(label, described, point, top))
    if any(isinstance(m, HypercubeSummary) and m.has_io_network for *_, m in variants):
        for label, point, described in variants:
            if isinstance(described, HypercubeSummary) and described.has_io_network:
                panels.append(_io_network(label, described, point, top))
    place = answer(view.run).busy_place
    ramp = Symbol(f"links 0% to {top:.0%} busy {place}".rstrip(), "ramp")
    return Chart("machine", panels, marks=[ramp], table=_table(shown))


def ceiling(variants: Sequence[tuple[str, PointResult, MachineSummary]]) -> float:
    """The utilisation that has the darkest colour."""
    used = [
        c.utilisation
        for _, p, m in variants
        for c in p.channels
        if (c.is_link if isinstance(m, FatTreeSummary) else c.kind in ("link", "io_link"))
    ]
    return min(1.0, max([0.05, *used]))


def _table(shown: Sequence[tuple[str, PointResult]]) -> Table:
    """The busiest links; `channels.parquet` has all."""
    rows, points = [], []
    for label, point in shown:
        links = [c for c in point.channels if c.is_link]
        single = [c for c in links if c.from_ is not None] or links
        for c in sorted(single, key=lambda c: -c.utilisation)[:20]:
            rows.append([label, c.kind, c.from_, c.to, brief(c.utilisation, 4)])
            points.append(point.index)
    return Table(["variant", "channel", "from", "to", "utilisation"], rows, points)


def uses(point: PointResult, kind: str) -> tuple[Use, float | None]:
    """Utilisation by undirected link, the busier direction; and the mean of the kind."""
    by_link: Use = {}
    mean = None
    for use in point.channels:
        if use.kind != kind:
            continue
        if use.from_ is None or use.to is None:
            mean = use.utilisation
        else:
            ends = (min(use.from_, use.to), max(use.from_, use.to))
            by_link[ends] = max(by_link.get(ends, 0.0), use.utilisation)
    return by_link, mean


def _cube(label: str, described: HypercubeSummary, point: PointResult, top: float) -> Panel:
    used, mean = uses(point, "link")
    note = f"PE network, {described.pes:,} PEs ○, {len(described.io_nodes)} with an I/O node ■"
    if described.dimension > DRAWN_DIMENSION:
        told = by_dimension(described.dimension, used, mean)
        return strip_panel(label, told, top, f"{note}, by dimension{busy(mean)}")
    places = [project(pe, described.dimension) for pe in range(described.pes)]
    links = [
        (pe, pe | 1 << bit)
        for pe in range(described.pes)
        for bit in range(described.dimension)
        if not pe >> bit & 1
    ]
    drawing = Drawing()
    width = 1.1 if described.dimension > 5 else 1.8
    _links(drawing, places, links, used, mean, top, width)
    io = set(described.io_nodes)
    dot = 2.1 if described.dimension > 5 else 4.0
    for pe, place in enumerate(places):
        if pe in io:
            drawing.dot(place, dot * 1.3, "square", "io", f"I/O node at PE {pe}")
        else:
            drawing.dot(place, dot, "circle", "pe", f"PE {pe}")
    svg = drawing.svg(f"PE network of {label}")
    return Panel(label, None, svg, note + busy(mean), width=250, most=440)


def _io_network(label: str, described: HypercubeSummary, point: PointResult, top: float) -> Panel:
    used, mean = uses(point, "io_link")
    count = len(described.io_nodes)
    dimension = max(count - 1, 1).bit_length()
    lanes = dict(described.lanes).get("io_link", 1)
    plural = "lane" if lanes == 1 else "lanes"
    note = f"I/O network, {count:,} nodes ■, {lanes} {plural} a link"
    if dimension > DRAWN_DIMENSION:
        told = by_dimension(dimension, used, mean)
        return strip_panel(label, told, top, f"{note}, by dimension{busy(mean)}")
    places = [project(node, dimension) for node in range(count)]
    links = [
        (node, other)
        for node in range(count)
        for bit in range(dimension)
        if (other := node | 1 << bit) != node and other < count
    ]
    drawing = Drawing()
    _links(drawing, places, links, used, mean, top, 1.4 + 0.8 * lanes)
    for node, place in enumerate(places):
        drawing.dot(place, 4, "square", "io", f"I/O node {node} at PE {described.io_nodes[node]}")
    svg = drawing.svg(f"I/O network of {label}")
    return Panel(label, None, svg, note + busy(mean), width=250, most=440)


def _links(
    drawing: Drawing,
    places: Sequence[tuple[float, float]],
    links: Sequence[tuple[int, int]],
    used: Use,
    mean: float | None,
    top: float,
    width: float,
) -> None:
    for a, b in sorted(links, key=lambda ends: used.get(ends, mean or 0.0)):
        share = used.get((a, b), mean if mean is not None else 0.0)
        told = f"{a} – {b}: {share:.0%} busy"
        drawing.line([places[a], places[b]], busy_colour(share, top), width, told)


def busy(mean: float | None) -> str:
    """How busy the mean link is, in words."""
    return "" if mean is None else f"; mean link {mean:.0%} busy"


def by_dimension(dimension: int, used: Use, mean: float | None) -> list[Told]:
    """For cubes too large to draw: mean and busiest link of each dimension."""
    values: list[list[float]] = [[] for _ in range(dimension)]
    for (a, b), value in used.items():
        values[(a ^ b).bit_length() - 1].append(value)
    told = []
    for bit, each in enumerate(values):
        at = sum(each) / len(each) if each else mean
        if at is not None:
            told.append(Told(f"dimension {bit}", at, max(each) if each else None))
    return told


def strip_panel(label: str, told: Sequence[Told], top: float, note: str) -> Panel:
    """A bar for each part of a machine, and a line to its busiest link."""
    values: list[Spec] = [
        {
            "variant": t.name,
            "x": brief(t.mean, 4),
            "high": brief(t.highest, 4),
            "fill": busy_colour(t.mean, top),
            "value": f"{t.mean:.1%}",
            "most": "" if t.highest is None else f"{t.highest:.1%}",
        }
        for t in told
    ]
    x = axis("x", "utilisation of its links", "x", percent=True, domain=[0, 1])
    y = rows_axis("variant")
    paint = {"fill": {"field": "fill", "type": "nominal", "scale": None}}
    fields = [("variant", "links"), ("value", "mean"), ("most", "busiest")]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.7}, "clip": True},
            "encoding": {"x": x, "y": y, **paint, **tip(fields)},
        },
        {
            "transform": [{"filter": "isValid(datum.high)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.3, "clip": True},
            "encoding": {"x": x, "x2": {"field": "high"}, "y": y},
        },
        {
            "transform": [{"filter": "isValid(datum.high)"}],
            "mark": {"type": "tick", "color": MUTED, "thickness": 1.6, "size": 9, "clip": True},
            "encoding": {"x": {**x, "field": "high"}, "y": y},
        },
    ]
    # Rings of a fabric may be many: then they share the height.
    height: int | Spec = {"step": 22} if len(values) <= 24 else 520
    spec = layered(layers, values, height, f"How busy the links of {label} are")
    return Panel(label, spec, note=note, width=360)


def _fabric(label: str, described: SciSummary, point: PointResult, top: float) -> Panel:
    used = used_links(described, point)
    mean = next((c.utilisation for c in point.channels if c.from_ is None and c.kind == "link"), 0)
    note = f"{described.fabric}, {state(described)}{busy(float(mean))}"
    if described.nodes > DRAWN_NODES or not described.places:
        by_ring: dict[int, list[float]] = {}
        for (ring, _, _), value in zip(described.links() if used else [], used, strict=True):
            by_ring.setdefault(ring, []).append(value)
        told = [Told(f"ring {r}", sum(v) / len(v), max(v)) for r, v in by_ring.items()]
        told = told or [Told("mean of all rings", float(mean), None)]
        return strip_panel(label, told, top, note)
    values = used or [float(mean)] * len(described.links())
    ends = zip(described.links(), values, strict=True)
    names = [f"{a} → {b}: {share:.0%} busy" for (_, a, b), share in ends]
    svg = fabric_svg(described, [busy_colour(v, top) for v in values], names, label)
    return Panel(label, None, svg, note, width=280, most=440)


def fabric_svg(
    described: SciSummary, colours: Sequence[str], names: Sequence[str], label: str
) -> str:
    """A fabric, a colour (and words to be pointed at) for each link in service."""
    places = described.places
    layout = Layout(places, described.rings)
    drawing = Drawing(size=340.0)
    dead = [(0, a, b) for r in described.dead_rings for a, b in steps(described.rings[r])]
    _bent(drawing, layout, dead, ["var(--grid)"] * len(dead), [""] * len(dead), "dead")
    _bent(drawing, layout, described.links(), colours, names, "")
    crossed = set(described.cut_off) | set(failed_nodes(described))
    small = len(places) <= NAMED_NODES
    radius = 7.5 if small else 3.8
    for node, place in enumerate(places):
        drawing.dot(place, radius, "circle", "pe out" if node in crossed else "pe", f"node {node}")
        if small:
            drawing.word(place, str(node), 7.5, "out" if node in crossed else "")
    for node in sorted(crossed):
        drawing.dot(places[node], radius, "cross", "gone")
    return drawing.svg(label)


def _bent(
    drawing: Drawing,
    layout: Layout,
    links: Sequence[Link],
    colours: Sequence[str],
    names: Sequence[str],
    css: str,
) -> None:
    seen: dict[tuple[int, int], int] = {}
    width = 1.0 if css else 1.9
    for (_, a, b), colour, told in zip(links, colours, names, strict=True):
        beside = seen.get((a, b), 0)
        seen[a, b] = beside + 1
        start, end = layout.places[a], layout.places[b]
        if layout.around(a, b):
            out, back = stubs(start, end, layout.step * layout.side, layout.step, beside)
            drawing.line(out, colour, width, told, css)
            drawing.line(back, colour, width, told, css)
            tip_ = head(out[-2], out[-1], layout.step)
        else:
            line = curve(start, end, layout.side * BEND * (1 + 0.8 * beside))
            drawing.line(line, colour, width, told, css)
            tip_ = head(line[STEPS // 2], line[STEPS // 2 + 1], layout.step)
        if not css:
            drawing.head(tip_, colour)

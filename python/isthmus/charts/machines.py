"""The machine with its links coloured by how busy they are, up to four variants."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.answer import answer
from isthmus.charts.chart import Chart, Panel, Symbol, Table, brief
from isthmus.charts.strips import ROWS, STEP, Told, strips
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.charts.trees import link_strips, tree_panels
from isthmus.results.machines import FatTreeSummary, GraphSummary, HypercubeSummary, SciSummary
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.scenes import rings
from isthmus.scenes.cube import Network, io_network, pe_network
from isthmus.scenes.machine import Variant, ceiling, variants


def machine(view: View) -> Chart:
    """Draw up to four variants; of hypercubes the PE network and the I/O network."""
    shown = variants(view)
    top = ceiling(shown)
    panels: list[Panel] = []
    for label, point, described in shown:
        if isinstance(described, FatTreeSummary):
            panels += tree_panels(label, described, point, top)
        elif isinstance(described, GraphSummary):
            panels.append(link_strips(label, described, point, top))
        elif isinstance(described, SciSummary):
            panels.append(_fabric(label, described, point, top))
        else:
            panels.append(_pe_network(label, described, point, top))
    if any(isinstance(m, HypercubeSummary) and m.has_io_network for *_, m in shown):
        for label, point, described in shown:
            if isinstance(described, HypercubeSummary) and described.has_io_network:
                panels.append(_io_network(label, described, point, top))
    place = answer(view.run).busy_place
    ramp = Symbol(f"links 0% to {top:.0%} busy {place}".rstrip(), "ramp")
    return Chart("machine", panels, marks=[ramp], table=_table(shown))


def _table(shown: Sequence[Variant]) -> Table:
    """The busiest links; `channels.parquet` has all."""
    rows, points = [], []
    for label, point, _ in shown:
        links = [c for c in point.channels if c.is_link]
        single = [c for c in links if c.from_ is not None] or links
        for c in sorted(single, key=lambda c: -c.utilisation)[:20]:
            rows.append([label, c.kind, c.from_, c.to, brief(c.utilisation, 4)])
            points.append(point.index)
    return Table(["variant", "channel", "from", "to", "utilisation"], rows, points)


def _pe_network(label: str, described: HypercubeSummary, point: PointResult, top: float) -> Panel:
    network = pe_network(described, point)
    note = f"PE network, {described.pes:,} PEs ○, {len(described.io_nodes)} with an I/O node ■"
    if not network.drawn:
        return _by_dimension(label, network, top, note)
    places = network.places()
    drawing = Drawing()
    _links(drawing, network, places, top, 1.1 if described.dimension > 5 else 1.8)
    io = set(described.io_nodes)
    dot = 2.1 if described.dimension > 5 else 4.0
    for pe, place in enumerate(places):
        if pe in io:
            drawing.dot(place, dot * 1.3, "square", "io", f"I/O node at PE {pe}")
        else:
            drawing.dot(place, dot, "circle", "pe", f"PE {pe}")
    svg = drawing.svg(f"PE network of {label}")
    return Panel(label, None, svg, note + busy(network.mean), width=250, most=440)


def _io_network(label: str, described: HypercubeSummary, point: PointResult, top: float) -> Panel:
    network = io_network(described, point)
    plural = "lane" if network.lanes == 1 else "lanes"
    note = f"I/O network, {network.nodes:,} nodes ■, {network.lanes} {plural} a link"
    if not network.drawn:
        return _by_dimension(label, network, top, note)
    places = network.places()
    drawing = Drawing()
    _links(drawing, network, places, top, 1.4 + 0.8 * network.lanes)
    for node, place in enumerate(places):
        drawing.dot(place, 4, "square", "io", f"I/O node {node} at PE {described.io_nodes[node]}")
    svg = drawing.svg(f"I/O network of {label}")
    return Panel(label, None, svg, note + busy(network.mean), width=250, most=440)


def _links(
    drawing: Drawing,
    network: Network,
    places: Sequence[tuple[float, float]],
    top: float,
    width: float,
) -> None:
    for a, b, share in network.links():
        told = f"{a} – {b}: {share:.0%} busy"
        drawing.line([places[a], places[b]], busy_colour(share, top), width, told)


def _by_dimension(label: str, network: Network, top: float, note: str) -> Panel:
    """Cubes too large to draw."""
    told = [Told(f"dimension {bit}", mean, most) for bit, mean, most in network.by_dimension()]
    return strips(label, told, top, f"{note}, by dimension{busy(network.mean)}")


def busy(mean: float | None) -> str:
    """How busy the mean link is, in words."""
    return "" if mean is None else f"; mean link {mean:.0%} busy"


def _fabric(label: str, described: SciSummary, point: PointResult, top: float) -> Panel:
    used = rings.used_links(described, point)
    mean = rings.mean_link(point)
    note = f"{described.fabric}, {rings.state(described)}{busy(mean)}"
    if not rings.is_drawn(described):
        by_ring = rings.by_ring(described, used)
        told = [Told(f"ring {r}", sum(v) / len(v), max(v)) for r, v in by_ring.items()]
        told = told or [Told("mean of all rings", mean, None)]
        # There may be many: then they share the height.
        step = STEP if len(told) <= ROWS else None
        return strips(label, told, top, note, step=step)
    values = used or [mean] * len(described.links())
    ends = zip(described.links(), values, strict=True)
    names = [f"{a} → {b}: {share:.0%} busy" for (_, a, b), share in ends]
    svg = fabric_svg(described, [busy_colour(v, top) for v in values], names, label)
    return Panel(label, None, svg, note, width=280, most=440)


def fabric_svg(
    described: SciSummary, colours: Sequence[str], names: Sequence[str], label: str
) -> str:
    """A fabric, a colour (and words to be pointed at) for each link in service."""
    places = described.places
    layout = rings.Layout(places, described.rings)
    drawing = Drawing(size=340.0)
    for arrow in rings.arrows(layout, rings.dead_links(described)):
        for line in arrow.lines:
            drawing.line(line, "var(--grid)", 1.0, "", "dead")
    alive = rings.arrows(layout, described.links())
    for arrow, colour, told in zip(alive, colours, names, strict=True):
        for line in arrow.lines:
            drawing.line(line, colour, 1.9, told)
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

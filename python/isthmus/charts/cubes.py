"""Hypercubes: the PE network and the I/O network, with links coloured by utilisation."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.charts.chart import Panel
from isthmus.charts.strips import Strip, busy, strips
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.machines import HypercubeSummary
from isthmus.results.schema import PointResult
from isthmus.scenes.cube import Network, io_network, pe_network
from isthmus.scenes.machine import Variant


def cube_panels(shown: Sequence[Variant], top: float) -> list[Panel]:
    """Return panels that draw each hypercube: first all networks of PEs, then of I/O nodes."""
    cubes = [(label, p, m) for label, p, m in shown if isinstance(m, HypercubeSummary)]
    panels = [_pe_network(label, described, point, top) for label, point, described in cubes]
    return panels + [
        _io_network(label, described, point, top)
        for label, point, described in cubes
        if described.has_io_network
    ]


def _pe_network(label: str, described: HypercubeSummary, point: PointResult, top: float) -> Panel:
    """Return the drawing of the network between PEs, or bars by dimension if it is large."""
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
    """Return the drawing of the network between I/O nodes, or bars by dimension if it is large."""
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
    """Draw the links of a network, coloured by utilisation."""
    for a, b, share in network.links():
        tooltip = f"{a} – {b}: {share:.0%} busy"
        drawing.line([places[a], places[b]], busy_colour(share, top), width, tooltip)


def _by_dimension(label: str, network: Network, top: float, note: str) -> Panel:
    """Return a panel of link utilisation by dimension, for cubes that are too large to draw."""
    parts = [Strip(f"dimension {bit}", mean, most) for bit, mean, most in network.by_dimension()]
    return strips(label, parts, top, f"{note}, by dimension{busy(network.mean)}")

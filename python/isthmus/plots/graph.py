"""Pictures of networks without a run: hypercubes, fabrics of rings, and imported graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from isthmus.errors import IsthmusError
from isthmus.looks import COLOURS
from isthmus.machines import SciSummary
from isthmus.plots.fabric import panel
from isthmus.plots.style import INK, PAPER, Plot, bare, dots, image, label, styled
from isthmus.scenes.cube import DRAWN_DIMENSION, io_dimension, project

DRAWN_NODES = 400
"""Maximum number of nodes of a graph that is drawn node by node."""


def draw_topology(network: dict[str, Any]) -> Plot:
    """Draw a network from `isthmus._core.topology`: nodes, I/O nodes, links, each PE's server.

    Raises:
        IsthmusError: too many nodes to draw one by one.

    """
    dimension, count = network["dimension"], network["nodes"]
    if (dimension or 0) > DRAWN_DIMENSION or count > DRAWN_NODES:
        raise IsthmusError(
            f"{count:,} nodes are too many to draw one by one; hypercubes are drawn up to "
            f"dimension {DRAWN_DIMENSION}, graphs up to {DRAWN_NODES} nodes"
        )
    with styled():
        if dimension is not None:
            places = [project(node, dimension) for node in range(count)]
        else:
            places = spring(count, network["edges"])
        io_network = bool(network["io_edges"])
        figure = Plot(figsize=(11.0 if io_network else 6.4, 5.6), layout="constrained")
        axes = figure.subplots(1, 2 if io_network else 1, squeeze=False)[0]
        _network(axes[0], network, places)
        if io_network:
            _io_network(axes[1], network)
    return figure


def draw_fabric(described: SciSummary) -> Plot:
    """Draw a fabric of rings, neighbouring rings in different colours.

    Raises:
        IsthmusError: too many nodes to draw one by one.

    """
    if described.nodes > DRAWN_NODES:
        raise IsthmusError(
            f"{described.nodes:,} nodes are too many to draw one by one; fabrics are drawn up to "
            f"{DRAWN_NODES} nodes"
        )
    side = 5.2 if described.nodes <= 36 else 8.0
    with styled():
        figure = Plot(figsize=(side, side + 0.4), layout="constrained")
        ax = figure.subplots()
        links = described.links()
        panel(ax, described, [COLOURS[ring % len(COLOURS)] for ring, _, _ in links])
        bare(ax, f"{described.title}; a colour for each ring")
    return figure


def spring(count: int, edges: list[list[int]]) -> list[tuple[float, float]]:
    """Return positions for the nodes of a graph, by a force-directed layout with a fixed seed."""
    import networkx as nx

    graph: Any = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    placed = nx.spring_layout(graph, seed=1, iterations=200)
    return [(float(placed[n][0]), float(placed[n][1])) for n in range(count)]


def _network(ax: Axes, network: dict[str, Any], places: list[tuple[float, float]]) -> None:
    """Draw a network of PEs; links from a PE to its I/O node are highlighted."""
    io_nodes, servers = network["io_nodes"], network["servers"]
    serving = {
        frozenset((pe, io_nodes[server]))
        for pe, server in enumerate(servers)
        if server is not None and pe != io_nodes[server]
    }
    plain = [e for e in network["edges"] if frozenset(e) not in serving]
    served = [e for e in network["edges"] if frozenset(e) in serving]
    for edges, colour, width in ((plain, "#c3ccd6", 0.8), (served, COLOURS[1], 1.6)):
        lines = [(places[a], places[b]) for a, b in edges]
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=width, zorder=1))
    small = network["nodes"] <= 32
    others = [n for n in range(network["nodes"]) if n not in set(io_nodes)]
    for nodes, marker, fill in ((others, "o", PAPER), (io_nodes, "s", INK)):
        size = (150 if small else 16) * (1.4 if marker == "s" else 1.0)
        style = {"color": fill, "edgecolor": INK, "linewidth": 0.8, "zorder": 2}
        dots(ax, (places[n] for n in nodes), s=size, marker=marker, **style)
        if small:
            for n in nodes:
                text = network["names"][n] if network.get("names") else str(n)
                label(ax, text, places[n], 7.5, PAPER if marker == "s" else INK)
    bare(
        ax,
        f"{network['nodes']} PEs ○, {len(io_nodes)} with an I/O node ■; "
        "blue: from a PE to the I/O node that serves it",
    )


def _io_network(ax: Axes, network: dict[str, Any]) -> None:
    """Draw the network between I/O nodes, unless it is too large."""
    count = len(network["io_nodes"])
    dimension = io_dimension(count)
    if dimension > DRAWN_DIMENSION:
        bare(ax, f"I/O network of {count} nodes")
        return
    places = [project(node, dimension) for node in range(count)]
    lines = [(places[a], places[b]) for a, b in network["io_edges"]]
    ax.add_collection(LineCollection(lines, colors=COLOURS[0], linewidths=1.8, zorder=1))
    dots(ax, places, s=190, marker="s", color=INK, zorder=2)
    if count <= 32:
        for node, place in enumerate(places):
            label(ax, str(network["io_nodes"][node]), place, 7, PAPER)
    bare(ax, f"I/O network: {count} nodes ■ (by PE), {len(lines)} links")


def save(figure: Plot, path: Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of `path`.

    Raises:
        IsthmusError: the suffix is unknown, or the file cannot be written.

    """
    from isthmus.files import refuse_unless_file, write_bytes

    suffix = path.suffix.lower().lstrip(".")
    if suffix not in ("png", "svg"):
        raise IsthmusError(f"{path}: pictures are written as .png or .svg")
    refuse_unless_file(path)
    write_bytes(path, image(figure, suffix))

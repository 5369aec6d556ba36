"""A picture of the machine, its links coloured by how busy they are: PEs, I/O nodes and both
networks of a hypercube; the rings of a fabric; the levels of a fat tree.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import PercentFormatter

from isthmus.answer import answer
from isthmus.plots.fabric import busy_panel
from isthmus.plots.style import BUSY, INK, MUTED, PAPER, Plot, bare
from isthmus.plots.tree import link_strips, tree_panel
from isthmus.results.machines import FatTreeSummary, GraphSummary, HypercubeSummary, SciSummary
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.scenes.cube import Network, io_network, pe_network
from isthmus.scenes.machine import Variant, ceiling, variants


def machine(view: View) -> Plot:
    """Draw up to four variants beside one another; of hypercubes the PE network above, the I/O
    network below.
    """
    shown = variants(view)
    io_row = any(isinstance(m, HypercubeSummary) and m.has_io_network for *_, m in shown)
    rows = 2 if io_row else 1
    across = max(len(shown), 1)
    size = 3.1 if across > 2 else 4.0
    if any(isinstance(m, SciSummary) for *_, m in shown):
        size += 0.6
    if any(isinstance(m, FatTreeSummary | GraphSummary) for *_, m in shown):
        return _trees(view, shown)
    figure = Plot(figsize=(size * across + 0.7, size * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, across, squeeze=False)
    norm = Normalize(0, ceiling(shown))
    for column, (label, point, described) in enumerate(shown):
        assert not isinstance(described, FatTreeSummary | GraphSummary)
        grid[0][column].set_title(label, fontsize=11)
        if isinstance(described, SciSummary):
            busy_panel(grid[0][column], described, point, norm)
            continue
        _pe_network(grid[0][column], described, point, norm)
        if io_row:
            _io_network(grid[1][column], described, point, norm)
    _scale(figure, grid, norm, view)
    return figure


def _trees(view: View, shown: list[Variant]) -> Plot:
    """Draw networks of switches two by two: they are wide."""
    across = min(len(shown), 2)
    down = -(-len(shown) // across)
    figure = Plot(figsize=(5.6 * across + 0.9, 3.7 * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    norm = Normalize(0, ceiling(shown))
    for ax, (label, point, described) in zip(grid.flat, shown, strict=False):
        ax.set_title(label, fontsize=11)
        if isinstance(described, FatTreeSummary):
            tree_panel(ax, described, point, norm)
        elif isinstance(described, GraphSummary):
            link_strips(ax, described, point, norm)
    for ax in list(grid.flat)[len(shown) :]:
        ax.set_visible(False)
    _scale(figure, grid, norm, view)
    return figure


def _scale(figure: Plot, grid: Any, norm: Normalize, view: View) -> None:
    """The scale of colours beside the pictures."""
    bar = figure.colorbar(
        ScalarMappable(norm, BUSY), ax=grid, shrink=0.6, aspect=28, pad=0.015, location="right"
    )
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    place = answer(view.run).busy_place
    bar.set_label(f"utilisation of a link {place}".rstrip(), fontsize=9)


def _pe_network(ax: Axes, described: HypercubeSummary, point: PointResult, norm: Normalize) -> None:
    network = pe_network(described, point)
    if not network.drawn:
        _dimension_strip(ax, network, norm)
        ax.set_xlabel(f"{described.pes:,} PEs, by dimension", color=MUTED)
        return
    places = network.places()
    _links(ax, network, places, norm, 1.0 if described.dimension > 5 else 1.6)
    plain = [p for pe, p in enumerate(places) if pe not in set(described.io_nodes)]
    io = [places[pe] for pe in described.io_nodes]
    dot = 10 if described.dimension > 5 else 26
    ax.scatter(*_split(plain), s=dot, color=PAPER, edgecolor=INK, linewidth=0.7, zorder=3)
    ax.scatter(*_split(io), s=dot * 2.6, color=INK, marker="s", zorder=4)
    text = f"{described.pes} PEs ○, {len(io)} with an I/O node ■"
    bare(ax, f"PE network\n{text}{_busy(network.mean)}")


def _io_network(ax: Axes, described: HypercubeSummary, point: PointResult, norm: Normalize) -> None:
    if not described.has_io_network:
        ax.text(
            0.5,
            0.5,
            "no I/O network:\nI/O travels on\nthe PE network",
            ha="center",
            va="center",
            color=MUTED,
            transform=ax.transAxes,
        )
        bare(ax, "")
        return
    network = io_network(described, point)
    if not network.drawn:
        _dimension_strip(ax, network, norm)
        ax.set_xlabel(f"I/O network of {network.nodes:,} nodes, by dimension", color=MUTED)
        return
    places = network.places()
    _links(ax, network, places, norm, 1.4 + 0.8 * network.lanes)
    ax.scatter(*_split(places), s=46, color=INK, marker="s", zorder=4)
    plural = "lane" if network.lanes == 1 else "lanes"
    text = f"{network.nodes} nodes ■, {network.lanes} {plural} a link"
    bare(ax, f"I/O network\n{text}{_busy(network.mean)}")


def _busy(mean: float | None) -> str:
    return "" if mean is None else f"\nmean link {mean:.0%} busy"


def _links(
    ax: Axes, network: Network, places: list[tuple[float, float]], norm: Normalize, width: float
) -> None:
    links = network.links()
    lines = [(places[a], places[b]) for a, b, _ in links]
    colours = [BUSY(norm(share)) for *_, share in links]
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=width, zorder=2))
    ax.autoscale_view()


def _dimension_strip(ax: Axes, network: Network, norm: Normalize) -> None:
    """For cubes too large to draw: mean and busiest link of each dimension."""
    for bit, mean, highest in network.by_dimension():
        ax.barh(bit, mean, color=BUSY(norm(mean)), height=0.78, zorder=2)
        if highest is not None:
            ax.plot([mean, highest], [bit, bit], color=INK, lw=1.2, zorder=3)
    ax.set_yticks(range(network.dimension))
    ax.set_ylabel("dimension")
    ax.set_xlim(0, norm.vmax)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", visible=False)


def _split(places: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in places], [y for _, y in places]

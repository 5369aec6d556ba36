"""Drawings of hypercubes: the network between PEs above, the network between I/O nodes below."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import PercentFormatter

from isthmus.machines import HypercubeSummary
from isthmus.plots.pictures import Picture, square
from isthmus.plots.style import BUSY, INK, MUTED, PAPER, bare, dots
from isthmus.results.schema import PointResult
from isthmus.scenes.cube import Network, io_network, pe_network
from isthmus.scenes.machine import Variant


def _draw(
    axes: Sequence[Axes], described: HypercubeSummary, point: PointResult, norm: Normalize
) -> None:
    """Draw the networks of a hypercube on one or two axes."""
    _pe_network(axes[0], described, point, norm)
    if len(axes) > 1:
        _io_network(axes[1], described, point, norm)


def _rows(shown: Sequence[Variant]) -> int:
    """Return the number of rows of drawings: two if any variant has an I/O network."""
    return 1 + any(isinstance(m, HypercubeSummary) and m.has_io_network for *_, m in shown)


def _pe_network(ax: Axes, described: HypercubeSummary, point: PointResult, norm: Normalize) -> None:
    """Draw the network between PEs, or bars by dimension if it is large."""
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
    dots(ax, plain, s=dot, color=PAPER, edgecolor=INK, linewidth=0.7, zorder=3)
    dots(ax, io, s=dot * 2.6, color=INK, marker="s", zorder=4)
    text = f"{described.pes} PEs ○, {len(io)} with an I/O node ■"
    bare(ax, f"PE network\n{text}{_busy(network.mean)}")


def _io_network(ax: Axes, described: HypercubeSummary, point: PointResult, norm: Normalize) -> None:
    """Draw the network between I/O nodes, or a text if the machine has none."""
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
    dots(ax, places, s=46, color=INK, marker="s", zorder=4)
    plural = "lane" if network.lanes == 1 else "lanes"
    text = f"{network.nodes} nodes ■, {network.lanes} {plural} a link"
    bare(ax, f"I/O network\n{text}{_busy(network.mean)}")


def _busy(mean: float | None) -> str:
    """Return the mean utilisation of links as a line of text; empty if unknown."""
    return "" if mean is None else f"\nmean link {mean:.0%} busy"


def _links(
    ax: Axes, network: Network, places: list[tuple[float, float]], norm: Normalize, width: float
) -> None:
    """Draw the links of a network, coloured by utilisation."""
    links = network.links()
    lines = [(places[a], places[b]) for a, b, _ in links]
    colours = [BUSY(norm(share)) for *_, share in links]
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=width, zorder=2))
    ax.autoscale_view()


def _dimension_strip(ax: Axes, network: Network, norm: Normalize) -> None:
    """Draw mean and highest link utilisation by dimension, for cubes too large to draw."""
    for bit, mean, highest in network.by_dimension():
        ax.barh(bit, mean, color=BUSY(norm(mean)), height=0.78, zorder=2)
        if highest is not None:
            ax.plot([mean, highest], [bit, bit], color=INK, lw=1.2, zorder=3)
    ax.set_yticks(range(network.dimension))
    ax.set_ylabel("dimension")
    ax.set_xlim(0, norm.vmax)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", visible=False)


CUBES = Picture(_draw, square, (0.7, 0.5), rows=_rows)

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
from isthmus.charts.cube import project
from isthmus.plots.fabric import busy_panel
from isthmus.plots.style import BUSY, INK, MUTED, PAPER, Plot, bare
from isthmus.plots.tree import tree_panel
from isthmus.results.machines import FatTreeSummary, HypercubeSummary, MachineSummary, SciSummary
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.results.shown import compared_point

DRAWN_DIMENSION = 7
"""Largest hypercube that is drawn node by node."""
SHOWN = 4
"""Most variants in one picture."""

Use = dict[tuple[int, int], float]


def machine(view: View) -> Plot:
    """Draw up to four variants beside one another; of hypercubes the PE network above, the I/O
    network below.
    """
    drawn = [(s, p) for s in view.series if (p := compared_point(view, s))]
    # Where jobs run alone and together, what all of them do together is what fills the links.
    most = max((len(p.active) for _, p in drawn), default=0)
    variants: list[tuple[str, PointResult, MachineSummary]] = [
        (s.label, p, view.run.machines[p.machine]) for s, p in drawn if len(p.active) == most
    ][:SHOWN]
    io_row = any(isinstance(m, HypercubeSummary) and m.has_io_network for *_, m in variants)
    rows = 2 if io_row else 1
    across = max(len(variants), 1)
    size = 3.1 if across > 2 else 4.0
    if any(isinstance(m, SciSummary) for *_, m in variants):
        size += 0.6
    if any(isinstance(m, FatTreeSummary) for *_, m in variants):
        return _trees(view, [(n, p, m) for n, p, m in variants if isinstance(m, FatTreeSummary)])
    figure = Plot(figsize=(size * across + 0.7, size * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, across, squeeze=False)
    norm = Normalize(0, _ceiling([p for _, p, _ in variants]))
    for column, (label, point, described) in enumerate(variants):
        assert not isinstance(described, FatTreeSummary)
        grid[0][column].set_title(label, fontsize=11)
        if isinstance(described, SciSummary):
            busy_panel(grid[0][column], described, point, norm)
            continue
        _pe_network(grid[0][column], described, point, norm)
        if io_row:
            _io_network(grid[1][column], described, point, norm)
    _scale(figure, grid, norm, view)
    return figure


def _trees(view: View, variants: list[tuple[str, PointResult, FatTreeSummary]]) -> Plot:
    """Draw fat trees two by two: they are wide."""
    across = min(len(variants), 2)
    down = -(-len(variants) // across)
    figure = Plot(figsize=(5.6 * across + 0.9, 3.7 * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    top = max(c.utilisation for _, p, _ in variants for c in p.channels if c.is_link)
    norm = Normalize(0, min(1.0, max(0.05, top)))
    for ax, (label, point, described) in zip(grid.flat, variants, strict=False):
        ax.set_title(label, fontsize=11)
        tree_panel(ax, described, point, norm)
    for ax in list(grid.flat)[len(variants) :]:
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


def _ceiling(points: list[PointResult]) -> float:
    used = [c.utilisation for p in points for c in p.channels if c.kind in ("link", "io_link")]
    return min(1.0, max([0.05, *used]))


def _uses(point: PointResult, kind: str) -> tuple[Use, float | None]:
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


def _pe_network(ax: Axes, described: HypercubeSummary, point: PointResult, norm: Normalize) -> None:
    used, mean = _uses(point, "link")
    if described.dimension > DRAWN_DIMENSION:
        _dimension_strip(ax, described.dimension, used, mean, norm)
        ax.set_xlabel(f"{described.pes:,} PEs, by dimension", color=MUTED)
        return
    places = [project(pe, described.dimension) for pe in range(described.pes)]
    links = [
        (pe, pe | 1 << bit)
        for pe in range(described.pes)
        for bit in range(described.dimension)
        if not pe >> bit & 1
    ]
    _links(ax, places, links, used, mean, norm, 1.0 if described.dimension > 5 else 1.6)
    plain = [p for pe, p in enumerate(places) if pe not in set(described.io_nodes)]
    io = [places[pe] for pe in described.io_nodes]
    dot = 10 if described.dimension > 5 else 26
    ax.scatter(*_split(plain), s=dot, color=PAPER, edgecolor=INK, linewidth=0.7, zorder=3)
    ax.scatter(*_split(io), s=dot * 2.6, color=INK, marker="s", zorder=4)
    text = f"{described.pes} PEs ○, {len(io)} with an I/O node ■"
    bare(ax, f"PE network\n{text}{_busy(mean)}")


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
    used, mean = _uses(point, "io_link")
    count = len(described.io_nodes)
    dimension = max(count - 1, 1).bit_length()
    lanes = dict(described.lanes).get("io_link", 1)
    if dimension > DRAWN_DIMENSION:
        _dimension_strip(ax, dimension, used, mean, norm)
        ax.set_xlabel(f"I/O network of {count:,} nodes, by dimension", color=MUTED)
        return
    places = [project(node, dimension) for node in range(count)]
    links = [
        (node, other)
        for node in range(count)
        for bit in range(dimension)
        if (other := node | 1 << bit) != node and other < count
    ]
    _links(ax, places, links, used, mean, norm, 1.4 + 0.8 * lanes)
    ax.scatter(*_split(places), s=46, color=INK, marker="s", zorder=4)
    plural = "lane" if lanes == 1 else "lanes"
    bare(ax, f"I/O network\n{count} nodes ■, {lanes} {plural} a link{_busy(mean)}")


def _busy(mean: float | None) -> str:
    return "" if mean is None else f"\nmean link {mean:.0%} busy"


def _links(
    ax: Axes,
    places: list[tuple[float, float]],
    links: list[tuple[int, int]],
    used: Use,
    mean: float | None,
    norm: Normalize,
    width: float,
) -> None:
    ordered = sorted(links, key=lambda ends: used.get(ends, mean or 0.0))
    values = [used.get(ends, mean if mean is not None else 0.0) for ends in ordered]
    lines = [(places[a], places[b]) for a, b in ordered]
    ax.add_collection(
        LineCollection(lines, colors=[BUSY(norm(v)) for v in values], linewidths=width, zorder=2)
    )
    ax.autoscale_view()


def _dimension_strip(
    ax: Axes, dimension: int, used: Use, mean: float | None, norm: Normalize
) -> None:
    """For cubes too large to draw: mean and busiest link of each dimension."""
    values: list[list[float]] = [[] for _ in range(dimension)]
    for (a, b), value in used.items():
        values[(a ^ b).bit_length() - 1].append(value)
    for bit, each in enumerate(values):
        at = sum(each) / len(each) if each else mean
        if at is None:
            continue
        ax.barh(bit, at, color=BUSY(norm(at)), height=0.78, zorder=2)
        if each:
            ax.plot([at, max(each)], [bit, bit], color=INK, lw=1.2, zorder=3)
    ax.set_yticks(range(dimension))
    ax.set_ylabel("dimension")
    ax.set_xlim(0, norm.vmax)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", visible=False)


def _split(places: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in places], [y for _, y in places]

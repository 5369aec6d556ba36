"""Drawings of fat trees: nodes in a row below the switches, links coloured by utilisation."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from isthmus.looks import job_colours
from isthmus.machines import FatTreeSummary
from isthmus.plots.links import link_strips
from isthmus.plots.pictures import Picture, wide
from isthmus.plots.style import BUSY, INK, PAPER, bare, dots
from isthmus.results.packed import ChannelUse
from isthmus.results.schema import PointResult
from isthmus.scenes import tree
from isthmus.scenes.machine import busiest_last, uses


def _draw(
    axes: Sequence[Axes], described: FatTreeSummary, point: PointResult, norm: Normalize
) -> None:
    """Draw a fat tree with links coloured by utilisation; bars by level if it is large."""
    ax = axes[0]
    single = tree.single_links(described, point)
    if not single:
        link_strips(axes, described, point, norm)
        return
    places = tree.places(described)
    _links(ax, places, single, norm)
    style = {"marker": "s", "color": PAPER, "edgecolor": INK, "linewidth": 0.8}
    dots(ax, places[described.nodes :], s=26, zorder=4, **style)
    _nodes(ax, described, point, places)
    means = [c.utilisation for c in single]
    bare(ax, f"{described.title}\nmean link {sum(means) / len(means):.0%} busy")
    ax.set_aspect("auto")
    ax.margins(0.02, 0.06)


def _links(
    ax: Axes, places: list[tuple[float, float]], single: list[ChannelUse], norm: Normalize
) -> None:
    """Draw each pair of opposite links as a line in the colour of the busier one, busiest last."""
    used = uses(single)
    ordered = busiest_last(used)
    lines = [(places[a], places[b]) for a, b in ordered]
    colours = [BUSY(norm(used[ends])) for ends in ordered]
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=1.1, zorder=2))


def _nodes(
    ax: Axes, described: FatTreeSummary, point: PointResult, places: list[tuple[float, float]]
) -> None:
    """Draw a row of marks below the tree for each job that ran, and one for the I/O servers."""
    step = tree.row_step(described)
    ax.scatter(
        [x for x, _ in places[: described.nodes]],
        [0.0] * described.nodes,
        s=9,
        color=PAPER,
        edgecolor=INK,
        linewidth=0.6,
        zorder=4,
    )
    handles, colours = [], job_colours(point)
    for row, (name, nodes, job) in enumerate(tree.rows_below(point), 1):
        marker, colour = ("D", INK) if job is None else ("s", colours[name])
        ax.scatter(
            [places[n][0] for n in nodes],
            [-row * step] * len(nodes),
            s=13,
            marker=marker,
            color=colour,
            zorder=5,
        )
        handles.append(
            Line2D(
                [], [], marker=marker, ls="", color=colour, ms=4.5, label=f"{name} ({len(nodes)})"
            )
        )
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=min(len(handles), 3),
            fontsize=8,
            handletextpad=0.1,
            columnspacing=1.0,
        )
        # Move the caption down, because the legend is drawn in its usual position.
        ax.xaxis.labelpad = 8 + 14 * -(-len(handles) // 3)


TREES = Picture(_draw, wide, (0.9, 0.0), across=2)

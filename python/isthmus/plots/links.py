"""Charts of the links of a machine by kind, for large machines and machines without a drawing."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import PercentFormatter

from isthmus.machines import MachineSummary
from isthmus.plots.pictures import Picture, wide
from isthmus.plots.style import BUSY, INK, MUTED
from isthmus.results.schema import PointResult
from isthmus.scenes.machine import kinds_of_link


def link_strips(
    axes: Sequence[Axes], described: MachineSummary, point: PointResult, norm: Normalize
) -> None:
    """Draw the mean and the highest utilisation of each kind of link as a bar."""
    ax, means = axes[0], kinds_of_link(described, point)
    for y, each in enumerate(means):
        colour = BUSY(norm(each.utilisation))
        ax.barh(y, each.utilisation, height=0.7, color=colour, zorder=2)
        if each.highest is not None:
            ax.plot([each.utilisation, each.highest], [y, y], color=INK, lw=1.2, zorder=3)
            ax.plot(each.highest, y, marker="|", color=INK, ms=8, zorder=3)
    ax.set_yticks(range(len(means)), [described.channel_label(c.kind) for c in means])
    ax.invert_yaxis()
    ax.set_xlim(0, norm.vmax)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(f"{described.title}\nmean of a kind of link, and to the busiest", color=MUTED)


LINKS = Picture(link_strips, wide, (0.9, 0.0), across=2)

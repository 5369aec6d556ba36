"""Accepted bandwidth of each job and of the I/O servers: against the load, or as bars."""

from __future__ import annotations

from matplotlib.figure import Figure

from isthmus.plots import curves
from isthmus.plots.style import MUTED, key, legend_above, look, panels
from isthmus.results.curves import model_label
from isthmus.results.interference import interference
from isthmus.results.series import View
from isthmus.results.shown import ROWS, compared_point, has_traffic, rates
from isthmus.wording import number, with_unit


def bandwidth(view: View) -> Figure:
    """Draw accepted bandwidths: a panel per job, and one for the I/O servers."""
    alone = interference(view.run) is None
    return curves.bandwidth(view) if alone and view.x_axis is not None else _bars(view)


def _bars(view: View) -> Figure:
    """Draw bars of the accepted bandwidth, a row for each variant."""
    names, shown = rates(view), view.series[:ROWS]
    height = 1.3 + 0.34 * len(shown)
    figure, axes = panels(len(names), width=4.2, height=height)
    for column, (ax, name) in enumerate(zip(axes, names, strict=True)):
        for y, series in enumerate(shown):
            point = compared_point(view, series)
            measure = point.measure(name) if point else None
            if (
                point is None
                or measure is None
                or measure.mean is None
                or not has_traffic(point, name)
            ):
                continue
            colour = look(view, series).colour
            ax.barh(y, measure.mean, height=0.66, color=colour, alpha=0.85, zorder=2)
            end = measure.mean
            if measure.low is not None and measure.high is not None:
                ends = [[measure.mean - measure.low], [measure.high - measure.mean]]
                ax.errorbar(
                    measure.mean, y, xerr=ends, color="#1c2024", lw=1.1, capsize=2.5, zorder=3
                )
                end = measure.high
            if measure.analytic is not None:
                ax.plot(measure.analytic, y, marker="d", ls="", mfc="none", color=MUTED, ms=7)
                end = max(end, measure.analytic)
            ax.annotate(
                number(measure.mean),
                (end, y),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=MUTED,
            )
        ax.set_yticks(range(len(shown)), [s.label for s in shown] if not column else [])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.set_xlim(0, 1.14 * ax.get_xlim()[1])
        ax.grid(axis="y", visible=False)
        ax.set_title(view.label(name).partition(":")[0])
        per = "server" if name.startswith("servers.") else "node"
        ax.set_xlabel(with_unit(f"accepted bandwidth per {per}", view.unit(name)))
    confidence = f"{view.run.confidence:.0%} interval"
    entries = [key(f"mean, {confidence}", marker="|", ms=9, ls="-", lw=1.1)]
    if any(m.analytic is not None for p in view.run.points for m in p.measures if m.name in names):
        entries.append(key(model_label(view), marker="d", ls="", mfc="none"))
    legend_above(figure, View(view.run, None, False, "", None), entries)
    return figure

"""Distributions of latency: the share of messages that take longer than a time."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from isthmus.answer import answer
from isthmus.plots.style import legend_above, log_axis, look, panels
from isthmus.results.curves import LOG_SPAN
from isthmus.results.series import View
from isthmus.results.shown import distributions, histogram_of, histogram_unit, survival
from isthmus.wording import with_unit


def distribution(view: View) -> Figure:
    """Draw the survival curves of each measure with a histogram, per series, at one load."""
    names = distributions(view)
    figure, axes = panels(len(names))
    place = answer(view.run).busy_place
    for ax, name in zip(axes, names, strict=True):
        xs: list[float] = []
        least = 1.0
        for series in view.series:
            found = histogram_of(view, series, name)
            if not found:
                continue
            edges, shares = survival(found)
            style = look(view, series)
            ax.step(edges, shares, where="post", color=style.colour, ls=style.dash)
            xs += [e for e in edges if e > 0]
            least = min([least, *(s for s in shares if s > 0)])
        ax.set_yscale("log")
        ax.set_ylim(max(least, 1e-6) / 1.5, 1.4)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
        if xs and max(xs) / min(xs) > LOG_SPAN:
            ax.set_xscale("log")
            log_axis(ax.xaxis, min(xs), max(xs))
        ax.set_title(view.label(name))
        ax.set_xlabel(with_unit("takes longer than", histogram_unit(view, name)))
        ax.set_ylabel(f"share, {place}" if place else "share")
    legend_above(figure, view)
    return figure

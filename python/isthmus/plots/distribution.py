"""Distributions of latency: the share of messages that take longer than so long."""

from __future__ import annotations

from matplotlib.ticker import FuncFormatter

from isthmus.answer import answer, ranked
from isthmus.plots.style import Plot, legend_above, log_axis, look, panels
from isthmus.results.schema import Histogram, PointResult
from isthmus.results.series import Series, View
from isthmus.wording import with_unit


def distribution(view: View) -> Plot:
    """Draw, per measure with a histogram, one falling curve per series, at the load compared."""
    names = with_histograms(view)[:3]
    figure, axes = panels(len(names))
    place = answer(view.run).busy_place
    for ax, name in zip(axes, names, strict=True):
        xs: list[float] = []
        least = 1.0
        for series in view.series:
            found = _histogram(view, series, name)
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
        if xs and max(xs) / min(xs) > 12:
            ax.set_xscale("log")
            log_axis(ax.xaxis, min(xs), max(xs))
        ax.set_title(view.label(name))
        ax.set_xlabel(with_unit("takes longer than", _unit(view, name)))
        ax.set_ylabel(f"share, {place}" if place else "share")
    legend_above(figure, view)
    return figure


def with_histograms(view: View) -> list[str]:
    """What was asked for and whole responses, where they have a histogram; else all that do."""
    have = dict.fromkeys(h.measure for p in view.run.points for h in p.histograms if h.bins)
    responses = [m for m in view.measures if m.endswith(".response")]
    wanted = dict.fromkeys([*ranked(view), *view.asked, *responses])
    return [m for m in wanted if m in have] or list(have)


def survival(histogram: Histogram) -> tuple[list[float], list[float]]:
    """Bin edges and the share of observations above each."""
    total = sum(count for *_, count in histogram.bins)
    left = total
    edges: list[float] = []
    shares: list[float] = []
    for lower, upper, count in histogram.bins:
        if not edges:
            edges.append(lower)
            shares.append(1.0)
        left -= count
        edges.append(upper)
        shares.append(left / total)
    return edges, shares


def compared_point(view: View, series: Series) -> PointResult | None:
    """The point of a series where pictures compare; where there is none, its last stable point."""
    x = answer(view.run).busy_x
    at = [p for p in series.points if view.x(p) == x]
    stable = [p for p in series.points if p.verdict.verdict == "stable"]
    return next(iter(at or stable[-1:] or series.points[:1]), None)


def _histogram(view: View, series: Series, name: str) -> Histogram | None:
    point = compared_point(view, series)
    return (
        next((h for h in point.histograms if h.measure == name and h.bins), None) if point else None
    )


def _unit(view: View, name: str) -> str:
    return next(h.unit for p in view.run.points for h in p.histograms if h.measure == name)

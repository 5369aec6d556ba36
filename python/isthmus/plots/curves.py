"""Measures against the load or another swept field: simulated points, intervals, the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from isthmus.errors import IsthmusError
from isthmus.looks import Look
from isthmus.plots.style import MUTED, PAPER, key, legend_above, log_axis, look, panels
from isthmus.results.curves import (
    OVER,
    Row,
    drawable,
    load_bound,
    mean_of,
    model_label,
    model_of,
    numbers,
    ordered,
)
from isthmus.results.schema import STEADY
from isthmus.results.series import View
from isthmus.scenes import curves as scene
from isthmus.scenes.curves import Curves
from isthmus.wording import with_unit

UP = r"$\uparrow$"


def latency(view: View, measures: Sequence[str] | None = None, *, height: float = 3.5) -> Figure:
    """Draw `measures`, or by default those that the user requested, against the x axis.

    Each measure has a panel. Without an x axis, the series are rows.
    """
    if view.x_axis is None:
        names = list(measures or [m for m in ordered(view) if drawable(view, m)])
        return variants(view, names)
    shown = scene.latency(view, measures)
    return _figure(view, shown, marks(view), height=height)


def _figure(
    view: View,
    shown: Sequence[Curves],
    entries: Sequence[Any],
    *,
    width: float = 4.6,
    height: float = 3.5,
    zero: bool = False,
) -> Figure:
    """Draw a panel of curves for each element of `shown`; with a line at zero if `zero`."""
    figure, axes = panels(len(shown), width, height)
    for ax, each in zip(axes, shown, strict=True):
        curve_panel(ax, view, each)
        finish(ax, view)
        if zero:
            ax.axhline(0, color=MUTED, lw=0.9)
    legend_above(figure, view, entries)
    return figure


def variants(view: View, names: Sequence[str]) -> Figure:
    """Draw measures as rows, one per series: mean, confidence interval and model value."""
    height = 1.3 + 0.42 * len(view.series)
    figure, axes = panels(len(names), width=4.2, height=height)
    for column, (ax, name) in enumerate(zip(axes, names, strict=True)):
        for y, series in enumerate(view.series):
            style = look(view, series)
            for _, point in series.values(view, name):
                value, low, high = mean_of(name)(point)
                if point.collapsed:
                    continue
                fill = PAPER if point.verdict.verdict == "saturated" else style.colour
                if value is not None:
                    ends = [
                        [0.0 if low is None else value - low],
                        [0.0 if high is None else high - value],
                    ]
                    ax.errorbar(
                        value,
                        y,
                        xerr=ends,
                        color=style.colour,
                        marker=style.marker,
                        markerfacecolor=fill,
                        capsize=3,
                    )
                model, *_ = model_of(name)(point)
                if model is not None:
                    ax.plot(model, y, marker="d", ls="", mfc="none", color=MUTED, ms=8)
        ax.set_yticks(range(len(view.series)), [s.label for s in view.series] if not column else [])
        ax.set_ylim(len(view.series) - 0.5, -0.5)
        ax.set_xlim(0, 1.05 * ax.get_xlim()[1])
        ax.grid(axis="y", visible=False)
        ax.set_title(view.label(name))
        ax.set_xlabel(with_unit("mean", view.unit(name)))
    entries = [e for e in marks(view) if e.get_label() != model_label(view)]
    entries.append(key(model_label(view), marker="d", ls="", mfc="none"))
    legend_above(figure, replace(view, series=[]), entries)
    return figure


def percentiles(view: View, measure: str | None = None) -> Figure:
    """Draw the percentiles of one measure against the x axis, with a panel for each percentile.

    Percentiles with too few observations above them are biased low and left out.
    """
    shown, left_out = scene.percentiles(view, measure)
    if not shown:
        raise IsthmusError(f"{measure!r} has no percentile with enough observations above it")
    entries = marks(view, model=False)
    if left_out:
        entries.append(key(f"left out: {left_out} with too few observations above", ls=""))
    return _figure(view, shown, entries, width=3.7)


def bandwidth(view: View) -> Figure:
    """Draw the accepted bandwidth of each job and of the I/O servers against the load."""
    return _figure(view, scene.bandwidth(view), marks(view))


def accepted(view: View) -> Figure:
    """Draw accepted against offered load, of all messages and of I/O demands."""
    flows = scene.accepted(view)
    figure, axes = panels(len(flows))
    for ax, (name, flow, shown) in zip(axes, flows, strict=True):
        top = max((x for s in flow.series for x, _ in s.values(flow, name)), default=1.0)
        ax.plot([0, top], [0, top], color=MUTED, lw=0.9, ls=(0, (2, 2)), zorder=1)
        curve_panel(ax, flow, shown)
        ax.annotate(
            "all that is offered",
            (top, top),
            (-6, 0),
            textcoords="offset points",
            ha="right",
            va="bottom",
            color=MUTED,
            fontsize=8.5,
        )
        ax.set_xlabel(with_unit(view.run.load.label, shown.unit))
        ax.set_xlim(left=0)
    bounds = [(s, bound) for s in view.series if (bound := load_bound(view, s)) is not None]
    for series, bound in bounds:
        colour = look(view, series).colour
        axes[0].axhline(bound, color=colour, ls=(0, (6, 3)), lw=1.2, alpha=0.85, zorder=2)
    entries = marks(view, model=False)
    if bounds:
        entries.append(key("analytic bound", ls=(0, (6, 3)), lw=1.2))
    legend_above(figure, view, entries)
    return figure


def residuals(view: View) -> Figure:
    """Draw the deviation of the simulation from the model, in percent, at stable points."""
    return _figure(view, scene.residuals(view), (), zero=True)


def curve_panel(ax: Axes, view: View, shown: Curves) -> None:
    """Draw every series into one panel, with its titles and the scale of its y axis."""
    drawn: list[float] = []
    cap = scene.cap_of(view, shown)
    for series in view.series:
        style = look(view, series)
        drawn += _points(ax, numbers(view, series, shown.pick, cap), style, shown.stable_only)
        if not shown.stable_only:
            _collapses(ax, [x for p in series.points if p.collapsed and (x := view.x(p))], style)
        if shown.model:
            curve = scene.model_curve(view, series, shown.model, cap)
            if not view.run.simulated:
                drawn += [v for _, v in curve]
            ax.plot(*_columns(curve), color=style.colour, ls=(0, (4, 2)), lw=1.1, zorder=2)
    if scene.is_log(shown, drawn):
        ax.set_yscale("log")
        log_axis(ax.yaxis, min(drawn), max(drawn))
    elif scene.from_zero(shown, drawn):
        ax.set_ylim(bottom=0)
    ax.set_title(shown.title)
    ax.set_ylabel(shown.y_title)


def _points(ax: Axes, rows: Sequence[Row], style: Look, stable_only: bool) -> list[float]:
    """Draw the points and lines of one series, and return the values that were drawn."""
    stable = [r for r in rows if r[4] in STEADY]
    ax.plot(*_columns(stable), color=style.colour, ls=style.dash, zorder=3)
    beyond = [] if stable_only else rows[scene.tail(rows)]
    if beyond:
        ax.plot(*_columns(beyond), color=style.colour, ls=(0, (1, 2)), lw=1.1, zorder=2.5)
    drawn = []
    for x, value, low, high, verdict in rows:
        if stable_only and verdict not in STEADY:
            continue
        fill = "full" if verdict in STEADY else {"undecided": "left"}.get(verdict, "none")
        if low is not None and high is not None:
            error = [[max(value - low, 0)], [max(high - value, 0)]]
            ax.errorbar(
                x, value, error, color=style.colour, lw=1.1, capsize=2.2, capthick=1.1, zorder=3.5
            )
        ax.plot(
            x,
            value,
            ls="",
            color=style.colour,
            marker=UP if verdict == OVER else style.marker,
            markersize=11 if verdict == OVER else None,
            clip_on=False,
            fillstyle="full" if verdict == OVER else fill,
            markerfacecoloralt=PAPER,
            markeredgewidth=0.2 if verdict == OVER else 1.2,
            markerfacecolor=PAPER if fill == "none" and verdict != OVER else style.colour,
            zorder=4,
        )
        drawn.append(value)
    return drawn


def _collapses(ax: Axes, xs: Sequence[float], style: Look) -> None:
    """Draw crosses at the foot of the plot for collapsed points, which have no value."""
    foot = ax.get_xaxis_transform()
    ax.plot(
        xs, [0.03] * len(xs), transform=foot, color=style.colour, marker="X", ls="", ms=9, zorder=5
    )


def _columns(rows: Sequence[Sequence[Any]]) -> tuple[list[Any], list[Any]]:
    """Split rows, which start with x and y, into a list of x and a list of y values."""
    return [r[0] for r in rows], [r[1] for r in rows]


def finish(ax: Axes, view: View) -> None:
    """Set the title of the plot, and the title and the scale of the x axis.

    An x axis that shows the load starts at zero.
    """
    ax.set_xlabel(with_unit(view.x_label, view.x_unit))
    if view.by_load:
        ax.set_xlim(left=0)
        return
    if scene.x_is_log(view):
        xs = [x for p in view.run.points if (x := view.x(p)) is not None]
        ax.set_xscale("log")
        log_axis(ax.xaxis, min(xs), max(xs))


_MARKS: dict[str, dict[str, Any]] = {
    "simulated": {"marker": "o", "ls": "-"},
    "model": {"ls": (0, (4, 2)), "lw": 1.1},
    "saturated": {"marker": "o", "ls": "", "markerfacecolor": PAPER},
    "undecided": {"marker": "o", "ls": "", "fillstyle": "left", "markerfacecoloralt": PAPER},
    "incomplete": {"marker": "o", "ls": "", "markerfacecolor": PAPER},
    "collapsed": {"marker": "X", "ls": "", "ms": 9},
}


def marks(view: View, *, model: bool = True, anywhere: bool = False) -> list[Any]:
    """Return legend entries for those point marks that occur in the curves of a run."""
    found = scene.symbols(view, "↑", model=model, anywhere=anywhere)
    return [key(words, **_MARKS[name]) for name, words in found.items()]

"""Measures against the load or another swept field: simulated points, intervals, the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes

from isthmus.errors import IsthmusError
from isthmus.plots.style import (
    MUTED,
    PAPER,
    Look,
    Plot,
    key,
    legend_above,
    log_axis,
    look,
    panels,
)
from isthmus.results.curves import (
    CAP,
    LOG_SPAN,
    OVER,
    Number,
    Pick,
    Row,
    drawable,
    load_bound,
    mean_of,
    model_label,
    model_of,
    numbers,
    ordered,
    percentile_of,
    residual_of,
    value_cap,
    with_percentiles,
    with_residuals,
)
from isthmus.results.series import View
from isthmus.wording import with_unit

UP = r"$\uparrow$"

__all__ = [
    "CAP",
    "Number",
    "Pick",
    "accepted",
    "curve_panel",
    "finish",
    "latency",
    "load_bound",
    "marks",
    "mean_of",
    "model_label",
    "percentiles",
    "residuals",
    "variants",
    "with_percentiles",
    "with_residuals",
]


def latency(view: View, measures: Sequence[str] | None = None, *, height: float = 3.5) -> Plot:
    """Draw the measures asked for (or `measures`) against the x axis, a panel each.

    Where there is no x axis, the series are rows.
    """
    names = list(measures or [m for m in ordered(view) if drawable(view, m)])
    if view.x_axis is None:
        return variants(view, names)
    figure, axes = panels(len(names), height=height)
    for ax, name in zip(axes, names, strict=True):
        curve_panel(ax, view, mean_of(name), model_of(name), capped=view.unit(name) == "us")
        ax.set_title(view.label(name))
        ax.set_ylabel(with_unit("mean", view.unit(name)))
        finish(ax, view)
    legend_above(figure, view, marks(view))
    return figure


def variants(view: View, names: Sequence[str]) -> Plot:
    """Draw the measures as rows, one per series: mean, interval and model."""
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


def percentiles(view: View, measure: str | None = None) -> Plot:
    """Draw the percentiles of one measure against the x axis, a panel each.

    Percentiles with too few observations above them are biased low and left out.
    """
    name = measure or next(iter(with_percentiles(view)))
    found: dict[float, None] = {}
    left_out = 0
    for point in view.run.points:
        for p in at.percentiles if (at := point.measure(name)) else ():
            if p.resolved:
                found[p.percent] = None
            else:
                left_out += 1
    if not found:
        raise IsthmusError(f"{name!r} has no percentile with enough observations above it")
    figure, axes = panels(len(found), width=3.7)
    for ax, percent in zip(axes, sorted(found), strict=True):
        curve_panel(ax, view, percentile_of(name, percent), None)
        ax.set_title("median" if percent == 50 else f"{percent:g}% are below")
        ax.set_ylabel(with_unit(view.label(name), view.unit(name)))
        finish(ax, view)
    entries = marks(view, model=False)
    if left_out:
        entries.append(key(f"left out: {left_out} with too few observations above", ls=""))
    legend_above(figure, view, entries)
    return figure


def accepted(view: View) -> Plot:
    """Draw what is completed against what is offered, of all messages and of I/O demands."""
    flows: list[tuple[str, str | None, str]] = [("accepted", None, "All messages")]
    if view.unit("io.accepted") and view.unit("io.offered"):
        flows.append(("io.accepted", "io.offered", "I/O demands"))
    figure, axes = panels(len(flows))
    for ax, (name, offered, title) in zip(axes, flows, strict=True):
        flow = view if offered is None else replace(view, x_measure=offered)
        top = max((x for s in flow.series for x, _ in s.values(flow, name)), default=1.0)
        ax.plot([0, top], [0, top], color=MUTED, lw=0.9, ls=(0, (2, 2)), zorder=1)
        curve_panel(ax, flow, mean_of(name), None, log=False)
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
        ax.set_title(title if len(flows) > 1 else "")
        ax.set_xlabel(with_unit(view.run.load.label, view.unit(name)))
        ax.set_ylabel(with_unit(view.run.load.accepted, view.unit(name)))
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
    bounds = [(s, bound) for s in view.series if (bound := load_bound(view, s)) is not None]
    for series, bound in bounds:
        colour = look(view, series).colour
        axes[0].axhline(bound, color=colour, ls=(0, (6, 3)), lw=1.2, alpha=0.85, zorder=2)
    entries = marks(view, model=False)
    if bounds:
        entries.append(key("analytic bound", ls=(0, (6, 3)), lw=1.2))
    legend_above(figure, view, entries)
    return figure


def residuals(view: View) -> Plot:
    """Draw how far the simulation lies above the model, in percent, at stable points."""
    names = with_residuals(view)
    figure, axes = panels(len(names))
    for ax, name in zip(axes, names, strict=True):
        ax.axhline(0, color=MUTED, lw=0.9)
        curve_panel(ax, view, residual_of(name), None, log=False, stable_only=True)
        ax.set_title(view.label(name))
        ax.set_ylabel("simulation over model − 1 (%)")
        finish(ax, view)
    legend_above(figure, view)
    return figure


def curve_panel(
    ax: Axes,
    view: View,
    pick: Pick,
    model: Pick | None,
    *,
    log: bool | None = None,
    stable_only: bool = False,
    capped: bool = True,
) -> None:
    """Draw every series into one panel; the y axis becomes logarithmic where values span much.

    Of what grows with the run where it is saturated, such as a latency, values are `capped`.
    """
    drawn: list[float] = []
    cap = value_cap(view, pick) if capped else math.inf
    for series in view.series:
        style = look(view, series)
        drawn += _points(ax, numbers(view, series, pick, cap), style, stable_only)
        if not stable_only:
            _collapses(ax, [x for p in series.points if p.collapsed and (x := view.x(p))], style)
        if model:
            # Beyond the cap the model's curve would press everything else flat, too.
            curve = [(x, min(v, 1.02 * cap)) for x, v, *_ in numbers(view, series, model)]
            beyond = (n for n, (_, v) in enumerate(curve, 1) if v > cap)
            curve = curve[: next(beyond, len(curve))]
            if not view.run.simulated:
                drawn += [v for _, v in curve]
            ax.plot(*_columns(curve), color=style.colour, ls=(0, (4, 2)), lw=1.1, zorder=2)
    positive = [v for v in drawn if v > 0]
    spans = bool(positive) and len(positive) == len(drawn)
    if log if log is not None else spans and max(positive) / min(positive) > LOG_SPAN:
        ax.set_yscale("log")
        log_axis(ax.yaxis, min(positive), max(positive))
    elif spans and log is None:
        ax.set_ylim(bottom=0)


def _points(ax: Axes, rows: Sequence[Row], style: Look, stable_only: bool) -> list[float]:
    stable = [r for r in rows if r[4] == "stable"]
    ax.plot(*_columns(stable), color=style.colour, ls=style.dash, zorder=3)
    if not stable_only and len(rows) > len(stable):
        first = next(i for i, r in enumerate(rows) if r[4] != "stable")
        over = next((i for i, r in enumerate(rows) if r[4] == OVER), len(rows))
        tail = rows[max(first - 1, 0) : over + 1]
        ax.plot(*_columns(tail), color=style.colour, ls=(0, (1, 2)), lw=1.1, zorder=2.5)
    drawn = []
    for x, value, low, high, verdict in rows:
        if stable_only and verdict != "stable":
            continue
        fill = {"stable": "full", "undecided": "left"}.get(verdict, "none")
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
    """Crosses at the foot of the plot: where nothing arrives any more there is no value."""
    foot = ax.get_xaxis_transform()
    ax.plot(
        xs, [0.03] * len(xs), transform=foot, color=style.colour, marker="X", ls="", ms=9, zorder=5
    )


def _columns(rows: Sequence[Sequence[Any]]) -> tuple[list[Any], list[Any]]:
    return [r[0] for r in rows], [r[1] for r in rows]


def finish(ax: Axes, view: View) -> None:
    """Title the x axis; the load starts at zero."""
    ax.set_xlabel(with_unit(view.x_label, view.x_unit))
    if view.by_load:
        ax.set_xlim(left=0)
        return
    xs = [x for p in view.run.points if (x := view.x(p)) is not None]
    if xs and min(xs) > 0 and max(xs) / min(xs) > LOG_SPAN:
        ax.set_xscale("log")
        log_axis(ax.xaxis, min(xs), max(xs))


def marks(view: View, model: bool = True) -> list[Any]:
    """The key of marks, only those that occur."""
    verdicts = {p.verdict.verdict for p in view.run.points}
    simulated = any(m.mean is not None for p in view.run.points for m in p.measures)
    entries = []
    if simulated:
        confidence = f"{view.run.confidence:.0%}"
        entries.append(key(f"simulated, {confidence} interval", marker="o", ls="-"))
    if model and any(m.analytic is not None for p in view.run.points for m in p.measures):
        entries.append(key(model_label(view), ls=(0, (4, 2)), lw=1.1))
    if simulated and "saturated" in verdicts:
        label = "saturated: grows with the run (↑ off the plot)"
        entries.append(key(label, marker="o", ls="", markerfacecolor=PAPER))
    if simulated and "undecided" in verdicts:
        entries.append(
            key("undecided", marker="o", ls="", fillstyle="left", markerfacecoloralt=PAPER)
        )
    if simulated and "collapsed" in verdicts:
        entries.append(key("collapsed: nothing arrives any more", marker="X", ls="", ms=9))
    return entries

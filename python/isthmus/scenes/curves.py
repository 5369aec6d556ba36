"""Which curves are drawn: a panel each with what it picks, its titles and its scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from isthmus.results.curves import (
    LOG_SPAN,
    OVER,
    Number,
    Pick,
    Row,
    drawable,
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
from isthmus.results.schema import STEADY, PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import at_work, rates
from isthmus.wording import with_unit


@dataclass(frozen=True)
class Curves:
    """What one panel of curves shows."""

    title: str
    pick: Pick
    unit: str
    y_title: str
    model: Pick | None = None
    log: bool | None = None
    """Whether the scale is logarithmic; decided by the values if None."""
    zero: bool | None = None
    """Whether it begins at zero; by the values if None."""
    capped: bool = False
    """Whether values of saturated points are cut off: a latency grows with the run there."""
    stable_only: bool = False
    diagonal: bool = False
    """Whether to draw the line on which all that is offered is accepted."""
    bound: bool = False
    """Whether to draw what the analysis lets each series accept."""
    interval: str | None = None
    """What the ends of intervals are, in words; those of the run's confidence if None."""


def latency(view: View, measures: Sequence[str] | None = None) -> list[Curves]:
    """The measures asked for (or `measures`)."""
    return [
        Curves(
            view.label(m),
            mean_of(m),
            view.unit(m),
            with_unit("mean", view.unit(m)),
            model_of(m),
            capped=view.unit(m) == "us",
        )
        for m in measures or [m for m in ordered(view) if drawable(view, m)]
    ]


def accepted(view: View) -> list[tuple[str, View, Curves]]:
    """What is completed against what is offered, of all messages and of I/O demands: each the
    measure, the view in which it is drawn against its own load, and the curves.
    """
    flows: list[tuple[str, str | None, str]] = [("accepted", None, "All messages")]
    if view.unit("io.accepted") and view.unit("io.offered"):
        flows.append(("io.accepted", "io.offered", "I/O demands"))
    told = []
    for measure, offered, title in flows:
        curves = Curves(
            title if len(flows) > 1 else "",
            mean_of(measure),
            view.unit(measure),
            with_unit(view.run.load.accepted, view.unit(measure)),
            log=False,
            zero=True,
            diagonal=True,
            bound=offered is None,
        )
        flow = view if offered is None else replace(view, x_measure=offered)
        told.append((measure, flow, curves))
    return told


def residuals(view: View) -> list[Curves]:
    """How far the simulation lies above the model, in percent, at stable points."""
    y_title = "simulation over model − 1 (%)"
    return [
        Curves(view.label(m), residual_of(m), "%", y_title, log=False, stable_only=True)
        for m in with_residuals(view)
    ]


def percentiles(view: View, measure: str | None = None) -> tuple[list[Curves], int]:
    """The percentiles of one measure, and how many values have too few observations above them:
    these are biased low and left out.
    """
    name = measure or next(iter(with_percentiles(view)))
    found: set[float] = set()
    left_out = 0
    for point in view.run.points:
        for p in at.percentiles if (at := point.measure(name)) else ():
            if p.resolved:
                found.add(p.percent)
            else:
                left_out += 1
    told = [
        Curves(
            "median" if percent == 50 else f"{percent:g}% are below",
            percentile_of(name, percent),
            view.unit(name),
            with_unit(view.label(name), view.unit(name)),
            capped=view.unit(name) == "us",
        )
        for percent in sorted(found)
    ]
    return told, left_out


def bandwidth(view: View) -> list[Curves]:
    """What each job and the I/O servers get through."""
    told = []
    for name in rates(view):
        per = "server" if name.startswith("servers.") else "node"
        told.append(
            Curves(
                view.label(name).partition(":")[0],
                _while_at_work(name, mean_of(name)),
                view.unit(name),
                with_unit(f"accepted bandwidth per {per}", view.unit(name)),
                _while_at_work(name, model_of(name)),
                log=False,
                zero=True,
            )
        )
    return told


def _while_at_work(name: str, pick: Pick) -> Pick:
    def picked(point: PointResult) -> Number:
        return pick(point) if at_work(point, name) else (None, None, None)

    return picked


def cap_of(view: View, told: Curves) -> float:
    """Where values of saturated points are cut off."""
    return value_cap(view, told.pick) if told.capped else math.inf


def model_curve(view: View, series: Series, model: Pick, cap: float) -> list[tuple[float, float]]:
    """The model's curve; beyond the cap it would press everything else flat, too."""
    curve = [(x, min(v, 1.02 * cap)) for x, v, *_ in numbers(view, series, model)]
    beyond = (n for n, (_, v) in enumerate(curve, 1) if v > cap)
    return curve[: next(beyond, len(curve))]


def tail(rows: Sequence[Row]) -> slice:
    """The part of a curve beyond the last stable point, which begins there."""
    first = next((i for i, row in enumerate(rows) if row[4] not in STEADY), None)
    if first is None:
        return slice(0, 0)
    over = next((i for i, row in enumerate(rows) if row[4] == OVER), len(rows))
    return slice(max(first - 1, 0), over + 1)


def is_log(told: Curves, drawn: Sequence[float]) -> bool:
    """Whether the y axis is logarithmic: where values are above zero and span much."""
    if told.log is False or not _above_zero(drawn):
        return False
    return bool(told.log) or max(drawn) / min(drawn) > LOG_SPAN


def from_zero(told: Curves, drawn: Sequence[float]) -> bool:
    """Whether the y axis begins at zero."""
    if told.zero is not None:
        return told.zero
    return told.log is None and _above_zero(drawn) and not is_log(told, drawn)


def _above_zero(drawn: Sequence[float]) -> bool:
    return bool(drawn) and min(drawn) > 0


def x_is_log(view: View) -> bool:
    """Whether the x axis is logarithmic; the load begins at zero."""
    xs = [x for p in view.run.points if (x := view.x(p)) is not None]
    return not view.by_load and bool(xs) and min(xs) > 0 and max(xs) / min(xs) > LOG_SPAN


def symbols(
    view: View, beyond: str, *, model: bool = True, anywhere: bool = False
) -> dict[str, str]:
    """What marks mean, only those that occur; `beyond` is the sign of a value off the plot.

    The model is one of them if it has a value within its domain, or `anywhere`.
    """
    verdicts = {p.verdict.verdict for p in view.run.points}
    found = {}
    if view.run.simulated:
        words = "exact" if view.run.exact else f"{view.run.confidence:.0%} interval"
        found["simulated"] = f"simulated, {words}"
    measures = [m for p in view.run.points for m in p.measures] if model else []
    within = any(m.analytic is not None for m in measures)
    outside = anywhere and any(m.outside for m in measures)
    if within or outside:
        part = "in part " if within else ""
        found["model"] = model_label(view) + (f" ({part}outside the domain)" if outside else "")
    if view.run.simulated:
        told = {
            "saturated": f"saturated: grows with the run ({beyond} off the plot)",
            "undecided": "undecided",
            "incomplete": "did not complete",
            "collapsed": "collapsed: nothing arrives any more",
        }
        found |= {verdict: words for verdict, words in told.items() if verdict in verdicts}
    return found

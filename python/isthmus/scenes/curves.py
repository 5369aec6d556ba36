"""The panels of curves: values, titles and scales of each panel."""

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
from isthmus.results.shown import has_traffic, rates
from isthmus.wording import with_unit


@dataclass(frozen=True)
class Curves:
    """The content of one panel of a plot of curves: its measure, titles and scale."""

    title: str
    pick: Pick
    unit: str
    y_title: str
    model: Pick | None = None
    log: bool | None = None
    """Whether the y axis is logarithmic; None to decide by the values."""
    zero: bool | None = None
    """Whether the y axis begins at zero; None to decide by the values."""
    capped: bool = False
    """Whether values of saturated points are cut off, since their latencies grow with the length of
    the run.
    """
    stable_only: bool = False
    diagonal: bool = False
    """Whether to draw the line on which accepted equals offered load."""
    bound: bool = False
    """Whether to draw the highest load that each series can accept by analysis."""
    interval: str | None = None
    """Meaning of the ends of intervals, in words; by default the run's confidence."""


def latency(view: View, measures: Sequence[str] | None = None) -> list[Curves]:
    """Return one panel for each of `measures`, with the curves of its mean; the default is the
    measures that the user requested.
    """
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
    """Return panels of accepted against offered load, of all messages and of I/O demands.

    Each has its measure, the view in which it is drawn against its own load, and its curves.
    """
    flows: list[tuple[str, str | None, str]] = [("accepted", None, "All messages")]
    if view.unit("io.accepted") and view.unit("io.offered"):
        flows.append(("io.accepted", "io.offered", "I/O demands"))
    shown = []
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
        shown.append((measure, flow, curves))
    return shown


def residuals(view: View) -> list[Curves]:
    """Return panels of the deviation of the simulation from the model, in percent, at stable
    points.
    """
    y_title = "simulation over model − 1 (%)"
    return [
        Curves(view.label(m), residual_of(m), "%", y_title, log=False, stable_only=True)
        for m in with_residuals(view)
    ]


def percentiles(view: View, measure: str | None = None) -> tuple[list[Curves], int]:
    """Return panels of the percentiles of one measure, and the number of values that were left out.

    Values with too few observations above them are biased low, so they are left out.
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
    shown = [
        Curves(
            "median" if percent == 50 else f"{percent:g}% are below",
            percentile_of(name, percent),
            view.unit(name),
            with_unit(view.label(name), view.unit(name)),
            capped=view.unit(name) == "us",
        )
        for percent in sorted(found)
    ]
    return shown, left_out


def bandwidth(view: View) -> list[Curves]:
    """Return panels of the accepted bandwidth of each job and of the I/O servers."""
    shown = []
    for name in rates(view):
        per = "server" if name.startswith("servers.") else "node"
        shown.append(
            Curves(
                view.label(name).partition(":")[0],
                _if_at_work(name, mean_of(name)),
                view.unit(name),
                with_unit(f"accepted bandwidth per {per}", view.unit(name)),
                _if_at_work(name, model_of(name)),
                log=False,
                zero=True,
            )
        )
    return shown


def _if_at_work(name: str, pick: Pick) -> Pick:
    """Return a function that picks a value only at points where the subject of the measure, such as
    a job, was active; at other points it returns None.
    """

    def picked(point: PointResult) -> Number:
        """Return the value of the measure at a point; None if its subject, such as a job, was not
        active there.
        """
        return pick(point) if has_traffic(point, name) else (None, None, None)

    return picked


def cap_of(view: View, shown: Curves) -> float:
    """Return the value at which saturated points are cut off."""
    return value_cap(view, shown.pick) if shown.capped else math.inf


def model_curve(view: View, series: Series, model: Pick, cap: float) -> list[tuple[float, float]]:
    """Return the points (x, y) of the model's curve. Values above `cap` are cut off, as in the
    curve of the simulated points.
    """
    curve = [(x, min(v, 1.02 * cap)) for x, v, *_ in numbers(view, series, model)]
    beyond = (n for n, (_, v) in enumerate(curve, 1) if v > cap)
    return curve[: next(beyond, len(curve))]


def tail(rows: Sequence[Row]) -> slice:
    """Return the slice of the curve's rows from its last stable point to its end."""
    first = next((i for i, row in enumerate(rows) if row[4] not in STEADY), None)
    if first is None:
        return slice(0, 0)
    over = next((i for i, row in enumerate(rows) if row[4] == OVER), len(rows))
    return slice(max(first - 1, 0), over + 1)


def is_log(shown: Curves, drawn: Sequence[float]) -> bool:
    """Return whether the y axis is logarithmic, by the panel's setting, or because all values are
    above zero and have a large range.
    """
    if shown.log is False or not _above_zero(drawn):
        return False
    return bool(shown.log) or max(drawn) / min(drawn) > LOG_SPAN


def from_zero(shown: Curves, drawn: Sequence[float]) -> bool:
    """Return whether the y axis begins at zero, by the panel's setting or its values."""
    if shown.zero is not None:
        return shown.zero
    return shown.log is None and _above_zero(drawn) and not is_log(shown, drawn)


def _above_zero(drawn: Sequence[float]) -> bool:
    """Return whether there are values and all are above zero."""
    return bool(drawn) and min(drawn) > 0


def x_is_log(view: View) -> bool:
    """Return whether the x axis is logarithmic. An axis of load is not, since it begins at zero."""
    xs = [x for p in view.run.points if (x := view.x(p)) is not None]
    return not view.by_load and bool(xs) and min(xs) > 0 and max(xs) / min(xs) > LOG_SPAN


def symbols(
    view: View, beyond: str, *, model: bool = True, anywhere: bool = False
) -> dict[str, str]:
    """Return the meaning of each mark that occurs in a plot; `beyond` is the mark for a value off
    the plot.

    The model is included if it has a value within its domain, or `anywhere`.
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
        labels = {
            "saturated": f"saturated: grows with the run ({beyond} off the plot)",
            "undecided": "undecided",
            "incomplete": "did not complete",
            "collapsed": "collapsed: nothing arrives any more",
        }
        found |= {verdict: words for verdict, words in labels.items() if verdict in verdicts}
    return found

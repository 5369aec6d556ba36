"""Curves: means, percentiles, residuals and rates against the load or another swept field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from isthmus.charts.chart import Chart, Panel, Spec, Symbol, Table, brief, keys_of
from isthmus.charts.spec import (
    BOUND_DASH,
    CROSS,
    LIT,
    MODEL_DASH,
    MUTED,
    PAPER,
    SHOWN,
    ZOOMED,
    Scales,
    axis,
    layered,
    tip,
)
from isthmus.results.curves import (
    LOG_SPAN,
    OVER,
    Pick,
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
from isthmus.results.kinds import others
from isthmus.results.schema import PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import at_work, rates
from isthmus.wording import interval, number, unit_label, with_unit

HEIGHT = 250
"""Height of a panel in pixels."""


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


@dataclass(frozen=True)
class Drawn:
    """A panel and the rows of the picture's table that belong to it."""

    panel: Panel
    rows: list[tuple[list[Any], int]]


def latency(view: View, measures: Sequence[str] | None = None, name: str = "latency") -> Chart:
    """The measures asked for (or `measures`) against the x axis, a panel each."""
    names = list(measures or [m for m in ordered(view) if drawable(view, m)])
    told = [
        Curves(
            view.label(m),
            mean_of(m),
            view.unit(m),
            with_unit("mean", view.unit(m)),
            model_of(m),
            capped=view.unit(m) == "us",
        )
        for m in names
    ]
    return chart(name, view, told, marks(view))


def response(view: View) -> Chart:
    """Whole response times that were not asked for."""
    return latency(view, others(view), "response")


def accepted(view: View) -> Chart:
    """What is completed against what is offered, of all messages and of I/O demands."""
    panels = []
    flows: list[tuple[str, str | None, str]] = [("accepted", None, "All messages")]
    if view.unit("io.accepted") and view.unit("io.offered"):
        flows.append(("io.accepted", "io.offered", "I/O demands"))
    for measure, offered, title in flows:
        flow = view if offered is None else replace(view, x_measure=offered)
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
        panels.append(curve_panel(flow, curves))
    entries = marks(view, model=False)
    entries.append(Symbol("all that is offered", "diagonal"))
    if any(load_bound(view, s) is not None for s in view.series):
        entries.append(Symbol("analytic bound", "bound"))
    return assembled("accepted", view, panels, entries)


def residuals(view: View) -> Chart:
    """How far the simulation lies above the model, in percent, at stable points."""
    told = [
        Curves(view.label(m), residual_of(m), "%", "simulation over model − 1 (%)", log=False)
        for m in with_residuals(view)
    ]
    told = [replace(each, stable_only=True) for each in told]
    return chart("residuals", view, told, [])


def percentiles(view: View) -> Chart:
    """The percentiles of one measure against the x axis, a panel each.

    Percentiles with too few observations above them are biased low and left out.
    """
    name = next(iter(with_percentiles(view)))
    found: dict[float, None] = {}
    left_out = 0
    for point in view.run.points:
        for p in at.percentiles if (at := point.measure(name)) else ():
            if p.resolved:
                found[p.percent] = None
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
    note = f"Left out: {left_out} with too few observations above." if left_out else ""
    return replace(chart("percentiles", view, told, marks(view, model=False)), note=note)


def bandwidth(view: View) -> Chart:
    """What each job and the I/O servers get through, against the load."""
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
    return chart("bandwidth", view, told, marks(view))


def _while_at_work(name: str, pick: Pick) -> Pick:
    def picked(point: PointResult) -> Any:
        return pick(point) if at_work(point, name) else (None, None, None)

    return picked


def chart(name: str, view: View, told: Sequence[Curves], entries: list[Symbol]) -> Chart:
    """A picture of curves, a panel each."""
    return assembled(name, view, [curve_panel(view, each) for each in told], entries)


def assembled(name: str, view: View, drawn: Sequence[Drawn], entries: list[Symbol]) -> Chart:
    """A picture of panels of curves with their table and legend."""
    columns = ["panel", "variant", with_unit(view.x_label, view.x_unit), "verdict"]
    columns += ["value", "low", "high", "model"]
    rows = [row for each in drawn for row in each.rows]
    table = Table(columns, [cells for cells, _ in rows], [point for _, point in rows])
    return Chart(name, [each.panel for each in drawn], keys_of(view), entries, table)


def curve_panel(view: View, told: Curves) -> Drawn:
    """One panel: a curve per series with its points, intervals and the model's curve."""
    scales = Scales(view)
    cap = value_cap(view, told.pick) if told.capped else math.inf
    values: list[Spec] = []
    curves: list[Spec] = []
    rows: list[tuple[list[Any], int]] = []
    for series in view.series:
        values += _values(view, series, told, cap)
        if told.model:
            curves += _model_values(view, series, told.model, cap)
        rows += _rows(view, series, told)
    if told.stable_only:
        values = [v for v in values if v["verdict"] == "stable"]
    y = _y_axis(told, [v["y"] for v in values if "y" in v] or [v["m"] for v in curves], curves)
    x = _x_axis(view, told)
    paint, form = scales.paint(), scales.form()
    both = {"x": x, "y": y}
    layers: list[Spec] = []
    if told.diagonal:
        top = max((v["x"] for v in values), default=1.0)
        ends = [{"x": 0.0, "y": 0.0}, {"x": top, "y": top}]
        mark = {"type": "line", "color": MUTED, "strokeDash": [2, 2], "strokeWidth": 1}
        layers.append({"data": {"values": ends}, "mark": {**mark, "clip": True}, "encoding": both})
    if told.bound:
        layers += _bounds(view, scales, y)
    if curves:
        layers.append(
            {
                "data": {"values": curves},
                "transform": [SHOWN],
                "mark": _line(MODEL_DASH, 1.3),
                "encoding": {**both, "y": {**y, "field": "m"}, **paint, "opacity": LIT},
            }
        )
    layers += [
        {
            "transform": [{"filter": "datum.tail"}],
            "mark": _line([1, 3], 1.3),
            "encoding": {**both, **paint, "opacity": LIT},
        },
        {
            "transform": [{"filter": "datum.verdict == 'stable'"}],
            "mark": _line(None, 1.9),
            "encoding": {**both, **paint, **scales.line(), "opacity": LIT},
        },
        {
            "transform": [{"filter": "datum.low != null"}],
            "mark": {"type": "rule", "strokeWidth": 1.3, "clip": ZOOMED},
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                **paint,
                "opacity": LIT,
            },
        },
        _points(view, told, scales, both, {**paint, **form}),
    ]
    if any(v["verdict"] == "undecided" for v in values):
        layers.append(
            {
                "transform": [{"filter": "datum.verdict == 'undecided'"}],
                "mark": {"type": "point", "filled": True, "size": 12, "clip": ZOOMED},
                "encoding": {**both, **paint, "opacity": LIT},
            }
        )
    if any(v.get("over") for v in values):
        layers.append(_beyond(told, view, both, paint, "datum.over", "triangle-up", {}))
    fallen = [] if told.stable_only else _collapsed(view)
    if fallen:
        foot = {"x": x, "y": {"value": HEIGHT - 8}}
        layer = _beyond(told, view, foot, paint, "true", CROSS, {"stroke": None})
        layers.append({**layer, "data": {"values": fallen}})
        layer["transform"] = [SHOWN]
        layers[-1]["transform"] = [SHOWN]
    spec = layered(layers, values, HEIGHT, f"{told.title or told.y_title} against {view.x_label}")
    return Drawn(Panel(told.title, spec), rows)


def _line(dash: list[int] | None, width: float) -> Spec:
    mark: Spec = {"type": "line", "strokeWidth": width, "clip": ZOOMED}
    return {**mark, "strokeDash": dash} if dash else mark


def _points(view: View, told: Curves, scales: Scales, both: Spec, marks_: Spec) -> Spec:
    """Filled where stable, hollow where not: hollow ones hide the line below them."""
    fill = {
        "condition": {
            "test": "datum.verdict == 'stable'",
            "field": "variant",
            "type": "nominal",
            "scale": scales.colour,
            "legend": None,
        },
        "value": PAPER,
    }
    return {
        "transform": [{"filter": "!datum.over"}],
        "mark": {"type": "point", "size": 52, "strokeWidth": 1.6, "clip": ZOOMED, "opacity": 1},
        "encoding": {
            **both,
            "stroke": marks_["color"],
            "shape": marks_["shape"],
            "fill": fill,
            "opacity": LIT,
            **_tip(view, told),
        },
    }


def _beyond(
    told: Curves, view: View, both: Spec, paint: Spec, test: str, shape: str, more: Spec
) -> Spec:
    """Marks that stand for points without a value that could be drawn."""
    return {
        "transform": [{"filter": test}],
        "mark": {"type": "point", "filled": True, "shape": shape, "size": 90, "opacity": 1, **more},
        "encoding": {**both, **paint, **_tip(view, told)},
    }


def _tip(view: View, told: Curves) -> Spec:
    confidence = f"{view.run.confidence:.0%} interval"
    fields = [("variant", "variant"), ("place", view.x_label), ("value", "value")]
    fields += [("interval", confidence), ("verdict", "verdict")]
    if told.model:
        fields.append(("model", model_label(view)))
    return tip(fields)


def _values(view: View, series: Series, told: Curves, cap: float) -> list[Spec]:
    found: list[Spec] = []
    unit = unit_label(told.unit)
    at = {view.x(p): p for p in series.points}
    for x, y, low, high, verdict in numbers(view, series, told.pick, cap):
        point = at[x]
        value, own_low, own_high = told.pick(point)
        row: Spec = {
            "variant": series.label,
            "x": brief(x),
            "y": brief(y),
            "low": brief(low),
            "high": brief(high),
            "verdict": point.verdict.verdict,
            "point": point.index,
            "place": f"{number(x)} {unit_label(view.x_unit)}".strip(),
            "value": f"{number(value, 4)} {unit}".strip(),
        }
        if own_low is not None:
            row["interval"] = f"{interval(own_low, own_high, 4)} {unit}".strip()
        if told.model and (model := told.model(point)[0]) is not None:
            row["model"] = f"{number(model, 4)} {unit}".strip()
        if verdict == OVER:
            row["over"] = True
        found.append(row)
    first = next((i for i, r in enumerate(found) if r["verdict"] != "stable"), len(found))
    over = next((i for i, r in enumerate(found) if "over" in r), len(found))
    if first < len(found):
        for row in found[max(first - 1, 0) : over + 1]:
            row["tail"] = True
    return found


def _model_values(view: View, series: Series, model: Pick, cap: float) -> list[Spec]:
    # Beyond the cap the model's curve would press everything else flat, too.
    curve = [(x, min(v, 1.02 * cap)) for x, v, *_ in numbers(view, series, model)]
    beyond = (n for n, (_, v) in enumerate(curve, 1) if v > cap)
    curve = curve[: next(beyond, len(curve))]
    return [{"variant": series.label, "x": brief(x), "m": brief(v)} for x, v in curve]


def _collapsed(view: View) -> list[Spec]:
    """Where nothing arrives any more there is no value."""
    return [
        {
            "variant": s.label,
            "x": brief(x),
            "verdict": "collapsed: nothing arrives any more",
            "point": p.index,
            "place": f"{number(x)} {unit_label(view.x_unit)}".strip(),
        }
        for s in view.series
        for p in s.points
        if p.collapsed and (x := view.x(p)) is not None
    ]


def _bounds(view: View, scales: Scales, y: Spec) -> list[Spec]:
    found = [(s.label, load_bound(view, s)) for s in view.series]
    values = [{"variant": label, "b": brief(bound)} for label, bound in found if bound is not None]
    if not values:
        return []
    mark = {"type": "rule", "strokeDash": BOUND_DASH, "strokeWidth": 1.3, "clip": ZOOMED}
    encoding = {"y": {**y, "field": "b"}, **scales.paint(), "opacity": LIT}
    layer = {"data": {"values": values}, "transform": [SHOWN], "mark": mark, "encoding": encoding}
    return [layer]


def _rows(view: View, series: Series, told: Curves) -> list[tuple[list[Any], int]]:
    found: list[tuple[list[Any], int]] = []
    for point in series.points:
        x = view.x(point)
        value, low, high = (None, None, None) if point.collapsed else told.pick(point)
        model = told.model(point)[0] if told.model else None
        if x is None or (value is None and model is None and not point.collapsed):
            continue
        cells = [told.title, series.label, x, point.verdict.verdict, value, low, high, model]
        found.append((cells, point.index))
    return found


def _y_axis(told: Curves, drawn: list[float], curves: list[Spec]) -> Spec:
    positive = [v for v in drawn if v > 0]
    spans = bool(positive) and len(positive) == len(drawn)
    log = told.log
    if log is None:
        log = spans and max(positive) / min(positive) > LOG_SPAN
    elif log and not spans:
        log = False
    zero = told.zero if told.zero is not None else spans and not log and told.log is None
    _ = curves
    return axis("y", told.y_title, "y", log=bool(log), zero=bool(zero))


def _x_axis(view: View, told: Curves) -> Spec:
    title = with_unit(view.run.load.label if told.diagonal else view.x_label, view.x_unit)
    if view.by_load or told.diagonal:
        return axis("x", title, "x", zero=True)
    xs = [x for p in view.run.points if (x := view.x(p)) is not None]
    log = bool(xs) and min(xs) > 0 and max(xs) / min(xs) > LOG_SPAN
    return axis("x", title, "x", log=log)


def marks(view: View, model: bool = True) -> list[Symbol]:
    """The key of marks, only those that occur."""
    verdicts = {p.verdict.verdict for p in view.run.points}
    simulated = view.run.simulated
    entries = []
    if simulated:
        entries.append(Symbol(f"simulated, {view.run.confidence:.0%} interval", "simulated"))
    if model and any(m.analytic is not None for p in view.run.points for m in p.measures):
        entries.append(Symbol(model_label(view), "model"))
    if simulated and "saturated" in verdicts:
        entries.append(Symbol("saturated: grows with the run (▲ off the plot)", "saturated"))
    if simulated and "undecided" in verdicts:
        entries.append(Symbol("undecided", "undecided"))
    if simulated and "collapsed" in verdicts:
        entries.append(Symbol("collapsed: nothing arrives any more", "collapsed"))
    return entries

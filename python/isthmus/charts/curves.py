"""Curves of means, percentiles, residuals and rates over the load or another swept field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
from isthmus.results.curves import OVER, load_bound, model_label, numbers
from isthmus.results.kinds import others
from isthmus.results.schema import STEADY
from isthmus.results.series import MOST, Series, View
from isthmus.scenes import curves as scene
from isthmus.scenes.curves import Curves
from isthmus.wording import interval, number, unit_label, with_unit

HEIGHT = 250
"""Height of a panel of curves in pixels."""


@dataclass(frozen=True)
class Drawn:
    """A drawn panel of a chart, and the rows that it adds to the table below the chart."""

    panel: Panel
    rows: list[tuple[list[Any], int]]


def latency(view: View, measures: Sequence[str] | None = None, name: str = "latency") -> Chart:
    """Return a chart with a panel for each of `measures`, drawn over the x axis. None means the
    measures that the user requested.
    """
    return chart(name, view, scene.latency(view, measures), marks(view))


def response(view: View) -> Chart:
    """Return a chart of the response times that the user did not request as measures."""
    return latency(view, others(view), "response")


def accepted(view: View) -> Chart:
    """Return a chart of the accepted load against the offered load, a panel for all messages and
    one for I/O demands.
    """
    panels = [curve_panel(flow, plot) for _, flow, plot in scene.accepted(view.thinned)]
    entries = marks(view, model=False)
    entries.append(Symbol("all that is offered", "diagonal"))
    if any(load_bound(view, s) is not None for s in view.series):
        entries.append(Symbol("analytic bound", "bound"))
    return assembled("accepted", view, panels, entries)


def residuals(view: View) -> Chart:
    """Return a chart of the deviation of the simulation from the queueing model.

    It shows the excess in percent, at stable points.
    """
    return chart("residuals", view, scene.residuals(view), [])


def percentiles(view: View) -> Chart:
    """Return a chart of the percentiles of one measure over the x axis, a panel each.

    Percentiles with too few observations above them are biased low and left out.
    """
    plots, left_out = scene.percentiles(view)
    drawn = chart("percentiles", view, plots, marks(view, model=False))
    note = f"Left out: {left_out} with too few observations above." if left_out else ""
    return replace(drawn, note=f"{note} {drawn.note}".strip())


def bandwidth(view: View) -> Chart:
    """Return a chart of the accepted bandwidth of jobs and I/O servers over the load."""
    return chart("bandwidth", view, scene.bandwidth(view), marks(view))


def chart(name: str, view: View, plots: Sequence[Curves], entries: list[Symbol]) -> Chart:
    """Return a chart with a panel for each plot."""
    return assembled(name, view, [curve_panel(view.thinned, each) for each in plots], entries)


def assembled(name: str, view: View, drawn: Sequence[Drawn], entries: list[Symbol]) -> Chart:
    """Combine the drawn panels into one chart, with a legend and a table of the values."""
    columns = ["panel", "variant", with_unit(view.x_label, view.x_unit), "verdict"]
    columns += ["value", "low", "high", "model"]
    rows = [row for each in drawn for row in each.rows]
    table = Table(columns, [cells for cells, _ in rows], [point for _, point in rows])
    panels = [each.panel for each in drawn]
    longest = max((len(series.points) for series in view.series), default=0)
    return Chart(name, panels, keys_of(view), entries, table, _thinned_note(longest))


def _thinned_note(longest: int) -> str:
    """Return a note that the chart omits points if its longest curve has too many, else no text."""
    if longest <= MOST:
        return ""
    return (
        f"Of a curve with {longest:,} points {MOST} are drawn and listed, and those where the "
        "verdict changes; the table of results has all."
    )


def curve_panel(view: View, plot: Curves) -> Drawn:
    """Return a panel with a curve for each series: points, intervals and the curve of the model."""
    scales = Scales(view)
    cap = scene.cap_of(view, plot)
    values: list[Spec] = []
    curves: list[Spec] = []
    rows: list[tuple[list[Any], int]] = []
    for series in view.series:
        values += _values(view, series, plot, cap)
        if plot.model:
            curve = scene.model_curve(view, series, plot.model, cap)
            curves += [{"variant": series.label, "x": brief(x), "m": brief(v)} for x, v in curve]
        rows += _rows(view, series, plot)
    if plot.stable_only:
        values = [v for v in values if v["verdict"] in STEADY]
    y = _y_axis(plot, [v["y"] for v in values if "y" in v] or [v["m"] for v in curves])
    x = _x_axis(view, plot)
    paint, form = scales.paint(), scales.form()
    both = {"x": x, "y": y}
    layers: list[Spec] = []
    if plot.diagonal:
        top = max((v["x"] for v in values), default=1.0)
        ends = [{"x": 0.0, "y": 0.0}, {"x": top, "y": top}]
        mark = {"type": "line", "color": MUTED, "strokeDash": [2, 2], "strokeWidth": 1}
        layers.append({"data": {"values": ends}, "mark": {**mark, "clip": True}, "encoding": both})
    if plot.bound:
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
            "transform": [{"filter": f"indexof({list(STEADY)}, datum.verdict) >= 0"}],
            "mark": _line(None, 1.9),
            "encoding": {**both, **paint, **scales.line(), "opacity": LIT},
        },
        {
            "transform": [{"filter": "datum.low != null && datum.high != null"}],
            "mark": {"type": "rule", "strokeWidth": 1.3, "clip": ZOOMED},
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                **paint,
                "opacity": LIT,
            },
        },
        _point_marks(view, plot, scales, both, {**paint, **form}),
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
        layers.append(_beyond_marks(plot, view, both, paint, "datum.over", "triangle-up", {}))
    fallen = [] if plot.stable_only else _collapsed(view)
    if fallen:
        foot = {"x": x, "y": {"value": HEIGHT - 8}}
        layer = _beyond_marks(plot, view, foot, paint, "true", CROSS, {"stroke": None})
        layers.append({**layer, "data": {"values": fallen}})
        layer["transform"] = [SHOWN]
        layers[-1]["transform"] = [SHOWN]
    spec = layered(layers, values, HEIGHT, f"{plot.title or plot.y_title} against {view.x_label}")
    return Drawn(Panel(plot.title, spec), rows)


def _line(dash: list[int] | None, width: float) -> Spec:
    """Return the Vega-Lite mark of a line with this dash and width."""
    mark: Spec = {"type": "line", "strokeWidth": width, "clip": ZOOMED}
    return {**mark, "strokeDash": dash} if dash else mark


def _point_marks(view: View, plot: Curves, scales: Scales, both: Spec, marks_: Spec) -> Spec:
    """Return point marks: filled if stable, else hollow; hollow marks cover the line."""
    fill = {
        "condition": {
            "test": f"indexof({list(STEADY)}, datum.verdict) >= 0",
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
            **_tip(view, plot),
        },
    }


def _beyond_marks(
    plot: Curves, view: View, both: Spec, paint: Spec, test: str, shape: str, more: Spec
) -> Spec:
    """Return marks of a shape for points without a drawable value: too large, or collapsed."""
    return {
        "transform": [{"filter": test}],
        "mark": {"type": "point", "filled": True, "shape": shape, "size": 90, "opacity": 1, **more},
        "encoding": {**both, **paint, **_tip(view, plot)},
    }


def _tip(view: View, plot: Curves) -> Spec:
    """Return the tooltip of the points of a curve."""
    ends = plot.interval or f"{view.run.confidence:.0%} interval"
    fields = [("variant", "variant"), ("place", view.x_label), ("value", "value")]
    fields.append(("interval", ends))
    if plot.interval is None:
        fields.append(("verdict", "verdict"))
    if plot.model:
        fields.append(("model", model_label(view)))
    return tip(fields)


def _values(view: View, series: Series, plot: Curves, cap: float) -> list[Spec]:
    """Return the points of one curve as data rows for Vega-Lite."""
    found: list[Spec] = []
    unit = unit_label(plot.unit)
    at = {view.x(p): p for p in series.points}
    rows = numbers(view, series, plot.pick, cap)
    for x, y, low, high, verdict in rows:
        point = at[x]
        value, own_low, own_high = plot.pick(point)
        shown, place = _x_value(x, view.x_unit)
        row: Spec = {
            "variant": series.label,
            "x": shown,
            "y": brief(y),
            "low": brief(low),
            "high": brief(high),
            "verdict": point.verdict.verdict,
            "point": point.index,
            "place": place,
            "value": f"{number(value, 4)} {unit}".strip(),
        }
        if own_low is not None:
            row["interval"] = f"{interval(own_low, own_high, 4)} {unit}".strip()
        if plot.model and (model := plot.model(point)[0]) is not None:
            row["model"] = f"{number(model, 4)} {unit}".strip()
        if verdict == OVER:
            row["over"] = True
        found.append(row)
    for row in found[scene.tail(rows)]:
        row["tail"] = True
    return found


@lru_cache(maxsize=16_384)
def _x_value(x: float, unit: str | None) -> tuple[float | None, str]:
    """Return an x value as a number and as a text with its unit. The results are cached, because
    all panels of a chart need the same values.
    """
    return brief(x), f"{number(x)} {unit_label(unit)}".strip()


def _collapsed(view: View) -> list[Spec]:
    """Return data rows for points at which the network collapsed, and which have no value."""
    return [
        {
            "variant": s.label,
            "x": _x_value(x, view.x_unit)[0],
            "verdict": "collapsed: nothing arrives any more",
            "point": p.index,
            "place": _x_value(x, view.x_unit)[1],
        }
        for s in view.series
        for p in s.points
        if p.collapsed and (x := view.x(p)) is not None
    ]


def _bounds(view: View, scales: Scales, y: Spec) -> list[Spec]:
    """Return horizontal lines at the upper bounds of the accepted load, if any are known."""
    found = [(s.label, load_bound(view, s)) for s in view.series]
    values = [{"variant": label, "b": brief(bound)} for label, bound in found if bound is not None]
    if not values:
        return []
    mark = {"type": "rule", "strokeDash": BOUND_DASH, "strokeWidth": 1.3, "clip": ZOOMED}
    encoding = {"y": {**y, "field": "b"}, **scales.paint(), "opacity": LIT}
    layer = {"data": {"values": values}, "transform": [SHOWN], "mark": mark, "encoding": encoding}
    return [layer]


def _rows(view: View, series: Series, plot: Curves) -> list[tuple[list[Any], int]]:
    """Return the table rows of one curve, each with the number of its point."""
    found: list[tuple[list[Any], int]] = []
    for point in series.points:
        x = view.x(point)
        value, low, high = (None, None, None) if point.collapsed else plot.pick(point)
        model = plot.model(point)[0] if plot.model else None
        if x is None or (value is None and model is None and not point.collapsed):
            continue
        cells = [plot.title, series.label, x, point.verdict.verdict, value, low, high, model]
        found.append((cells, point.index))
    return found


def _y_axis(plot: Curves, drawn: list[float]) -> Spec:
    """Return the Vega-Lite description of the y axis of a panel of curves: its title and scale."""
    log, zero = scene.is_log(plot, drawn), scene.from_zero(plot, drawn)
    return axis("y", plot.y_title, "y", log=log, zero=zero)


def _x_axis(view: View, plot: Curves) -> Spec:
    """Return the Vega-Lite description of the x axis of a panel of curves: its title and scale."""
    title = with_unit(view.run.load.label if plot.diagonal else view.x_label, view.x_unit)
    if view.by_load or plot.diagonal:
        return axis("x", title, "x", zero=True)
    return axis("x", title, "x", log=scene.x_is_log(view))


def marks(view: View, *, model: bool = True, anywhere: bool = False) -> list[Symbol]:
    """Return legend entries for the point marks (such as hollow circles) that occur in curves."""
    found = scene.symbols(view, "▲", model=model, anywhere=anywhere)
    return [Symbol(words, glyph) for glyph, words in found.items()]

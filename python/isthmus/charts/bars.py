"""Bar charts and brackets with a row for each variant or kind of channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isthmus.answer import answer
from isthmus.answer.grounds import bracket
from isthmus.charts.chart import Chart, Panel, Spec, Symbol, Table, brief, keys_of
from isthmus.charts.spec import (
    INK,
    LIT,
    MUTED,
    PAPER,
    ZOOMED,
    Scales,
    axis,
    layered,
    rows_axis,
    tip,
)
from isthmus.results.curves import mean_of, model_label, ordered
from isthmus.results.schema import Measure, PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import ROWS, compared_point, has_brackets, has_traffic, rates
from isthmus.wording import interval, number, unit_label, with_unit

STEP = 30
"""Height of a row of bars in pixels."""


def bandwidth(view: View) -> Chart:
    """Return a bar chart of the accepted bandwidth of jobs and I/O servers for each variant."""
    shown = view.series[:ROWS]
    panels, rows, points = [], [], []
    for name in rates(view):
        per = "server" if name.startswith("servers.") else "node"
        title = view.label(name).partition(":")[0]
        found = [
            (s, p) for s in view.series if (p := compared_point(view, s)) and has_traffic(p, name)
        ]
        for series, point in found:
            measure = point.measure(name)
            if measure is not None and measure.mean is not None:
                rows.append([title, series.label, *_numbers(measure)])
                points.append(point.index)
        values = _bar_values(view, [f for f in found if f[0] in shown], name)
        x_title = with_unit(f"accepted bandwidth per {per}", view.unit(name))
        panels.append(Panel(title, _bars(view, values, x_title), width=_width(view)))
    table = Table(["panel", "variant", "value", "low", "high", "model"], rows, points)
    return Chart("bandwidth", panels, [], _bar_marks(view), table, _omitted_note(view))


def variants(view: View) -> Chart:
    """Return a bar chart of the requested measures for each variant, for runs without an x axis."""
    panels, rows, points = [], [], []
    for name in [m for m in ordered(view) if any(s.values(view, m) for s in view.series)]:
        found = [(s, p) for s in view.series for _, p in s.values(view, name) if not p.collapsed]
        values = _bar_values(view, found, name)
        panels.append(
            Panel(
                view.label(name),
                _bars(view, values, with_unit("mean", view.unit(name))),
                width=_width(view),
            )
        )
        for series, point in found:
            measure = point.measure(name)
            if measure is not None:
                rows.append([view.label(name), series.label, *_numbers(measure)])
                points.append(point.index)
    table = Table(["panel", "variant", "value", "low", "high", "model"], rows, points)
    return Chart("latency", panels, [], _bar_marks(view), table, _omitted_note(view))


def _width(view: View) -> int:
    """Return the width of a panel of bars in pixels; long row names need more."""
    return 340 if max(len(s.label) for s in view.series) < 24 else 520


def _omitted_note(view: View) -> str:
    """Return a note on the number of variants that the chart leaves out; empty if none is."""
    more = len(view.series) - ROWS
    return f"{more} more variants are in the table." if more > 0 else ""


def _numbers(measure: Measure) -> list[Any]:
    """Return the table cells of a measure: mean, ends of the confidence interval, model value."""
    return [measure.mean, measure.low, measure.high, measure.analytic]


def _bar_values(
    view: View, found: Sequence[tuple[Series, PointResult]], name: str
) -> list[dict[str, Any]]:
    """Return the rows of data for the bars of one measure."""
    values = []
    unit = unit_label(view.unit(name))
    for series, point in found[:ROWS]:
        measure = point.measure(name)
        if measure is None:
            continue
        row: Spec = {
            "variant": series.label,
            "point": point.index,
            "verdict": point.verdict.verdict,
        }
        if measure.mean is not None:
            value, low, high = mean_of(name)(point)
            row |= {"y": brief(value), "low": brief(low), "high": brief(high)}
            row |= {"text": number(value), "value": f"{number(value, 4)} {unit}".strip()}
            row["end"] = brief(max(value or 0.0, high or 0.0))
            if low is not None:
                row["interval"] = f"{interval(low, high, 4)} {unit}".strip()
        if measure.analytic is not None:
            row |= {"m": brief(measure.analytic), "model": f"{number(measure.analytic, 4)} {unit}"}
        values.append(row)
    return values


def _bars(view: View, values: list[Spec], x_title: str) -> Spec:
    """Return the Vega-Lite specification of bars with confidence intervals.

    Each bar prints its value at its end; the mark of the model's value is above it.
    """
    scales = Scales(view)
    reach = [v for row in values for v in (row.get("end"), row.get("m")) if v is not None]
    x = axis(
        "y",
        x_title,
        "x",
        domain=[0, 1.2 * max(reach, default=1.0) or 1.0],
        tickCount=5,
        titleAnchor="end",
    )
    y = rows_axis("variant")
    paint = scales.paint()
    tips = _tips(view)
    layers: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.y)"}],
            "mark": {"type": "bar", "height": {"band": 0.62}, "clip": True},
            "encoding": {"x": x, "y": y, **paint, "fillOpacity": _bar_opacity(), **tips},
        },
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.3, "clip": ZOOMED},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
        },
        _model(x, y),
        *_texts(x, y, "end", "text"),
    ]
    return layered(layers, values, {"step": STEP}, x_title)


def _bar_opacity() -> Spec:
    """Return the encoding of the opacity of bars, which makes those of saturated points pale."""
    return {"condition": {"test": "datum.verdict == 'saturated'", "value": 0.45}, "value": 0.9}


def _model(x: Spec, y: Spec) -> Spec:
    """Return the mark for the value of the queueing model, at the upper edge of a row of bars."""
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": {
            "type": "point",
            "shape": "triangle-down",
            "size": 46,
            "color": INK,
            "fill": PAPER,
            "strokeWidth": 1.2,
            "yOffset": -11,
            "clip": ZOOMED,
            "opacity": 1,
        },
        "encoding": {"x": {**x, "field": "m"}, "y": y},
    }


def _texts(x: Spec, y: Spec, at: str, text: str) -> list[Spec]:
    """Return a text to the right of a point, with an outline in the paper colour."""
    mark: Spec = {"type": "text", "align": "left", "dx": 6, "fontSize": 12, "clip": False}
    encoding = {"x": {**x, "field": at}, "y": y, "text": {"field": text}}
    halo = {**mark, "stroke": PAPER, "strokeWidth": 4, "color": PAPER}
    return [
        {"mark": halo, "encoding": encoding},
        {"mark": {**mark, "fontWeight": 600, "color": INK}, "encoding": encoding},
    ]


def _tips(view: View) -> Spec:
    """Return the tooltip of the bars of a chart."""
    confidence = f"{view.run.confidence:.0%} interval"
    fields = [("variant", "variant"), ("value", "value"), ("interval", confidence)]
    return tip([*fields, ("verdict", "verdict"), ("model", model_label(view))])


def _bar_marks(view: View) -> list[Symbol]:
    """Return the legend entries for the marks in bar charts."""
    entries = [Symbol(f"mean, {view.run.confidence:.0%} interval", "bar")]
    if any(m.analytic is not None for p in view.run.points for m in p.measures):
        entries.append(Symbol(model_label(view), "above"))
    return entries


def saturation(view: View) -> Chart:
    """Return a chart of the saturation bracket of each series, as rows or as curves over the x
    axis.
    """
    return _brackets(view) if has_brackets(view) else _bracket_curves(view)


def _brackets(view: View) -> Chart:
    """Return a chart of the saturation bracket of each series: a range of loads, drawn as a row."""
    found = [(s, b) for s in view.series if (b := bracket(view, s))]
    loads = [e for _, b in found for e in (b.low, b.high, b.analytic, *(b.undecided or ()))]
    top = max(e for e in loads if e is not None) * 1.25
    unit = view.run.load.words
    values, rows = [], []
    for series, own in found:
        low, high = own.low or 0.0, own.high if own.high is not None else top
        width = max(high - low, top * 0.006)
        row: Spec = {
            "variant": series.label,
            "low": brief(low),
            "high": brief(low + width),
            "text": own.text,
            "value": f"{own.text} {unit}",
            "open": own.high is None or own.low is None,
            "zero": 0,
        }
        # Place the text inside of an open bracket, which has no saturated load as its upper end.
        row["end"] = brief(low if own.high is None else low + width)
        if own.undecided is not None:
            start, end = own.undecided
            wide = min(max(end - start, top * 0.006), width)
            middle = (start + end) / 2
            row |= {"u": brief(middle - wide / 2), "u2": brief(middle + wide / 2)}
            row["undecided"] = f"{number(start)} to {number(end)} {unit}"
        if own.analytic is not None:
            row |= {"m": brief(own.analytic), "model": f"{number(own.analytic)} {unit}"}
        values.append(row)
        rows.append([series.label, own.low, own.high, *(own.undecided or (None, None))])
        rows[-1].append(own.analytic)
    spec = _bracket_spec(view, values, top)
    entries = [Symbol("stable up to here", "line"), Symbol("the knee lies in here", "block")]
    if any("u" in v for v in values):
        entries.append(Symbol("of that: tried and still undecided", "pale"))
    if any("m" in v for v in values):
        entries.append(Symbol(model_label(view), "above"))
    columns = ["variant", "highest stable", "lowest saturated", "undecided from", "to", "model"]
    table = Table([*columns[:1], *(with_unit(c, unit) for c in columns[1:])], rows)
    return Chart("saturation", [Panel("Saturates between", spec)], [], entries, table)


def _bracket_spec(view: View, values: list[Spec], top: float) -> Spec:
    """Return the Vega-Lite specification of a chart with one row per variant, which shows between
    which loads (the bracket) the variant saturates.
    """
    scales = Scales(view)
    title = with_unit(view.run.load.label, view.run.load.unit)
    x = axis("low", title, "x", domain=[0, top], tickCount=6)
    y = rows_axis("variant")
    paint = scales.paint()
    fields = [("variant", "variant"), ("value", "saturates at"), ("undecided", "undecided")]
    tips = tip([*fields, ("model", model_label(view))])
    bar: Spec = {"type": "bar", "height": {"band": 0.55}, "clip": True}
    pale = {"condition": {"test": "datum.open", "value": 0.35}, "value": 1}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2.4, "clip": True},
            "encoding": {
                "x": {**x, "field": "zero"},
                "x2": {"field": "low"},
                "y": y,
                **paint,
                "opacity": {"value": 0.55},
            },
        },
        {
            "mark": bar,
            "encoding": {"x": x, "x2": {"field": "high"}, "y": y, **paint, "opacity": pale, **tips},
        },
        {
            "transform": [{"filter": "isValid(datum.u)"}],
            "mark": {**bar, "color": PAPER, "opacity": 0.7},
            "encoding": {"x": {**x, "field": "u"}, "x2": {"field": "u2"}, "y": y, **tips},
        },
        _model(x, y),
        *_texts(x, y, "end", "text"),
    ]
    return layered(layers, values, {"step": STEP + 4}, "The load at which each variant saturates")


def _bracket_curves(view: View) -> Chart:
    """Return a chart of saturation brackets over the x axis, a curve for each series."""
    scales = Scales(view)
    values, rows = [], []
    unit = view.run.load.words
    for series in view.series:
        for search in series.searches:
            low, high = search.highest_stable, search.lowest_saturated
            points = (p for p in series.points if view.run.belongs(search, p))
            place = next((view.x(p) for p in points), None)
            if place is None:
                continue
            rows.append([series.label, place, low, high, search.analytic])
            if low is None or high is None:
                continue
            values.append(
                {
                    "variant": series.label,
                    "x": brief(place),
                    "y": brief((low + high) / 2),
                    "low": brief(low),
                    "high": brief(high),
                    "value": f"{interval(low, high)} {unit}",
                    "place": f"{number(place)} {unit_label(view.x_unit)}".strip(),
                    "m": brief(search.analytic),
                    "model": "" if search.analytic is None else f"{number(search.analytic)} {unit}",
                }
            )
    x = axis("x", with_unit(view.x_label, view.x_unit), "x")
    y = axis("y", with_unit(view.run.load.label, view.run.load.unit), "y", zero=True)
    paint, form = scales.paint(), scales.form()
    tips = tip(
        [
            ("variant", "variant"),
            ("place", view.x_label),
            ("value", "saturates between"),
            ("model", model_label(view)),
        ]
    )
    both = {"x": x, "y": y}
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 1.9, "clip": ZOOMED},
            "encoding": {**both, **paint, **scales.line(), "opacity": LIT},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.3, "clip": ZOOMED},
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                **paint,
                "opacity": LIT,
            },
        },
        {
            "transform": [{"filter": "isValid(datum.m)"}],
            "mark": {"type": "point", "shape": "triangle-down", "size": 60, "clip": ZOOMED},
            "encoding": {"x": x, "y": {**y, "field": "m"}, **paint, "opacity": LIT},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "clip": ZOOMED},
            "encoding": {**both, **paint, **form, "opacity": LIT, **tips},
        },
    ]
    entries = [
        Symbol("highest stable to lowest saturated load", "simulated"),
        Symbol(model_label(view), "above"),
    ]
    columns = ["variant", with_unit(view.x_label, view.x_unit), "highest stable"]
    table = Table([*columns, f"lowest saturated ({unit})", "model"], rows)
    spec = layered(layers, values, 300, "The load at which each variant saturates")
    panel = Panel("Saturates between", spec, most=760)
    return Chart("saturation", [panel], keys_of(view), entries, table)


def channels(view: View) -> Chart:
    """Return a chart of the utilisation of each kind of channel: the mean, and a line to the
    highest.
    """
    points = [(s, p) for s in view.series[:ROWS] if (p := compared_point(view, s))]
    described = view.run.machines[0]
    name = described.channel_label
    values, rows, of = [], [], []
    for series, point in points:
        for use in point.channels:
            if use.from_ is not None:
                continue
            values.append(
                {
                    "variant": series.label,
                    "kind": name(use.kind),
                    "x": brief(use.utilisation),
                    "high": brief(use.highest),
                    "m": brief(use.analytic),
                    "point": point.index,
                    "value": f"{use.utilisation:.1%}",
                    "most": "" if use.highest is None else f"{use.highest:.1%}",
                    "model": "" if use.analytic is None else f"{use.analytic:.1%}",
                }
            )
            rows.append([series.label, name(use.kind), use.utilisation, use.highest, use.analytic])
            of.append(point.index)
    kinds = list(dict.fromkeys(v["kind"] for v in values))
    step = max(24, 7 * len(points) + 8)
    spec = _channel_spec(view, values, described.utilisation, step, [s for s, _ in points])
    place = answer(view.run).busy_place
    entries = [Symbol("mean of the kind", "dot"), Symbol("to the busiest of the kind", "line")]
    if any(v["m"] is not None for v in values):
        entries.append(Symbol(model_label(view), "tick"))
    columns = ["variant", "channel", "mean", "busiest", "model"]
    title = f"How busy the channels are {place}".rstrip()
    panel = Panel(title, spec, most=0 if len(kinds) > 1 else 760)
    table = Table(columns, rows, of)
    return Chart("channels", [panel], keys_of(view, [s for s, _ in points]), entries, table)


def _channel_spec(
    view: View, values: list[Spec], title: str, step: int, shown: list[Series]
) -> Spec:
    """Return the Vega-Lite specification of the utilisation of each kind of channel."""
    scales = Scales(view, shown)
    x = axis("x", title, "x", percent=True, domain=[0, 1])
    y = rows_axis("kind")
    place = {"yOffset": {"field": "variant", "type": "nominal", "sort": None}}
    paint, form = scales.paint(), scales.form()
    tips = tip(
        [
            ("variant", "variant"),
            ("kind", "channel"),
            ("value", "mean"),
            ("most", "busiest"),
            ("model", model_label(view)),
        ]
    )
    layers: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True},
            "encoding": {
                "x": x,
                "x2": {"field": "high"},
                "y": y,
                **place,
                **paint,
                "opacity": LIT,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 52, "opacity": 1, "clip": ZOOMED},
            "encoding": {"x": x, "y": y, **place, **paint, **form, "opacity": LIT, **tips},
        },
        {
            "transform": [{"filter": "isValid(datum.m)"}],
            "mark": {"type": "tick", "color": MUTED, "thickness": 1.6, "size": 11, "clip": True},
            "encoding": {"x": {**x, "field": "m"}, "y": y, **place},
        },
    ]
    return layered(layers, values, {"step": step, "for": "position"}, title)

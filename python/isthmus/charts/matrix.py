"""Matrices of slowdowns between jobs, and heat maps of sweeps over two fields."""

from __future__ import annotations

from itertools import pairwise

from isthmus.answer.lessons import slower, tail_text
from isthmus.charts.chart import Chart, Panel, Spec, Symbol, Table, brief
from isthmus.charts.spec import INK, MUTED, layered, rows_axis, tip
from isthmus.results.curves import ordered
from isthmus.results.grid import grid_of, slowdown_range
from isthmus.results.interference import (
    Cell,
    Interference,
    JobSlowdown,
    Variant,
    interference,
)
from isthmus.results.schema import AxisValue, PointResult, RunResult
from isthmus.results.series import MOST, View, is_drawn
from isthmus.scenes.matrix import PALE, QUICKER, SLOWER, below, headline, is_clear
from isthmus.wording import interval, number, unit_label, with_unit

DARK, LIGHT = "#14181d", "#fefefe"
"""Dark and light text colour for cells; they do not follow the theme of the page."""
LEAST = 5
"""Minimum number of values of each field for a heat map."""
NAMED = 14
"""Maximum number of columns of a heat map that prints values in its cells."""
MAPS = 3
"""Maximum number of measures that are shown as heat maps."""

Colour = tuple[float, float, float]


def matrix(view: View) -> Chart:
    """Return the chart of interference: rows are slowed jobs, columns the jobs beside them."""
    found = interference(view.run)
    assert found is not None
    grid = grid_of(found)
    panels = []
    for (row, column), variant in sorted(grid.at.items()):
        title = ", ".join(t for t in (grid.rows[row], grid.columns[column]) if t)
        spec = _matrix_spec(found, variant)
        wide = 70 + 92 * len(found.sets)
        panels.append(Panel(title, spec, width=min(wide, 330), most=max(wide + 80, 330)))
    rows, points = [], []
    for c in found.cells:
        felt = c.felt
        changes = [felt.mean if felt else None, felt.tail if felt else None, c.accepted]
        cells = [end for e in changes for end in ((e.value, e.low, e.high) if e else (None,) * 3)]
        of = [felt.of, felt.percent] if felt else [None, None]
        rows.append([c.variant.words, c.job, " + ".join(c.beside), *cells, *of])
        points.append(c.together.index)
    names = ("mean time", "tail", "bandwidth")
    columns = [f"{name}{end}" for name in names for end in ("", " low", " high")]
    table = Table(
        ["variant", "suffers", "beside it", *columns, "time of", "tail percentile"], rows, points
    )
    entries = [
        Symbol("takes longer", "block", SLOWER[1][1]),
        Symbol("pale: not clearly so", "block", hexed(mixed(SLOWER[1][1], PALE))),
        Symbol("quicker", "block", QUICKER[1][1]),  # codespell:ignore quicker
        Symbol("alone, for comparison", "block", "var(--grid)"),
    ]
    hidden = len(found.variants) - len(panels)
    note = f"{hidden} more variants are in the table." if hidden > 0 else ""
    return Chart("interference", panels, [], entries, table, note)


def _matrix_spec(found: Interference, variant: Variant) -> Spec:
    """Return the specification (data and colours) of the chart of one variant's interference
    matrix.
    """
    values: list[Spec] = []
    # Order columns like rows, so that the cells of jobs that run alone are on the diagonal.
    order = {job: n for n, job in enumerate(found.jobs)}
    sets = sorted(found.sets, key=lambda s: (len(s), [order.get(job, len(order)) for job in s]))
    for job in found.jobs:
        for beside in sets:
            place = {"job": job, "beside": " + ".join(beside)}
            cell = found.cell(variant, job, beside)
            if beside == (job,):
                measure = found.alone(variant, job)
                if measure is not None and measure.mean is not None:
                    text = f"{number(measure.mean)} {measure.unit}"
                    values.append(
                        {**place, "fill": "var(--grid)", "ink": INK, "text": text, "more": "alone"}
                    )
            elif cell is not None and cell.felt is not None:
                values.append({**place, **_cell(found, cell, cell.felt)})
    x = {
        "field": "beside",
        "type": "nominal",
        "sort": None,
        "title": "runs beside it",
        "axis": {"labelAngle": 0, "grid": False, "ticks": False, "domain": False},
    }
    y = rows_axis("job", "suffers")
    both = {"x": x, "y": y}
    fields = [("job", "suffers"), ("beside", "beside"), ("loss", "time against alone")]
    fields += [("interval", "its interval"), ("tail", "tail"), ("bandwidth", "bandwidth")]
    plain = {"type": "nominal", "scale": None}
    words = {"type": "text", "baseline": "middle"}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 3, "stroke": "var(--paper)", "strokeWidth": 3},
            "encoding": {**both, "fill": {"field": "fill", **plain}, **tip(fields)},
        },
        {
            "transform": [{"filter": "!datum.clear"}],
            "mark": {**words, "dy": -8, "fontSize": 13},
            "encoding": {
                **both,
                "text": {"field": "text"},
                "color": {"field": "ink", **plain},
                "opacity": {"value": 1},
            },
        },
        {
            "transform": [{"filter": "datum.clear"}],
            "mark": {**words, "dy": -8, "fontSize": 13, "fontWeight": 700},
            "encoding": {**both, "text": {"field": "text"}, "color": {"field": "ink", **plain}},
        },
        {
            "mark": {**words, "dy": 10, "fontSize": 10},
            "encoding": {**both, "text": {"field": "more"}, "color": {"field": "ink", **plain}},
        },
    ]
    spec = layered(layers, values, {"step": 52}, "Interference between jobs")
    spec["transform"] = []
    return spec


def _cell(found: Interference, cell: Cell, felt: JobSlowdown) -> Spec:
    """Return the data of a cell of the interference matrix: the mean and tail slowdown `felt` by a
    job.
    """
    change = felt.mean
    clear = is_clear(felt)
    low, high = slowdown_range(found)
    if change.value >= 1:
        full = between(SLOWER, (change.value - 1) / (high - 1))
    else:
        full = between(QUICKER, (change.value - low) / (1 - low) if low < 1 else 1.0)
    fill = mixed(hexed(full), 1.0 if clear else PALE)
    row: Spec = {
        "fill": hexed(fill),
        "ink": ink_on(fill),
        "text": headline(felt),
        "loss": f"{felt.of}: {slower(change)}" + (", they pile up" if felt.piles_up else ""),
        "clear": clear,
        "point": cell.together.index,
        "variant": cell.variant.words,
    }
    if change.low is not None:
        row["interval"] = f"{interval(change.low, change.high)} times as long as alone"
    if tail := tail_text(felt):
        row["tail"] = f"{tail} ({felt.tail_of})"
    if cell.accepted is not None:
        row["bandwidth"] = f"×{cell.accepted.value:.2f}"
    return {**row, "more": below(felt)}


def parts(colour: str) -> Colour:
    """Convert a colour ``#rrggbb`` to its red, green and blue parts, each 0 to 1."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def hexed(colour: Colour) -> str:
    """Return a colour as ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def mixed(colour: str, share: float) -> Colour:
    """Mix a colour with white; `share` is the part of the colour."""
    red, green, blue = (1 - share * (1 - part) for part in parts(colour))
    return red, green, blue


def between(stops: list[tuple[float, str]], at: float) -> Colour:
    """Return the colour at position `at` (0 to 1) of a colour scale, interpolated between its
    `stops`.
    """
    at = min(max(at, 0.0), 1.0)
    for (low, start), (high, end) in pairwise(stops):
        if at <= high:
            share = (at - low) / (high - low)
            red, green, blue = (
                a + share * (b - a) for a, b in zip(parts(start), parts(end), strict=True)
            )
            return red, green, blue
    return parts(stops[-1][1])


def luminance(colour: Colour) -> float:
    """Return the relative luminance (WCAG 2.2, definition of contrast ratio)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def ink_on(colour: Colour) -> str:
    """Return the text colour, dark or light, with the higher contrast on this colour."""
    return max(DARK, LIGHT, key=lambda ink: contrast(parts(ink), colour))


def map_axes(view: View) -> tuple[int, int] | None:
    """Return the x and y axis of a sweep over two numeric fields; None for other sweeps."""
    run = view.run
    varying = [i for i in range(len(run.axes)) if len({p.values[i].text for p in run.points}) > 1]
    if len(varying) != 2 or view.x_axis not in varying:
        return None
    enough = all(len({p.values[i].text for p in run.points}) >= LEAST for i in varying)
    numeric = all(p.values[i].number is not None for p in run.points for i in varying)
    other = next(i for i in varying if i != view.x_axis)
    return (view.x_axis, other) if enough and numeric else None


def has_maps(view: View) -> bool:
    """Return whether a run sweeps two numeric fields and has measures for heat maps."""
    return map_axes(view) is not None and any(
        s.values(view, m) for s in view.series for m in view.asked
    )


def maps(view: View) -> Chart:
    """Return heat maps of the requested measures over two scenario fields. A field with very many
    values is cut to `MOST` of them.
    """
    found = map_axes(view)
    assert found is not None
    across, up = found
    run = view.run
    cells, note = _cells(run, found)
    panels, rows, points = [], [], []
    names = [m for m in ordered(view) if any(s.values(view, m) for s in view.series)][:MAPS]
    titles = [with_unit(run.axes[i].label, run.axes[i].unit) for i in found]
    for name in names:
        values = [_map_value(view, p, name, across, up) for p in cells]
        panels.append(Panel(view.label(name), _map_spec(view, values, name, titles), width=420))
        for p in cells:
            m = p.measure(name)
            numbers = (m.mean, m.low, m.high, m.analytic) if m and not p.collapsed else (None,) * 4
            rows.append([view.label(name), *(p.values[i].number for i in found), p.verdict.verdict])
            rows[-1] += numbers
            points.append(p.index)
    columns = ["panel", *titles, "verdict", "value", "low", "high", "model"]
    entries = [Symbol("saturated or collapsed: no value", "block", "var(--grid)")]
    return Chart("map", panels, [], entries, Table(columns, rows, points), note)


def _cells(run: RunResult, fields: tuple[int, int]) -> tuple[list[PointResult], str]:
    """Return the points of a sweep that a heat map shows, and a note if some are left out."""
    cells, notes = run.points, []
    for i in fields:
        values = sorted({p.values[i].number or 0.0 for p in cells})
        if len(values) <= MOST:
            continue
        drawn = {each for at, each in enumerate(values) if is_drawn(at, len(values))}
        cells = [p for p in cells if (p.values[i].number or 0.0) in drawn]
        notes.append(
            f"Of {len(values):,} values of {run.axes[i].label} {MOST} are drawn and listed"
        )
    note = "; ".join(notes)
    return cells, f"{note}; the table of results has all." if notes else ""


def _map_value(view: View, point: PointResult, name: str, across: int, up: int) -> Spec:
    """Return the data of a heat map cell: the measure `name` at a point, in column and row of the
    axes `across` and `up`.
    """
    measure = point.measure(name)
    lost = point.verdict.verdict in ("saturated", "collapsed")
    row: Spec = {
        "x": _label(point.values[across]),
        "y": _label(point.values[up]),
        "point": point.index,
        "verdict": point.verdict.verdict,
    }
    value = measure.best[0] if measure and not point.collapsed else None
    if measure is not None and value is not None:
        unit = unit_label(measure.unit)
        row |= {"text": number(value), "value": f"{number(value, 4)} {unit}".strip()}
        if not lost:
            row["v"] = brief(value)
        if measure.mean is not None and measure.low is not None:
            row["interval"] = f"{interval(measure.low, measure.high, 4)} {unit}".strip()
        if measure.analytic is not None:
            row["model"] = f"{number(measure.analytic, 4)} {unit}".strip()
    if lost:
        row["text"] = "×"
    return row


def _label(value: AxisValue) -> float | str:
    """Return an axis value as a number if it is one, else as text."""
    return value.text if value.number is None else float(f"{value.number:.6g}")


def _map_spec(view: View, values: list[Spec], name: str, titles: list[str]) -> Spec:
    """Return the specification of a heat map of one measure."""
    shown = [v["v"] for v in values if "v" in v]
    log = bool(shown) and min(shown) > 0 and max(shown) / min(shown) > 12
    scale: Spec = {"scheme": "viridis", "reverse": True}
    if log:
        scale["type"] = "log"
    legend = {
        "title": unit_label(view.unit(name)) or None,
        "orient": "top",
        "gradientLength": 200,
        "gradientThickness": 9,
        "format": ",.3~r",
    }
    place = {"type": "ordinal", "sort": "ascending"}
    x: Spec = {"field": "x", **place, "title": titles[0]}
    x["axis"] = {"labelAngle": 0, "labelOverlap": "greedy", "grid": False, "format": ",.3~r"}
    x["axis"]["labelSeparation"] = 6
    y: Spec = {"field": "y", **place, "sort": "descending", "title": titles[1]}
    y["axis"] = {"labelOverlap": "greedy", "grid": False, "format": ",.3~r"}
    both = {"x": x, "y": y}
    tooltip = tip(
        [
            ("x", titles[0]),
            ("y", titles[1]),
            ("value", "value"),
            ("interval", f"{view.run.confidence:.0%} interval"),
            ("verdict", "verdict"),
            ("model", "model"),
        ]
    )
    columns = len({v["x"] for v in values})
    lines = len({v["y"] for v in values})
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "color": "var(--grid)"},
            "encoding": {**both, **tooltip},
        },
        {
            "transform": [{"filter": "isValid(datum.v)"}],
            "mark": {"type": "rect"},
            "encoding": {
                **both,
                "color": {
                    "field": "v",
                    "type": "quantitative",
                    "scale": scale,
                    "legend": legend,
                },
                **tooltip,
            },
        },
    ]
    if columns <= NAMED and shown:
        # Use light text for large values, which are dark on this colour scale.
        low, high = min(shown), max(shown)
        turn = low * (high / low) ** 0.45 if log else low + 0.45 * (high - low)
        ink = {
            "condition": [
                {"test": "!isValid(datum.v)", "value": MUTED},
                {"test": f"datum.v > {turn:.6g}", "value": LIGHT},
            ],
            "value": DARK,
        }
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10, "baseline": "middle"},
                "encoding": {**both, "text": {"field": "text"}, "color": ink},
            }
        )
    spec = layered(layers, values, max(200, min(26 * lines, 520)), view.label(name))
    spec["transform"] = []
    return spec

"""Charts of the study: the outcome of each failure, and a drawing of the worst one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from isthmus.charts.chart import Chart, Key, Panel, Spec, Symbol, Table, brief
from isthmus.charts.fabrics import fabric_svg
from isthmus.charts.spec import INK, LIT, MUTED, PAPER, axis, layered, nominal, tip
from isthmus.faults.outcome import CaseOutcome, Summary
from isthmus.faults.plan import Study
from isthmus.faults.shown import (
    GROUP,
    SPREAD,
    Mean,
    bound_sign,
    group_at,
    kind_label,
    kinds_of,
    levels,
    quantities,
    worst_cases,
    worst_words,
)
from isthmus.looks import colour_number
from isthmus.results.schema import RunResult
from isthmus.wording import number


def study_chart(
    study: Study, found: Sequence[CaseOutcome], rows: Sequence[Summary], light: str
) -> Chart:
    """Return a chart with a dot for each case and the mean of each kind of failure. The panels show
    remaining nodes, throughput, and added latency at the load `light` (in words).
    """
    panels, cells = [], []
    for quantity, pick, mean in quantities():
        title = f"{quantity} at {light}" if "latency" in quantity else quantity
        panels.append(Panel(title, _spec(study, found, rows, title, pick, mean)))
        for o in found:
            label = study.sites[o.case.site].label
            cells.append([title, label, o.case.kind, o.case.failure, brief(pick(o))])
    keys = [
        Key(site.label, colour_number(position), "o", "")
        for position, site in enumerate(study.sites)
    ]
    marks = [
        Symbol("one case", "small"),
        Symbol("mean over all parts that may fail, with its interval", "diamond"),
    ]
    table = Table(["panel", "fabric", "failed", "case", "value"], cells)
    return Chart("faults", panels, keys if len(keys) > 1 else [], marks, table)


def _spec(
    study: Study,
    found: Sequence[CaseOutcome],
    rows: Sequence[Summary],
    title: str,
    pick: Callable[[CaseOutcome], float | None],
    mean: Callable[[Summary], Mean],
) -> Spec:
    """Return the specification of one panel: a dot for each case and a mark for each mean."""
    percent = "latency" not in title
    kinds = kinds_of(rows)
    labels = [site.label for site in study.sites]
    scale = {
        "domain": labels,
        "range": [f"var(--s{colour_number(n)})" for n in range(len(labels))],
    }
    dots, means = [], []
    for position, label in enumerate(labels):
        for place, kind in enumerate(kinds):
            at = group_at(place, position, len(labels))
            group = [o for o in found if (o.case.site, o.case.kind) == (position, kind)]
            summary = next(s for s in rows if (s.site, s.kind) == (position, kind))
            words = kind_label(kind, study).replace("\n", " ")
            dots += _dots(group, pick, label, words, percent, (at, GROUP / max(len(labels), 1)))
            value, low, high = mean(summary)
            if value is not None:
                row: dict[str, Any] = {"variant": label, "kind": words, "y": brief(value), "x": at}
                row |= {"low": brief(low), "high": brief(high), "case": "mean of all cases"}
                means.append({**row, "value": _words(value, percent)})
    words = json.dumps([kind_label(kind, study).replace("\n", " ") for kind in kinds])
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [-0.6, len(kinds) - 0.4], "nice": False, "zero": False},
        "axis": {
            "values": list(range(len(kinds))),
            "labelExpr": f"{words}[datum.value]",
            "grid": False,
            "labelLimit": 120,
        },
    }
    ys = [d["y"] for d in dots] + [m["y"] for m in means]
    y = axis("y", title, "y", percent=percent, zero=True)
    if percent:
        y["scale"] |= {"domain": [min([0.0, *ys]), max([1.05, *ys])], "nice": False}
    paint = {"color": nominal("variant", scale)}
    fields = [("variant", "fabric"), ("kind", "failed"), ("case", "case"), ("value", "value")]
    layers: list[Spec] = [
        {
            "data": {"values": [{"y": 1 if percent else 0}]},
            "mark": {"type": "rule", "color": MUTED, "strokeDash": [2, 2], "strokeWidth": 1},
            "encoding": {"y": y},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.55},
            "encoding": {"x": x, "y": y, **paint, **tip(fields)},
        },
        {
            "data": {"values": means},
            "transform": [{"filter": "indexof(off, datum.variant) < 0 && isValid(datum.high)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.3},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": means},
            "transform": [{"filter": "indexof(off, datum.variant) < 0"}],
            "mark": {
                "type": "point",
                "filled": True,
                "shape": "diamond",
                "size": 90,
                "stroke": PAPER,
                "opacity": 1,
            },
            "encoding": {"x": x, "y": y, **paint, "opacity": LIT, **tip(fields)},
        },
    ]
    return layered(layers, dots, 270, title)


def _dots(
    group: Sequence[CaseOutcome],
    pick: Callable[[CaseOutcome], float | None],
    label: str,
    kind: str,
    percent: bool,
    place: tuple[float, float],
) -> list[dict[str, Any]]:
    """Return the dots of a group of cases, to the left of the mark of their mean. Dots of equal
    values are side by side.
    """
    having = [(v, o) for o in group if (v := pick(o)) is not None]
    having.sort(key=lambda each: each[0])
    dots = []
    for (value, outcome), count in zip(having, levels([v for v, _ in having]), strict=True):
        dots.append(
            {
                "variant": label,
                "kind": kind,
                "y": brief(value),
                "case": outcome.case.failure,
                "value": (bound_sign(outcome) if percent else "") + _words(value, percent),
                "x": place[0] - place[1] * (0.12 + 0.4 * (count % SPREAD) / SPREAD),
            }
        )
    return dots


def _words(value: float, percent: bool) -> str:
    """Return a value of a panel as text: a percentage, or nanoseconds."""
    return f"{value:.1%}" if percent else f"{number(value)} ns"


def worst_chart(study: Study, found: Sequence[CaseOutcome], run: RunResult) -> Chart | None:
    """Return a chart with a drawing of each fabric after its worst single failure; None if all
    fabrics are too large to draw.
    """
    panels = []
    for label, machine, outcome in worst_cases(study, found, run):
        links = machine.links()
        names = [f"{a} → {b}" for _, a, b in links]
        svg = fabric_svg(machine, [INK] * len(links), names, f"{label}, worst failure")
        panels.append(Panel(label, None, svg, ": ".join(worst_words(outcome)), 280, 440))
    return Chart("worst", panels) if panels else None

"""Bars for the parts of a machine that is too large to draw link by link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.charts.chart import Panel, Spec, brief
from isthmus.charts.spec import INK, MUTED, axis, layered, rows_axis, tip
from isthmus.charts.svg import busy_colour

STEP = 22
"""Height of a bar in pixels."""
ROWS = 24
"""Maximum number of bars that have the height `STEP`."""
HEIGHT = 520
"""Height in pixels of all bars together, if there are more than `ROWS`."""


@dataclass(frozen=True)
class Strip:
    """Mean and highest utilisation of one part of a machine that is too large to draw."""

    name: str
    mean: float
    highest: float | None


def strips(
    label: str,
    parts: Sequence[Strip],
    top: float,
    note: str,
    *,
    x_title: str = "utilisation of its links",
    step: int | None = STEP,
    ends: bool = True,
) -> Panel:
    """Return a panel with a bar for each part and a line to its busiest link, with a tick if
    `ends`. All bars share a fixed height if `step` is None.
    """
    values: list[Spec] = [
        {
            "variant": t.name,
            "x": brief(t.mean, 4),
            "high": brief(t.highest, 4),
            "fill": busy_colour(t.mean, top),
            "value": f"{t.mean:.1%}",
            "most": "" if t.highest is None else f"{t.highest:.1%}",
        }
        for t in parts
    ]
    x = axis("x", x_title, "x", percent=True, domain=[0, 1])
    y = rows_axis("variant")
    paint = {"fill": {"field": "fill", "type": "nominal", "scale": None}}
    fields = [("variant", "links"), ("value", "mean"), ("most", "busiest")]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.7}, "clip": True},
            "encoding": {"x": x, "y": y, **paint, **tip(fields)},
        },
        {
            "transform": [{"filter": "isValid(datum.high)"}],
            "mark": {
                "type": "rule",
                "color": INK,
                "strokeWidth": 1.3 if ends else 1.4,
                "clip": True,
            },
            "encoding": {"x": x, "x2": {"field": "high"}, "y": y},
        },
    ]
    if ends:
        mark = {"type": "tick", "color": MUTED, "thickness": 1.6, "size": 9, "clip": True}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.high)"}],
                "mark": mark,
                "encoding": {"x": {**x, "field": "high"}, "y": y},
            }
        )
    height: int | Spec = HEIGHT if step is None else {"step": step}
    spec = layered(layers, values, height, f"How busy the links of {label} are")
    return Panel(label, spec, note=note, width=360)


def busy(mean: float | None) -> str:
    """Return the mean utilisation of links as text: ``; mean link 12% busy``; empty if None."""
    return "" if mean is None else f"; mean link {mean:.0%} busy"

"""Common parts of Vega-Lite specifications: scales of series, axes, tooltips, layers.

Colours are variables of the page's style sheet, so that a chart follows light, dark and print
without being drawn again. The page sets these parameters: ``off`` (series switched off), ``lit``
(the series under the pointer), ``xd`` and ``yd`` (the zoomed range of each axis).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.charts.chart import Spec, dash_text
from isthmus.looks import look
from isthmus.results.series import Series, View

SHAPES = {
    "s": "square",
    "o": "circle",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "M-1,-.5L-.5,-1L0,-.5L.5,-1L1,-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0Z",
    "p": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
}
"""Vega's names or SVG paths of marker shapes, by the markers' codes in Matplotlib."""
CROSS = SHAPES["X"]
PAPER, INK, MUTED = "var(--paper)", "var(--ink)", "var(--muted)"
ZOOMED = {"expr": "xd != null || yd != null"}
LIT = {"condition": {"test": "lit == null || datum.variant == lit", "value": 1}, "value": 0.15}
SHOWN = {"filter": "indexof(off, datum.variant) < 0"}
MODEL_DASH = [6, 3]
BOUND_DASH = [10, 4]


def colour(number: int) -> str:
    """Return the CSS variable of the page for the colour of series number `number`."""
    return f"var(--s{number})"


class Scales:
    """Vega-Lite scales that give each series of a view its colour, marker and dash."""

    def __init__(self, view: View, shown: Sequence[Series] | None = None) -> None:
        """Define the scales for all series of a view, or only for the series in `shown` if it
        is given.
        """
        looks = [(s.label, look(view, s)) for s in (view.series if shown is None else shown)]
        domain = [label for label, _ in looks]
        self.labels = domain
        self.colour = {"domain": domain, "range": [colour(k.number) for _, k in looks]}
        self.shape = {"domain": domain, "range": [SHAPES[k.marker] for _, k in looks]}
        self.dash = {
            "domain": domain,
            "range": [[float(n) for n in dash_text(k.dash).split()] or [1, 0] for _, k in looks],
        }

    def paint(self, channel: str = "color") -> Spec:
        """Return the Vega-Lite encoding by which each series has its own colour. `channel` is
        the property of the mark: colour, fill or stroke.
        """
        return {channel: nominal("variant", self.colour)}

    def form(self) -> Spec:
        """Return the Vega-Lite encoding by which each series has its own marker."""
        return {"shape": nominal("variant", self.shape)}

    def line(self) -> Spec:
        """Return the Vega-Lite encoding by which the line of each series has its own dashes."""
        return {"strokeDash": nominal("variant", self.dash)}


def nominal(field: str, scale: Mapping[str, Any]) -> Spec:
    """Return the Vega-Lite encoding of a text field as categories, with this scale and without a
    legend of Vega-Lite's.
    """
    return {"field": field, "type": "nominal", "scale": scale, "legend": None}


def axis(
    field: str,
    title: str,
    which: str,
    *,
    log: bool = False,
    zero: bool = False,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    **options: Any,
) -> Spec:
    """Return the Vega-Lite encoding of a numeric field along an axis, ``x`` or ``y``. `options`
    are further settings of the axis.
    """
    scale: Spec = {"domainRaw": {"expr": f"{which}d"}}
    if log:
        scale["type"] = "log"
        # Do not extend the axis to whole powers of ten; leave a margin of a few pixels instead.
        scale |= {"nice": False, "padding": 8}
        # Draw grid lines at powers of ten stronger than the lines between them.
        whole = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6"
        options = {
            "gridOpacity": {"condition": {"test": whole, "value": 1}, "value": 0.35},
            **options,
        }
    else:
        scale["zero"] = zero
        if not zero:
            scale["padding"] = 8
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
        scale.pop("padding", None)
    form = ".3~p" if percent else ",.3~r"
    look_ = {"format": form, "labelOverlap": "greedy", "labelFlush": False, **options}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": look_}


def rows_axis(field: str, title: str | None = None, **options: Any) -> Spec:
    """Return the Vega-Lite encoding of a text field along the y axis: one row for each value,
    in the order of the data.
    """
    look_ = {"grid": False, "ticks": False, "domain": False, **options}
    return {"field": field, "type": "nominal", "sort": None, "title": title, "axis": look_}


def tip(fields: Sequence[tuple[str, str]]) -> Spec:
    """Return the Vega-Lite encoding of a tooltip that lists these fields, given as (name,
    title).
    """
    fields_shown = [{"field": f, "title": t, "type": "nominal"} for f, t in fields]
    return {"tooltip": fields_shown}


def layered(layers: list[Spec], values: list[Spec], height: Any, describe: str = "") -> Spec:
    """Return a Vega-Lite specification of layers over `values`, as wide as the page allows."""
    return {
        "description": describe,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "params": [
            {"name": "off", "value": []},
            {"name": "lit", "value": None},
            {"name": "xd", "value": None},
            {"name": "yd", "value": None},
        ],
        "data": {"values": values},
        "transform": [SHOWN],
        "layer": layers,
    }

"""The words of Vega-Lite that the pictures share: scales of series, axes, tips, layers.

Colours are variables of the page's style sheet, so that a picture follows light, dark and print
without being drawn again. The parameters are those that the page sets: ``off`` (series switched
off), ``lit`` (the series pointed at), ``xd`` and ``yd`` (what a zoom shows of each axis).
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
"""Matplotlib's markers in the words of Vega."""
CROSS = SHAPES["X"]
PAPER, INK, MUTED = "var(--paper)", "var(--ink)", "var(--muted)"
ZOOMED = {"expr": "xd != null || yd != null"}
LIT = {"condition": {"test": "lit == null || datum.variant == lit", "value": 1}, "value": 0.15}
SHOWN = {"filter": "indexof(off, datum.variant) < 0"}
MODEL_DASH = [6, 3]
BOUND_DASH = [10, 4]


def colour(number: int) -> str:
    """The colour of a series, by its number."""
    return f"var(--s{number})"


class Scales:
    """How the series of a view are told apart, as scales of a specification."""

    def __init__(self, view: View, shown: Sequence[Series] | None = None) -> None:
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
        """Colour (or fill, or stroke) by series."""
        return {channel: nominal("variant", self.colour)}

    def form(self) -> Spec:
        """Shape of the mark by series."""
        return {"shape": nominal("variant", self.shape)}

    def line(self) -> Spec:
        """Dashes by series."""
        return {"strokeDash": nominal("variant", self.dash)}


def nominal(field: str, scale: Mapping[str, Any]) -> Spec:
    """A field of words on a scale, without a legend: that is the page's."""
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
    """A field of numbers along ``x`` or ``y``; `options` are those of Vega's axis."""
    scale: Spec = {"domainRaw": {"expr": f"{which}d"}}
    if log:
        scale["type"] = "log"
        # A margin of some pixels in place of whole decades.
        scale |= {"nice": False, "padding": 8}
        # Lines at whole decades, pale ones between them.
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
    """A field of words down the side, in the order of the data."""
    look_ = {"grid": False, "ticks": False, "domain": False, **options}
    return {"field": field, "type": "nominal", "sort": None, "title": title, "axis": look_}


def tip(fields: Sequence[tuple[str, str]]) -> Spec:
    """What pointing at a mark shows: fields with their names; absent ones are left out."""
    told = [{"field": f, "title": t, "type": "nominal"} for f, t in fields]
    return {"tooltip": told}


def layered(layers: list[Spec], values: list[Spec], height: Any, describe: str = "") -> Spec:
    """A whole specification that fills the width that it is given."""
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

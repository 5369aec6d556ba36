"""Charts as declarative specifications (Vega-Lite) that the reader's browser draws.

`charts` returns all charts that apply to a run; `isthmus.report` embeds them in its page. This
package draws nothing, so a run does not wait for plots.
"""

from __future__ import annotations

from collections.abc import Callable

from isthmus.charts import bars, curves, machines, matrix, spread
from isthmus.charts.chart import Chart, Key, Panel, Spec, Symbol, Table
from isthmus.results.interference import interference
from isthmus.results.kinds import KINDS
from isthmus.results.series import VARIANTS, View

__all__ = ["Chart", "Key", "Panel", "Spec", "Symbol", "Table", "chart", "charts"]

_CURVES = ("latency", "response", "accepted", "residuals", "percentiles")
"""Names of the charts with a curve for each series. With too many series, they are unreadable."""


def _latency(view: View) -> Chart:
    """Return the chart of latencies: curves over the x axis, or bars without an x axis."""
    return bars.variants(view) if view.x_axis is None else curves.latency(view)


def _bandwidth(view: View) -> Chart:
    """Return the chart of bandwidths: curves over the x axis, or bars."""
    alone = interference(view.run) is None
    return curves.bandwidth(view) if alone and view.x_axis is not None else bars.bandwidth(view)


_MADE: dict[str, Callable[[View], Chart]] = {
    "map": matrix.maps,
    "interference": matrix.matrix,
    "bandwidth": _bandwidth,
    "latency": _latency,
    "saturation": bars.saturation,
    "accepted": curves.accepted,
    "response": curves.response,
    "machine": machines.machine,
    "nodes": spread.nodes,
    "channels": bars.channels,
    "residuals": curves.residuals,
    "percentiles": curves.percentiles,
    "distribution": spread.distribution,
}


def chart(view: View, name: str) -> Chart:
    """Return the chart called `name`, which must apply to the run."""
    return _MADE[name](view)


def charts(view: View) -> list[Chart]:
    """Return every chart that applies to the run, in the order of the report.

    If both swept fields are numbers and there are too many series for curves, heat maps replace the
    curves.
    """
    mapped = matrix.has_maps(view)
    crowded = mapped and len(view.series) > VARIANTS
    names = ["map"] if mapped else []
    for kind in KINDS.values():
        if kind.applies(view) and not (crowded and kind.name in _CURVES):
            names.append(kind.name)
    return [chart(view, name) for name in names]

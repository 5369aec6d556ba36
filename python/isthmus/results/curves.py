"""Values of the curves in plots: value of each series at each point, and measures with values."""

from __future__ import annotations

import math
from collections.abc import Callable

from isthmus.answer import ranked
from isthmus.results.schema import STEADY, PointResult
from isthmus.results.series import Series, View

Number = tuple[float | None, float | None, float | None]
Pick = Callable[[PointResult], Number]
"""Function that returns the value and interval of a point."""

Row = tuple[float, float, float | None, float | None, str]
"""A point of a curve: x, value, low, high, verdict."""

CAP = 2.5
"""Values of points that are not stable are cut off at this multiple of the largest stable value."""
OVER = "over"
"""Pseudo-verdict of a saturated point whose value is above the cap."""
LOG_SPAN = 12.0
"""Ratio of largest to smallest value above which an axis is logarithmic."""


def model_label(view: View) -> str:
    """Return the name of the model whose values are drawn beside the simulation."""
    return "analysis" if view.of_jobs else "queueing model"


def load_bound(view: View, series: Series) -> float | None:
    """Return the load at which the analysis predicts saturation of a series; None if it predicts
    none at the loads of the series.
    """
    for point in series.points:
        at = point.measure("accepted")
        if at and at.analytic is not None and point.load is not None and at.analytic < point.load:
            return at.analytic
    return None


def value_cap(view: View, pick: Pick) -> float:
    """Return the value at which saturated points are cut off.

    Such values depend on the length of the run, and would compress all other curves.
    """
    values = [row for s in view.series for row in numbers(view, s, pick)]
    stable = [v for _, v, _, _, verdict in values if verdict in STEADY]
    return CAP * max(stable) if stable and max(stable) > 0 else math.inf


def numbers(view: View, series: Series, pick: Pick, cap: float = math.inf) -> list[Row]:
    """Return the points of a series with a value; unstable ones above `cap` are marked `OVER`."""
    rows: list[Row] = []
    for point in series.points:
        x, (value, low, high) = view.x(point), pick(point)
        if x is None or value is None or point.collapsed:
            continue
        if value > cap and point.verdict.verdict not in STEADY:
            rows.append((x, cap, None, None, OVER))
        else:
            rows.append((x, value, low, high, point.verdict.verdict))
    return rows


def mean_of(name: str) -> Pick:
    """Return a function that picks the mean of a measure with its interval."""

    def pick(point: PointResult) -> Number:
        """Return the mean of the measure at a point."""
        at = point.measure(name)
        return (at.mean, at.low, at.high) if at else (None, None, None)

    return pick


def model_of(name: str, *, anywhere: bool = False) -> Pick:
    """Return a function that picks the model's value of a measure at a point.

    Where the model is not valid there is no value, unless `anywhere` is true.
    """

    def pick(point: PointResult) -> Number:
        """Return the model's value at a point."""
        at = point.measure(name)
        value = at.model_anywhere if at and anywhere else at.analytic if at else None
        return value, None, None

    return pick


def percentile_of(name: str, percent: float) -> Pick:
    """Return a function that picks a percentile, if it has enough observations above it."""

    def pick(point: PointResult) -> Number:
        """Return the percentile at a point."""
        at = point.measure(name)
        for found in at.percentiles if at else []:
            if found.percent == percent and found.resolved:
                return found.value, found.low, found.high
        return None, None, None

    return pick


def residual_of(name: str) -> Pick:
    """Return a function that picks the deviation of a measure from the model, in percent."""

    def pick(point: PointResult) -> Number:
        """Return the deviation from the model at a point."""
        at = point.measure(name)
        if at is None or at.residual is None or not at.analytic:
            return None, None, None
        ends = (None if end is None else 100 * (end / at.analytic - 1) for end in (at.low, at.high))
        return 100 * at.residual, next(ends), next(ends)

    return pick


def drawable(view: View, name: str) -> bool:
    """Return whether any point of the run has a value of a measure."""
    return any(s.values(view, name) for s in view.series)


def with_percentiles(view: View) -> list[str]:
    """Return measures with percentiles to draw; requested ones come first."""
    have: set[str] = set()
    for point in view.run.points:
        for m in point.measures:
            # Check membership first: the second test is slow for ten thousand points.
            if m.name not in have and any(each.resolved for each in m.percentiles):
                have.add(m.name)
    return [m for m in [*ordered(view), *view.measures] if m in have]


def with_residuals(view: View) -> list[str]:
    """Return requested measures with both a simulated and a model value at a stable point."""
    have = {
        m.name
        for p in view.run.points
        for m in p.measures
        if m.residual is not None and p.verdict.verdict in STEADY
    }
    return [m for m in ordered(view) if m in have]


def ordered(view: View) -> list[str]:
    """Return the requested measures, with the one by which variants are ranked first."""
    return list(dict.fromkeys([*ranked(view), *view.asked]))

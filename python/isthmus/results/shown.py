"""Choice of data for pictures: the point at which variants are compared, and available measures."""

from __future__ import annotations

from isthmus.answer import answer, judged, ranked
from isthmus.answer.grounds import bracket
from isthmus.results.schema import STEADY, Histogram, PointResult
from isthmus.results.series import Series, View

DISTRIBUTIONS = 3
"""Maximum number of measures whose distributions are drawn."""
ROWS = 24
"""Maximum number of variants that a picture draws as bars; tables contain all of them."""


def with_histograms(view: View) -> list[str]:
    """Return the names of those measures with a histogram that were requested or are whole
    responses. If there are none, return all measures with a histogram.
    """
    have = dict.fromkeys(h.measure for p in view.run.points for h in p.histograms)
    responses = [m for m in view.measures if m.endswith(".response")]
    wanted = dict.fromkeys([*ranked(view), *view.asked, *responses])
    return [m for m in wanted if m in have] or list(have)


def distributions(view: View) -> list[str]:
    """Return the names of the measures whose distributions are drawn: the first few that have
    histograms.
    """
    return with_histograms(view)[:DISTRIBUTIONS]


def survival(histogram: Histogram) -> tuple[list[float], list[float]]:
    """Return the lower edges of the bins, and for each the share of observations above it."""
    bins = histogram.bins
    total = left = sum(bins.count)
    shares = [1.0]
    for count in bins.count:
        left -= count
        shares.append(left / total)
    edges = [step * histogram.step for step in (bins.lower[0], *bins.upper)]
    return edges, shares


def compared_point(view: View, series: Series) -> PointResult | None:
    """Return the point of a series at which pictures compare variants: that with the common x.
    If the series has none, return its last stable point, or else its first point.
    """
    x = answer(view.run).busy_x
    at = [p for p in series.points if view.x(p) == x]
    stable = [p for p in series.points if p.verdict.verdict in STEADY]
    return next(iter(at or stable[-1:] or series.points[:1]), None)


def histogram_of(view: View, series: Series, name: str) -> Histogram | None:
    """Return the distribution of a measure at the point of a series that is compared with other
    series; None if there is none.
    """
    point = compared_point(view, series)
    return next((h for h in point.histograms if h.measure == name), None) if point else None


def histogram_unit(view: View, name: str) -> str:
    """Return the unit of the values in the distributions of a measure."""
    return next(h.unit for p in view.run.points for h in p.histograms if h.measure == name)


def has_bandwidth(view: View) -> bool:
    """Return whether the run has accepted bandwidths to show: only runs with jobs have them."""
    return bool(rates(view))


def rates(view: View) -> list[str]:
    """Return the names of all measures that are accepted bandwidths, that of the I/O servers
    first; none without jobs.
    """
    return [m for m in judged(view) if m.endswith(".accepted")] if view.of_jobs else []


def has_traffic(point: PointResult, name: str) -> bool:
    """Return whether there was traffic that the measure `name` counts at a point. Only
    ``servers.accepted`` may have none: it needs a job with I/O.
    """
    return name != "servers.accepted" or any(j.active and j.io for j in point.jobs)


def loaded_point(series: Series) -> PointResult | None:
    """Return the point with the highest load among those at which messages still arrive and
    which have results for single nodes; None if there is none.
    """
    have = [p for p in series.points if p.nodes and not p.collapsed]
    return max(have, key=lambda p: p.load or 0.0, default=None)


def has_nodes(view: View) -> bool:
    """Return whether the run has results for single nodes at any point."""
    return any(loaded_point(s) for s in view.series)


def has_channels(view: View) -> bool:
    """Return whether the run has utilisations of channels at any point."""
    return any(p.channels for p in view.run.points)


def has_brackets(view: View) -> bool:
    """Return whether the bracket of the saturation load is known for any series."""
    return any(bracket(view, s) for s in view.series)


def has_bracket_curves(view: View) -> bool:
    """Return whether any series has brackets at several values of x."""
    return view.x_axis is not None and any(len(s.searches) > 1 for s in view.series)

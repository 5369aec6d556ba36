"""What pictures show of a run: at which point they compare variants, and what there is to draw."""

from __future__ import annotations

from isthmus.answer import answer, bracket, judged, ranked
from isthmus.results.schema import STEADY, Histogram, PointResult
from isthmus.results.series import Series, View

DISTRIBUTIONS = 3
"""Most distributions that are drawn."""
ROWS = 24
"""Most variants that are drawn as bars; tables have all."""


def with_histograms(view: View) -> list[str]:
    """What was asked for and whole responses, where they have a histogram; else all that do."""
    have = dict.fromkeys(h.measure for p in view.run.points for h in p.histograms)
    responses = [m for m in view.measures if m.endswith(".response")]
    wanted = dict.fromkeys([*ranked(view), *view.asked, *responses])
    return [m for m in wanted if m in have] or list(have)


def distributions(view: View) -> list[str]:
    """The measures whose distributions are drawn."""
    return with_histograms(view)[:DISTRIBUTIONS]


def survival(histogram: Histogram) -> tuple[list[float], list[float]]:
    """Bin edges and the share of observations above each."""
    bins = histogram.bins
    total = left = sum(bins.count)
    shares = [1.0]
    for count in bins.count:
        left -= count
        shares.append(left / total)
    edges = [step * histogram.step for step in (bins.lower[0], *bins.upper)]
    return edges, shares


def compared_point(view: View, series: Series) -> PointResult | None:
    """The point of a series where pictures compare; where there is none, its last stable point."""
    x = answer(view.run).busy_x
    at = [p for p in series.points if view.x(p) == x]
    stable = [p for p in series.points if p.verdict.verdict in STEADY]
    return next(iter(at or stable[-1:] or series.points[:1]), None)


def histogram_of(view: View, series: Series, name: str) -> Histogram | None:
    """The distribution of a measure at the point where pictures compare a series."""
    point = compared_point(view, series)
    return next((h for h in point.histograms if h.measure == name), None) if point else None


def histogram_unit(view: View, name: str) -> str:
    """Unit of the distributions of a measure."""
    return next(h.unit for p in view.run.points for h in p.histograms if h.measure == name)


def has_bandwidth(view: View) -> bool:
    """Whether jobs tell what they got through."""
    return bool(rates(view))


def rates(view: View) -> list[str]:
    """The accepted bandwidths, that of the I/O servers first."""
    return [m for m in judged(view) if m.endswith(".accepted")] if view.of_jobs else []


def at_work(point: PointResult, name: str) -> bool:
    """Whether what a measure is of was at work: the servers are where a job with I/O was."""
    return name != "servers.accepted" or any(j.active and j.io for j in point.jobs)


def loaded_point(series: Series) -> PointResult | None:
    """The point with the highest load at which messages still arrive, if it tells of nodes."""
    have = [p for p in series.points if p.nodes and not p.collapsed]
    return max(have, key=lambda p: p.load or 0.0, default=None)


def has_nodes(view: View) -> bool:
    """Whether any point tells what its nodes got through."""
    return any(loaded_point(s) for s in view.series)


def has_channels(view: View) -> bool:
    """Whether any point tells utilisations."""
    return any(p.channels for p in view.run.points)


def has_brackets(view: View) -> bool:
    """Whether series have a bracket each."""
    return any(bracket(view, s) for s in view.series)


def has_bracket_curves(view: View) -> bool:
    """Whether series have a bracket at several places of the x axis."""
    return view.x_axis is not None and any(len(s.searches) > 1 for s in view.series)

"""Accepted load of each node, for variants at their highest load that has not collapsed."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.results.schema import PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import loaded_point
from isthmus.scenes.machine import all_at_work
from isthmus.wording import number, unit_label

SHOWN = 6
"""The maximum number of variants in one picture."""

Shown = Sequence[tuple[Series, PointResult]]


def shown_of(view: View) -> Shown:
    """Return the series that the picture shows, each with the point at which it is drawn."""
    drawn = [(s, p) for s in view.series if (p := loaded_point(s))]
    return all_at_work(drawn)[:SHOWN]


def top(shown: Shown) -> float:
    """Return the upper end of the load axis, which all panels of the picture share."""
    most = max(max(n.accepted, n.offered or 0.0) for _, p in shown for n in p.nodes)
    return 1.08 * most or 1.0


def title(view: View, series: Series, point: PointResult) -> str:
    """Return the title of a panel: the variant, if there are several, and the offered load."""
    words = [series.label] if len(view.series) > 1 else []
    if point.load is not None and not point.jobs:
        words.append(f"offered {number(point.load)} {unit_label(view.run.load.unit)}")
    return ", ".join(words)


def span(view: View, point: PointResult) -> str:
    """Return the range of the accepted load of the nodes as text: ``3 to 5 MB/s a node``."""
    accepted = [n.accepted for n in point.nodes]
    unit = unit_label(view.run.load.unit)
    return f"{number(min(accepted))} to {number(max(accepted))} {unit} a node"


def job_of(point: PointResult, node: int) -> str | None:
    """Return the job that ran on a node, if exactly one did."""
    ran = [job.name for job in point.jobs if job.active and node in job.nodes]
    return ran[0] if len(ran) == 1 else None


def jobs_that_ran(shown: Shown) -> list[str]:
    """Return the jobs that ran at any point, in the scenario's order; empty without jobs."""
    names = [job.name for job in shown[0][1].jobs]
    return [job for job in names if any(job in p.active for _, p in shown)]


def any_offered(shown: Shown) -> bool:
    """Return whether the offered load of any node is known."""
    return any(n.offered is not None for _, p in shown for n in p.nodes)

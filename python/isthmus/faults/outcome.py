"""The outcome of each failure of a fabric, and mean and worst outcome of each kind of failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus.faults.plan import AXIS, DOUBLE, LINK, NODE, NONE, Case, Study
from isthmus.results.schema import PointResult, RunResult
from isthmus.value import Value, compare

KINDS = (LINK, NODE, DOUBLE)
AT_LEAST, AT_MOST = "at least", "at most"
"""Kinds of bounds on the throughput of fabrics that do not saturate at the loads of the study."""
NOTHING = Value(0.0)


@dataclass(frozen=True)
class CaseOutcome:
    """The performance of a fabric in one case, relative to the fabric without a failure."""

    case: Case
    nodes_kept: float
    """Share of the nodes that can still communicate."""
    cut_off: float
    """Share of the nodes, 0 to 1, that work but are disconnected from the others."""
    throughput: Value
    """Highest accepted load in GB/s, all nodes together, over the loads at which the fabric does
    not collapse; 0 if it collapses at all loads.
    """
    throughput_kept: Value
    """`throughput` divided by the throughput of the fabric without a failure."""
    saturated: bool
    """Whether the fabric is saturated, but has not collapsed, at one of the loads. If False,
    `throughput` is a lower bound.
    """
    bound: str | None
    """``at least`` or ``at most`` if the remaining throughput is only a bound. ``at least`` is
    relative to the highest load if the fabric without a failure does not saturate either.
    """
    latency_us: Value
    """Mean latency at the lowest load; None if that load is not carried."""
    latency_added_us: Value
    lost: bool
    """Whether no two nodes of the fabric can communicate after the failure."""
    collapses_from: float | None
    """The lowest load in GB/s at which the fabric collapses; None if it does not collapse."""
    machine: int | None
    """Index of the fabric in the run's machines, if it was simulated."""


@dataclass(frozen=True)
class Summary:
    """The outcome of one kind of failure on one fabric: mean over all possible failures, and the
    worst.
    """

    site: int
    kind: str
    cases: int
    possible: int
    """Number of possible failures of this kind; more than `cases` if only a sample was studied."""
    nodes_kept: float
    nodes_kept_worst: float
    cut_off: float
    cut_off_worst: float
    throughput_kept: Value
    throughput_kept_worst: Value
    bound: str | None
    """``at least`` or ``at most`` if the throughput is only a bound; None if it is exact. It is
    ``at least`` if the throughput of any case is a lower bound.
    """
    bound_worst: str | None
    unsaturated: bool
    """Whether the fabric does not saturate without a failure; throughputs are then relative to the
    highest load.
    """
    worst: str
    """Text that names the failed parts of the case with the lowest throughput."""
    latency_added_us: Value
    latency_added_us_worst: Value
    collapsed: int
    """Number of cases that collapse at one of the loads."""
    lost: int
    """Number of cases in which no two nodes can communicate."""


def outcomes(study: Study, run: RunResult) -> list[CaseOutcome]:
    """Return the outcome of each case (set of failures) of the study from the results `run`."""
    points = _points(run)
    found = []
    base: dict[int, CaseOutcome] = {}
    for case in study.cases:
        outcome = _outcome(study, case, points.get(case.label, []), base.get(case.site), run)
        if case.kind == NONE:
            base[case.site] = outcome
        found.append(outcome)
    return found


def _points(run: RunResult) -> dict[str, list[PointResult]]:
    """Return the measured points of each case (set of failures) by its label, sorted by load."""
    axis = next(i for i, each in enumerate(run.axes) if each.key == AXIS)
    found: dict[str, list[PointResult]] = {}
    for point in run.points:
        found.setdefault(point.values[axis].text, []).append(point)
    return {label: sorted(points, key=lambda p: p.load or 0.0) for label, points in found.items()}


def _outcome(
    study: Study,
    case: Case,
    points: list[PointResult],
    base: CaseOutcome | None,
    run: RunResult,
) -> CaseOutcome:
    """Return the outcome of one case relative to `base`, the case without a failure."""
    nodes = study.sites[case.site].nodes
    live = case.live if case.simulated else 0
    # Count nodes instead of subtracting shares, which would have rounding errors.
    cut_off = max(nodes - live - len(set(case.failed)), 0)
    throughput = _throughput(points, run.confidence)
    latency = _latency(points, run.confidence)
    collapsed = [p.load for p in points if p.collapsed and p.load is not None]
    saturated = any(p.verdict.verdict == "saturated" for p in points)
    return CaseOutcome(
        case=case,
        nodes_kept=live / nodes,
        cut_off=cut_off / nodes,
        throughput=throughput,
        throughput_kept=throughput.over(base.throughput) if base else Value(1.0),
        saturated=saturated,
        bound=_bound(points, saturated and not collapsed, base),
        latency_us=latency,
        latency_added_us=latency.minus(base.latency_us) if base else Value(0.0),
        lost=not points,
        collapses_from=min(collapsed, default=None),
        machine=points[-1].machine if points else None,
    )


def _bound(points: list[PointResult], known: bool, base: CaseOutcome | None) -> str | None:
    """Return ``at least`` or ``at most`` if the throughput relative to `base` is only a bound; None
    if it is exact. `known` says whether the throughput of this case itself is exact.
    """
    if base is None or not points:
        return None
    if not known:
        return AT_LEAST
    return None if base.saturated else AT_MOST


def _throughput(points: list[PointResult], confidence: float) -> Value:
    """Return the highest accepted load among the points at which the fabric does not collapse."""
    found = [m for p in points if not p.collapsed and (m := p.measure("accepted"))]
    most = max(found, key=lambda m: m.mean or 0.0, default=None)
    return Value.of(most, confidence) if most else NOTHING


def _latency(points: list[PointResult], confidence: float) -> Value:
    """Return the latency at the lowest load of `points`. The value is None if the fabric may not
    carry that load.
    """
    if not points:
        return Value(None)
    first, most = points[0], _throughput(points, confidence).value or 0.0
    sure = first.verdict.verdict == "undecided" and most >= 2 * (first.load or 0.0)
    found = first.measure("latency")
    if found is None or not (sure or first.verdict.verdict == "stable"):
        return Value(None)
    return Value.of(found, confidence)


def summaries(study: Study, found: Sequence[CaseOutcome]) -> list[Summary]:
    """Return a summary of each fabric and kind of failure, fabric by fabric."""
    result = []
    base = {o.case.site: o for o in found if o.case.kind == NONE}
    for site in range(len(study.sites)):
        for kind in KINDS:
            group = [o for o in found if o.case.site == site and o.case.kind == kind]
            if group:
                result.append(_summary(study, base[site], kind, group))
    return result


def _summary(study: Study, base: CaseOutcome, kind: str, group: list[CaseOutcome]) -> Summary:
    """Return the summary of the cases of one kind of failure on one fabric."""
    site = base.case.site
    bounds = {o.bound for o in group}
    least = min(group, key=lambda o: (o.throughput_kept.value or 0.0, o.nodes_kept))
    slow = [o for o in group if o.latency_added_us.value is not None]
    slowest = max(slow, key=lambda o: o.latency_added_us.value or 0.0, default=None)
    return Summary(
        site=site,
        kind=kind,
        cases=len(group),
        possible=study.sites[site].pairs if kind == DOUBLE else len(group),
        nodes_kept=_mean(group, lambda o: o.nodes_kept),
        nodes_kept_worst=min(o.nodes_kept for o in group),
        cut_off=_mean(group, lambda o: o.cut_off),
        cut_off_worst=max(o.cut_off for o in group),
        throughput_kept=_mean_value(group, lambda o: o.throughput_kept),
        throughput_kept_worst=least.throughput_kept,
        bound=next((bound for bound in (AT_LEAST, AT_MOST) if bound in bounds), None),
        bound_worst=least.bound,
        unsaturated=not base.saturated,
        worst=least.case.failure,
        latency_added_us=_mean_value(slow, lambda o: o.latency_added_us),
        latency_added_us_worst=slowest.latency_added_us if slowest else Value(None),
        collapsed=sum(o.collapses_from is not None for o in group),
        lost=sum(o.lost for o in group),
    )


def _mean(group: Sequence[CaseOutcome], pick: Callable[[CaseOutcome], float]) -> float:
    """Return the mean of a value over the failures in `group`. A case counts once for each failure
    that it stands for.
    """
    total = sum(o.case.weight for o in group)
    return sum(o.case.weight * pick(o) for o in group) / total


def _mean_value(group: Sequence[CaseOutcome], pick: Callable[[CaseOutcome], Value]) -> Value:
    """Return the mean of a measured value over the failures in `group`. A case counts once for each
    failure that it stands for.
    """
    if not group:
        return Value(None)
    return compare({"mean": [o.case.weight for o in group]}, [pick(o) for o in group])

"""Data of the plots of a study, for the page and for image files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isthmus.faults.outcome import AT_LEAST, KINDS, CaseOutcome, Summary
from isthmus.faults.plan import DOUBLE, Study
from isthmus.looks import BASELINE, COLOURS, colour_number
from isthmus.machines import SciSummary
from isthmus.results.schema import RunResult
from isthmus.scenes.rings import is_drawn

Mean = tuple[float | None, float | None, float | None]
"""A mean, with the lower and upper end of its interval; each None if unknown."""
GROUP = 0.8
"""Width of a group of fabrics, as a fraction of the distance between two kinds of failure."""
SPREAD = 12
"""Maximum number of dots side by side that show equal values; further dots cover the first ones."""


def quantities() -> list[
    tuple[str, Callable[[CaseOutcome], float | None], Callable[[Summary], Mean]]
]:
    """Return, for each panel, its title and two functions: one returns the value of a failure case,
    the other the mean of a kind of failure.
    """
    return [
        ("nodes that still reach one another", nodes_kept, lambda s: (s.nodes_kept, None, None)),
        ("throughput kept", throughput_kept, lambda s: s.throughput_kept.scaled(1)),
        ("latency added (ns)", latency_added_ns, lambda s: s.latency_added_us.scaled(1000)),
    ]


def kinds_of(rows: Sequence[Summary]) -> list[str]:
    """Return the kinds of failure in the study, in the order in which plots show them."""
    return [kind for kind in KINDS if any(s.kind == kind for s in rows)]


def group_at(place: int, position: int, count: int) -> float:
    """Return the x position of fabric number `position` of `count`, in the group at `place`:
    fabrics with the same kind of failure.
    """
    return place + (position - (count - 1) / 2) * GROUP / max(count, 1)


def levels(values: Sequence[float]) -> list[int]:
    """Return for each of some ascending values the number of nearly equal values before it, so that
    their dots can be drawn side by side.
    """
    span = max(values, default=0.0) - min(values, default=0.0)
    seen: dict[int, int] = {}
    counts = []
    for value in values:
        level = round(value / (span / 60)) if span > 0 else 0
        counts.append(seen.get(level, 0))
        seen[level] = counts[-1] + 1
    return counts


def worst_cases(
    study: Study, found: Sequence[CaseOutcome], run: RunResult
) -> list[tuple[str, SciSummary, CaseOutcome]]:
    """Return the worst single failure of each fabric that is small enough to draw."""
    shown: list[tuple[str, SciSummary, CaseOutcome]] = []
    for position, site in enumerate(study.sites):
        group = [
            o
            for o in found
            if o.case.site == position and o.case.kind in KINDS and o.case.kind != DOUBLE
        ]
        least = min(group, key=lambda o: o.throughput_kept.value or 0.0, default=None)
        if least is None or least.machine is None:
            continue
        machine = run.machines[least.machine]
        if isinstance(machine, SciSummary) and is_drawn(machine):
            shown.append((site.label, machine, least))
    return shown


def worst_words(outcome: CaseOutcome) -> tuple[str, str]:
    """Return the failed parts and the remaining performance, in words."""
    kept = outcome.throughput_kept.value or 0.0
    text = f"{outcome.nodes_kept:.0%} of the nodes, {bound_sign(outcome)}{kept:.0%}"
    return outcome.case.failure, f"{text} of the throughput kept"


def bound_sign(outcome: CaseOutcome) -> str:
    """Return ``≥`` or ``≤`` for a throughput that is only a bound, empty text for an exact one."""
    return "" if outcome.bound is None else "≥ " if outcome.bound == AT_LEAST else "≤ "


def colour(position: int) -> str:
    """Return the colour for the fabric at this position of the study, for plots on white paper."""
    return BASELINE if position == 0 else COLOURS[colour_number(position) - 1]


def kind_label(kind: str, study: Study) -> str:
    """Return the label of a kind of failure, with a remark if only a sample of its cases was
    simulated.
    """
    if kind != DOUBLE:
        return kind
    sampled = any(site.pairs > study.double for site in study.sites)
    return f"{kind}\n(sampled)" if sampled else kind


def nodes_kept(outcome: CaseOutcome) -> float | None:
    """Return the share of the nodes that can still communicate."""
    return outcome.nodes_kept


def throughput_kept(outcome: CaseOutcome) -> float | None:
    """Return the throughput with the failure divided by that without; None if it is unknown."""
    return outcome.throughput_kept.value


def latency_added_ns(outcome: CaseOutcome) -> float | None:
    """Return the increase of the latency by the failure in nanoseconds; None if it is unknown."""
    added = outcome.latency_added_us.value
    return None if added is None else 1000 * added

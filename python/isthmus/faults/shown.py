"""What the pictures of a study show, on the page and on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isthmus.faults.outcome import AT_LEAST, KINDS, CaseOutcome, Summary
from isthmus.faults.plan import DOUBLE, Study
from isthmus.looks import BASELINE, COLOURS, colour_number
from isthmus.machines import SciSummary
from isthmus.results.schema import RunResult
from isthmus.scenes.rings import is_drawn

Mean = tuple[float | None, float | None, float | None]
"""A mean with its interval."""
GROUP = 0.8
"""Width of a group of fabrics, of the distance between two kinds of failure."""
SPREAD = 12
"""Most dots of one value beside one another."""


def quantities() -> list[
    tuple[str, Callable[[CaseOutcome], float | None], Callable[[Summary], Mean]]
]:
    """What is drawn of each case and as the mean of each kind of failure, a panel each."""
    return [
        ("nodes that still reach one another", nodes_kept, lambda s: (s.nodes_kept, None, None)),
        ("throughput kept", throughput_kept, lambda s: s.throughput_kept.scaled(1)),
        ("latency added (ns)", latency_added_ns, lambda s: s.latency_added_us.scaled(1000)),
    ]


def kinds_of(told: Sequence[Summary]) -> list[str]:
    """The kinds of failure that were tried, in the order in which they stand."""
    return [kind for kind in KINDS if any(s.kind == kind for s in told)]


def group_at(place: int, position: int, count: int) -> float:
    """Where the dots of a fabric stand, of so many, at the place of a kind of failure."""
    return place + (position - (count - 1) / 2) * GROUP / max(count, 1)


def levels(values: Sequence[float]) -> list[int]:
    """For ascending values, how many about equal ones come before each: they lie side by side."""
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
    """The single failure that costs each fabric most, of those that are small enough to draw."""
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
    """What failed, and what is left."""
    kept = outcome.throughput_kept.value or 0.0
    told = f"{outcome.nodes_kept:.0%} of the nodes, {bound_sign(outcome)}{kept:.0%}"
    return outcome.case.failure, f"{told} of the throughput kept"


def bound_sign(outcome: CaseOutcome) -> str:
    """Whether what is kept is a bound only."""
    return "" if outcome.bound is None else "≥ " if outcome.bound == AT_LEAST else "≤ "


def colour(position: int) -> str:
    """The colour of a fabric on white paper."""
    return BASELINE if position == 0 else COLOURS[colour_number(position) - 1]


def kind_label(kind: str, study: Study) -> str:
    """A kind of failure, with whether all of it was tried."""
    if kind != DOUBLE:
        return kind
    sampled = any(site.pairs > study.double for site in study.sites)
    return f"{kind}\n(sampled)" if sampled else kind


def nodes_kept(outcome: CaseOutcome) -> float | None:
    """Share of the nodes that still reach one another."""
    return outcome.nodes_kept


def throughput_kept(outcome: CaseOutcome) -> float | None:
    """Share of the throughput that is left."""
    return outcome.throughput_kept.value


def latency_added_ns(outcome: CaseOutcome) -> float | None:
    """Latency added, in nanoseconds."""
    added = outcome.latency_added_us.value
    return None if added is None else 1000 * added

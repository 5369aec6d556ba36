"""What the pictures of a study show, on the page and on paper."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.faults.outcome import AT_LEAST, KINDS, CaseOutcome
from isthmus.faults.plan import DOUBLE, Study
from isthmus.looks import BASELINE, COLOURS, colour_number
from isthmus.results.machines import SciSummary
from isthmus.results.schema import RunResult
from isthmus.scenes.rings import is_drawn


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

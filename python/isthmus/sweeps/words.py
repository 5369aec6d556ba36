"""The state of a run in words."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.sweeps.state import State
from isthmus.wording import counted


def told(state: State, most: int) -> Iterator[str]:
    """Lines that say how far a run is; of what runs and what failed `most` each."""
    lost = [each for each in state.running if each.lost]
    missing = state.total - state.done
    of = counted(state.points, "point")
    if state.searches:
        of += f" and {counted(state.searches, 'search', 'searches')}"
    line = f"{state.name}: {state.done} of {of} done"
    if missing:
        line += f", {len(state.running) - len(lost)} running, {len(state.failed)} failed"
    if state.left_s:
        line += f", about {span(state.left_s)} left"
    yield line
    running = [each for each in state.running if not each.lost]
    rows = [f"  {r.entry}: process {r.process} on {r.host}" for r in running]
    yield from _cut(rows, most, "running")
    rows = [f"  {r.entry}: given up by process {r.process} on {r.host}" for r in lost]
    yield from _cut(rows, most, "given up")
    yield from _cut([f"  {f.entry} failed: {f.reason}" for f in state.failed], most, "failed")
    rows = [
        f"  {entry}: damaged; delete points/{entry}.json, and run again" for entry in state.damaged
    ]
    yield from _cut(rows, most, "damaged")
    if not missing and not state.collected:
        yield "all is there: isthmus collect writes the results"


def span(seconds: float) -> str:
    """A time that is left, roughly."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return (
                f"{seconds / size:.0f} {unit}"
                if seconds >= 10 * size
                else (f"{seconds / size:.1f} {unit}")
            )
    return f"{max(seconds, 1.0):.0f} s"


def _cut(rows: list[str], most: int, what: str) -> Iterator[str]:
    yield from rows[:most]
    if len(rows) > most:
        yield f"  and {len(rows) - most} more {what}"

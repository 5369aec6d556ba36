"""The state of a run in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from isthmus.sweeps.state import State
from isthmus.wording import counted


def told(state: State, folder: Path, most: int) -> Iterator[str]:
    """Lines that say how far the run of a folder is; of what runs and what failed `most` each."""
    lost = [each for each in state.running if each.lost]
    missing = state.total - state.done
    of = counted(state.points, "point")
    if state.searches:
        of += f" and {counted(state.searches, 'search', 'searches')}"
    line = f"{state.name}: {state.done} of {of} done"
    if state.alone:
        line += f"; {state.alone} {state.alone.work or 'is at work'}"
    elif missing and not state.collected:
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
    if state.alone:
        return
    yield from _of_results(state, shlex.quote(str(folder)), most)


def _of_results(state: State, folder: str, most: int) -> Iterator[str]:
    """What is there of results, and what brings the rest of them."""
    yield from _cut([f"  {name}: not there any more" for name in state.lost], most, "lost")
    rows = [f"  {name}: changed since isthmus wrote it; move it away" for name in state.changed]
    yield from _cut(rows, most, "changed")
    again = f"`isthmus run {folder}`"
    if not state.known:
        again = "the command that began it"
    missing = state.total - state.done
    if state.lost or state.changed:
        yield f"{again} writes anew what is not there"
    elif state.collected and missing:
        yield "the results are there, with what the journal lacks"
    elif state.collected:
        yield "the results are there"
    elif not missing and state.known:
        yield f"all is there: `isthmus collect {folder}` writes the results"


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

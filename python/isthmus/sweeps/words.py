"""The state of a run in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from isthmus.sweeps.state import State


def told(state: State, folder: Path, most: int) -> Iterator[str]:
    """Lines that say how far the run of a folder is; of what runs and what failed `most` each."""
    lost = [each for each in state.running if each.lost]
    missing = state.total - state.done
    line = f"{state.name}: {state.done} of {state.whole} done"
    if state.alone:
        line += f"; {state.alone} {state.alone.work or 'is at work'}"
    elif missing and not state.collected:
        waiting = missing - len({e.entry for e in state.running} | {e.entry for e in state.failed})
        line += f", {len(state.running) - len(lost)} running, {len(state.failed)} failed"
        line += f", {len(lost)} given up" if lost else ""
        line += f", {waiting} waiting" if waiting else ""
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
        f"  {flaw.entry}: {flaw.reason}; delete points/{flaw.entry}.json or move it away, and run "
        "again"
        for flaw in state.damaged
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
        why = of_memory(state.short_of_memory, folder) if state.short_of_memory else ""
        yield f"the results are there, with what the journal lacks{why and ': '}{why}"
    elif state.collected:
        yield "the results are there"
    elif not missing and state.known:
        yield f"all is there: `isthmus collect {folder}` writes the results"


def of_memory(short: str, folder: str) -> str:
    """What is to be said of points and searches that memory has ended; both as in a line."""
    return (
        f"{short} used up the memory of the run and went only so far; `isthmus run {folder} "
        "--memory SIZE` with more does that again"
    )


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

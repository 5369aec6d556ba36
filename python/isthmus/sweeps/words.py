"""Text of `isthmus status`, and of errors about runs that are not finished."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from isthmus.owned.mark import RESULT, SUBMITTED
from isthmus.results.folder import PLOTS, PROVENANCE, memory_of
from isthmus.sweeps.selection import Selection, shortened
from isthmus.sweeps.state import State
from isthmus.wording import counted

NAMED = 3
"""Maximum number of failures for which an error message gives the reason."""


def status_lines(state: State, folder: Path, most: int) -> Iterator[str]:
    """Yield lines on the progress of a run; at most `most` lines each for running and failed points
    and searches.
    """
    lost = [each for each in state.running if each.lost]
    missing = state.total - state.done
    line = f"{state.name}: {state.whole.with_done(state.done)} done"
    if state.alone:
        line += f"; {state.alone} {state.alone.work or 'is at work'}"
    elif missing and not state.collected:
        line += f", {len(state.running) - len(lost):,} running, {len(state.failed):,} failed"
        line += f", {len(lost):,} given up" if lost else ""
        line += f", {state.waiting:,} waiting" if state.waiting else ""
    if state.remaining_s:
        line += f", about {span(state.remaining_s)} left for all at this pace"
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
    # Unreadable files may be intact, so do not advise users to delete them.
    rows = [f"  {flaw.entry}: {flaw.reason}; it may be good all the same" for flaw in state.unread]
    yield from _cut(rows, most, "that cannot be read")
    if state.job:
        yield f"{state.job}: {state.job.state}"
    if state.alone:
        return
    yield from _result_lines(state, folder, most)


def _result_lines(state: State, folder: Path, most: int) -> Iterator[str]:
    """Yield lines for the user on the state of the results, and on the command to complete them."""
    yield from _cut([f"  {name}: {_gone(name)}" for name in state.lost], most, "lost")
    rows = [f"  {name}: changed since isthmus wrote it; move it away" for name in state.changed]
    yield from _cut(rows, most, "changed")
    quoted = shlex.quote(str(folder))
    again = f"`isthmus run {quoted}`" if state.known else "the command that began it"
    missing = state.total - state.done
    spoiled = [name for name in (*state.lost, *state.changed) if name != PROVENANCE]
    if drawn := [name for name in spoiled if name.startswith(f"{PLOTS}/")]:
        forms = ",".join(sorted({name.rpartition(".")[2] for name in drawn}))
        plots = f"{again[:-1]} --plots {forms}`" if state.known else f"{again} with --plots {forms}"
        yield f"{plots} draws anew what is not there"  # codespell:ignore anew
    if len(spoiled) > len(drawn):
        first = _repair_condition(len(state.damaged) + len(state.changed))
        yield f"{first}{again} writes anew what is not there"  # codespell:ignore anew
    elif state.collected and missing:
        why = of_memory(state.short_of_memory, folder) if state.short_of_memory else ""
        yield f"the results are there, with what the journal lacks{why and ': '}{why}"
    elif state.collected:
        yield "the results are there"
    elif missing and state.known and not (state.job or any(not r.lost for r in state.running)):
        yield f"nobody is at it: {_continue_command(state, folder)}"
    elif not missing and state.known:
        yield f"all is there: `isthmus collect {quoted}` writes the results"


def _continue_command(state: State, folder: Path) -> str:
    """Return the command that runs missing points and searches while no process works on them."""
    from isthmus import __version__

    run = f"isthmus run {shlex.quote(str(folder))}"
    if state.version != __version__:
        return f"isthmus {state.version} began it and does what is missing; this is {__version__}"
    first = _repair_condition(len(state.damaged))
    if _submitted(folder):
        return f"{first}`{run} --on slurm` does what is missing in a new job, `{run}` does so here"
    return f"{first}`{run}` does what is missing"


def _repair_condition(count: int) -> str:
    """Return the words for the condition that users must first move damaged files away."""
    return f"once {'that is' if count == 1 else 'these are'} out of the way, " if count else ""


def _submitted(folder: Path) -> bool:
    """Return whether a Slurm job was submitted for a folder's run."""
    if not (folder / SUBMITTED).is_dir():
        return False
    from isthmus.sweeps.slurm.jobs import named_in

    return bool(named_in(folder))


def _gone(name: str) -> str:
    """Return the words for a file that no longer exists."""
    # A missing provenance file is not written again, because it describes the original run.
    return "not there any more" + (", and nothing needs it" if name == PROVENANCE else "")


def of_memory(short: str, folder: Path) -> str:
    """Return a line for the user about the points and searches that ran out of memory; `short`
    names them.
    """
    # A run with more memory does not replace results whose memory limit is unknown, so the user
    # must move them away first.
    first = "" if memory_of(folder) is not None else f"move {folder / RESULT} away, and "
    return (
        f"{short} used up the memory of the run and went only so far; {first}`isthmus run "
        f"{shlex.quote(str(folder))} --memory SIZE` with more does that again"
    )


def missing(state: State, folder: Path, lacks: Selection) -> str:
    """Return the error text for a run that is not finished: missing points and searches, reasons
    and advice.
    """
    kinds = (("point", "points", lacks.points), ("search", "searches", lacks.searches))
    words = [f"{counted(len(at), one, more)} ({shortened(at)})" for one, more, at in kinds if at]
    verb = "is" if len(lacks) == 1 else "are"
    line = f"{folder}: of {state.whole.words} {' and '.join(words)} {verb} missing"
    line += "".join(f"; {f.entry} failed: {f.reason}" for f in state.failed[:NAMED])
    if len(state.failed) > NAMED:
        line += f"; {len(state.failed) - NAMED:,} more failed"
    for flaw in state.damaged[:NAMED]:
        line += f"; {flaw.entry}: {flaw.reason}, delete points/{flaw.entry}.json or move it away"
    if len(state.damaged) > NAMED:
        line += f"; {len(state.damaged) - NAMED:,} more are damaged"
    quoted, submitted = shlex.quote(str(folder)), _submitted(folder)
    advice = _advice(state, quoted, lacks, submitted=submitted)
    # Damaged files block a run. Advice to start a run begins with a command in backquotes, so the
    # condition to move the files away first precedes only such advice.
    first = _repair_condition(len(state.damaged)) if advice.startswith("`") else ""
    return f"{line}; {first}{advice}"


def _advice(state: State, folder: str, lacks: Selection, *, submitted: bool) -> str:
    """Return advice for the user on how to complete the run."""
    status, run = f"`isthmus status {folder}` says how far it is", f"isthmus run {folder}"
    part = f"`{run} --part 1/1` does what nobody is at"
    if state.alone:
        work = state.alone.work or "is at work"
        return f"{state.alone} {work}: wait until it has ended; {status}"
    if state.job and not state.job.trouble:
        waits = f"`{run} --on slurm` waits for it and collects"
        return f"{state.job} is at it ({state.job.state}): {waits}; {status}"
    if at_work := sum(not each.lost for each in state.running):
        return f"others are at {at_work:,} of them: wait for these; {status}, {part}"
    if state.job:
        return f"{state.job} was submitted for it, and {state.job.state}; {part}"
    beside = f"`{run} {lacks.options}` does so beside other parts"
    if submitted:
        return f"`{run} --on slurm` does what is missing in a new job, `{run}` here, {beside}"
    return f"`{run}` does what is missing, {beside}"


def span(seconds: float) -> str:
    """Return the remaining time of a run as text, rounded."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return (
                f"{seconds / size:.0f} {unit}"
                if seconds >= 10 * size
                else (f"{seconds / size:.1f} {unit}")
            )
    return f"{max(seconds, 1.0):.0f} s"


def _cut(rows: list[str], most: int, what: str) -> Iterator[str]:
    """Yield the first `most` rows, and a line with the number of the others."""
    yield from rows[:most]
    if len(rows) > most:
        yield f"  and {len(rows) - most:,} more {what}"

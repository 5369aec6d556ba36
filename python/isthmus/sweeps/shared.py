"""Parts of a run, done by many processes in one folder, and their results collected."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import RunFailedError
from isthmus.owned.mark import JOURNAL
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.source import joined
from isthmus.sweeps.state import Failure, state_of
from isthmus.wording import counted

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

EXPIRY_S = 60.0
"""Seconds without a sign of life after which what a process was at is taken over."""
NAMED = 3
"""Most failures whose reasons an error has."""


@dataclass(frozen=True)
class Done:
    """What came of a part."""

    units: int
    """Points and searches that are in the journal."""
    failed: tuple[Failure, ...]


def do_part(
    job: Job,
    folder: Path,
    part: Selection,
    expiry_s: float = EXPIRY_S,
    say: Callable[[str], None] = lambda _: None,
) -> Done:
    """Do a part of a run, as far as it is not done: when this returns, all of it is in the folder's
    journal, whoever has done it, but for what cannot be done.

    Args:
        job: the whole run.
        folder: the folder that all parts of it have in common.
        part: what to do.
        expiry_s: seconds; see `EXPIRY_S`.
        say: told for whom it waits before it can begin.

    Raises:
        Stopped: Ctrl-C; finished points are in the folder.
        IsthmusError: the folder cannot be used, or holds something else.

    """
    with joined(job, folder, say) as own:
        positions = list(part.points), list(part.searches)
        failed = job.run_part(own.path / JOURNAL, positions, expiry_s)
    failures = tuple(Failure(name, reason) for name, reason in failed)
    return Done(len(part) - len(failures), failures)


def collect(folder: Path, job: Job, plots: tuple[str, ...] = ()) -> Results:
    """Write results and report from the journal of a folder, if all points are there.

    Args:
        folder: that of the run.
        job: the whole run, of what the folder says that its run is of.
        plots: forms in which plots are written as files as well.

    Raises:
        RunFailedError: points are missing; the message says which, and why as far as that is known.
        IsthmusError: a process is at work in the folder, or an entry is damaged.

    """

    def all_there(experiment: Any) -> None:
        points, searches = experiment.missing()
        if points or searches:
            raise missing(folder, Selection(tuple(points), tuple(searches)))

    return job.run_into(folder, plots=plots, only_collect=all_there)


def missing(folder: Path, lacks: Selection) -> RunFailedError:
    """What to say of a run that is not finished."""
    from isthmus.sweeps.selection import ranges

    state = state_of(folder)
    words = []
    if lacks.points:
        words.append(f"{counted(len(lacks.points), 'point')} ({ranges(lacks.points)})")
    if lacks.searches:
        words.append(
            f"{counted(len(lacks.searches), 'search', 'searches')} ({ranges(lacks.searches)})"
        )
    reasons = "".join(f"; {f.entry} failed: {f.reason}" for f in state.failed[:NAMED])
    options = [f"--points {ranges(lacks.points)}"] if lacks.points else []
    options += [f"--searches {ranges(lacks.searches)}"] if lacks.searches else []
    verb = "is" if len(lacks) == 1 else "are"
    run = f"isthmus run {shlex.quote(str(folder))}"
    return RunFailedError(
        f"{folder}: of {state.whole} {' and '.join(words)} {verb} missing"
        f"{reasons}; `{run}` does what is missing, `{run} {' '.join(options)}` does so beside "
        "other parts"
    )

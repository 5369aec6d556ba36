"""Parts of a run, done by many processes in one folder, and the collection of their results."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError, RunFailedError
from isthmus.owned.mark import JOURNAL
from isthmus.sweeps import words
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.source import joined
from isthmus.sweeps.state import Failure, state_of, with_job
from isthmus.wording import counted

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

EXPIRY_S = 60.0
"""A process takes over another one's point or search after this many seconds without a
heartbeat.
"""


@dataclass(frozen=True)
class Done:
    """The outcome of a part of a run: the number of its finished points and searches, and those
    that failed.
    """

    units: int
    """Number of points and searches of the part whose results are in the journal of the run."""
    failed: tuple[Failure, ...]


def do_part(
    job: Job,
    folder: Path,
    part: Selection,
    expiry_s: float = EXPIRY_S,
    say: Callable[[str], None] = lambda _: None,
) -> Done:
    """Run those units (points and searches) of a part that have no result yet.

    When this returns, every unit of the part is in the journal of the folder, except failed units.
    Other processes may have done some of them.

    Args:
        job: the whole run.
        folder: the folder that all parts share.
        part: the units to do.
        expiry_s: seconds; see `EXPIRY_S`.
        say: called with the name of the process that this one waits for.

    Raises:
        Stopped: Ctrl-C; finished points are in the folder.
        IsthmusError: the folder cannot be used, or holds other results.

    """
    with joined(job, folder, say) as own:
        positions = list(part.points), list(part.searches)
        failed = job.run_part(own.path / JOURNAL, positions, expiry_s)
    failures = tuple(Failure(name, reason) for name, reason in failed)
    return Done(len(part) - len(failures), failures)


def collect(folder: Path, job: Job, plots: tuple[str, ...] = ()) -> Results:
    """Write results and report from the journal of a folder, if all points are there.

    Args:
        folder: the folder of the run.
        job: the whole run, from the source in the folder.
        plots: file formats in which plots are written as well.

    Raises:
        RunFailedError: points are missing; the message names them and the known reasons.
        IsthmusError: a process is at work in the folder, or an entry is damaged.

    """
    # Check this without locking the folder, so that processes which run the missing points can
    # still use it.
    if (lacks := job.lacks(folder)) and not job.is_final(folder, go_on=False):
        raise RunFailedError(words.missing(with_job(state_of(folder), folder), folder, lacks))

    def require_all(experiment: Any) -> None:
        """Check that all points and searches of the run have results; raise an error that names
        the missing ones.
        """
        points, searches = experiment.missing()
        if points or searches:
            raise missing_error(folder, Selection(tuple(points), tuple(searches)))

    try:
        return job.run_into(folder, plots=plots, only_collect=require_all)
    except IsthmusError as error:
        from isthmus import _core

        if isinstance(error.__cause__, _core.ResumeError):
            raise _with_others(error, folder) from error
        raise


def _with_others(error: IsthmusError, folder: Path) -> IsthmusError:
    """Return the error for a damaged entry of a folder; if other entries are damaged, too, its text
    also has their number.
    """
    others = len(state_of(folder).damaged) - 1
    if others < 1:
        return error
    status = f"`isthmus status {shlex.quote(str(folder))}`"
    more = f"{counted(others, 'more file')} {'is' if others == 1 else 'are'} not used"
    return IsthmusError(f"{error}; {more}: {status} lists all of them")


def missing_error(folder: Path, lacks: Selection) -> RunFailedError:
    """Return the error for an unfinished run: its text names the points and searches that have
    no result.
    """
    return RunFailedError(words.missing(state_of(folder), folder, lacks))

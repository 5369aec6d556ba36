"""The progress of a run in parts, read from its folder without locking it."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.core import ask
from isthmus.errors import IsthmusError
from isthmus.files import kind_of, telling_of
from isthmus.owned import Mark, read_mark
from isthmus.owned.lock import LOCK, Holder, holder_of
from isthmus.owned.mark import JOURNAL, KEPT, RESULT, SUBMITTED, entry_of, is_unchanged
from isthmus.sweeps.remaining import remaining_alone_s, remaining_s
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.source import SOURCE
from isthmus.sweeps.workers import (
    Lease,
    Running,
    Workers,
    is_worker_file,
    leases_on,
    names_in,
    now_in,
    read_workers,
)

if TYPE_CHECKING:
    from isthmus.sweeps.slurm.queued import Queued

LOOKS, LOOK_S = 5, 0.02
"""Number of reads of the leases until a busy process is found, and seconds between two reads."""
HEADER = "journal"
"""Name of the journal entry that identifies the run of the journal."""


@dataclass(frozen=True)
class Failure:
    """A point or search of a run that failed, with the reason and the time."""

    entry: str
    """Name of the journal entry: ``point-00012``."""
    reason: str
    at_s: float = 0.0
    """Time of the failure, in seconds since 1970 by the folder's clock; 0 for the present."""


@dataclass(frozen=True)
class Flaw:
    """A file of the journal whose content differs from the content that this run wrote."""

    entry: str
    """Name of the journal entry: ``point-00012``, ``point-00012.kept``, ``journal``."""
    reason: str


@dataclass
class State:
    """The progress of a run in parts, and the condition of its files."""

    name: str
    points: int
    searches: int
    done: int
    running: list[Running] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    waiting: int = 0
    """Number of unfinished points and searches on which no process works and that have not failed.
    0 while one process does the whole run.
    """
    damaged: list[Flaw] = field(default_factory=list)
    """Damaged files of the journal; their points and searches do not count as done."""
    unread: list[Flaw] = field(default_factory=list)
    """Files of the journal that cannot be read; their points and searches do not count as done."""
    short_of_memory: str = ""
    """Text on the points and searches that ran out of memory; the results contain them, the journal
    does not.
    """
    collected: bool = False
    """Whether the results have been written and are unchanged since."""
    lost: list[str] = field(default_factory=list)
    """Files that the run has written to the folder, as its mark file lists them, and that no longer
    exist.
    """
    changed: list[str] = field(default_factory=list)
    """Files that the run has written to the folder, as its mark file lists them, and that have
    changed.
    """
    known: bool = False
    """Whether the folder contains the source of its run, so that users may name it in place of the
    scenario.
    """
    alone: Holder | None = None
    """The process that does the whole run, or writes its results; None if there is none."""
    job: Queued | None = None
    """The job of Slurm that works on the run; None unless `with_job` has found it."""
    version: str = ""
    """Version of isthmus that started the run; only this version can continue it."""
    remaining_s: float | None = None
    """Estimated seconds until the run is done, at the recent pace; None if unknown."""

    @property
    def total(self) -> int:
        """Return the number of points and searches of the run."""
        return self.points + self.searches

    @property
    def whole(self) -> Selection:
        """Return the selection of all points and searches of the run."""
        return Selection.whole(self.points, self.searches)

    def as_json(self) -> dict[str, Any]:
        """Return the progress of the run in the form of the JSON output."""
        return {
            "name": self.name,
            "points": self.points,
            "searches": self.searches,
            "done": self.done,
            "running": [vars(each) for each in self.running],
            "failed": [vars(each) for each in self.failed],
            "waiting": self.waiting,
            "damaged": [vars(each) for each in self.damaged],
            "unread": [vars(each) for each in self.unread],
            "collected": self.collected,
            "short_of_memory": self.short_of_memory,
            "lost": self.lost,
            "changed": self.changed,
            "alone": self.alone and self.alone.as_json(),
            "job": self.job and self.job.as_json(),
            "left_s": self.remaining_s,
        }


def state_of(folder: Path) -> State:
    """Read the progress of a folder's run.

    Raises:
        IsthmusError: the folder is not that of a run.

    """
    mark = read_mark(folder) if folder.is_dir() else None
    if mark is None or not mark.points + mark.searches:
        raise IsthmusError(f"{folder}: no folder of a run; give that of `isthmus run --out`")
    journal = folder / JOURNAL
    names = _entries(journal, mark)
    written = {name.removesuffix(".json") for name in names if name.endswith(".json")}
    damaged, unread = _flaws(journal, mark, written)
    done = {entry for entry in written if entry != HEADER and not f"{entry}.json".endswith(KEPT)}
    good = done.difference(flaw.entry for flaw in (*damaged, *unread))
    state = State(mark.identity.name, mark.points, mark.searches, len(good))
    state.damaged, state.unread = damaged, unread
    state.version = mark.identity.version
    state.alone = holder_of(folder)
    _look_at_results(state, folder, mark)
    # Read leases last: the check of every byte may take longer than a point.
    _look_at_work(state, folder, mark, good, _leases(journal, mark, done))
    return state


def _look_at_results(state: State, folder: Path, mark: Mark) -> None:
    """Check the results and the report in the folder for missing and changed files."""
    state.lost, state.changed = _missing_and_changed(folder, mark)
    spoiled = (*state.lost, *state.changed)
    state.known = SOURCE in mark.files and SOURCE not in spoiled
    # A run of a scenario is complete if its report exists, which is written last. Runs of studies
    # and papers have no scenario file (SOURCE) and need no report.
    made = RESULT in mark.files and ("report" in mark.parts or SOURCE not in mark.files)
    state.collected = made and RESULT not in spoiled
    if state.collected and state.done < state.total:
        state.short_of_memory = _short_of_memory(folder / RESULT)


def _look_at_work(
    state: State, folder: Path, mark: Mark, good: set[str], leases: list[Lease]
) -> None:
    """Find running, failed and waiting points and searches, and estimate the time that is left."""
    journal = folder / JOURNAL
    now = now_in(journal, leases)
    workers = read_workers(journal)
    state.running = [lease.running(now) for lease in leases]
    at_work = {each.entry for each in state.running if not each.lost}
    missing = {entry_of(*unit): unit for unit in state.whole.units if entry_of(*unit) not in good}
    given_up = {flaw.entry for flaw in (*state.damaged, *state.unread)}
    state.failed = [
        Failure(entry, reason, at_s)
        for entry, (at_s, reason) in sorted(workers.failed.items())
        if entry in missing and entry not in given_up and entry not in at_work
    ]
    given_up.update(each.entry for each in state.failed)
    to_do = {entry: unit for entry, unit in missing.items() if entry not in given_up}
    if not state.alone:
        state.waiting = len(to_do.keys() - {each.entry for each in state.running})
    state.remaining_s = _estimate(state, folder, Selection.of(to_do.values()), good, workers, now)


def with_job(state: State, folder: Path) -> State:
    """Query Slurm for the job that runs the missing points and searches, and add it to the
    state.
    """
    submitted = (folder / SUBMITTED).is_dir()
    if submitted and state.done < state.total and not (state.collected or state.alone):
        from isthmus.sweeps.slurm.queued import queued

        state.job = queued(folder)
    return state


def _entries(journal: Path, mark: Mark) -> list[str]:
    """Return the names of those files in the journal that the run may have written."""
    with suppress(FileNotFoundError):
        mode = journal.lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise IsthmusError(
                f"{journal}: {kind_of(mode)} is where a folder of isthmus should be; move it away"
            )
    return [name for name in names_in(journal) if mark.is_entry(f"{JOURNAL}/{name}")]


def _flaws(journal: Path, mark: Mark, entries: set[str]) -> tuple[list[Flaw], list[Flaw]]:
    """Read every byte of the journal, and return its damaged and its unreadable entries."""
    from isthmus import _core

    of = mark.identity
    run = of.digest, of.seed, of.quick, of.version
    damaged: list[Flaw] = []
    unread: list[Flaw] = []
    for entry, reason, cannot in ask(_core.journal_flaws, str(journal), *run, sorted(entries)):
        (unread if cannot else damaged).append(Flaw(entry, reason))
    return damaged, unread


def _missing_and_changed(folder: Path, mark: Mark) -> tuple[list[str], list[str]]:
    """Return owned files that are missing, and owned files that have changed.

    Files of a Slurm job are skipped: nothing depends on them. A large file is not read again if it
    has not changed since its last complete check.
    """
    lost, changed = [], []
    for name, written in sorted(mark.files.items()):
        place = folder / name
        if written.part == SUBMITTED:
            continue
        # A killed process may have written a file without updating the folder's mark file.
        forms = [form for form in (written, mark.writing.get(name)) if form]
        try:
            status = place.lstat()
            known = mark.untouched(name, status)
            regular = stat.S_ISREG(status.st_mode)
            if not regular or not (known or any(is_unchanged(place, form) for form in forms)):
                changed.append(name)
        except (FileNotFoundError, NotADirectoryError):
            lost.append(name)
        except OSError:
            changed.append(name)
    return lost, changed


def _short_of_memory(result: Path) -> str:
    """Return a text on the points and searches of a result that ran out of memory; empty if there
    are none.
    """
    from isthmus.results.schema import RunResult

    with suppress(OSError, IsthmusError):
        return RunResult.of_core(result.read_bytes()).short_of_memory
    return ""


def missing_units(folder: Path, points: int, searches: int) -> Selection:
    """Return the points and searches without a file in the journal of a folder.

    As in the core, a link or a folder does not count as a file.
    """
    names: set[str] = set()
    journal = folder / JOURNAL
    with (
        telling_of(journal, "cannot be read"),
        suppress(FileNotFoundError),
        os.scandir(journal) as d,
    ):
        names = {each.name for each in d if each.is_file(follow_symlinks=False)}

    def without(kind: str, count: int) -> tuple[int, ...]:
        """Return the positions of points or searches without a file in the journal."""
        return tuple(at for at in range(count) if f"{entry_of(kind, at)}.json" not in names)

    return Selection(without("point", points), without("search", searches))


def _leases(journal: Path, mark: Mark, done: set[str]) -> list[Lease]:
    """Return the leases of the units of work that processes do now.

    Read them again after a pause if there are none: a process is often between two short points.
    """
    leases: list[Lease] = []
    for look in range(LOOKS):
        if look:
            time.sleep(LOOK_S)
        names = _entries(journal, mark)
        leased = {name.removesuffix(".claim") for name in names if name.endswith(".claim")}
        leases = leases_on(sorted(leased - done), journal)
        if not all(lease.gone for lease in leases) or not any(map(is_worker_file, names)):
            break
    return leases


def _estimate(
    state: State, folder: Path, to_do: Selection, good: set[str], workers: Workers, now: float
) -> float | None:
    """Estimate the remaining seconds for points and searches that have neither failed nor been
    damaged.
    """
    if state.alone:
        with suppress(OSError):
            journal = folder / JOURNAL
            ended = {each: (journal / f"{each}.json").stat().st_mtime for each in good}
            return remaining_alone_s(to_do, ended, (folder / LOCK).stat().st_mtime)
        return None
    at_work = sum(not each.lost for each in state.running)
    known = bool(workers.timings and at_work) or not to_do
    return remaining_s(to_do, workers.timings, at_work, now) if known else None

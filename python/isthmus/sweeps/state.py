"""How far a run in parts is, read from its folder without holding anyone up."""

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
from isthmus.owned.mark import JOURNAL, KEPT, RESULT, SUBMITTED, entry_of, fits
from isthmus.sweeps.left import left_alone_s, left_s
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.source import SOURCE
from isthmus.sweeps.workers import (
    Claim,
    Running,
    Workers,
    claims_on,
    is_worker_file,
    names_in,
    now_in,
    read_workers,
)

if TYPE_CHECKING:
    from isthmus.sweeps.slurm.queued import Queued

LOOKS, LOOK_S = 5, 0.02
"""How often it is looked for somebody at work, and seconds between two looks."""
HEADER = "journal"
"""The entry that says whose the journal is."""


@dataclass(frozen=True)
class Failure:
    """A point or search that could not be done."""

    entry: str
    """As in the journal: ``point-00012``."""
    reason: str
    at_s: float = 0.0
    """When, in seconds since 1970 by the folder's clock; 0 if that is just now."""


@dataclass(frozen=True)
class Flaw:
    """A file of the journal that is not what this run has written there."""

    entry: str
    """As in the journal: ``point-00012``, ``point-00012.kept``, ``journal``."""
    reason: str


@dataclass
class State:
    """How far a run is."""

    name: str
    points: int
    searches: int
    done: int
    running: list[Running] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    waiting: int = 0
    """Points and searches that nobody is at, and that nothing is wrong with; none where one process
    does all of them."""
    damaged: list[Flaw] = field(default_factory=list)
    """Files of the journal of which nothing is counted as done."""
    unread: list[Flaw] = field(default_factory=list)
    """Those of which nothing is known, as they cannot be read; nor are these counted."""
    short_of_memory: str = ""
    """Points and searches that memory has ended, which the results have and the journal has not."""
    collected: bool = False
    """Whether the results have been written, and are there as they were written."""
    lost: list[str] = field(default_factory=list)
    """Files that were written and are not there any more."""
    changed: list[str] = field(default_factory=list)
    """Files that are not as they were written."""
    known: bool = False
    """Whether the folder may be given in place of the scenario."""
    alone: Holder | None = None
    """The process that does all of the run, or writes its results."""
    job: Queued | None = None
    """The job of Slurm that is at the run, if it is looked for; see `with_job`."""
    version: str = ""
    """Of the isthmus that began it, which alone goes on with it."""
    left_s: float | None = None
    """Seconds left at the pace of late; None where nothing can be said."""

    @property
    def total(self) -> int:
        """Points and searches."""
        return self.points + self.searches

    @property
    def whole(self) -> Selection:
        """The same by their positions."""
        return Selection.whole(self.points, self.searches)

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
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
            "left_s": self.left_s,
        }


def state_of(folder: Path) -> State:
    """How far the run of a folder is.

    Raises:
        IsthmusError: it is no folder of a run.

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
    state = State(mark.of.name, mark.points, mark.searches, len(good))
    state.damaged, state.unread = damaged, unread
    state.version = mark.of.version
    state.alone = holder_of(folder)
    _look_at_results(state, folder, mark)
    # Not before every byte was looked at: that may take longer than what they are at.
    _look_at_work(state, folder, mark, good, _claims(journal, mark, done))
    return state


def _look_at_results(state: State, folder: Path, mark: Mark) -> None:
    """What is there of results and pages, as it was written or not."""
    state.lost, state.changed = _spoiled(folder, mark)
    spoiled = (*state.lost, *state.changed)
    state.known = SOURCE in mark.files and SOURCE not in spoiled
    # The page is the last of what is always written; studies and papers have others.
    made = RESULT in mark.files and ("report" in mark.parts or SOURCE not in mark.files)
    state.collected = made and RESULT not in spoiled
    if state.collected and state.done < state.total:
        state.short_of_memory = _short_of_memory(folder / RESULT)


def _look_at_work(
    state: State, folder: Path, mark: Mark, good: set[str], claims: list[Claim]
) -> None:
    """Who is at what is missing, what was given up, and how long the rest will take."""
    journal = folder / JOURNAL
    now = now_in(journal, claims)
    workers = read_workers(journal)
    state.running = [claim.running(now) for claim in claims]
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
    state.left_s = _left_s(state, folder, Selection.of(to_do.values()), good, workers, now)


def with_job(state: State, folder: Path) -> State:
    """The same with the job of Slurm that is at what is missing, for which Slurm is asked."""
    submitted = (folder / SUBMITTED).is_dir()
    if submitted and state.done < state.total and not (state.collected or state.alone):
        from isthmus.sweeps.slurm.queued import queued

        state.job = queued(folder)
    return state


def _entries(journal: Path, mark: Mark) -> list[str]:
    """The names of what the run may have written to its journal."""
    with suppress(FileNotFoundError):
        mode = journal.lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise IsthmusError(
                f"{journal}: {kind_of(mode)} is where a folder of isthmus should be; move it away"
            )
    return [name for name in names_in(journal) if mark.is_entry(f"{JOURNAL}/{name}")]


def _flaws(journal: Path, mark: Mark, entries: set[str]) -> tuple[list[Flaw], list[Flaw]]:
    """Entries that are not what was written, and those that cannot be read; every byte is looked
    at.
    """
    from isthmus import _core

    of = mark.of
    run = of.digest, of.seed, of.quick, of.version
    damaged: list[Flaw] = []
    unread: list[Flaw] = []
    for entry, reason, cannot in ask(_core.journal_flaws, str(journal), *run, sorted(entries)):
        (unread if cannot else damaged).append(Flaw(entry, reason))
    return damaged, unread


def _spoiled(folder: Path, mark: Mark) -> tuple[list[str], list[str]]:
    """Files of ours that are not there any more, and those that are not as they were written. What
    is there of a job of Slurm is to be read, and nothing rests on it.

    A large one is not read again that nobody has touched since it was looked at.
    """
    lost, changed = [], []
    for name, written in sorted(mark.files.items()):
        place = folder / name
        if written.part == SUBMITTED:
            continue
        # A process that was killed may have written a file, and not that it has.
        forms = [form for form in (written, mark.writing.get(name)) if form]
        try:
            told = place.lstat()
            known = mark.untouched(name, told)
            regular = stat.S_ISREG(told.st_mode)
            if not regular or not (known or any(fits(place, form) for form in forms)):
                changed.append(name)
        except (FileNotFoundError, NotADirectoryError):
            lost.append(name)
        except OSError:
            changed.append(name)
    return lost, changed


def _short_of_memory(result: Path) -> str:
    from isthmus.results.schema import RunResult

    with suppress(OSError, IsthmusError):
        return RunResult.of_core(result.read_bytes()).short_of_memory
    return ""


def lacking(folder: Path, points: int, searches: int) -> Selection:
    """The points and searches that a folder's journal does not have, by the names of its files: as
    for the core, a link or a folder is none.
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
        return tuple(at for at in range(count) if f"{entry_of(kind, at)}.json" not in names)

    return Selection(without("point", points), without("search", searches))


def _claims(journal: Path, mark: Mark, done: set[str]) -> list[Claim]:
    """Who is at what. Those who do short points are often between two of them, and at none."""
    claims: list[Claim] = []
    for look in range(LOOKS):
        if look:
            time.sleep(LOOK_S)
        names = _entries(journal, mark)
        claimed = {name.removesuffix(".claim") for name in names if name.endswith(".claim")}
        claims = claims_on(sorted(claimed - done), journal)
        if not all(claim.gone for claim in claims) or not any(map(is_worker_file, names)):
            break
    return claims


def _left_s(
    state: State, folder: Path, to_do: Selection, good: set[str], workers: Workers, now: float
) -> float | None:
    """Seconds left for what nobody has given up."""
    if state.alone:
        with suppress(OSError):
            journal = folder / JOURNAL
            ended = {each: (journal / f"{each}.json").stat().st_mtime for each in good}
            return left_alone_s(to_do, ended, (folder / LOCK).stat().st_mtime)
        return None
    at_work = sum(not each.lost for each in state.running)
    known = bool(workers.took and at_work) or not to_do
    return left_s(to_do, workers.took, at_work, now) if known else None

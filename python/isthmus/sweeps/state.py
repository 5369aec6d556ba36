"""How far a run in parts is, read from its folder without holding anyone up."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.files import telling_of
from isthmus.owned import Mark, read_mark
from isthmus.owned.folder import RESULT
from isthmus.owned.lock import LOCK, Holder, holder_of, is_gone
from isthmus.owned.mark import JOURNAL, fits, sha256
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.source import SOURCE
from isthmus.wording import counted

_ENTRY = re.compile(r"((?:point|search)-\d{5,})\.(json|claim)")
_WORKER = re.compile(r"worker-(?P<host>[A-Za-z0-9.]+)-(?P<process>\d+)-[0-9a-f]{16}")
HEADER = "journal"
"""The entry that says whose the journal is."""
RECENT = 200
"""Of how many finished points the pace is taken, at most."""
BEATS, BEAT_MAX_S = 8, 5.0
"""How often a process touches its file within the time after which it is lost, and the longest time
between two; as in the crate `claims`."""
BEAT_LATE_S, TICK_S = 1.0, 0.1
"""By how much a touch may be late on a busy machine, and between two looks for it."""


@dataclass(frozen=True)
class Failure:
    """A point or search that could not be done."""

    entry: str
    """As in the journal: ``point-00012``."""
    reason: str
    at_s: float = 0.0
    """When, in seconds since 1970 by the folder's clock; 0 if that is just now."""


@dataclass(frozen=True)
class Running:
    """A point or search that a process is at."""

    entry: str
    host: str
    process: int
    lost: bool
    """Whether the process has given no sign of life for so long that another one may take over."""


@dataclass(frozen=True)
class Took:
    """How long a point or search took one process."""

    entry: str
    seconds: float
    ended_s: float
    """When, in seconds since 1970 by the folder's clock."""


@dataclass
class State:
    """How far a run is."""

    name: str
    points: int
    searches: int
    done: int
    running: list[Running] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    """Files of the journal that are not as they were written; what is in them is not counted as
    done.
    """
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
    left_s: float | None = None
    """Seconds left at the pace of late; None where nothing can be said."""

    @property
    def total(self) -> int:
        """Points and searches."""
        return self.points + self.searches

    @property
    def whole(self) -> str:
        """The same in words."""
        words = counted(self.points, "point")
        if self.searches:
            words += f" and {counted(self.searches, 'search', 'searches')}"
        return words

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "name": self.name,
            "points": self.points,
            "searches": self.searches,
            "done": self.done,
            "running": [vars(each) for each in self.running],
            "failed": [vars(each) for each in self.failed],
            "damaged": self.damaged,
            "collected": self.collected,
            "short_of_memory": self.short_of_memory,
            "lost": self.lost,
            "changed": self.changed,
            "alone": self.alone and self.alone.as_json(),
            "left_s": self.left_s,
        }


@dataclass
class Workers:
    """What the files of all processes that did parts say."""

    took: list[Took] = field(default_factory=list)
    failed: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The last failure of each entry, and when."""
    touched: dict[str, float] = field(default_factory=dict)
    """When each gave its last sign of life."""
    expiry_s: dict[str, float] = field(default_factory=dict)


def state_of(folder: Path) -> State:
    """How far the run of a folder is.

    Raises:
        IsthmusError: it is no folder of a run.

    """
    mark = read_mark(folder) if folder.is_dir() else None
    if mark is None or not mark.points + mark.searches:
        raise IsthmusError(f"{folder}: no folder of a run; give that of `isthmus run --out`")
    journal = folder / JOURNAL
    names = _names(journal)
    workers = read_workers(journal, names)
    found = [match for name in names if (match := _ENTRY.fullmatch(name))]
    done = {match[1] for match in found if match[2] == "json"}
    claimed = sorted(match[1] for match in found if match[2] == "claim" and match[1] not in done)
    claims = [claim for entry in claimed if (claim := _claim(journal, entry, workers))]
    now = _now(journal, claims)
    checked = [*done, *({HEADER} if f"{HEADER}.json" in names else ())]
    damaged = sorted(entry for entry in checked if not _whole(journal / f"{entry}.json"))
    counted = len(done.difference(damaged))
    state = State(mark.of.name, mark.points, mark.searches, counted)
    state.damaged = damaged
    state.alone = holder_of(folder)
    state.lost, state.changed = _spoiled(folder, mark)
    spoiled = (*state.lost, *state.changed)
    state.known = SOURCE in mark.files and SOURCE not in spoiled
    # The page is the last of what is always written; studies and papers have others.
    written = RESULT in mark.files and ("report" in mark.parts or SOURCE not in mark.files)
    state.collected = written and RESULT not in spoiled
    if state.collected and state.done < state.total:
        state.short_of_memory = _short_of_memory(folder / RESULT)
    state.running = [claim.running(now) for claim in claims]
    at_work = {each.entry for each in state.running if not each.lost}
    state.failed = [
        Failure(entry, reason, at_s)
        for entry, (at_s, reason) in sorted(workers.failed.items())
        if entry not in done and entry not in at_work
    ]
    state.left_s = (
        _left_alone_s(state, folder, done) if state.alone else _left_s(state, workers, now)
    )
    return state


def _spoiled(folder: Path, mark: Mark) -> tuple[list[str], list[str]]:
    """Files of ours that are not there any more, and those that are not as they were written."""
    lost, changed = [], []
    for name, written in sorted(mark.files.items()):
        place = folder / name
        try:
            if not stat.S_ISREG(place.lstat().st_mode) or not fits(place, written):
                changed.append(name)
        except (FileNotFoundError, NotADirectoryError):
            lost.append(name)
        except OSError:
            changed.append(name)
    return lost, changed


def _short_of_memory(result: Path) -> str:
    from isthmus.results.collection import Results

    with suppress(OSError, IsthmusError):
        return Results.from_json(result.read_text(encoding="utf-8")).run.short_of_memory
    return ""


def lacking(folder: Path, points: int, searches: int) -> Selection:
    """The points and searches that a folder's journal does not have, by the names of its files."""
    names = set(_names(folder / JOURNAL))

    def without(kind: str, count: int) -> tuple[int, ...]:
        return tuple(at for at in range(count) if f"{kind}-{at:05}.json" not in names)

    return Selection(without("point", points), without("search", searches))


def read_workers(journal: Path, names: list[str] | None = None) -> Workers:
    """What the processes that did parts have said; a line that was cut short is left out."""
    found = Workers()
    for name in names if names is not None else _names(journal):
        worker = name.removesuffix(".jsonl")
        if worker == name or not _WORKER.fullmatch(worker):
            continue
        with suppress(OSError):
            path = journal / name
            found.touched[worker] = path.stat().st_mtime
            for line in _lines(path):
                if "done" in line:
                    found.took.append(Took(line["done"], line["took_s"], line["at_s"]))
                elif "failed" in line:
                    at = found.failed.get(line["failed"], (0.0, ""))
                    found.failed[line["failed"]] = max(at, (line["at_s"], line["reason"]))
                elif "worker" in line:
                    found.expiry_s[worker] = line["expiry_s"]
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict):
                yield told


def _whole(path: Path) -> bool:
    """Whether the content of an entry is what its first line says of it."""
    line, _, content = path.read_bytes().partition(b"\n")
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("sha256") == sha256(content)


def _names(journal: Path) -> list[str]:
    with telling_of(journal, "cannot be read"):
        try:
            return [path.name for path in journal.iterdir()]
        except FileNotFoundError:
            return []


@dataclass(frozen=True)
class _Claim:
    """Who has said to be at an entry."""

    entry: str
    host: str
    process: int
    gone: bool
    """Whether it is a process of this machine that is no more."""
    touched: float
    """When it gave its last sign of life, by the folder's clock."""
    expiry_s: float

    def running(self, now: float) -> Running:
        """The same as seen at a time of the folder's clock."""
        lost = self.gone or now - self.touched > self.expiry_s
        return Running(self.entry, self.host, self.process, lost)


def _claim(journal: Path, entry: str, workers: Workers) -> _Claim | None:
    """The claim on an entry; None if there is none any more."""
    try:
        claim = journal / f"{entry}.claim"
        made = claim.stat().st_mtime
        worker = claim.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    touched = workers.touched.get(worker, made)
    expiry_s = workers.expiry_s.get(worker, 0.0)
    match = _WORKER.fullmatch(worker)
    if match is None:
        return _Claim(entry, "", 0, False, touched, expiry_s)
    host, process = match["host"], int(match["process"])
    here = re.sub("[^A-Za-z0-9]", ".", socket.gethostname())[:64]
    return _Claim(entry, host, process, host == here and is_gone(process), touched, expiry_s)


def _now(journal: Path, claims: list[_Claim]) -> float:
    """The folder's time, as far as it decides who is lost. Nothing is written to learn it.

    Who lives touches its file again and again, so that the youngest file bears the time of the last
    touch. Where that is long ago by this machine's clock, either nobody lives or the clocks are
    apart: then a file becomes younger while one looks, or none does.
    """
    youngest, here = _youngest(journal), time.time()
    doubtful = [
        claim.expiry_s
        for claim in claims
        if not claim.running(youngest).lost and claim.running(here).lost
    ]
    if not doubtful:
        return youngest
    give_up = time.monotonic() + min(max(doubtful) / BEATS, BEAT_MAX_S) + BEAT_LATE_S
    while time.monotonic() < give_up:
        time.sleep(TICK_S)
        if (younger := _youngest(journal)) > youngest:
            return younger
    return here


def _youngest(journal: Path) -> float:
    """When a process that does a part has last written or touched its file."""
    times = [0.0]
    for name in _names(journal):
        if _WORKER.fullmatch(name.removesuffix(".jsonl")):
            # Opened, since network file systems look anew at what is opened.
            with suppress(OSError), (journal / name).open("rb") as file:
                times.append(os.fstat(file.fileno()).st_mtime)
    return max(times)


def _left_alone_s(state: State, folder: Path, done: set[str]) -> float | None:
    """By what a process has done since it has been alone in the folder."""
    missing = state.total - state.done
    with suppress(OSError):
        began = (folder / LOCK).stat().st_mtime
        times = [(folder / JOURNAL / f"{entry}.json").stat().st_mtime for entry in done]
        late = sum(time > began for time in times)
        if missing and late:
            return missing * (max(times) - began) / late
    return None


def _left_s(state: State, workers: Workers, now: float) -> float | None:
    missing = state.total - state.done
    late = sorted(workers.took, key=lambda took: took.ended_s)[-RECENT:]
    if missing == 0:
        return 0.0
    if not late or not any(not each.lost for each in state.running):
        return None
    span = now - min(took.ended_s - took.seconds for took in late)
    return missing * max(span, 0.0) / len(late)

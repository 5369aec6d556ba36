"""How far a run in parts is, read from its folder without holding anyone up."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.files import telling_of
from isthmus.owned import read_mark
from isthmus.owned.mark import JOURNAL, sha256
from isthmus.sweeps.selection import Selection

_ENTRY = re.compile(r"((?:point|search)-\d{5,})\.(json|claim)")
_WORKER = re.compile(r"worker-(?P<host>[A-Za-z0-9.]+)-(?P<process>\d+)-[0-9a-f]{16}")
RECENT = 200
"""Of how many finished points the pace is taken, at most."""


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
    """Entries that are not as they were written; they are not counted as done."""
    collected: bool = False
    """Whether the results have been written."""
    left_s: float | None = None
    """Seconds left at the pace of late; None where nothing can be said."""

    @property
    def total(self) -> int:
        """Points and searches."""
        return self.points + self.searches

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
    found = [match for name in names if (match := _ENTRY.fullmatch(name))]
    done = {match[1] for match in found if match[2] == "json"}
    claimed = sorted(match[1] for match in found if match[2] == "claim" and match[1] not in done)
    workers = read_workers(journal, names)
    now = _now(journal)
    damaged = sorted(entry for entry in done if not _whole(journal / f"{entry}.json"))
    state = State(mark.of.name, mark.points, mark.searches, len(done) - len(damaged))
    state.damaged = damaged
    state.collected = "result" in mark.parts
    for entry in claimed:
        running = _running(journal, entry, workers, now)
        if running:
            state.running.append(running)
    at_work = {each.entry for each in state.running if not each.lost}
    state.failed = [
        Failure(entry, reason, at_s)
        for entry, (at_s, reason) in sorted(workers.failed.items())
        if entry not in done and entry not in at_work
    ]
    state.left_s = _left_s(state, workers, now)
    return state


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


def _running(journal: Path, entry: str, workers: Workers, now: float) -> Running | None:
    """Who is at an entry; None if nobody is any more."""
    try:
        claim = journal / f"{entry}.claim"
        made = claim.stat().st_mtime
        worker = claim.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    match = _WORKER.fullmatch(worker)
    touched = workers.touched.get(worker, made)
    lost = now - touched > workers.expiry_s.get(worker, 0.0)
    if match is None:
        return Running(entry, "", 0, lost)
    lost = lost or _is_gone(match["host"], int(match["process"]))
    return Running(entry, match["host"], int(match["process"]), lost)


def _is_gone(host: str, process: int) -> bool:
    """Whether it is a process of this machine that is no more."""
    if host != re.sub("[^A-Za-z0-9]", ".", socket.gethostname())[:64]:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _now(journal: Path) -> float:
    """The folder's time, or this machine's where nothing can be written there."""
    path = journal / f".now.{os.getpid()}.{os.urandom(8).hex()}.part"
    try:
        path.touch(exist_ok=False)
        try:
            return path.stat().st_mtime
        finally:
            path.unlink(missing_ok=True)
    except OSError:
        return time.time()


def _left_s(state: State, workers: Workers, now: float) -> float | None:
    missing = state.total - state.done
    late = sorted(workers.took, key=lambda took: took.ended_s)[-RECENT:]
    if missing == 0:
        return 0.0
    if not late or not any(not each.lost for each in state.running):
        return None
    span = now - min(took.ended_s - took.seconds for took in late)
    return missing * max(span, 0.0) / len(late)

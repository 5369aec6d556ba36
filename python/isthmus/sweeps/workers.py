"""Worker processes that do parts of a run, as their files in its journal describe them."""

from __future__ import annotations

import json
import math
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from isthmus import _core
from isthmus.core import ask
from isthmus.files import telling_of
from isthmus.owned.mark import is_worker

WORKER_MAX = 100_000_000
"""Maximum number of bytes that are read from a worker's file: a million lines."""
BEAT_LATE_S, TICK_S = 1.0, 0.1
"""Seconds by which a heartbeat may be late on a busy machine, and seconds between two checks."""


@dataclass(frozen=True)
class Running:
    """A point or search that a process is working on."""

    entry: str
    host: str
    process: int
    lost: bool
    """Whether the last heartbeat is so old that another process may take over the point or search.
    """


@dataclass(frozen=True)
class Timing:
    """The time that one process needed for a point or search."""

    entry: str
    seconds: float
    ended_s: float
    """Time at which the point or search was finished, in seconds since 1970 by the folder's
    clock.
    """
    process: str = ""
    """Name of the process that ran the point or search."""
    threads: int = 1
    """Number of threads of the process, which all its points and searches share."""


@dataclass
class Workers:
    """The records of all worker processes of a run: finished and failed points and searches."""

    timings: list[Timing] = field(default_factory=list)
    failed: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The time and the reason of the last failure of each point or search, by journal entry."""


def names_in(journal: Path) -> list[str]:
    """Return the names of the files in a journal; none if the journal does not exist."""
    with telling_of(journal, "cannot be read"):
        try:
            return [path.name for path in journal.iterdir()]
        except FileNotFoundError:
            return []


def read_workers(journal: Path) -> Workers:
    """Read the records of all workers; lines that were cut short are ignored."""
    found = Workers()
    for worker in _workers(names_in(journal)):
        threads = 1
        with suppress(OSError):
            for line in _lines(journal / f"{worker}.jsonl"):
                # Ignore lines without the expected fields.
                with suppress(KeyError, TypeError, ValueError, OverflowError):
                    threads = max(threads, int(line.get("threads", 1)))
                    _record(line, found, worker, threads)
    return found


def is_worker_file(name: str) -> bool:
    """Return whether a file of a journal belongs to a worker process."""
    return name.endswith(".jsonl") and is_worker(name.removesuffix(".jsonl"))


def _workers(names: Iterable[str]) -> Iterator[str]:
    """Yield the name of each worker process that has a file among these names of files."""
    return (name.removesuffix(".jsonl") for name in names if is_worker_file(name))


def _opened(path: Path) -> BinaryIO:
    """Open an ordinary file without following a link or blocking, as a foreign file may have this
    path.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path}: not a plain file")
    return file


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the lines of a worker's file."""
    with _opened(path) as file:
        text = file.read(WORKER_MAX).decode(errors="replace")
    # Split at "\n" only: a reason may contain other characters at which `splitlines` would split.
    for line in text.split("\n"):
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


def _record(line: dict[str, Any], found: Workers, worker: str, threads: int) -> None:
    """Add a line of a worker's file to the records: a finished or a failed point or search."""
    if "done" in line:
        took_s, at_s = _seconds(line["took_s"]), _seconds(line["at_s"])
        found.timings.append(Timing(str(line["done"]), took_s, at_s, worker, threads))
    elif "failed" in line:
        entry, failed = str(line["failed"]), (_seconds(line["at_s"]), str(line["reason"]))
        found.failed[entry] = max(found.failed.get(entry, failed), failed)


def _seconds(value: Any) -> float:
    """Return a time from a worker's file in seconds; refuse negative and infinite times."""
    seconds = float(value)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"no time: {value}")
    return seconds


@dataclass(frozen=True)
class Lease:
    """A lease: a file by which a worker process reserves a point or search of the run."""

    entry: str
    host: str
    process: int
    gone: bool
    """Whether the holder of the lease is a dead process of this machine."""
    touched: float
    """Time of the last heartbeat, by the folder's clock."""
    expiry_s: float

    def running(self, now: float) -> Running:
        """Return the point or search under this lease, and whether the lease is lost at the time
        `now` of the folder's clock.
        """
        lost = self.gone or now - self.touched > self.expiry_s
        return Running(self.entry, self.host, self.process, lost)


def leases_on(entries: Iterable[str], journal: Path) -> list[Lease]:
    """Return the leases that still exist on these points and searches."""
    return [Lease(*fields) for fields in ask(_core.claims_on, str(journal), list(entries))]


def now_in(journal: Path, leases: list[Lease]) -> float:
    """Return the current time of the folder's clock, accurate enough to decide which leases have
    expired. Write nothing.

    Live workers touch their files regularly, so the youngest file has the time of the last
    heartbeat. If that is long ago by this machine's clock, either no worker lives or the clocks
    differ; then this function waits for one file to become younger.
    """
    youngest, here = _youngest(journal), time.time()
    doubtful = [
        lease.expiry_s
        for lease in leases
        if not lease.running(youngest).lost and lease.running(here).lost
    ]
    if not doubtful:
        return youngest
    give_up = time.monotonic() + _core.worker_beat_s(max(doubtful)) + BEAT_LATE_S
    while time.monotonic() < give_up:
        time.sleep(TICK_S)
        if (younger := _youngest(journal)) > youngest:
            return younger
    return here


def _youngest(journal: Path) -> float:
    """Return the time of the last write or heartbeat of any worker."""
    times = [0.0]
    for worker in _workers(names_in(journal)):
        # Open the file: network file systems refresh its times only then.
        with suppress(OSError), _opened(journal / f"{worker}.jsonl") as file:
            times.append(os.fstat(file.fileno()).st_mtime)
    return max(times)

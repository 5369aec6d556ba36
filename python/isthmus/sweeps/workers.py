"""Processes that do parts of a run, as their files in its journal tell of them."""

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

from isthmus.core import ask
from isthmus.files import telling_of
from isthmus.owned.mark import is_worker

WORKER_MAX = 100_000_000
"""Most bytes of a process' file that are read: a million lines."""
BEAT_LATE_S, TICK_S = 1.0, 0.1
"""By how much a sign of life may be late on a busy machine, and between two looks for one."""


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
    process: str = ""
    """Which."""
    threads: int = 1
    """Of the process, for all that it was at."""


@dataclass
class Workers:
    """What the files of all processes that did parts say."""

    took: list[Took] = field(default_factory=list)
    failed: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The last failure of each entry, and when."""


def names_in(journal: Path) -> list[str]:
    """The names of what is in a journal's folder; none if there is no such folder."""
    with telling_of(journal, "cannot be read"):
        try:
            return [path.name for path in journal.iterdir()]
        except FileNotFoundError:
            return []


def read_workers(journal: Path) -> Workers:
    """What the processes that did parts have said; a line that was cut short is left out."""
    found = Workers()
    for worker in _workers(names_in(journal)):
        threads = 1
        with suppress(OSError):
            for line in _lines(journal / f"{worker}.jsonl"):
                # Nor is one of use that is not of this form.
                with suppress(KeyError, TypeError, ValueError, OverflowError):
                    threads = max(threads, int(line.get("threads", 1)))
                    _heed(line, found, worker, threads)
    return found


def is_worker_file(name: str) -> bool:
    """Whether a file of a journal is that of a process that did parts."""
    return name.endswith(".jsonl") and is_worker(name.removesuffix(".jsonl"))


def _workers(names: Iterable[str]) -> Iterator[str]:
    return (name.removesuffix(".jsonl") for name in names if is_worker_file(name))


def _opened(path: Path) -> BinaryIO:
    """A plain file, no link followed and nobody waited for: anything may lie there."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path}: not a plain file")
    return file


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with _opened(path) as file:
        text = file.read(WORKER_MAX).decode(errors="replace")
    # What a reason has that Python takes for an end of a line is none.
    for line in text.split("\n"):
        with suppress(ValueError, RecursionError):
            told = json.loads(line)
            if isinstance(told, dict):
                yield told


def _heed(line: dict[str, Any], found: Workers, worker: str, threads: int) -> None:
    if "done" in line:
        took_s, at_s = _seconds(line["took_s"]), _seconds(line["at_s"])
        found.took.append(Took(str(line["done"]), took_s, at_s, worker, threads))
    elif "failed" in line:
        entry, failed = str(line["failed"]), (_seconds(line["at_s"]), str(line["reason"]))
        found.failed[entry] = max(found.failed.get(entry, failed), failed)


def _seconds(told: Any) -> float:
    seconds = float(told)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"no time: {told}")
    return seconds


@dataclass(frozen=True)
class Claim:
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


def claims_on(entries: Iterable[str], journal: Path) -> list[Claim]:
    """The claims on these entries, as far as they are there still."""
    from isthmus import _core

    return [Claim(*told) for told in ask(_core.claims_on, str(journal), list(entries))]


def now_in(journal: Path, claims: list[Claim]) -> float:
    """The folder's time, as far as it decides who is lost. Nothing is written to learn it.

    Who lives touches its file again and again, so that the youngest file bears the time of the last
    touch. Where that is long ago by this machine's clock, either nobody lives or the clocks are
    apart: then a file becomes younger while one looks, or none does.
    """
    from isthmus import _core

    youngest, here = _youngest(journal), time.time()
    doubtful = [
        claim.expiry_s
        for claim in claims
        if not claim.running(youngest).lost and claim.running(here).lost
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
    """When a process that does a part has last written or touched its file."""
    times = [0.0]
    for worker in _workers(names_in(journal)):
        # Opened, since network file systems look anew at what is opened.
        with suppress(OSError), _opened(journal / f"{worker}.jsonl") as file:
            times.append(os.fstat(file.fileno()).st_mtime)
    return max(times)

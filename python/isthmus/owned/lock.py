"""One process at a time in a folder, or several that do parts of one run; the lock of a process
that died is free.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.files import refuse_unless_file, unwritable

LOCK = ".isthmus.lock"
"""The locked file, with who holds it in it; it stays, empty, when the lock is free."""
DOES_ALL, COLLECTS = "does all of this run", "collects this run"
"""What a process that is alone in a folder for long does there."""
TRIES, TRY_S = 5, 0.02
"""How often a lock is tried, and the time between: who looks whether a folder is held has it for a
moment.
"""
SUBMITTER = ".isthmus.submit.lock"
"""That of whoever submits a job which is to work in the folder: for as long as a scheduler takes to
answer, while tasks that have begun already share the folder's own lock."""


@dataclass(frozen=True)
class Holder:
    """A process that holds a folder alone."""

    pid: int
    host: str
    since: str
    work: str = ""
    """What it does there; empty where it does not take long."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "process": self.pid,
            "host": self.host,
            "since": self.since,
            "work": self.work,
        }


class BusyError(IsthmusError):
    """Another process works in the folder."""

    def __init__(self, folder: Path, holder: Holder | None, told: str = "") -> None:
        # Those that share it leave no name there.
        who = holder or "another process, or one that does a part of this run,"
        told = told or (
            f"{who} is working in this folder; wait until it has ended, or give another folder"
        )
        super().__init__(f"{folder}: {told}")
        self.holder = holder


@contextmanager
def held(folder: Path, *, shared: bool = False, work: str = "", name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder, alone or with others that share it, or another of its locks;
    `work` is what others are told of a process that is alone there for long.

    Raises:
        BusyError: another process holds it.
        IsthmusError: the folder cannot be written to.

    """
    path = folder / name
    refuse_unless_file(path)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, flags, 0o666)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        _take(number, path, shared=shared)
        if shared:
            # A name that is there is that of a process which died.
            if os.fstat(number).st_size:
                os.ftruncate(number, 0)
            yield
            return
        try:
            try:
                os.ftruncate(number, 0)
                os.write(number, _self(work))
            except OSError as error:
                raise unwritable(folder, error) from error
            yield
        finally:
            os.ftruncate(number, 0)
    finally:
        # The system frees the lock with the file, however the process ends.
        os.close(number)


def _take(number: int, path: Path, *, shared: bool) -> None:
    folder = path.parent
    try:
        import fcntl
    except ImportError:
        raise IsthmusError(
            f"{folder}: this system has no locks that end with their process (flock), so that "
            "results cannot be kept safely; run it on Linux or macOS"
        ) from None
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    for last in (*[False] * (TRIES - 1), True):
        try:
            fcntl.flock(number, how)
            return
        except BlockingIOError:
            if last:
                raise BusyError(folder, _named(path)) from None
            time.sleep(TRY_S)
        except OSError as error:
            raise unwritable(folder, error) from error


def holder_of(folder: Path) -> Holder | None:
    """The process that holds a folder alone, if one does and has said so; nobody is held up. The
    lock says whether: of a number that was given in another container nothing is known here.
    """
    named = _named(folder / LOCK)
    if named is None:
        return None
    try:
        import fcntl

        number = os.open(folder / LOCK, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(number)
    except BlockingIOError:
        return named
    except (ImportError, OSError):
        return None
    return None


def _self(work: str) -> bytes:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return (
        json.dumps(asdict(Holder(os.getpid(), socket.gethostname(), since, work))) + "\n"
    ).encode()


def _named(path: Path) -> Holder | None:
    """Who has left a name in the lock; it may have begun, or have ended, just now."""
    try:
        told = Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return told if isinstance(told.pid, int) and told.pid > 0 else None

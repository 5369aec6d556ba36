"""Locks of a folder: one process alone, or several that do parts of one run.

The system releases the lock of a process that died.
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
"""Name of the locked file; it contains its holder, and stays, empty, when the lock is free."""
DOES_ALL, COLLECTS = "does all of this run", "collects this run"
"""Words that describe the work of a process that holds a folder alone for a long time, for
messages to other processes.
"""
TRIES, TRY_S = 5, 0.02
"""Number of attempts to take a lock, and seconds between them. Another attempt helps, because
`holder_of` holds the lock briefly.
"""
SUBMITTER = ".isthmus.submit.lock"
"""Name of the file that a process locks to submit a job, until the scheduler answers. Meanwhile
tasks that have already started share the folder's own lock.
"""


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock of a folder alone, as the lock file names it."""

    pid: int
    host: str
    since: str
    work: str = ""
    """The work of the process; empty if it is short."""

    def __str__(self) -> str:
        """Return the process in words: its number, its host, and the time since which it holds the
        lock.
        """
        return f"process {self.pid} on {self.host} (since {self.since})"

    def as_json(self) -> dict[str, Any]:
        """Return the process, host, time and work of the holder as JSON values, as `--json`
        prints them.
        """
        return {
            "process": self.pid,
            "host": self.host,
            "since": self.since,
            "work": self.work,
        }


class BusyError(IsthmusError):
    """Error: the folder cannot be used, because another process holds its lock."""

    def __init__(self, folder: Path, holder: Holder | None, reason: str = "") -> None:
        """Create an error text that names the process that holds the lock, if known, and
        advises what to do. `reason` replaces this text.
        """
        # The holder is unknown if several processes share the lock: they write no names into it.
        who = holder or "another process, or one that does a part of this run,"
        reason = reason or (
            f"{who} is working in this folder; wait until it has ended, or give another folder"
        )
        super().__init__(f"{folder}: {reason}")
        self.holder = holder


@contextmanager
def hold(folder: Path, *, shared: bool = False, work: str = "", name: str = LOCK) -> Iterator[None]:
    """Return a context manager that holds a lock of a folder, alone or shared with others. `work`
    describes for other processes what this one does for a long time.

    Raises:
        BusyError: another process holds the lock.
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
        _acquire(number, path, shared=shared)
        if shared:
            # Remove a name in the lock file: several processes may share this lock and write no
            # names, so it is that of a dead process.
            if os.fstat(number).st_size:
                os.ftruncate(number, 0)
            yield
            return
        try:
            try:
                os.ftruncate(number, 0)
                os.write(number, _own_name(work))
            except OSError as error:
                raise unwritable(folder, error) from error
            yield
        finally:
            os.ftruncate(number, 0)
    finally:
        # Closing the file releases its lock. The system closes the file if the process is killed.
        os.close(number)


def _acquire(number: int, path: Path, *, shared: bool) -> None:
    """Take the lock of an open file (descriptor `number`) without waiting; raise an error if
    another process holds it.
    """
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
                raise BusyError(folder, _read_holder(path)) from None
            time.sleep(TRY_S)
        except OSError as error:
            raise unwritable(folder, error) from error


def holder_of(folder: Path) -> Holder | None:
    """Return the process that holds a folder alone; None if no process does, or its name is not
    known. Other processes can still take the lock.

    The lock itself decides whether the holder is alive: a process number from another container
    means nothing here.
    """
    holder = _read_holder(folder / LOCK)
    if holder is None:
        return None
    try:
        import fcntl

        number = os.open(folder / LOCK, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(number)
    except BlockingIOError:
        return holder
    except (ImportError, OSError):
        return None
    return None


def _own_name(work: str) -> bytes:
    """Return the line that this process writes to a lock file as the holder of the lock, with its
    current `work`.
    """
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return (
        json.dumps(asdict(Holder(os.getpid(), socket.gethostname(), since, work))) + "\n"
    ).encode()


def _read_holder(path: Path) -> Holder | None:
    """Return the process that a lock file names as its holder, which may have ended. Return None if
    the file is missing or names no process.
    """
    try:
        holder = Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return holder if isinstance(holder.pid, int) and holder.pid > 0 else None

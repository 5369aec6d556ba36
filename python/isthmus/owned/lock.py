"""One process at a time in a folder, or several that do parts of one run; the lock of a process
that died is free.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.files import refuse_unless_file, telling_of, unwritable

LOCK = ".isthmus.lock"
"""The locked file, with who holds it in it; it stays, empty, when the lock is free."""
SUBMITTER = ".isthmus.submit.lock"
"""That of whoever submits a job which is to work in the folder: for as long as a scheduler takes to
answer, while tasks that have begun already share the folder's own lock."""


class BusyError(IsthmusError):
    """Another process works in the folder."""


@contextmanager
def held(folder: Path, *, shared: bool = False, name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder, alone or with others that share it, or another of its locks.

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
            yield
            return
        try:
            with telling_of(path, "cannot be written"):
                os.ftruncate(number, 0)
                os.write(number, _self())
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
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(
            f"{folder}: {_holder(path)} is working in this folder; wait until it has ended, "
            "or give another folder"
        ) from None
    except OSError as error:
        raise unwritable(folder, error) from error


def _self() -> bytes:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    return (json.dumps(told) + "\n").encode()


def _holder(path: Path) -> str:
    """Who holds the lock, in words; it may have begun, or have ended, just now."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return f"process {told['pid']} on {told['host']} (since {told['since']})"
    except (OSError, ValueError, TypeError, KeyError):
        # Those that share it leave no name there.
        return "another process, or one that does a part of this run,"

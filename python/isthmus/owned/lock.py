"""One process at a time in a folder; the lock of a process that died is free."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.files import refuse_unless_file, unwritable, write_text

LOCK = ".isthmus.lock"
"""The locked file; it stays when the lock is free."""
HOLDER = ".isthmus.holder.json"
"""Who holds the lock; there while it is held, and after the holder died."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder.

    Raises:
        IsthmusError: another process holds it, or the folder cannot be written to.

    """
    from filelock import FileLock, Timeout

    refuse_unless_file(folder / LOCK)
    refuse_unless_file(folder / HOLDER)
    # A file that merely exists would outlive its process: never in place of the system's lock.
    lock = FileLock(folder / LOCK, blocking=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise IsthmusError(
            f"{folder}: {_holder(folder)} is working in this folder; wait until it has ended, "
            "or give another --out"
        ) from None
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        write_text(folder / HOLDER, _self())
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _self() -> str:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    return json.dumps(told) + "\n"


def _holder(folder: Path) -> str:
    """Who holds the lock, in words; it may have begun, or have ended, just now."""
    try:
        told = json.loads((folder / HOLDER).read_text(encoding="utf-8"))
        return f"process {told['pid']} on {told['host']} (since {told['since']})"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"

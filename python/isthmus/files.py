"""Files that are whole or not there: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from secrets import token_hex

from isthmus.errors import IsthmusError

NAME_MAX = 150
"""Most characters of a file's name that its temporary name repeats."""


def ready_folder(folder: Path) -> None:
    """Create a folder, before any work.

    Raises:
        IsthmusError: it cannot be created or written to.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unwritable(folder, PermissionError(13, "Permission denied"))


def unwritable(folder: Path, error: OSError) -> IsthmusError:
    """What to say of a folder that cannot be written to."""
    return IsthmusError(
        f"{folder}: cannot write results here ({error.strerror}); "
        "choose another folder with --out DIR"
    )


def beside(name: str) -> str:
    """A temporary name that no other process takes, nor this one twice."""
    return f".{name[:NAME_MAX]}.{os.getpid()}.{token_hex(8)}.part"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole, in place of the ordinary file that may be there.

    Raises:
        IsthmusError: what is there is a link, a folder or a device.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_unless_file(path)
    temporary = path.with_name(beside(path.name))
    # O_EXCL: never through a link, never into what another process writes.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            # Without it a power cut may leave the new name with nothing in it.
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, as `write_bytes` does."""
    write_bytes(path, text.encode())


def refuse_unless_file(path: Path) -> None:
    """Refuse to write where something other than an ordinary file is.

    Raises:
        IsthmusError: a link (whatever it points to), a folder or a device is there.

    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise IsthmusError(f"{path}: {kind_of(mode)} is there; give the name of a file")


def kind_of(mode: int) -> str:
    """What a file's mode says that it is."""
    if stat.S_ISLNK(mode):
        return "a symbolic link, which is not followed,"
    return "a folder" if stat.S_ISDIR(mode) else "something that is no ordinary file"

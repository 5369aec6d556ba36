"""Atomic file writes: a temporary file in the same folder is renamed when complete."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    Bytes = bytes | memoryview
    """Type of a file's content; a buffer of the Rust core may be very large, so it is not copied.
    """

NAME_MAX = 150
"""Maximum characters of a file name that its temporary name contains."""


def ready_folder(folder: Path) -> None:
    """Create a folder before the work starts.

    Raises:
        IsthmusError: the folder cannot be created, or is not writable.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    _refuse_unwritable(folder, folder)


def refuse_unready(folder: Path) -> None:
    """Refuse a folder that `ready_folder` would refuse, without creating it.

    Raises:
        IsthmusError: the folder could not be created, or is not writable.

    """
    try:
        there = next(at for at in (folder, *folder.absolute().parents) if os.path.lexists(at))
        if not there.is_dir():
            number = errno.EEXIST if there == folder else errno.ENOTDIR
            raise unwritable(folder, OSError(number, os.strerror(number)))
    except OSError as error:
        raise unwritable(folder, error) from error
    _refuse_unwritable(folder, there)


def _refuse_unwritable(folder: Path, there: Path) -> None:
    """Refuse to create `folder` if `there`, the part of its path that exists, is not writable."""
    if os.access(there, os.W_OK | os.X_OK):
        return
    # An access check does not distinguish a read-only file system from missing permission.
    fixed = hasattr(os, "statvfs") and os.statvfs(there).f_flag & os.ST_RDONLY
    number = errno.EROFS if fixed else errno.EACCES
    raise unwritable(folder, OSError(number, os.strerror(number)))


def unwritable(folder: Path, error: OSError) -> IsthmusError:
    """Return the error for a folder that is not writable."""
    right = "choose another folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        right = "make room there, and give the command again"
    elif folder.is_dir():
        # Do not advise to remove the folder, as it may contain finished points.
        right = "have it made writable, or choose another folder"
    return IsthmusError(f"{folder}: cannot write here ({error.strerror}); {right}")


class FileError(IsthmusError):
    """A file that could not be read, written or removed, with the reason."""


@contextmanager
def telling_of(path: Path, what: str) -> Iterator[None]:
    """Convert an OSError to an error that names the file and the failed operation.

    Raises:
        FileError: in place of an OSError.

    """
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: {what} ({error.strerror or error})") from error


def temporary_name(name: str) -> str:
    """Return a unique temporary name for a file that is to get the name `name`."""
    return f".{name[:NAME_MAX]}.{os.getpid()}.{token_hex(8)}.part"


def write_bytes(path: Path, data: Bytes) -> None:
    """Write a file atomically; replace an existing ordinary file.

    Raises:
        IsthmusError: a link, a folder or a device has this name.
        FileError: the file cannot be written.

    """
    with telling_of(path, "cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_unless_file(path)
        with _temporary_copy(path, data) as temporary:
            temporary.replace(path)


def write_new(path: Path, data: bytes) -> None:
    """Write a new file atomically.

    Raises:
        FileExistsError: the name is taken.
        FileError: the file cannot be written.

    """
    with telling_of(path, "cannot be written"):
        if os.path.lexists(path):
            taken = True
        else:
            with _temporary_copy(path, data) as temporary:
                taken = not _rename_unless_taken(temporary, path)
    if taken:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _rename_unless_taken(temporary: Path, path: Path) -> bool:
    """Rename a temporary file to `path`, unless a file has this name; return whether the name was
    free.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # The file system has no hard links: check the name before the rename.
        if os.path.lexists(path):
            return False
        temporary.rename(path)
    return True


@contextmanager
def _temporary_copy(path: Path, data: Bytes) -> Iterator[Path]:
    """Write a file under a temporary name beside `path`, and yield the temporary path; the file is
    removed afterwards.
    """
    temporary = path.with_name(temporary_name(path.name))
    # O_EXCL: never follow a link, never write to a file of another process.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            # Without fsync, a power failure may leave an empty file.
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, like `write_bytes`."""
    write_bytes(path, text.encode())


def refuse_unless_file(path: Path) -> None:
    """Refuse to replace anything except an ordinary file.

    Raises:
        IsthmusError: a link (with any target), a folder or a device has this name.

    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise IsthmusError(f"{path}: {kind_of(mode)} is there; give the name of a file")


def kind_of(mode: int) -> str:
    """Return the kind of a file from its mode, in words."""
    if stat.S_ISLNK(mode):
        return "a symbolic link, which is not followed,"
    return "a folder" if stat.S_ISDIR(mode) else "something that is no ordinary file"

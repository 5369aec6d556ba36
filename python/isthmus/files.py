"""Files that are whole or not there: written beside their place, then renamed into it."""

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
    """Hundreds of megabytes that the core gives away are not copied to be `bytes`."""

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
    _refuse_closed(folder, folder)


def refuse_unready(folder: Path) -> None:
    """Refuse a folder that `ready_folder` would refuse, as far as is seen without making it.

    Raises:
        IsthmusError: it could not be created or written to.

    """
    try:
        there = next(at for at in (folder, *folder.absolute().parents) if os.path.lexists(at))
        if not there.is_dir():
            number = errno.EEXIST if there == folder else errno.ENOTDIR
            raise unwritable(folder, OSError(number, os.strerror(number)))
    except OSError as error:
        raise unwritable(folder, error) from error
    _refuse_closed(folder, there)


def _refuse_closed(folder: Path, there: Path) -> None:
    """Refuse a folder if what there is of it may not be written to."""
    if os.access(there, os.W_OK | os.X_OK):
        return
    # Who only asks for access is not told which of the two it is.
    fixed = hasattr(os, "statvfs") and os.statvfs(there).f_flag & os.ST_RDONLY
    number = errno.EROFS if fixed else errno.EACCES
    raise unwritable(folder, OSError(number, os.strerror(number)))


def unwritable(folder: Path, error: OSError) -> IsthmusError:
    """What to say of a folder that cannot be written to."""
    right = "choose another folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        right = "make room there, and give the command again"
    elif folder.is_dir():
        # What was finished may lie there.
        right = "have it made writable, or choose another folder"
    return IsthmusError(f"{folder}: cannot write here ({error.strerror}); {right}")


class FileError(IsthmusError):
    """A file that could not be read, written or removed: which one, and why."""


@contextmanager
def telling_of(path: Path, what: str) -> Iterator[None]:
    """Say of which file an error of the system is, and what could not be done.

    Raises:
        FileError: in place of an OSError.

    """
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: {what} ({error.strerror or error})") from error


def beside(name: str) -> str:
    """A temporary name that no other process takes, nor this one twice."""
    return f".{name[:NAME_MAX]}.{os.getpid()}.{token_hex(8)}.part"


def write_bytes(path: Path, data: Bytes) -> None:
    """Write a file whole, in place of the ordinary file that may be there.

    Raises:
        IsthmusError: what is there is a link, a folder or a device.
        FileError: it cannot be written.

    """
    with telling_of(path, "cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_unless_file(path)
        with _whole_beside(path, data) as temporary:
            temporary.replace(path)


def write_new(path: Path, data: bytes) -> None:
    """Write a file whole where nothing is.

    Raises:
        FileExistsError: there is something.
        FileError: it cannot be written.

    """
    with telling_of(path, "cannot be written"):
        if os.path.lexists(path):
            taken = True
        else:
            with _whole_beside(path, data) as temporary:
                taken = not _named(temporary, path)
    if taken:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _named(temporary: Path, path: Path) -> bool:
    """Give a file its name unless that is taken; whether it was free."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # A file system without hard links: there the look that was taken before must do.
        if os.path.lexists(path):
            return False
        temporary.rename(path)
    return True


@contextmanager
def _whole_beside(path: Path, data: Bytes) -> Iterator[Path]:
    """The whole file under a temporary name, which is gone afterwards."""
    temporary = path.with_name(beside(path.name))
    # O_EXCL: never through a link, never into what another process writes.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            # Without it a power cut may leave the new name with nothing in it.
            os.fsync(file.fileno())
        yield temporary
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

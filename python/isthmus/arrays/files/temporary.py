"""Files and folders that are written under a temporary name and renamed when complete.

The temporary name is derived from the final one. It is locked while the writer lives: a second
writer gets an error, and the next writer removes the remains of a killed one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.files import NAME_MAX, kind_of, refuse_unless_file, telling_of, unwritable

TEMPORARY = "isthmus-part"
"""Suffix of the temporary name of a file or folder that is being written."""
FORMER = "isthmus-former"
"""Suffix of the temporary name of an existing folder while a new folder replaces it."""


def hidden(path: Path, end: str) -> Path:
    """Return a path in the folder of `path` with a hidden name that ends with `end`. Names of
    maximum length are cut and stay unique.
    """
    name = os.fsencode(path.name)
    if len(name) > NAME_MAX:
        # A name that is cut within a UTF-8 character is not readable, but valid for the system.
        name = name[:NAME_MAX] + b"~" + hashlib.sha256(name).hexdigest()[:16].encode()
    return path.with_name(f".{os.fsdecode(name)}.{end}")


class Temporary:
    """A locked file or folder under its temporary name."""

    def __init__(self, path: Path, *, folder: bool = False, keep: bool = True) -> None:
        """Create the temporary file or folder; without `keep`, rename the existing file to the
        temporary name.

        Raises:
            IsthmusError: another program is writing it, the path is occupied, or the folder is not
                writable.

        """
        self.path = path
        self.place = hidden(path, TEMPORARY)
        self._folder = folder
        with telling_of(path, "cannot be written"):
            if not path.parent.is_dir():
                raise IsthmusError(f"{path}: there is no folder {path.parent}; make it first")
            if folder:
                recover(path)
                _refuse_unless_folder(path)
            else:
                refuse_unless_file(path)
        try:
            adopted = None if keep or folder else self._adopt_existing()
            self._is_adopted = adopted is not None
            self.handle = self._create() if adopted is None else adopted
        except OSError as error:
            raise unwritable(path.parent, error) from error

    def finish(self) -> None:
        """Rename the temporary file or folder to its final name.

        Raises:
            IsthmusError: the rename failed; the former file is unchanged.

        """
        with telling_of(self.path, "cannot be written"):
            if self._folder:
                self._exchange_folders()
            else:
                refuse_unless_file(self.path)
                with suppress(FileNotFoundError):
                    self.place.chmod(stat.S_IMODE(self.path.stat().st_mode))
                self.place.replace(self.path)
        self._unlock()

    def discard(self) -> None:
        """Remove the temporary file or folder, unless it has been renamed."""
        if self.handle >= 0:
            with suppress(OSError):
                _remove(self.place)
            self._unlock()

    def restore(self) -> bool:
        """Restore the final name of an existing file that was renamed; return whether there was
        one.
        """
        if not self._is_adopted:
            return False
        with suppress(OSError):
            os.link(self.place, self.path)
            self.place.unlink()
        self._unlock()
        return True

    def _unlock(self) -> None:
        """Close the temporary file, which releases its lock."""
        os.close(self.handle)
        self.handle = -1

    def _adopt_existing(self) -> int | None:
        """Rename the existing file to the temporary name and return its descriptor; return None if
        it is missing or has further hard links.
        """
        while True:
            handle = _open_locked(self.path, self.path) if os.path.lexists(self.path) else None
            if handle is None:
                return None
            try:
                if os.fstat(handle).st_nlink == 1:
                    # Unlike a rename, a link never replaces the file of another program.
                    os.link(self.path, self.place)
                    self.path.unlink()
                    return handle
            except FileExistsError:
                pass
            except OSError:
                # The file system has no hard links, so the existing file is not adopted.
                os.close(handle)
                return None
            else:
                os.close(handle)
                return None
            os.close(handle)
            stale = _open_locked(self.place, self.path)
            if stale is not None:
                _remove(self.place)
                os.close(stale)

    def _create(self) -> int:
        """Create and lock the temporary file or folder; return its descriptor."""
        while True:
            try:
                if self._folder:
                    self.place.mkdir()
                else:
                    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
                    os.close(os.open(self.place, flags, 0o666))
                new = True
            except FileExistsError:
                new = False
            handle = _open_locked(self.place, self.path)
            if handle is None:
                # Try again: the file was renamed or removed before it was locked.
                continue
            if new:
                return handle
            # No process holds the lock: the writer was killed. Some of its ranks may still write to
            # the file, so it is not reused.
            _remove(self.place)
            os.close(handle)

    def _exchange_folders(self) -> None:
        """Replace the existing folder by the temporary one."""
        former = hidden(self.path, FORMER)
        _refuse_unless_folder(self.path)
        if not self.path.exists():
            self.place.rename(self.path)
            return
        # Lock the former folder: otherwise a reader that finds no folder would restore it.
        lock = _open_locked(self.path, self.path)
        try:
            self.path.rename(former)
            try:
                self.place.rename(self.path)
            except OSError:
                former.rename(self.path)
                raise
            with suppress(OSError):
                shutil.rmtree(former)
        finally:
            if lock is not None:
                os.close(lock)


def recover(path: Path) -> None:
    """Restore a former folder whose replacement was interrupted by a kill.

    Raises:
        IsthmusError: another program is replacing it right now, or it cannot be restored.

    """
    former = hidden(path, FORMER)
    if not former.is_dir() or former.is_symlink():
        return
    handle = _open_locked(former, path)
    if handle is None:
        return
    try:
        with telling_of(path, f"cannot be put back from {former.name}"):
            if os.path.lexists(path):
                shutil.rmtree(former)
            else:
                former.rename(path)
    finally:
        os.close(handle)


def sync_one(place: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path, turn: int, turns: int) -> None:
    """Flush a share of the files and folders in a folder to disk: each `turns`-th, from number
    `turn` on. The ranks of a program share the work this way.

    Raises:
        FileError: one cannot be flushed.

    """
    places = [folder, *sorted(folder.rglob("*"))]
    for place in places[turn::turns]:
        with telling_of(place, "cannot be written"):
            sync_one(place)


def _open_locked(place: Path, path: Path) -> int | None:
    """Open and lock a file or folder; return None if it no longer exists.

    Raises:
        IsthmusError: another program holds the lock.

    """
    import fcntl

    flags = os.O_RDONLY if place.is_dir() else os.O_RDWR
    try:
        handle = os.open(place, flags | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise IsthmusError(
            f"{path}: another program is writing it ({place.name} is locked); wait until it has "
            "ended, or give another name"
        ) from None
    except OSError:
        os.close(handle)
        raise
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), place.lstat()):
            return handle
    os.close(handle)
    return None


def _refuse_unless_folder(path: Path) -> None:
    """Refuse a path that exists and is not a folder with an array of zarr."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        what = "a file" if stat.S_ISREG(mode) else kind_of(mode)
        raise IsthmusError(f"{path}: {what} is there; an array of zarr is a folder")
    if any(path.iterdir()) and not (path / "zarr.json").is_file():
        raise IsthmusError(f"{path}: a folder that is no array of zarr is there; give another name")
    with suppress(FileNotFoundError, ValueError, AttributeError):
        if json.loads((path / "zarr.json").read_text("utf-8")).get("node_type") == "group":
            raise IsthmusError(
                f"{path}: a group of zarr is there, whose arrays would be lost; give another name, "
                f"such as {path / 'NAME'}"
            )


def _remove(place: Path) -> None:
    """Remove a file, or a folder with its content."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)

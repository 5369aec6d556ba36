"""What is written beside its name, and gets it when it is whole.

The temporary name follows from the final one, and is locked while its program lives: a second
writer is told, and what a killed one has left is removed by the next.
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
"""How the name ends under which a file or folder is written."""
FORMER = "isthmus-former"
"""How the name ends that a folder has while another one takes its place."""


def hidden(path: Path, end: str) -> Path:
    """A hidden name beside a path, its own also where the path's is as long as may be."""
    name = os.fsencode(path.name)
    if len(name) > NAME_MAX:
        # Cut within a character it may be, which is no name for people, but one for the system.
        name = name[:NAME_MAX] + b"~" + hashlib.sha256(name).hexdigest()[:16].encode()
    return path.with_name(f".{os.fsdecode(name)}.{end}")


class Temporary:
    """A file, or a folder, under its temporary name, locked."""

    def __init__(self, path: Path, *, folder: bool = False, keep: bool = True) -> None:
        """Make it, or without `keep` give the temporary name to the file that is there.

        Raises:
            IsthmusError: another program is writing it, something is in the way, or nothing can be
                written there.

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
            taken = None if keep or folder else self._taken()
            self._was_there = taken is not None
            self.handle = self._made() if taken is None else taken
        except OSError as error:
            raise unwritable(path.parent, error) from error

    def finish(self) -> None:
        """Give it its name.

        Raises:
            IsthmusError: the name cannot be given; what was there is as it was.

        """
        with telling_of(self.path, "cannot be written"):
            if self._folder:
                self._swap()
            else:
                refuse_unless_file(self.path)
                with suppress(FileNotFoundError):
                    self.place.chmod(stat.S_IMODE(self.path.stat().st_mode))
                self.place.replace(self.path)
        self._free()

    def discard(self) -> None:
        """Remove it, unless it has its name."""
        if self.handle >= 0:
            with suppress(OSError):
                _remove(self.place)
            self._free()

    def give_back(self) -> bool:
        """Give a file that was there its name again; whether it was one."""
        if not self._was_there:
            return False
        with suppress(OSError):
            os.link(self.place, self.path)
            self.place.unlink()
        self._free()
        return True

    def _free(self) -> None:
        """Close it: its lock goes with it."""
        os.close(self.handle)
        self.handle = -1

    def _taken(self) -> int | None:
        """The file that is there; nothing if there is none, or it has other names besides."""
        while True:
            handle = _locked(self.path, self.path) if os.path.lexists(self.path) else None
            if handle is None:
                return None
            try:
                if os.fstat(handle).st_nlink == 1:
                    # Unlike a rename this leaves alone what another program has put there.
                    os.link(self.path, self.place)
                    self.path.unlink()
                    return handle
            except FileExistsError:
                pass
            except OSError:
                # A file system without such links.
                os.close(handle)
                return None
            else:
                os.close(handle)
                return None
            os.close(handle)
            left = _locked(self.place, self.path)
            if left is not None:
                _remove(self.place)
                os.close(left)

    def _made(self) -> int:
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
            handle = _locked(self.place, self.path)
            if handle is None:
                # It got its name, or was removed, since.
                continue
            if new:
                return handle
            # Nobody holds it: its program was killed. Ranks that have not heard of it yet may still
            # write to it, so that it is not written to again.
            _remove(self.place)
            os.close(handle)

    def _swap(self) -> None:
        former = hidden(self.path, FORMER)
        _refuse_unless_folder(self.path)
        if not self.path.exists():
            self.place.rename(self.path)
            return
        # Whoever finds nothing under the name puts the former folder back, but not while it is
        # locked.
        lock = _locked(self.path, self.path)
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
    """Put a folder back that was on its way out when the program that wrote another was killed.

    Raises:
        IsthmusError: another program is exchanging them just now, or it cannot be put back.

    """
    former = hidden(path, FORMER)
    if not former.is_dir() or former.is_symlink():
        return
    handle = _locked(former, path)
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
    """Have a file, or the names in a folder, kept through a power cut."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path, turn: int, turns: int) -> None:
    """Have every `turns`-th file and folder below a folder kept through a power cut.

    Raises:
        FileError: one cannot be.

    """
    places = [folder, *sorted(folder.rglob("*"))]
    for place in places[turn::turns]:
        with telling_of(place, "cannot be written"):
            sync_one(place)


def _locked(place: Path, path: Path) -> int | None:
    """A file or folder open and locked; nothing if it is there no more.

    Raises:
        IsthmusError: another program holds the lock.

    """
    import fcntl

    way = os.O_RDONLY if place.is_dir() else os.O_RDWR
    try:
        handle = os.open(place, way | os.O_NOFOLLOW)
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
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)

"""A folder that isthmus owns and this process has locked: all writes and removals happen here."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from isthmus.errors import IsthmusError
from isthmus.files import (
    FileError,
    kind_of,
    ready_folder,
    refuse_unready,
    telling_of,
    write_bytes,
)
from isthmus.owned.joining import JoinTimeout
from isthmus.owned.lock import BusyError, hold
from isthmus.owned.mark import (
    ADOPTED,
    JOURNAL,
    KEPT,
    MARK,
    RESULT,
    SCENARIO,
    SOURCE,
    SUBMITTED,
    Identity,
    Mark,
    Written,
    checked,
    is_unchanged,
    read_mark,
    sha256,
)
from isthmus.owned.ownership import PART, changed, mark_or_refuse, mismatches

if TYPE_CHECKING:
    from isthmus.files import Bytes


class MismatchError(IsthmusError):
    """Error: a process that joins a folder has a file whose content differs from the file of
    this name in the folder.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Create an error text that names the folder and the file whose content differs."""
        super().__init__(f"{folder}: the run was started with another {name}; give the same")
        self.name = name


class OwnedFolder:
    """A folder for results to which only isthmus writes. `opened` creates the folder and locks it
    for this process.
    """

    def __init__(self, path: Path, mark: Mark, *, replaceable: bool = True) -> None:
        """Create the object without locking the folder. Callers use `opened` or `joined`
        instead, which lock it. `mark` lists the files that isthmus owns in it.
        """
        self.path = path
        self.mark = mark
        self._replaceable = replaceable
        """Whether error messages may advise the option --fresh, which replaces the folder's
        results.
        """
        self._written_now: set[str] = set()
        """The files written so far in the current part."""
        self._made_parts: set[tuple[str, str]] = set()
        """Names and keys of the parts (groups of files) that this process has written."""

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: Path,
        identity: Identity,
        *,
        scenario: str = "",
        journal: tuple[int, int] = (0, 0),
        fresh: bool = False,
        adopt: Collection[str] = (),
        replaceable: bool = True,
        work: str = "",
    ) -> Iterator[OwnedFolder]:
        """Mark a folder as owned by isthmus, or open an owned folder, and lock it.

        Args:
            path: the folder; a link to a folder is followed here, and nowhere below.
            identity: identity of the results in the folder.
            scenario: the effective scenario; error messages describe how another one differs.
            journal: how many points and searches the core may write to the journal.
            fresh: remove the files of an earlier run.
            adopt: names of files that may exist without a mark; they become owned unchanged.
            replaceable: whether the caller can replace the whole folder, by `fresh`.
            work: description of this process's work for other processes, if it takes long.

        Raises:
            IsthmusError: the folder holds files of the user or other results, or it is in use; or
                an owned file has changed.

        """
        ready_folder(path)
        # Check before the first write, even of the lock file, that isthmus may own the folder.
        mark_or_refuse(path, identity, adopt)
        with hold(path, work=work):
            mark = mark_or_refuse(path, identity, adopt)
            if mark is not None and fresh:
                old = cls(path, mark)
                old._recover()
                old.clear()
                mark = None
            if mark is None:
                mark = Mark(identity, *journal)
                if fresh:
                    # Remove files of a journal even if no mark lists them.
                    cls(path, mark).clear()
                for name in adopt:
                    if (path / name).is_file():
                        data = (path / name).read_bytes()
                        mark.files[name] = Written(ADOPTED, len(data), sha256(data))
            folder = cls(path, mark, replaceable=replaceable)
            folder._refuse_others(identity, scenario)
            mark.points = max(mark.points, journal[0])
            mark.searches = max(mark.searches, journal[1])
            folder._recover()
            for name in mark.files:
                folder._check_path(name)
                folder._refuse_foreign(name)
            with folder._explaining_kept_points():
                mark.save(path)
                yield folder

    @classmethod
    @contextmanager
    def joined(
        cls,
        path: Path,
        identity: Identity,
        *,
        scenario: str = "",
        journal: tuple[int, int],
        files: Mapping[str, str],
        say: Callable[[str], None],
    ) -> Iterator[OwnedFolder]:
        """Open an owned folder beside other processes that do parts of the same run.

        The first of these processes marks the folder. After that, processes write only the journal;
        a process that submits a job also calls `write_beside`.

        Args:
            path: as for `opened`.
            identity: as for `opened`.
            scenario: as for `opened`.
            journal: as for `opened`.
            files: text of each file by name; the first process writes them, later ones must match.
            say: called with the name of the process that this one waits for.

        Raises:
            MismatchError: the text of one of the files differs from the file in the folder.
            BusyError: another process has held the folder alone for too long.
            IsthmusError: as `opened`.

        """
        ready_folder(path)
        # Check before the first write, even of the lock file, that isthmus may own the folder.
        mark_or_refuse(path, identity)
        timeout = JoinTimeout(path, say)
        tried = False
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(hold(path, shared=True))
                    mark = mark_or_refuse(path, identity)
                    if mark and mark.points >= journal[0] and mark.searches >= journal[1]:
                        folder = cls(path, mark, replaceable=False)
                        folder._adopt_written()
                        folder._refuse_others(identity, scenario)
                        # Continue if all files exist or opening the folder alone has failed once:
                        # the mark is enough. Otherwise open the folder alone to write the missing
                        # files again.
                        if tried or all(map(folder.intact, files)):
                            break
                    stack.close()
                    tried = True
                    with cls.opened(
                        path, identity, scenario=scenario, journal=journal, replaceable=False
                    ) as own:
                        for name, text in files.items():
                            if not own.intact(name):
                                own.keep(name, text, SOURCE)
                except BusyError as busy:
                    timeout.wait(busy)
            folder._refuse_mismatch(files)
            yield folder

    @classmethod
    def refuse_unjoinable(
        cls,
        path: Path,
        identity: Identity,
        *,
        scenario: str = "",
        files: Mapping[str, str],
    ) -> None:
        """Check that `joined` could open the folder; raise its errors if not. Nothing is written,
        and the lock is not taken.

        Args:
            path: as for `joined`.
            identity: as for `joined`.
            scenario: as for `joined`.
            files: as for `joined`.

        Raises:
            MismatchError: as `joined`.
            IsthmusError: as `joined`.

        """
        refuse_unready(path)
        mark = mark_or_refuse(path, identity) if path.is_dir() else None
        if mark is None:
            return
        folder = cls(path, mark, replaceable=False)
        folder._adopt_written()
        folder._refuse_others(identity, scenario)
        if not all(folder.intact(name) for name in files):
            for name in (*mark.files, *files):
                folder._check_path(name)
                folder._refuse_foreign(name)
            return
        folder._refuse_mismatch(files)

    @classmethod
    def opened_for_reading(
        cls, path: Path, identity: Identity, *, scenario: str = "", replaceable: bool = True
    ) -> OwnedFolder | None:
        """Return a folder of results to read, without locking it; None if isthmus does not own the
        folder.

        Raises:
            IsthmusError: the folder holds other results, or its mark is damaged.

        """
        mark = read_mark(path)
        if mark is None:
            return None
        folder = cls(path, mark, replaceable=replaceable)
        folder._refuse_others(identity, scenario)
        return folder

    def read(self, name: str) -> bytes:
        """Return the content of an owned file.

        Raises:
            IsthmusError: the file is missing, or has changed since isthmus wrote it.

        """
        self._check_path(name)
        self._refuse_foreign(name)
        with telling_of(self.path / name, "cannot be read"):
            return (self.path / name).read_bytes()

    def write(
        self,
        name: str,
        data: Bytes | str,
        part: str,
        *,
        varies: bool = False,
        digest: str | None = None,
    ) -> None:
        """Write a file below the folder atomically, and list it as owned by isthmus (in the mark).

        If `varies` is true, the content differs from run to run, and the mark lists no digest.
        `digest` is the SHA-256 of the content, if the caller knows it.

        Raises:
            IsthmusError: a link or a foreign file is in the way, or the file cannot be written.

        """
        content = data.encode() if isinstance(data, str) else data
        self._check_path(checked(name), make=True)
        self._refuse_foreign(name)
        written = Written(part)
        if not varies:
            written = Written(part, len(content), digest or sha256(content))
        self._written_now.add(name)
        listed = self.mark.files.get(name)
        # Keep a file as it is if it is listed and has the content that isthmus would write; an
        # adopted file stays marked as adopted.
        if listed in (written, replace(written, part=ADOPTED)) and not varies and self.intact(name):
            return
        # Update the list of owned files (the mark) before the file: a process that ends in between
        # must not leave a file that the mark does not list.
        self.mark.writing[name] = written
        self.mark.save(self.path)
        write_bytes(self.path / name, content)
        del self.mark.writing[name]
        self.mark.files[name] = written
        if not varies:
            with suppress(OSError):
                self.mark.note_verified(name, (self.path / name).lstat())

    def write_beside(self, name: str, data: bytes | str, part: str) -> None:
        """Write a file while other processes share the folder. The caller must hold the lock
        `SUBMITTER`. The file may change later, so the list of owned files (the mark) has no
        digest of it.

        Raises:
            IsthmusError: as `write`.

        """
        content = data.encode() if isinstance(data, str) else data
        if self.mark.files.get(name) == Written(part):
            # Write the file without changing the list of owned files (the mark), as it is in the
            # list already.
            self._check_path(checked(name), make=True)
            self._refuse_foreign(name)
            write_bytes(self.path / name, content)
            return
        self.write(name, content, part, varies=True)
        self.mark.save(self.path)

    @contextmanager
    def part(self, name: str, key: str) -> Iterator[None]:
        """Return a context manager for writing a part (group of files) of the folder again. The
        part is complete when the block has ended.

        Files of the part that the block does not write are removed. `key` identifies the input of
        the part; `has` compares it to decide whether the part must be made again.
        """
        before = {path for path, written in self.mark.files.items() if written.part == name}
        self.mark.parts.pop(name, None)
        self._written_now.clear()
        yield
        for path in sorted(before - self._written_now):
            self._remove_obsolete(path)
        self.mark.parts[name] = key
        self.mark.save(self.path)
        self._made_parts.add((name, key))

    def keep(self, name: str, text: str, key: str) -> None:
        """Write a file unless it is up to date. The file can be made and removed independently
        of other results in the folder.
        """
        data = text.encode()
        there = self.mark.files.get(name) == Written(name, len(data), sha256(data))
        if there and self.has(name, key):
            return
        with self.part(name, key):
            self.write(name, data, name)

    def made(self, name: str, key: str) -> bool:
        """Return whether this process has written the part (group of files) `name` with this
        key.
        """
        return (name, key) in self._made_parts

    def has(self, name: str, key: str) -> bool:
        """Return whether a part (group of files) is complete and was made with this key, and
        all of its files are unchanged.
        """
        if self.mark.parts.get(name) != key:
            return False
        files = [path for path, written in self.mark.files.items() if written.part == name]
        return all(self.intact(path) for path in files)

    def intact(self, name: str) -> bool:
        """Return whether an owned file still exists and has the content that isthmus wrote."""
        found = self.path / name
        try:
            self._check_path(name)
            if not stat.S_ISREG(found.lstat().st_mode):
                return False
            return is_unchanged(found, self.mark.files[name])
        except (OSError, KeyError, IsthmusError):
            return False

    @classmethod
    def refuse_unclearable(cls, path: Path, identity: Identity) -> None:
        """Check that `opened` with `fresh` could clear the folder of an earlier run; raise its
        errors if not. Nothing is written, and the lock is not taken.

        Raises:
            IsthmusError: as `opened`.

        """
        refuse_unready(path)
        if path.is_dir() and (mark := mark_or_refuse(path, identity)) is not None:
            folder = cls(path, mark)
            folder._adopt_written()
            folder._removable()

    def clear(self) -> None:
        """Remove every file that isthmus owns in the folder (those that the mark lists). The caller
        writes a new mark afterwards.

        Raises:
            IsthmusError: a listed file is behind a link or is not an ordinary file; nothing is
                removed.

        """
        for name in self._removable():
            self._remove(name)
        for name in self.mark.folders():
            # `rmdir` fails if the folder still contains files of the user. Such a folder stays.
            with suppress(OSError):
                (self.path / name).rmdir()

    def _removable(self) -> list[str]:
        """Check each file that `clear` would remove, and return their names."""
        doomed = [*self.mark.files, *self._entries()]
        for name in doomed:
            self._check_path(name)
            self._check_file(name)
        return doomed

    def _refuse_others(self, identity: Identity, scenario: str) -> None:
        """Raise an error if the folder holds the results of another run."""
        there = self.mark.identity
        if there == identity:
            return
        right = f"give another folder for {identity.name!r}"
        if self._replaceable:
            right += ", or replace them by --fresh (in Python fresh=True)"
        kept = self.path / SCENARIO
        known = kept.read_text(encoding="utf-8") if self.intact(SCENARIO) else ""
        what = " and ".join(mismatches(there, identity, (known, scenario)))
        raise IsthmusError(f"{self.path}: holds results {what}; {right}")

    def _refuse_mismatch(self, files: Mapping[str, str]) -> None:
        """Raise an error if the folder already holds a file with one of these names and another
        text. The process does not join the folder then.
        """
        for name, text in files.items():
            if os.path.lexists(self.path / name) and self.read(name) != text.encode():
                raise MismatchError(self.path, name)

    def _refuse_foreign(self, name: str) -> None:
        """Raise an error if a file to replace or use was not written by isthmus, or has changed
        since.
        """
        place = self.path / name
        with telling_of(place, "cannot be read"):
            try:
                status = place.lstat()
            except FileNotFoundError:
                return
            if not stat.S_ISREG(status.st_mode):
                raise IsthmusError(f"{place}: {kind_of(status.st_mode)} is there; move it away")
            written = self.mark.files.get(name)
            if written is None:
                raise IsthmusError(f"{place}: not written by isthmus; move it away")
            if not is_unchanged(place, written):
                raise changed(place, written, replaceable=self._replaceable)
            if written.sha256 is not None:
                self.mark.note_verified(name, status)

    def _check_path(self, name: str, *, make: bool = False) -> None:
        """Raise an error if the path of a file leads through a symbolic link or through something
        other than a folder.
        """
        for parent in reversed(PurePosixPath(name).parents[:-1]):
            place = self.path / parent
            if make:
                with telling_of(place, "cannot be made"), suppress(FileExistsError):
                    place.mkdir()
            try:
                mode = place.lstat().st_mode
            except FileNotFoundError:
                return
            if not stat.S_ISDIR(mode):
                raise IsthmusError(
                    f"{place}: {kind_of(mode)} is where a folder of isthmus should be; move it away"
                )

    def _check_file(self, name: str) -> None:
        """Raise an error unless the file is an ordinary one or is missing; only ordinary files
        may be removed.
        """
        with suppress(FileNotFoundError):
            mode = (self.path / name).lstat().st_mode
            if not stat.S_ISREG(mode):
                raise IsthmusError(f"{self.path / name}: {kind_of(mode)} is there; move it away")

    def _remove_obsolete(self, name: str) -> None:
        """Remove a file that is no longer needed from the folder. If its content has changed,
        it belongs to the user and stays.
        """
        if self.intact(name):
            self._remove(name)
        del self.mark.files[name]

    def _remove(self, name: str) -> None:
        """Remove a file of the folder; do nothing if it does not exist."""
        with telling_of(self.path / name, "cannot be removed"):
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _explaining_kept_points(self) -> Iterator[None]:
        """Return a context manager: if a write fails, it adds to the error that the folder
        contains finished points, if there are any.
        """
        try:
            yield
        except FileError as error:
            if not (self.mark.files.get(RESULT) or self._entries()):
                raise
            raise FileError(
                f"{error}; finished points are kept in {self.path}: put that right and repeat"
            ) from error

    def _recover(self) -> None:
        """Finish what a process that ended too early left in the folder: remove its temporary
        files, and record what it has written.
        """
        self._check_path(f"{JOURNAL}/journal.json")
        for name in self._leftovers():
            self._remove(name)
        self._adopt_written()

    def _adopt_written(self) -> None:
        """Record as owned the unchanged files that a process announced to write before it ended."""
        for name, written in self.mark.writing.items():
            place = self.path / name
            if place.is_file() and not place.is_symlink() and is_unchanged(place, written):
                self.mark.files[name] = written
        self.mark.writing.clear()

    def _entries(self) -> list[str]:
        """Return the names of the files that record finished points and searches (the journal),
        and of the logs of Slurm tasks.
        """
        names = [*self._names(JOURNAL), *self._names(SUBMITTED)]
        return [name for name in names if self.mark.is_entry(name)]

    def _leftovers(self) -> list[str]:
        """Return the names of the temporary files that dead processes left beside owned files.
        Leases are included: while this process holds the folder alone, no other process runs a
        part.
        """
        found = []
        for folder in ("", *self.mark.folders()):
            for name in self._names(folder):
                if self.mark.is_lease(name):
                    found.append(name)
                    continue
                whole = name.removesuffix(KEPT)
                if name != whole and self.mark.is_entry(name):
                    # The point or search with this name is finished, so its finished parts are
                    # obsolete.
                    found += [name] if (self.path / f"{whole}.json").is_file() else []
                    continue
                base = PART.fullmatch(PurePosixPath(name).name)
                if base is None:
                    continue
                target = str(PurePosixPath(folder) / base["name"])
                if target == MARK or self.mark.lists(target):
                    found.append(name)
        return found

    def _names(self, folder: str) -> list[str]:
        """Return the names of the ordinary files in `folder`, a folder below this one or "" for
        this one. Symbolic links are not followed.
        """
        place = self.path / folder
        if folder and not (place.is_dir() and not place.is_symlink()):
            return []
        files = [p.name for p in place.iterdir() if p.is_file() and not p.is_symlink()]
        return sorted(str(PurePosixPath(folder) / name) for name in files)

"""A folder of ours, held: everything in it is written and removed through here."""

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
from isthmus.owned.lock import BusyError, held
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
    fits,
    read_mark,
    sha256,
)
from isthmus.owned.patience import Patience
from isthmus.owned.whose import PART, changed, marked, unlike

if TYPE_CHECKING:
    from isthmus.files import Bytes


class OtherwiseError(IsthmusError):
    """A file that all who join a folder are to find as it is was given otherwise."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(f"{folder}: the run was begun with another {name}; give the same")
        self.name = name


class OwnedFolder:
    """A folder of ours. Made by `opened`, which holds it for this process."""

    def __init__(self, path: Path, mark: Mark, *, replaceable: bool = True) -> None:
        self.path = path
        self.mark = mark
        self._replaceable = replaceable
        """Whether whoever is told that something is wrong may be told of --fresh."""
        self._now: set[str] = set()
        """What was written in the part under way."""
        self._made: set[tuple[str, str]] = set()
        """Parts that this process has made, with what from."""

    @classmethod
    @contextmanager
    def opened(
        cls,
        path: Path,
        of: Identity,
        *,
        scenario: str = "",
        journal: tuple[int, int] = (0, 0),
        fresh: bool = False,
        adopt: Collection[str] = (),
        replaceable: bool = True,
        work: str = "",
    ) -> Iterator[OwnedFolder]:
        """Make a folder ours, or take up ours, and hold it.

        Args:
            path: the folder; a link to a folder is followed here, and nowhere below.
            of: what it is to hold the results of.
            scenario: the effective scenario, to say what differs.
            journal: how many points and searches the core may keep in it.
            fresh: remove what we wrote before.
            adopt: files that may be there without a mark; they become ours as they are.
            replaceable: whether the caller can have all of it replaced, by `fresh`.
            work: what others are told that this process does here, if it takes long.

        Raises:
            IsthmusError: it holds files of the user's, or other results, or is in use; or a file
                of ours was changed since.

        """
        ready_folder(path)
        # Nothing is written to a folder before it is known that it may be ours.
        marked(path, of, adopt)
        with held(path, work=work):
            mark = marked(path, of, adopt)
            if mark is not None and fresh:
                old = cls(path, mark)
                old._settle()
                old.clear()
                mark = None
            if mark is None:
                mark = Mark(of, *journal)
                if fresh:
                    # A journal without a mark.
                    cls(path, mark).clear()
                for name in adopt:
                    if (path / name).is_file():
                        data = (path / name).read_bytes()
                        mark.files[name] = Written(ADOPTED, len(data), sha256(data))
            folder = cls(path, mark, replaceable=replaceable)
            folder._refuse_others(of, scenario)
            mark.points = max(mark.points, journal[0])
            mark.searches = max(mark.searches, journal[1])
            folder._settle()
            for name in mark.files:
                folder._check_way(name)
                folder._refuse_foreign(name)
            with folder._keeping():
                mark.save(path)
                yield folder

    @classmethod
    @contextmanager
    def joined(
        cls,
        path: Path,
        of: Identity,
        *,
        scenario: str = "",
        journal: tuple[int, int],
        files: Mapping[str, str],
        say: Callable[[str], None],
    ) -> Iterator[OwnedFolder]:
        """Take up a folder of ours beside other processes that do parts of the same run; the first
        of them makes it ours. Nothing is written there then but the journal, and by whoever submits
        what `write_beside` does.

        Args:
            path: as for `opened`.
            of: as for `opened`.
            scenario: as for `opened`.
            journal: as for `opened`.
            files: what the first one writes, by name, and the others find as it is.
            say: told for whom it waits.

        Raises:
            OtherwiseError: one of the files was given otherwise to another process.
            BusyError: a process is alone there, and for long.
            IsthmusError: as `opened`.

        """
        ready_folder(path)
        # Nothing is written to a folder before it is known that it may be ours.
        marked(path, of)
        patience = Patience(path, say)
        tried = False
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(held(path, shared=True))
                    mark = marked(path, of)
                    if mark and mark.points >= journal[0] and mark.searches >= journal[1]:
                        folder = cls(path, mark, replaceable=False)
                        folder._take_up_written()
                        folder._refuse_others(of, scenario)
                        # What is gone is written anew by whoever is alone here. Beside others the
                        # mark vouches for what is run.
                        if tried or all(map(folder.intact, files)):
                            break
                    stack.close()
                    tried = True
                    with cls.opened(
                        path, of, scenario=scenario, journal=journal, replaceable=False
                    ) as own:
                        for name, text in files.items():
                            if not own.intact(name):
                                own.keep(name, text, SOURCE)
                except BusyError as busy:
                    patience.wait(busy)
            folder._refuse_otherwise(files)
            yield folder

    @classmethod
    def refuse_unjoinable(
        cls,
        path: Path,
        of: Identity,
        *,
        scenario: str = "",
        files: Mapping[str, str],
    ) -> None:
        """Refuse a folder that `joined` would refuse, as far as is seen without writing there or
        holding anyone up.

        Args:
            path: as for `joined`.
            of: as for `joined`.
            scenario: as for `joined`.
            files: as for `joined`.

        Raises:
            OtherwiseError: as `joined`.
            IsthmusError: as `joined`.

        """
        refuse_unready(path)
        mark = marked(path, of) if path.is_dir() else None
        if mark is None:
            return
        folder = cls(path, mark, replaceable=False)
        folder._take_up_written()
        folder._refuse_others(of, scenario)
        if not all(folder.intact(name) for name in files):
            for name in (*mark.files, *files):
                folder._check_way(name)
                folder._refuse_foreign(name)
            return
        folder._refuse_otherwise(files)

    @classmethod
    def looked_at(
        cls, path: Path, of: Identity, *, scenario: str = "", replaceable: bool = True
    ) -> OwnedFolder | None:
        """A folder of ours as it is now, to be read: nobody is kept out. None if it is not ours.

        Raises:
            IsthmusError: it holds other results, or its mark is damaged.

        """
        mark = read_mark(path)
        if mark is None:
            return None
        folder = cls(path, mark, replaceable=replaceable)
        folder._refuse_others(of, scenario)
        return folder

    def read(self, name: str) -> bytes:
        """A file of ours as we wrote it.

        Raises:
            IsthmusError: it is not there any more, or not as it was.

        """
        self._check_way(name)
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
        """Write a file below the folder, whole or not at all, and list it.

        `varies` says that its bytes differ from run to run; then they are not listed. `digest` is
        their SHA-256, where that is known.

        Raises:
            IsthmusError: a link, or a file that we did not write, is in the way; or it cannot be
                written.

        """
        content = data.encode() if isinstance(data, str) else data
        self._check_way(checked(name), make=True)
        self._refuse_foreign(name)
        written = Written(part)
        if not varies:
            written = Written(part, len(content), digest or sha256(content))
        self._now.add(name)
        held = self.mark.files.get(name)
        # What was adopted stays that as long as it is what we would write.
        if held in (written, replace(written, part=ADOPTED)) and not varies and self.intact(name):
            return
        # First what will be there, then the file: a process that dies in between leaves no file
        # that the mark does not know.
        self.mark.writing[name] = written
        self.mark.save(self.path)
        write_bytes(self.path / name, content)
        del self.mark.writing[name]
        self.mark.files[name] = written
        if not varies:
            with suppress(OSError):
                self.mark.look(name, (self.path / name).lstat())

    def write_beside(self, name: str, data: bytes | str, part: str) -> None:
        """Write a file beside the processes that share the folder, by the one of them that holds
        the lock of `SUBMITTER`. It may change: its bytes are not listed.

        Raises:
            IsthmusError: as `write`.

        """
        content = data.encode() if isinstance(data, str) else data
        if self.mark.files.get(name) == Written(part):
            # The mark says so already, and a process that dies here leaves nothing else.
            self._check_way(checked(name), make=True)
            self._refuse_foreign(name)
            write_bytes(self.path / name, content)
            return
        self.write(name, content, part, varies=True)
        self.mark.save(self.path)

    @contextmanager
    def part(self, name: str, key: str) -> Iterator[None]:
        """Write a part of the folder's files anew; it is whole when the block has ended.

        Files of the part that the block does not write are removed. `key` says what the part is
        made from: `has` knows by it whether the part must be made again.
        """
        before = {path for path, written in self.mark.files.items() if written.part == name}
        self.mark.parts.pop(name, None)
        self._now.clear()
        yield
        for path in sorted(before - self._now):
            self._drop(path)
        self.mark.parts[name] = key
        self.mark.save(self.path)
        self._made.add((name, key))

    def keep(self, name: str, text: str, key: str) -> None:
        """Write a file that is a part by itself, unless it is there as it would be written."""
        data = text.encode()
        there = self.mark.files.get(name) == Written(name, len(data), sha256(data))
        if there and self.has(name, key):
            return
        with self.part(name, key):
            self.write(name, data, name)

    def made(self, name: str, key: str) -> bool:
        """Whether this process, which holds the folder, has made the part from that."""
        return (name, key) in self._made

    def has(self, name: str, key: str) -> bool:
        """Whether a part is whole, made from what `key` says, and as it was written."""
        if self.mark.parts.get(name) != key:
            return False
        files = [path for path, written in self.mark.files.items() if written.part == name]
        return all(self.intact(path) for path in files)

    def intact(self, name: str) -> bool:
        """Whether a file of ours is there and as we wrote it."""
        found = self.path / name
        try:
            self._check_way(name)
            if not stat.S_ISREG(found.lstat().st_mode):
                return False
            return fits(found, self.mark.files[name])
        except (OSError, KeyError, IsthmusError):
            return False

    @classmethod
    def refuse_unclearable(cls, path: Path, of: Identity) -> None:
        """Refuse a folder that `opened` with `fresh` would refuse, as far as is seen without
        writing there or holding anyone up.

        Raises:
            IsthmusError: as `opened`.

        """
        refuse_unready(path)
        if path.is_dir() and (mark := marked(path, of)) is not None:
            folder = cls(path, mark)
            folder._take_up_written()
            folder._doomed()

    def clear(self) -> None:
        """Remove every file that the mark lists; the mark itself is then written anew.

        Raises:
            IsthmusError: one of them is behind a link or is no file any more; nothing is removed.

        """
        for name in self._doomed():
            self._remove(name)
        for name in self.mark.folders():
            # Left where the user keeps something in it.
            with suppress(OSError):
                (self.path / name).rmdir()

    def _doomed(self) -> list[str]:
        """What `clear` removes, once each of them was looked at."""
        doomed = [*self.mark.files, *self._entries()]
        for name in doomed:
            self._check_way(name)
            self._check_file(name)
        return doomed

    def _refuse_others(self, of: Identity, scenario: str) -> None:
        """Refuse a folder that holds the results of something else."""
        there = self.mark.of
        if there == of:
            return
        right = f"give another folder for {of.name!r}"
        if self._replaceable:
            right += ", or replace them by --fresh (in Python fresh=True)"
        kept = self.path / SCENARIO
        known = kept.read_text(encoding="utf-8") if self.intact(SCENARIO) else ""
        what = " and ".join(unlike(there, of, (known, scenario)))
        raise IsthmusError(f"{self.path}: holds results {what}; {right}")

    def _refuse_otherwise(self, files: Mapping[str, str]) -> None:
        """Refuse to do a part of what was given otherwise to others, as far as that is there."""
        for name, text in files.items():
            if os.path.lexists(self.path / name) and self.read(name) != text.encode():
                raise OtherwiseError(self.path, name)

    def _refuse_foreign(self, name: str) -> None:
        """Refuse to replace or use a file that we did not write, or that was changed since."""
        place = self.path / name
        with telling_of(place, "cannot be read"):
            try:
                told = place.lstat()
            except FileNotFoundError:
                return
            if not stat.S_ISREG(told.st_mode):
                raise IsthmusError(f"{place}: {kind_of(told.st_mode)} is there; move it away")
            written = self.mark.files.get(name)
            if written is None:
                raise IsthmusError(f"{place}: not written by isthmus; move it away")
            if not fits(place, written):
                raise changed(place, written, replaceable=self._replaceable)
            if written.sha256 is not None:
                self.mark.look(name, told)

    def _check_way(self, name: str, *, make: bool = False) -> None:
        """Refuse a path that leads through a link or through something that is no folder."""
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
        """Refuse to remove what is no ordinary file."""
        with suppress(FileNotFoundError):
            mode = (self.path / name).lstat().st_mode
            if not stat.S_ISREG(mode):
                raise IsthmusError(f"{self.path / name}: {kind_of(mode)} is there; move it away")

    def _drop(self, name: str) -> None:
        """Remove a file that is not wanted any more; what was changed since is the user's now."""
        if self.intact(name):
            self._remove(name)
        del self.mark.files[name]

    def _remove(self, name: str) -> None:
        with telling_of(self.path / name, "cannot be removed"):
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Say of a file that could not be written what is kept, if anything is."""
        try:
            yield
        except FileError as error:
            if not (self.mark.files.get(RESULT) or self._entries()):
                raise
            raise FileError(
                f"{error}; finished points are kept in {self.path}: put that right and repeat"
            ) from error

    def _settle(self) -> None:
        """Put in order what a process that died has left."""
        self._check_way(f"{JOURNAL}/journal.json")
        for name in self._leftovers():
            self._remove(name)
        self._take_up_written()

    def _take_up_written(self) -> None:
        """Take for ours what a process had just written when it died."""
        for name, written in self.mark.writing.items():
            place = self.path / name
            if place.is_file() and not place.is_symlink() and fits(place, written):
                self.mark.files[name] = written
        self.mark.writing.clear()

    def _entries(self) -> list[str]:
        """The journal's files, and those of tasks of Slurm."""
        names = [*self._names(JOURNAL), *self._names(SUBMITTED)]
        return [name for name in names if self.mark.is_entry(name)]

    def _leftovers(self) -> list[str]:
        """Temporary files of processes that died: of our form, and beside a file of ours. Claims
        are among them, as nobody who does a part of the run is there while the folder is held.
        """
        found = []
        for folder in ("", *self.mark.folders()):
            for name in self._names(folder):
                if self.mark.is_claim(name):
                    found.append(name)
                    continue
                whole = name.removesuffix(KEPT)
                if name != whole and self.mark.is_entry(name):
                    # Finished parts of what has been finished since.
                    found += [name] if (self.path / f"{whole}.json").is_file() else []
                    continue
                base = PART.fullmatch(PurePosixPath(name).name)
                if base is None:
                    continue
                of = str(PurePosixPath(folder) / base["name"])
                if of == MARK or self.mark.lists(of):
                    found.append(name)
        return found

    def _names(self, folder: str) -> list[str]:
        """The ordinary files in a folder below ours, links not followed."""
        place = self.path / folder
        if folder and not (place.is_dir() and not place.is_symlink()):
            return []
        files = [p.name for p in place.iterdir() if p.is_file() and not p.is_symlink()]
        return sorted(str(PurePosixPath(folder) / name) for name in files)

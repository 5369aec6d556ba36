"""A client of the kill rounds: random operations in a folder of a mount, with a journal.

It runs in a process of its own. It compares what it reads with its model, and what `fsync` and
`close` have stored with the files of the export.
"""

from __future__ import annotations

import errno
import mmap
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from iod_model import NOT_DONE, File, Journal, Model, content

MOUNT_ENDED = {errno.ENOTCONN, errno.ECONNABORTED}
"""Errors after the process of the mount was killed."""
MADE = {"mkdir", "symlink", "link"}
"""Operations that may fail with `EEXIST` although the first attempt has made the entry."""
WRONG = 3
"""The exit status of a client that has found something wrong."""
FILES, HANDLES = 10, 4
"""The largest number of names of files, and of open files."""


class WrongError(Exception):
    """A result that the client must not get."""


@dataclass
class Client:
    """A client that works in `folder` until the file `stop` exists."""

    folder: Path
    export: Path
    """The same folder in the store."""
    journal: Path
    stop: Path
    seed: str
    stored: frozenset[str]
    """The operations, of `fsync` and `close`, after which data is stored."""
    allowed: frozenset[int]
    """The errors of the store, while it is gone."""
    model: Model = field(default_factory=Model)
    open: dict[int, int] = field(default_factory=dict)
    """The descriptor of each handle of the model."""
    written: set[int] = field(default_factory=set)
    """The handles with data that was written since the last close or fsync."""
    file_of: dict[int, File] = field(default_factory=dict)
    """The file of each handle, also after its close."""
    number: int = 0
    checked: int = 0
    """The number of files that were compared with those of the export."""

    def run(self) -> int:
        """Work, and return the exit status."""
        journal, chance = Journal(self.journal), random.Random(self.seed)
        try:
            while not self.stop.exists() and self.step(journal, chance):
                pass
        except WrongError as wrong:
            journal.add("wrong", str(wrong))
            return WRONG
        journal.add("checked", self.checked)
        return 0

    def step(self, journal: Journal, chance: random.Random) -> bool:
        """Carry out an operation. Return whether the client goes on."""
        name, words, size = self.choose(chance)
        data = content(self.seed, self.number, size)
        journal.add("begin", name, words)
        self.model.begin(name, words, data)
        self.number += 1
        result, error = 0, 0
        try:
            result = getattr(self, f"do_{name}")(*words, data=data) or 0
        except OSError as failed:
            error = failed.errno or errno.EIO
        if error == errno.EEXIST and name in MADE:
            error = 0
        journal.add("end", result, error)
        lost = self.model.handles.get(words[0]) if words else None
        self.model.end(name, words, data, result, error)
        if not error:
            self.check_stored(name, words)
            return True
        if error in MOUNT_ENDED:
            return False
        if error == errno.ESTALE and lost and not self.has_name(lost):
            return True
        if error not in self.allowed:
            raise WrongError(f"{name} {words}: {errno.errorcode.get(error, error)}")
        # Whether a name was changed is open; a client that went on could not say what is right.
        is_name = name not in ("write", "append", "map", "ftruncate", "fsync", "close", "read")
        return not is_name or error in NOT_DONE

    def has_name(self, file: File) -> bool:
        """Return whether a file was not removed."""
        return any(file is each for each in self.model.tree.values())

    def choose(self, chance: random.Random) -> tuple[str, list, int]:
        """Choose an operation, its arguments, and the size of what it writes."""
        tree, handles = self.model.tree, self.model.handles
        files = [path for path, file in tree.items() if isinstance(file, File) and not file.doubt]
        folders = [path for path, file in tree.items() if file is None]
        usable = [handle for handle, file in handles.items() if not file.doubt]
        unusable = [handle for handle, file in handles.items() if file.doubt]
        if unusable:
            return "close", [unusable[0]], 0
        kind = chance.random()
        if usable and kind < 0.6:
            return self.choose_data(chance, chance.choice(usable))
        if usable and (kind < 0.68 or len(handles) >= HANDLES):
            return "close", [chance.choice(usable)], 0
        new = self.new_path(chance, folders)
        if kind < 0.78 or not files:
            path = new if len(tree) < FILES and chance.random() < 0.5 else None
            path = path or (chance.choice(files) if files else new)
            how = "excl" if path == new else chance.choice(["plain", "plain", "trunc"])
            return "open", [max(handles, default=0) + 1, path, how], 0
        if kind < 0.86:
            old, other = chance.choice(files), chance.choice(files)
            is_over = chance.random() < 0.4 and tree[old] is not tree[other]
            return "rename", [old, other if is_over else new], 0
        if kind < 0.92 and len(files) > 2:
            return "unlink", [chance.choice(files)], 0
        if kind < 0.94 and len(tree) < FILES:
            return "link", [chance.choice(files), new], 0
        if kind < 0.95 and len(tree) < FILES:
            return "symlink", ["target", new], 0
        return self.choose_folder(chance, folders, new)

    def choose_data(self, chance: random.Random, handle: int) -> tuple[str, list, int]:
        """Choose an operation on the data of an open file."""
        file, kind = self.model.handles[handle], chance.random()
        length, has_name = len(file.data), self.has_name(file)
        size = chance.choice([1, 100, 4096, chance.randrange(1, 70_000), 200_000])
        at = chance.randrange(0, length + 10_000)
        if kind < 0.02:
            at = chance.randrange(4_000_000, 5_000_000)
        if kind < 0.45:
            return "write", [handle, at, size], size
        if kind < 0.6:
            return "append", [handle, size], size
        if kind < 0.65 and length > 5 and has_name:
            start = chance.randrange(0, length - 1)
            count = chance.randrange(1, min(20_000, length - start) + 1)
            return "map", [handle, start, count], count
        if kind < 0.75:
            return "ftruncate", [handle, chance.randrange(0, length + 20_000)], 0
        if kind < 0.9:
            return "read", [handle, min(at, length), size], 0
        return "fsync", [handle], 0

    def choose_folder(
        self, chance: random.Random, folders: list[str], new: str
    ) -> tuple[str, list, int]:
        """Choose an operation on a folder; its name is one that no file has."""
        tree = self.model.tree
        empty = [each for each in folders if not any(p.startswith(f"{each}/") for p in tree)]
        name = f"d{self.number}"
        if not folders or (len(folders) < 3 and chance.random() < 0.3):
            return "mkdir", [name], 0
        if empty and chance.random() < 0.2:
            return "rmdir", [chance.choice(empty)], 0
        return "rename", [chance.choice(folders), name], 0

    def new_path(self, chance: random.Random, folders: list[str]) -> str:
        """Return a path that does not exist."""
        folder = chance.choice(["", *folders])
        return f"{folder}/f{self.number}" if folder else f"f{self.number}"

    def check_stored(self, name: str, words: list) -> None:
        """Compare a file that is stored now with that of the export."""
        if name == "open":
            self.file_of[words[0]] = self.model.handles[words[0]]
            self.written.discard(words[0])
        if name in ("write", "append"):
            self.written.add(words[0])
        if name == "map":
            # The map has a copy of the descriptor, whose close stores the file.
            self.written.discard(words[0])
        # A close stores a file if something was written through this descriptor.
        if name != "fsync" and (name != "close" or words[0] not in self.written):
            return
        if name == "close":
            self.written.discard(words[0])
        file = self.file_of[words[0]]
        path = next((path for path, each in self.model.tree.items() if each is file), None)
        if name in self.stored and path:
            text = file.difference((self.export / path).read_bytes())
            if text:
                raise WrongError(f"{name}: {path} is not stored: {text}")
            self.checked += 1

    # Operations. A handle's descriptor is opened for reading and writing.

    def do_open(self, handle: int, path: str, how: str, data: bytes) -> None:
        del data
        extra = {"excl": os.O_CREAT | os.O_EXCL, "plain": 0, "trunc": os.O_TRUNC}[how]
        try:
            file = os.open(self.folder / path, os.O_RDWR | extra)
        except FileExistsError:
            # The first attempt has made it.
            file = os.open(self.folder / path, os.O_RDWR)
        self.open[handle] = file

    def do_close(self, handle: int, data: bytes) -> None:
        del data
        os.close(self.open.pop(handle))

    def do_write(self, handle: int, at: int, size: int, data: bytes) -> int:
        del size
        return os.pwrite(self.open[handle], data, at)

    def do_append(self, handle: int, size: int, data: bytes) -> int:
        del size
        os.lseek(self.open[handle], 0, os.SEEK_END)
        return os.write(self.open[handle], data)

    def do_map(self, handle: int, at: int, size: int, data: bytes) -> int:
        with mmap.mmap(self.open[handle], at + size) as mapped:
            mapped[at : at + size] = data
            mapped.flush()
        return size

    def do_ftruncate(self, handle: int, size: int, data: bytes) -> None:
        del data
        os.ftruncate(self.open[handle], size)

    def do_read(self, handle: int, at: int, size: int, data: bytes) -> None:
        del data
        found = os.pread(self.open[handle], size, at)
        expected = self.model.handles[handle].data[at : at + size]
        if expected.startswith(found) and len(found) < len(expected):
            # A kill of the mount cuts a read short, and the next one fails.
            os.pread(self.open[handle], 1, at + len(found))
        if found != expected:
            text = f"{len(found)} bytes, of {len(expected)}"
            raise WrongError(f"read {handle} at {at}: {text}, or others")

    def do_fsync(self, handle: int, data: bytes) -> None:
        del data
        os.fsync(self.open[handle])

    def do_rename(self, old: str, new: str, data: bytes) -> None:
        del data
        (self.folder / old).rename(self.folder / new)

    def do_unlink(self, path: str, data: bytes) -> None:
        del data
        (self.folder / path).unlink()

    def do_link(self, old: str, new: str, data: bytes) -> None:
        del data
        os.link(self.folder / old, self.folder / new)

    def do_symlink(self, target: str, path: str, data: bytes) -> None:
        del data
        (self.folder / path).symlink_to(target)

    def do_mkdir(self, path: str, data: bytes) -> None:
        del data
        (self.folder / path).mkdir()

    def do_rmdir(self, path: str, data: bytes) -> None:
        del data
        (self.folder / path).rmdir()

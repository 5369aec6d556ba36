"""What a client of a mount may rely on: the files that its acknowledged operations have made.

A journal has two lines for each operation: one before it, and one with its result. The model is
built from the journal, so that a client may be killed at any time. An operation without a result,
or with an error that leaves its effect open, may have happened or not; a write may have happened
in part.
"""

from __future__ import annotations

import errno
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

NOT_DONE = {errno.ENOSPC}
"""Errors of operations on names that say that nothing has happened. A store that has become
read-only may have carried out the first attempt.
"""


def content(seed: str, number: int, size: int) -> bytes:
    """Return the data that an operation writes."""
    return random.Random(f"{seed}/{number}").randbytes(size)


@dataclass
class File:
    """A file: its data, and a range of bytes and a size that an operation may have changed."""

    data: bytearray = field(default_factory=bytearray)
    doubt: tuple[int, bytes | None] | None = None
    """The offset and the data of a write, or a size, that may have happened."""

    def write(self, offset: int, data: bytes) -> None:
        if data:
            self.data.extend(bytes(max(0, offset + len(data) - len(self.data))))
            self.data[offset : offset + len(data)] = data

    def truncate(self, size: int) -> None:
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def difference(self, found: bytes) -> str:
        """Return how the data that was found is wrong; an empty text if it is right."""
        if found == self.data:
            return ""
        sizes, changed = {len(self.data)}, (0, 0)
        new = self.data
        if self.doubt:
            at, data = self.doubt
            if data is None:
                other = File(self.data[:])
                other.truncate(at)
                return "" if found == other.data else _first(self.data, found)
            end = at + len(data)
            sizes = set(range(len(self.data), max(len(self.data), end) + 1))
            changed, new = (at, end), File(self.data[:])
            new.write(at, data)
            new = new.data
        if len(found) not in sizes:
            return f"{len(found)} bytes, not {len(self.data)}"
        old = self.data + bytes(len(found) - len(self.data))
        new = new[: len(found)]
        start, end = changed
        if found[:start] != old[:start] or found[end:] != old[end:]:
            return _first(old[:start] + found[start:end] + old[end:], found)
        for place in range(start, min(end, len(found))):
            if found[place] not in (old[place], new[place]):
                return f"byte {place} is neither that of before nor that of the write in flight"
        return ""


def _first(expected: bytes, found: bytes) -> str:
    """Return where two contents differ."""
    pairs = enumerate(zip(expected, found, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(expected), len(found)))
    old, new = expected[at : at + 8].hex(), found[at : at + 8].hex()
    return f"{len(found)} bytes, of {len(expected)}; byte {at}: {new or 'the end'}, not {old}"


Tree = dict[str, "File | str | None"]
"""Files by their paths; ``None`` for a folder, and the target of a symbolic link."""


class Model:
    """The files of a client."""

    def __init__(self) -> None:
        self.tree: Tree = {}
        self.handles: dict[int, File] = {}
        self.others: list[Tree] = []
        """Trees that may be there instead, because an operation on names may have happened."""
        self.acknowledged = 0

    def begin(self, name: str, words: list, data: bytes) -> None:
        """Record that an operation may happen from now on."""
        if name in ("write", "append", "map"):
            file = self.handles[words[0]]
            at = len(file.data) if name == "append" else words[1]
            file.doubt = (at, data)
        elif name == "ftruncate":
            self.handles[words[0]].doubt = (words[1], None)
        elif name == "open" and words[2] == "trunc" and words[1] in self.tree:
            self.tree[words[1]].doubt = (0, None)
        elif name in ("open", "rename", "unlink", "link", "symlink", "mkdir", "rmdir"):
            self.others = [self.renamed(name, words)]

    def end(self, name: str, words: list, data: bytes, result: int, error: int) -> None:
        """Record the result of an operation."""
        self.others = [] if not error or error in NOT_DONE else self.others
        if name == "close":
            self.handles.pop(words[0])
        if error:
            # What happens to a file after an error is in doubt, until another one takes its place.
            return
        self.acknowledged += 1
        if name in ("write", "append", "map"):
            file = self.handles[words[0]]
            at = file.doubt[0]
            file.write(at, data[:result])
            # The rest of a short write has no result.
            file.doubt = (at + result, data[result:]) if result < len(data) else None
        elif name == "ftruncate":
            file = self.handles[words[0]]
            file.truncate(words[1])
            file.doubt = None
        elif name == "open":
            self.tree = self.renamed(name, words)
            file = self.tree[words[1]]
            if words[2] == "trunc":
                file.truncate(0)
                file.doubt = None
            self.handles[words[0]] = file
        elif name in ("rename", "unlink", "link", "symlink", "mkdir", "rmdir"):
            self.tree = self.renamed(name, words)

    def renamed(self, name: str, words: list) -> Tree:
        """Return the tree after an operation on names."""
        tree = dict(self.tree)
        if name == "open" and words[1] not in tree:
            tree[words[1]] = File()
        elif name in ("unlink", "rmdir"):
            del tree[words[0]]
        elif name == "mkdir":
            tree[words[0]] = None
        elif name == "symlink":
            tree[words[1]] = words[0]
        elif name == "link":
            tree[words[1]] = tree[words[0]]
        elif name == "rename":
            old, new = words
            moved = {p: f for p, f in tree.items() if p == old or p.startswith(f"{old}/")}
            for path in moved:
                del tree[path]
            tree |= {new + path[len(old) :]: file for path, file in moved.items()}
        return tree

    def wrong(self, folder: Path) -> list[str]:
        """Return what is wrong with the files in a folder."""
        results = [differences(tree, folder) for tree in (self.tree, *self.others)]
        return min(results, key=len)


def differences(tree: Tree, folder: Path) -> list[str]:
    """Return how the files in a folder differ from a tree."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    wrong = [f"{path}: missing" for path in tree.keys() - found.keys()]
    wrong += [f"{path}: was removed, or was never there" for path in found.keys() - tree.keys()]
    for name, file in tree.items():
        path = found.get(name)
        if path and isinstance(file, str):
            if not path.is_symlink() or str(path.readlink()) != file:
                wrong.append(f"{name}: not a symbolic link to {file}")
        elif path and (file is None) != path.is_dir():
            wrong.append(f"{name}: another type")
        elif path and file is not None:
            text = file.difference(path.read_bytes())
            wrong += [f"{name}: {text}"] if text else []
    return wrong


class Journal:
    """A file with the operations of a client, outside of the mount."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def add(self, *fields: object) -> None:
        """Add a line. It outlives the process once this returns."""
        os.write(self.file, json.dumps(fields).encode() + b"\n")


def replay(path: Path, seed: str) -> Model:
    """Return the model of a client from its journal."""
    model, number = Model(), 0
    operation: tuple[str, list, bytes] = ("", [], b"")
    for line in path.read_text().splitlines():
        kind, *fields = json.loads(line)
        if kind == "begin":
            name, words = fields
            sizes = {"write": 2, "append": 1, "map": 2}
            data = content(seed, number, words[sizes[name]]) if name in sizes else b""
            operation = (name, words, data)
            model.begin(*operation)
            number += 1
        elif kind == "end":
            model.end(*operation, *fields)
    return model

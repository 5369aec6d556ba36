"""The mark file of an owned folder: the identity of its results and every file isthmus wrote."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.files import kind_of, write_bytes

if TYPE_CHECKING:
    from isthmus.files import Bytes

MARK = ".isthmus.json"
"""Name of the mark file, which lists the files in a folder that isthmus owns."""
FORMAT = 1
"""Version of the format of the mark file."""
JOURNAL = "points"
"""Sub-folder in which the Rust core keeps the results of finished points."""
HEADER = f"{JOURNAL}/journal.json"
"""Path of the header of the journal, which identifies the run of the journal."""
RESULT = "result.json"
"""Name of the file of results."""
SCENARIO = "scenario.toml"
"""Name of the file with the effective scenario, which is kept so that a later run can describe
differences.
"""
SOURCE = "source"
"""Name of the part whose files record what the run of the folder simulates: the scenario and the
files that it uses.
"""
LARGE = 16_000_000
"""Size in bytes from which a file is large: reading it again to check it takes noticeable time."""
MISSING_MARK_ADVICE = (
    f"move {JOURNAL}/ alone to a new folder, and give that and the scenario to go on"
)
"""Advice in errors about a folder whose mark (list of owned files) is missing or damaged."""
ADOPTED = "adopted"
"""Name of the part with the files that existed before isthmus owned the folder; see
`OwnedFolder.opened`.
"""
_LEASE = r"claim(?:\.(.+))?"
"""Pattern of the name of a lease file, or of one that a process has renamed to take it over."""
_ENTRY = re.compile(
    rf"{JOURNAL}/(?:journal\.json|(point|search)-([0-9]{{5,}})\.(?:json|kept\.json|{_LEASE}))"
)
KEPT = ".kept.json"
"""Suffix of a file with the finished parts of an entry that is not complete yet."""
SUBMITTED = "slurm"
"""Sub-folder of a Slurm job: its script and the logs of its tasks, which Slurm writes."""
_LOG = re.compile(rf"{SUBMITTED}/\d+_\d+\.log")
_WORKER = re.compile(rf"{JOURNAL}/(.+)\.jsonl")
_LEASED = re.compile(rf".*\.{_LEASE}")


@dataclass(frozen=True)
class Identity:
    """The identity of the results in a folder; two runs with the same identity have the same
    results.
    """

    kind: str
    """Kind of the results: ``run``, ``analysis`` or ``paper``."""
    name: str
    digest: str = ""
    seed: int = 0
    quick: bool = False
    version: str = ""
    """Version of isthmus that wrote the results."""


@dataclass(frozen=True)
class Written:
    """The description of a file that isthmus wrote: its part, size and SHA-256."""

    part: str
    """The part of the folder, such as the tables or the report, to which the file belongs; see
    `OwnedFolder.part`.
    """
    size: int | None = None
    sha256: str | None = None
    """SHA-256 of the file. It is None, as is `size`, for a file that differs from run to run
    (``provenance.json``).
    """


@dataclass
class Mark:
    """The content of the mark file of a folder: the identity of its results, and its files."""

    identity: Identity
    points: int = 0
    """Maximum number of points in the journal. It determines the names of the files that the core
    writes there.
    """
    searches: int = 0
    files: dict[str, Written] = field(default_factory=dict)
    """Files that isthmus owns, by path below the folder, with ``/``."""
    parts: dict[str, str] = field(default_factory=dict)
    """Complete parts of the folder, such as the tables, each with the key of the input from which
    it was made.
    """
    writing: dict[str, Written] = field(default_factory=dict)
    """Files that a process was about to write when the mark was saved."""
    verified_ns: dict[str, int] = field(default_factory=dict)
    """The ``ctime`` of each large file at its last complete check, in which every byte was as
    isthmus wrote it.
    """

    def lists(self, path: str) -> bool:
        """Return whether isthmus owns the file with this path."""
        return path in self.files or path in self.writing or self.is_entry(path)

    def is_entry(self, path: str) -> bool:
        """Return whether the Rust core or Slurm, not this package, may have written this path.

        These are an entry of the journal, its finished parts, its lease, the file of a worker
        process, and the log of a Slurm task.
        """
        if not self.points + self.searches:
            return False
        if _LOG.fullmatch(path):
            return any(name.startswith(f"{SUBMITTED}/") for name in (*self.files, *self.writing))
        if worker := _WORKER.fullmatch(path):
            return is_worker(worker[1])
        found = _ENTRY.fullmatch(path)
        if not found:
            return False
        kind, number, holder = found.groups()
        if holder is not None and not is_worker(holder):
            return False
        count = self.points if kind == "point" else self.searches
        if kind is None:
            return True
        return int(number) < count and f"{kind}-{number}" == entry_of(kind, int(number))

    def note_verified(self, path: str, status: os.stat_result) -> None:
        """Record that a large owned file with this status was as isthmus wrote it."""
        if status.st_size > LARGE:
            self.verified_ns[path] = status.st_ctime_ns

    def untouched(self, path: str, status: os.stat_result) -> bool:
        """Return whether a large file has not changed since its last complete check."""
        large = LARGE < status.st_size == self.files[path].size
        return large and status.st_ctime_ns == self.verified_ns.get(path)

    def is_lease(self, path: str) -> bool:
        """Return whether the path is a lease on an entry of the journal."""
        return self.is_entry(path) and _LEASED.fullmatch(path) is not None

    def folders(self) -> list[str]:
        """Return the folders below this one that isthmus made, deepest first."""
        paths = [PurePosixPath(path) for path in (*self.files, *self.writing)]
        above = {str(parent) for path in paths for parent in path.parents}
        above |= {JOURNAL} if self.points + self.searches else set()
        return sorted(above - {"."}, key=lambda p: (-p.count("/"), p))

    def as_bytes(self) -> bytes:
        """Return the content of the mark file, with its SHA-256."""
        content = {
            "isthmus": "folder",
            "format": FORMAT,
            "of": asdict(self.identity),
            "journal": {"points": self.points, "searches": self.searches},
            "parts": dict(sorted(self.parts.items())),
            "files": {p: asdict(w) for p, w in sorted(self.files.items())},
            "writing": {p: asdict(w) for p, w in sorted(self.writing.items())},
            "looked": {p: ns for p, ns in sorted(self.verified_ns.items()) if p in self.files},
        }
        content["sha256"] = _digest(content)
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()

    def save(self, folder: Path) -> None:
        """Write the mark to the folder."""
        write_bytes(folder / MARK, self.as_bytes())


def read_mark(folder: Path) -> Mark | None:
    """Read the mark of a folder; None if it has none.

    Raises:
        IsthmusError: the mark is damaged, or a later version of isthmus wrote it.

    """
    path = folder / MARK
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode):
        raise IsthmusError(f"{path}: {kind_of(mode)} is where the mark of isthmus should be")
    try:
        content = json.loads(path.read_bytes())
        if content["isthmus"] == "folder" and content["format"] > FORMAT:
            raise IsthmusError(f"{path}: written by a later isthmus; use that one")
        if content.pop("sha256") != _digest(content):
            raise ValueError("it is not as it was written")
        return Mark(
            identity=Identity(**content["of"]),
            points=content["journal"]["points"],
            searches=content["journal"]["searches"],
            files=dict(_listed(content["files"])),
            parts=content["parts"],
            writing=dict(_listed(content["writing"])),
            verified_ns=content.get("looked", {}),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        right = "move the folder away, or give another one"
        if (folder / HEADER).is_file():
            right = MISSING_MARK_ADVICE
        raise IsthmusError(
            f"{path}: damaged ({error}), so that nothing says whose files these are; {right}"
        ) from error


def entry_of(kind: str, at: int) -> str:
    """Return the name of a journal entry, without file suffix, as the Rust core writes it."""
    return f"{kind}-{at:05}"


def is_worker(name: str) -> bool:
    """Return whether a text is a valid name of a worker process, as leases contain it."""
    from isthmus import _core

    return _core.is_worker(name)


def home_of(path: Path) -> Path | None:
    """Return the owned folder that a file belongs to, or would belong to: its own folder, or a
    parent that lists the file.
    """
    if read_mark(path.parent) is not None:
        return path.parent
    place = path.parent.resolve() / path.name
    for folder in place.parents[1:]:
        mark = read_mark(folder)
        if mark is not None and mark.lists(place.relative_to(folder).as_posix()):
            return folder
    return None


def is_unchanged(place: Path, written: Written) -> bool:
    """Return whether a file has the content that isthmus wrote."""
    if written.sha256 is None:
        return True
    return place.stat().st_size == written.size and sha256(place.read_bytes()) == written.sha256


def sha256(data: Bytes) -> str:
    """Return the SHA-256 of data in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def checked(path: str) -> str:
    """Check that a path stays below the folder, and return it unchanged.

    Raises:
        ValueError: the path is absolute, empty or leads upwards.

    """
    parts = path.split("/")
    if not all(part not in ("", ".", "..") and "\\" not in part for part in parts):
        raise ValueError(f"{path!r} is no path below the folder")
    return path


def _listed(files: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Written]]:
    """Yield the path of each listed file and its description; refuse invalid paths."""
    for path, written in files.items():
        yield checked(path), Written(**written)


def _digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of the content of the mark file."""
    return sha256(json.dumps(content, sort_keys=True).encode())

"""The mark that makes a folder ours: whose results it holds, and every file that we wrote."""

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
"""Name of the file."""
FORMAT = 1
"""Version of its form."""
JOURNAL = "points"
"""Sub-folder in which the core keeps finished points."""
HEADER = f"{JOURNAL}/journal.json"
"""The file in it that says which run it is of."""
RESULT = "result.json"
"""The numbers."""
SCENARIO = "scenario.toml"
"""The effective scenario, kept so that a later run can say what differs."""
SOURCE = "source"
"""What files are made from that say what is run."""
LARGE = 16_000_000
"""Bytes of a file from which reading it takes a time that is noticed."""
GO_ON = f"move {JOURNAL}/ alone to a new folder, and give that and the scenario to go on"
"""What to do where it is not known any more what the files of a folder are."""
ADOPTED = "adopted"
"""The part of files that were there before the folder became ours; see `OwnedFolder.opened`."""
_CLAIM = r"claim(?:\.(.+))?"
"""A claim, or one that was put aside by the process of that name, to take it over."""
_ENTRY = re.compile(
    rf"{JOURNAL}/(?:journal\.json|(point|search)-([0-9]{{5,}})\.(?:json|kept\.json|{_CLAIM}))"
)
KEPT = ".kept.json"
"""How the name of a file ends that has the finished parts of an entry which is not there yet."""
SUBMITTED = "slurm"
"""Sub-folder of a job of Slurm: its script, and what its tasks say, which Slurm writes."""
_LOG = re.compile(rf"{SUBMITTED}/\d+_\d+\.log")
_WORKER = re.compile(rf"{JOURNAL}/(.+)\.jsonl")
_CLAIMED = re.compile(rf".*\.{_CLAIM}")


@dataclass(frozen=True)
class Identity:
    """What a folder holds the results of."""

    kind: str
    """``run``, ``analysis`` or ``paper``."""
    name: str
    digest: str = ""
    seed: int = 0
    quick: bool = False
    version: str = ""
    """Version of isthmus."""


@dataclass(frozen=True)
class Written:
    """A file that we wrote."""

    part: str
    """What it belongs to; see `OwnedFolder.part`."""
    size: int | None = None
    sha256: str | None = None
    """Both None for a file that differs from run to run (``provenance.json``)."""


@dataclass
class Mark:
    """What the file says."""

    of: Identity
    points: int = 0
    """Points that the journal may hold; the core writes it, under names known beforehand."""
    searches: int = 0
    files: dict[str, Written] = field(default_factory=dict)
    """By path below the folder, with ``/``."""
    parts: dict[str, str] = field(default_factory=dict)
    """What is whole, with a key of what it was made from."""
    writing: dict[str, Written] = field(default_factory=dict)
    """What was about to be written when the mark was."""
    looked: dict[str, int] = field(default_factory=dict)
    """When each large file was last changed, as its ``ctime`` said, which nobody sets, before every
    byte of it was found as it was written.
    """

    def lists(self, path: str) -> bool:
        """Whether a file of this path is ours."""
        return path in self.files or path in self.writing or self.is_entry(path)

    def is_entry(self, path: str) -> bool:
        """Whether the core may have written this path: an entry of the journal, its finished parts,
        a claim on it, or the file of a process that does parts of the run; or Slurm for one.
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
        kind, number, aside = found.groups()
        if aside is not None and not is_worker(aside):
            return False
        count = self.points if kind == "point" else self.searches
        if kind is None:
            return True
        return int(number) < count and f"{kind}-{number}" == entry_of(kind, int(number))

    def look(self, path: str, told: os.stat_result) -> None:
        """Note that a file of ours, of which the system told this, was as it was written."""
        if told.st_size > LARGE:
            self.looked[path] = told.st_ctime_ns

    def untouched(self, path: str, told: os.stat_result) -> bool:
        """Whether it is a large file that nobody has touched since every byte was looked at."""
        large = LARGE < told.st_size == self.files[path].size
        return large and told.st_ctime_ns == self.looked.get(path)

    def is_claim(self, path: str) -> bool:
        """Whether it is a claim on an entry of the journal."""
        return self.is_entry(path) and _CLAIMED.fullmatch(path) is not None

    def folders(self) -> list[str]:
        """The folders below ours that we made, deepest first."""
        paths = [PurePosixPath(path) for path in (*self.files, *self.writing)]
        above = {str(parent) for path in paths for parent in path.parents}
        above |= {JOURNAL} if self.points + self.searches else set()
        return sorted(above - {"."}, key=lambda p: (-p.count("/"), p))

    def as_bytes(self) -> bytes:
        """The file, with the SHA-256 of what it says."""
        told = {
            "isthmus": "folder",
            "format": FORMAT,
            "of": asdict(self.of),
            "journal": {"points": self.points, "searches": self.searches},
            "parts": dict(sorted(self.parts.items())),
            "files": {p: asdict(w) for p, w in sorted(self.files.items())},
            "writing": {p: asdict(w) for p, w in sorted(self.writing.items())},
            "looked": {p: ns for p, ns in sorted(self.looked.items()) if p in self.files},
        }
        told["sha256"] = _digest(told)
        return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()

    def save(self, folder: Path) -> None:
        """Write it to the folder."""
        write_bytes(folder / MARK, self.as_bytes())


def read_mark(folder: Path) -> Mark | None:
    """The mark of a folder; None if it has none.

    Raises:
        IsthmusError: it is damaged, or of a later isthmus.

    """
    path = folder / MARK
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode):
        raise IsthmusError(f"{path}: {kind_of(mode)} is where the mark of isthmus should be")
    try:
        told = json.loads(path.read_bytes())
        if told["isthmus"] == "folder" and told["format"] > FORMAT:
            raise IsthmusError(f"{path}: written by a later isthmus; use that one")
        if told.pop("sha256") != _digest(told):
            raise ValueError("it is not as it was written")
        return Mark(
            of=Identity(**told["of"]),
            points=told["journal"]["points"],
            searches=told["journal"]["searches"],
            files=dict(_listed(told["files"])),
            parts=told["parts"],
            writing=dict(_listed(told["writing"])),
            looked=told.get("looked", {}),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        right = "move the folder away, or give another one"
        if (folder / HEADER).is_file():
            right = GO_ON
        raise IsthmusError(
            f"{path}: damaged ({error}), so that nothing tells whose files these are; {right}"
        ) from error


def entry_of(kind: str, at: int) -> str:
    """The name of a point's or a search's entry in the journal, as the core spells it; files have
    an ending behind it.
    """
    return f"{kind}-{at:05}"


def is_worker(name: str) -> bool:
    """Whether it is the name of a process that does parts of a run, by which it claims points."""
    from isthmus import _core

    return _core.is_worker(name)


def home_of(path: Path) -> Path | None:
    """The folder of ours that a file is, or would be, part of: the one it lies in, or one further
    up that lists it.
    """
    if read_mark(path.parent) is not None:
        return path.parent
    place = path.parent.resolve() / path.name
    for folder in place.parents[1:]:
        mark = read_mark(folder)
        if mark is not None and mark.lists(place.relative_to(folder).as_posix()):
            return folder
    return None


def fits(place: Path, written: Written) -> bool:
    """Whether a file is as it was written."""
    if written.sha256 is None:
        return True
    return place.stat().st_size == written.size and sha256(place.read_bytes()) == written.sha256


def sha256(data: Bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def checked(path: str) -> str:
    """A path below the folder that leads nowhere else.

    Raises:
        ValueError: it is absolute, empty or goes upwards.

    """
    parts = path.split("/")
    if not all(part not in ("", ".", "..") and "\\" not in part for part in parts):
        raise ValueError(f"{path!r} is no path below the folder")
    return path


def _listed(files: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Written]]:
    for path, written in files.items():
        yield checked(path), Written(**written)


def _digest(told: dict[str, Any]) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode())

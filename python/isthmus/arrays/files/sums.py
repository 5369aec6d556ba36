"""Checksums of the blocks of a file, stored in a second file ``NAME.crc32c``.

A block consists of whole elements in file order. Checksums are CRC-32C (Castagnoli), as in iSCSI
and zarr.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.files import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES_MAX = 255
"""Maximum length of a file name on Linux file systems."""
SUFFIX = ".crc32c"
"""Suffix of the checksum file after the name of the data file."""
BEGIN = b'{"isthmus": "crc32c"'
"""First bytes of a checksum file."""
FORMAT = 1
"""Version of the format of checksum files."""


def path_of(path: Path) -> Path:
    """Return the path of the file that stores the checksums of the file `path`."""
    return path.with_name(path.name + SUFFIX)


def has_valid_name(path: Path) -> bool:
    """Return whether the name of the checksum file is short enough for a file system."""
    return len(os.fsencode(path.name + SUFFIX)) <= BYTES_MAX


def crc32c(data: NDArray[np.uint8]) -> int:
    """Return the CRC-32C checksum of a block of a file."""
    from isthmus import _core

    return _core.crc32c(data)


@dataclass(frozen=True)
class Sums:
    """The checksums of all blocks of a file."""

    offset: int
    """Offset of the first block in the file, in bytes."""
    size: int
    """Bytes of all blocks of the file together."""
    block: int
    """Bytes of a block; the last may be shorter."""
    sums: tuple[int, ...]
    writers: tuple[tuple[int, int], ...]
    """Pairs of a first block and the rank that wrote it and the blocks up to the next pair."""

    def writer(self, block: int) -> int:
        """Return the rank that has written a block."""
        return next(rank for first, rank in reversed(self.writers) if first <= block)

    def save(self, path: Path) -> None:
        """Write the checksums to a file."""
        document = {
            "isthmus": "crc32c",
            "format": FORMAT,
            "offset": self.offset,
            "bytes": self.size,
            "block": self.block,
            "writers": [list(pair) for pair in self.writers],
            "sums": [f"{value:08x}" for value in self.sums],
        }
        document["crc32c"] = _digest(document)
        write_text(path, json.dumps(document) + "\n")

    def check(self, path: Path, first: int, data: NDArray[np.uint8], rank: int) -> None:
        """Compare data that start at a block with their checksums.

        Raises:
            IsthmusError: a block differs from its checksum.

        """
        for number, start in enumerate(range(0, len(data), self.block), first):
            part = data[start : start + self.block]
            found = crc32c(part)
            if found != self.sums[number]:
                begin = self.offset + number * self.block
                raise IsthmusError(
                    f"{path}: block {number} (bytes {begin} to {begin + len(part) - 1}) "
                    f"is not what rank {self.writer(number)} wrote: CRC-32C {found:08x} as rank "
                    f"{rank} reads it, {self.sums[number]:08x} in {path_of(path).name}"
                )


def merge(offset: int, size: int, block: int, by_rank: Sequence[Mapping[int, int]]) -> Sums:
    """Merge the checksums of blocks that each rank has computed.

    `by_rank` maps, for each rank, the number of a block to its checksum.
    """
    count = -(-size // block)
    sums: list[int] = [0] * count
    writers = [0] * count
    for rank, sums_of_rank in enumerate(by_rank):
        for number, value in sums_of_rank.items():
            sums[number], writers[number] = value, rank
    changes = tuple(
        (number, rank)
        for number, rank in enumerate(writers)
        if number == 0 or writers[number - 1] != rank
    )
    return Sums(offset, size, block, tuple(sums), changes)


def read(path: Path) -> Sums | None:
    """Read the checksums of a file; return None if it has none.

    Raises:
        IsthmusError: they are damaged, or were written by a later isthmus.

    """
    place = path_of(path)
    if not os.path.lexists(place):
        return None
    try:
        document: dict[str, Any] = json.loads(read_text(place))
        if document["isthmus"] != "crc32c":
            raise ValueError("it has sums of another kind")
        if document["format"] > FORMAT:
            raise IsthmusError(f"{place}: written by a later isthmus; use that one")
        if document.pop("crc32c") != _digest(document):
            raise ValueError("it is not as it was written")
        found = Sums(
            document["offset"],
            document["bytes"],
            document["block"],
            tuple(int(value, 16) for value in document["sums"]),
            tuple((first, rank) for first, rank in document["writers"]),
        )
        _refuse_impossible(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IsthmusError(
            f"{place}: damaged ({error}); remove it, or read with verify=False"
        ) from error
    return found


def _refuse_impossible(found: Sums) -> None:
    """Refuse the content of a checksum file whose numbers contradict each other.

    Raises:
        ValueError: a number is invalid.

    """
    numbers = [found.offset, found.size, *(number for pair in found.writers for number in pair)]
    if not all(type(number) is int and number >= 0 for number in [*numbers, found.block]):
        raise ValueError("a number is not whole, or below 0")
    if found.block == 0 or len(found.sums) != -(-found.size // found.block):
        raise ValueError("its blocks are not those of its bytes")
    if found.sums and (not found.writers or found.writers[0][0] != 0):
        raise ValueError("the first block is missing")


def read_consistent(path: Path, opened: Callable[[], os.stat_result]) -> Sums | None:
    """Read the checksums that belong to the present file, whose status `opened` returns.

    A writer removes the checksums, replaces the file, then writes new checksums. Checksums that are
    unchanged before and after belong to the file in between.
    """
    while True:
        before, here = _identity(path_of(path)), opened()
        found = read(path)
        if _identity(path_of(path)) == before and os.path.samestat(opened(), here):
            return found


def _identity(place: Path) -> tuple[int, int] | None:
    """Return inode and modification time of a file; None if it does not exist."""
    try:
        status = place.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _digest(document: dict[str, Any]) -> str:
    """Return the checksum of the content of a checksum file."""
    words = json.dumps(document, sort_keys=True).encode()
    return f"{crc32c(np.frombuffer(words, np.uint8)):08x}"

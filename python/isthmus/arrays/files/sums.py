"""Sums of the blocks of a file, in a file beside it: ``NAME.crc32c``.

A block is a number of whole elements, in the order of the file. Sums are CRC-32C (Castagnoli), as
iSCSI and zarr have them.
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
"""Of a name in a folder, on the file systems of Linux."""
SUFFIX = ".crc32c"
"""What the name of the file has behind that of the data."""
BEGIN = b'{"isthmus": "crc32c"'
"""How it begins."""
FORMAT = 1
"""Version of its form."""


def beside(path: Path) -> Path:
    """Where the sums of a file are."""
    return path.with_name(path.name + SUFFIX)


def can_be(path: Path) -> bool:
    """Whether a file's name leaves room for that of its sums."""
    return len(os.fsencode(path.name + SUFFIX)) <= BYTES_MAX


def crc32c(data: NDArray[np.uint8]) -> int:
    """The sum of a block."""
    from isthmus import _core

    return _core.crc32c(data)


@dataclass(frozen=True)
class Sums:
    """The sums of all blocks of a file."""

    offset: int
    """Where the first block begins in the file."""
    size: int
    """Bytes of all blocks together."""
    block: int
    """Bytes of a block; the last may be shorter."""
    sums: tuple[int, ...]
    writers: tuple[tuple[int, int], ...]
    """From which block on which rank has written."""

    def writer(self, block: int) -> int:
        """The rank that has written a block."""
        return next(rank for first, rank in reversed(self.writers) if first <= block)

    def save(self, path: Path) -> None:
        """Write them to a file."""
        told = {
            "isthmus": "crc32c",
            "format": FORMAT,
            "offset": self.offset,
            "bytes": self.size,
            "block": self.block,
            "writers": [list(pair) for pair in self.writers],
            "sums": [f"{value:08x}" for value in self.sums],
        }
        told["crc32c"] = _digest(told)
        write_text(path, json.dumps(told) + "\n")

    def check(self, path: Path, first: int, data: NDArray[np.uint8], rank: int) -> None:
        """Compare data that begin with a block.

        Raises:
            IsthmusError: a block is not what was written.

        """
        for number, start in enumerate(range(0, len(data), self.block), first):
            part = data[start : start + self.block]
            found = crc32c(part)
            if found != self.sums[number]:
                begin = self.offset + number * self.block
                raise IsthmusError(
                    f"{path}: block {number} (bytes {begin} to {begin + len(part) - 1}) "
                    f"is not what rank {self.writer(number)} wrote: CRC-32C {found:08x} as rank "
                    f"{rank} reads it, {self.sums[number]:08x} in {beside(path).name}"
                )


def gathered(offset: int, size: int, block: int, by_rank: Sequence[Mapping[int, int]]) -> Sums:
    """Put together what each rank says of the blocks that it has written."""
    count = -(-size // block)
    sums: list[int] = [0] * count
    writers = [0] * count
    for rank, told in enumerate(by_rank):
        for number, value in told.items():
            sums[number], writers[number] = value, rank
    changes = tuple(
        (number, rank)
        for number, rank in enumerate(writers)
        if number == 0 or writers[number - 1] != rank
    )
    return Sums(offset, size, block, tuple(sums), changes)


def read(path: Path) -> Sums | None:
    """The sums of a file, if there are any.

    Raises:
        IsthmusError: they are damaged, or of a later isthmus.

    """
    place = beside(path)
    if not os.path.lexists(place):
        return None
    try:
        told: dict[str, Any] = json.loads(read_text(place))
        if told["isthmus"] != "crc32c":
            raise ValueError("it has sums of another kind")
        if told["format"] > FORMAT:
            raise IsthmusError(f"{place}: written by a later isthmus; use that one")
        if told.pop("crc32c") != _digest(told):
            raise ValueError("it is not as it was written")
        found = Sums(
            told["offset"],
            told["bytes"],
            told["block"],
            tuple(int(value, 16) for value in told["sums"]),
            tuple((first, rank) for first, rank in told["writers"]),
        )
        _refuse_impossible(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IsthmusError(
            f"{place}: damaged ({error}); remove it, or read with verify=False"
        ) from error
    return found


def _refuse_impossible(found: Sums) -> None:
    """Refuse numbers that no writer writes.

    Raises:
        ValueError: there are such.

    """
    numbers = [found.offset, found.size, *(number for pair in found.writers for number in pair)]
    if not all(type(number) is int and number >= 0 for number in [*numbers, found.block]):
        raise ValueError("a number is not whole, or below 0")
    if found.block == 0 or len(found.sums) != -(-found.size // found.block):
        raise ValueError("its blocks are not those of its bytes")
    if found.sums and (not found.writers or found.writers[0][0] != 0):
        raise ValueError("the first block is missing")


def consistent(path: Path, opened: Callable[[], os.stat_result]) -> Sums | None:
    """The sums that belong to the file that `opened` finds under this name.

    A writer removes sums, replaces the file, and then writes sums: those that are the same before
    and after are of the file that was there in between.
    """
    while True:
        before, here = _mark(beside(path)), opened()
        found = read(path)
        if _mark(beside(path)) == before and os.path.samestat(opened(), here):
            return found


def _mark(place: Path) -> tuple[int, int] | None:
    try:
        told = place.lstat()
    except OSError:
        return None
    return told.st_ino, told.st_mtime_ns


def _digest(told: dict[str, Any]) -> str:
    words = json.dumps(told, sort_keys=True).encode()
    return f"{crc32c(np.frombuffer(words, np.uint8)):08x}"

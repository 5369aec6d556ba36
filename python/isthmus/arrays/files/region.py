"""The elements of a file that lie one behind the other, read and written in large pieces."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.files.domains import Stretches
from isthmus.arrays.files.sums import crc32c
from isthmus.files import FileError, telling_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.formats import Described
    from isthmus.arrays.files.sums import Sums

PIECE = 4 << 20
"""Bytes given to the system at once: what was just moved is still in the cache then."""


class Writer:
    """Writes the domain of an aggregator, and sums its blocks."""

    def __init__(
        self, path: Path, place: Path, array: Described, domains: Stretches, aggregator: int
    ) -> None:
        """Open a file that is there.

        Args:
            path: its name when it is whole, for messages.
            place: where it is now.
            array: what is in it, with its offset.
            domains: of the aggregators.
            aggregator: which of them this is.

        """
        self._path, self._domains, self._aggregator = path, domains, aggregator
        self._offset, self._element = array.offset or 0, array.dtype.itemsize
        self.sums: dict[int, int] = {}
        with telling_of(path, "cannot be written"):
            self._file = place.open("r+b", buffering=0)

    def put(self, number: int, data: NDArray[np.uint8], block: int) -> None:
        """Write a round; with blocks of so many bytes sum them, without if it is 0."""
        first, _ = self._domains.span(self._aggregator, number)
        begin, view, done = first * self._element, data.data, 0
        if block:
            for start in range(0, data.size, block):
                self.sums[(begin + start) // block] = crc32c(data[start : start + block])
        with telling_of(self._path, "cannot be written"):
            while done < len(view):
                piece = view[done : done + PIECE]
                done += os.pwrite(self._file.fileno(), piece, self._offset + begin + done)

    def close(self, *, sync: bool = False) -> None:
        """Be done; with `sync` what was written is kept through a power cut."""
        with telling_of(self._path, "cannot be written"):
            if sync:
                os.fsync(self._file.fileno())
            self._file.close()


class Reader:
    """Reads any part of a file that is as it was when its header was read."""

    def __init__(self, path: Path, array: Described, sums: Sums | None, rank: int) -> None:
        self._path, self._array, self._sums, self._rank = path, array, sums, rank
        self._offset, self._element = array.offset or 0, array.dtype.itemsize
        with telling_of(path, "cannot be read"):
            self._file = path.open("rb", buffering=0)
            self._handle = self._file.fileno()
        self.check_length()

    @property
    def mark(self) -> tuple[int, int]:
        """What tells this file from another of its name: its inode and its length."""
        return mark(os.fstat(self._handle))

    def check_length(self) -> None:
        """Whether all elements are there.

        Raises:
            FileError: the file is cut short.

        """
        check_length(self._path, self._array, os.fstat(self._handle).st_size)

    def get(self, first: int, into: NDArray[np.uint8]) -> None:
        """Read elements from one on; where there are sums they begin with a block.

        Raises:
            IsthmusError: the file is cut short, or a block is not what was written.

        """
        begin, view, done = first * self._element, into.data, 0
        with telling_of(self._path, "cannot be read"):
            while done < len(view):
                piece = view[done : done + PIECE]
                count = os.preadv(self._handle, [piece], self._offset + begin + done)
                if count == 0:
                    self.check_length()
                done += count
        if self._sums is not None:
            self._sums.check(self._path, begin // self._sums.block, into, self._rank)

    def mapped(self) -> NDArray[Any]:
        """The whole array as the system shows the file in memory; nothing is read yet."""
        array = self._array
        order: Any = array.order
        self.check_length()
        if not array.size:
            return np.empty(array.shape, array.dtype, order)
        end = self._offset + array.size
        with telling_of(self._path, "cannot be read"):
            shown = mmap.mmap(self._handle, end, access=mmap.ACCESS_READ)
        return np.ndarray(array.shape, array.dtype, shown, self._offset, order=order)

    def check(self, blocks: Sequence[int]) -> None:
        """Read blocks and compare them with their sums.

        Raises:
            IsthmusError: one is not what was written.

        """
        if self._sums is None:
            return
        size = self._sums.block
        buffer = np.empty(min(size, self._array.size), np.uint8)
        for number in blocks:
            length = min(size, self._array.size - number * size)
            self.get(number * size // self._element, buffer[:length])

    def close(self) -> None:
        """Be done."""
        self._file.close()


def check_length(path: Path, array: Described, found: int) -> None:
    """Whether a file of so many bytes has all elements of an array.

    Raises:
        FileError: it is cut short.

    """
    offset = array.offset or 0
    expected = offset + array.size
    if found < expected:
        raise FileError(
            f"{path}: cut short: {expected} bytes expected, {found} found ({array.dtype} elements "
            f"of shape {array.shape} behind {offset} bytes)"
        )


def mark(told: os.stat_result) -> tuple[int, int]:
    """What tells a file from another of its name: its inode and its length."""
    return told.st_ino, told.st_size

"""Reading and writing of contiguous elements in large pieces."""

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
"""Number of bytes that one system call reads or writes. The data of a call still fit in the CPU
cache.
"""


class Writer:
    """Writes the file range of one aggregator rank and computes the checksums of its blocks."""

    def __init__(
        self, path: Path, place: Path, array: Described, domains: Stretches, aggregator: int
    ) -> None:
        """Open an existing file.

        Args:
            path: final path of the file, for messages.
            place: current path of the file.
            array: the array in the file, with its offset.
            domains: file domains of the aggregators.
            aggregator: index of this aggregator.

        """
        self._path, self._domains, self._aggregator = path, domains, aggregator
        self._offset, self._element = array.offset or 0, array.dtype.itemsize
        self.sums: dict[int, int] = {}
        with telling_of(path, "cannot be written"):
            self._file = place.open("r+b", buffering=0)

    def put(self, number: int, data: NDArray[np.uint8], block: int) -> None:
        """Write the data of round `number`; compute checksums of its blocks unless `block` is 0."""
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
        """Close the file; with `sync`, flush it to disk first."""
        with telling_of(self._path, "cannot be written"):
            if sync:
                os.fsync(self._file.fileno())
            self._file.close()


class Reader:
    """Reads any part of a file that is unchanged since its header was read."""

    def __init__(self, path: Path, array: Described, sums: Sums | None, rank: int) -> None:
        """Open the file and check its length; `rank` is the rank that reads, for messages."""
        self._path, self._array, self._sums, self._rank = path, array, sums, rank
        self._offset, self._element = array.offset or 0, array.dtype.itemsize
        with telling_of(path, "cannot be read"):
            self._file = path.open("rb", buffering=0)
            self._handle = self._file.fileno()
        self.check_length()

    @property
    def identity(self) -> tuple[int, int]:
        """Inode and length of the file; if they change, the file has been replaced."""
        return identity(os.fstat(self._handle))

    def check_length(self) -> None:
        """Refuse a truncated file.

        Raises:
            FileError: the file is truncated.

        """
        check_length(self._path, self._array, os.fstat(self._handle).st_size)

    def get(self, first: int, into: NDArray[np.uint8]) -> None:
        """Read elements from `first` on; with checksums `first` must start a block.

        Raises:
            IsthmusError: the file is truncated, or a block differs from its checksum.

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
        """Return the whole array as a memory map, without reading it."""
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
        """Read blocks and compare them with their checksums.

        Raises:
            IsthmusError: a block differs from its checksum.

        """
        if self._sums is None:
            return
        size = self._sums.block
        buffer = np.empty(min(size, self._array.size), np.uint8)
        for number in blocks:
            length = min(size, self._array.size - number * size)
            self.get(number * size // self._element, buffer[:length])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def check_length(path: Path, array: Described, found: int) -> None:
    """Refuse a file that is too short for an array.

    Raises:
        FileError: the file is truncated.

    """
    offset = array.offset or 0
    expected = offset + array.size
    if found < expected:
        raise FileError(
            f"{path}: cut short: {expected} bytes expected, {found} found ({array.dtype} elements "
            f"of shape {array.shape} behind {offset} bytes)"
        )


def identity(status: os.stat_result) -> tuple[int, int]:
    """Return inode and length of a file; if they change, the file has been replaced."""
    return status.st_ino, status.st_size

"""Direct access of the ranks of one node to a memory-mapped file.

On a file system in memory each rank copies its elements directly to or from the file, without
buffers, rounds or synchronisation.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.files.region import check_length
from isthmus.arrays.layouts import Layout, _call
from isthmus.arrays.plans import Plan
from isthmus.files import telling_of

if TYPE_CHECKING:
    from isthmus.arrays.files.formats import Described

PIECE = 4 << 20
"""Bytes of a rank's elements that are moved at a time."""
FAULT_AROUND = 1 << 16
"""Bytes that Linux maps around a page for one page fault."""
SPARSE = 64
"""Minimum ratio of a rank's span of the file to the bytes that the rank owns in it, to be sparse.

A sparse rank would spend its time on page faults for data of other ranks.
"""
POPULATE_READ = 22
"""MADV_POPULATE_READ of Linux 5.14. It maps many pages with one fault, and pages of a file in
memory are then writable. MADV_POPULATE_WRITE takes one fault for each page.
"""
MOUNTS = Path("/proc/self/mountinfo")


class Mapped:
    """The elements of one rank in a memory-mapped file."""

    def __init__(
        self, path: Path, place: Path, array: Described, layout: Layout, rank: int, *, writes: bool
    ) -> None:
        """Map an existing file in its whole length, without reading or writing.

        Args:
            path: final path of the file, for messages.
            place: current path of the file.
            array: the array in the file, with its offset.
            layout: mapping of elements to ranks.
            rank: the rank whose elements are moved.
            writes: whether data are written to the file.

        Raises:
            OSError: the system cannot map the file.
            ValueError: the file is too short.

        """
        self._path, self._array, self._writes = path, array, writes
        self._offset = array.offset or 0
        self._share, self._elements = self._part(layout, rank)
        self._file = place.open("r+b" if writes else "rb", buffering=0)
        try:
            self._map = mmap.mmap(
                self._file.fileno(),
                self._offset + array.size,
                access=mmap.ACCESS_WRITE if writes else mmap.ACCESS_READ,
            )
            # An empty range tests whether the system supports this advice.
            self._map.madvise(POPULATE_READ, 0, 0)
        except BaseException:
            self._file.close()
            raise
        order: Any = array.order
        self._all: Any = np.ndarray(array.shape, array.dtype, self._map, self._offset, order=order)

    @property
    def is_sparse(self) -> bool:
        """Whether the rank owns only a small fraction of the bytes between its first and last."""
        # Count the memory of the mapped ranges of the file: each range occupies at least one page.
        spans = self._spans(0, self._elements)
        among = sum(max(end - begin, mmap.PAGESIZE) for begin, end in spans)
        return among > SPARSE * max(PIECE, self._elements * self._array.dtype.itemsize)

    @property
    def status(self) -> os.stat_result:
        """Status of the mapped file."""
        return os.fstat(self._file.fileno())

    def move(self, held: Any, progress: Callable[[int, int], None] | None) -> None:
        """Copy the elements of the rank to or from the file.

        Args:
            held: arrays of the rank.
            progress: called after each piece with the bytes done and the total, estimated from this
                rank.

        Raises:
            FileError: the file is truncated, or the file system is full.

        """
        size, element = self._array.size, self._array.dtype.itemsize
        parts, file = (
            memory.parts_of(held, "held") if self._elements else [],
            memory.given(self._all),
        )
        given = [memory.to_read(part) if self._writes else memory.given(part) for part in parts]
        for low, high in self._pieces():
            piece = (0, low, high)
            for begin, end in self._spans(low, high):
                self._fault_in(begin, end)
            if self._writes:
                _call(self._share.unpack, [(piece, given)], [file])
            else:
                _call(self._share.unpack, [(piece, [file])], given)
            if progress is not None and high < self._elements:
                progress(size // element * high // self._elements * element, size)
        if progress is not None:
            progress(size, size)

    def close(self, *, sync: bool = False) -> None:
        """Unmap the file; with `sync`, flush it to disk first."""
        del self._all
        problem = "cannot be written" if self._writes else "cannot be read"
        with telling_of(self._path, problem), self._file:
            self._map.close()
            if sync:
                os.fsync(self._file.fileno())

    def _part(self, layout: Layout, rank: int) -> tuple[Any, int]:
        """Return the message between the rank and the file, and the number of its elements."""
        from isthmus import _core

        array = self._array
        whole = Layout.whole(array.shape)
        plan = Plan(layout, whole) if self._writes else Plan(whole, layout)
        pair = (rank, 0) if self._writes else (0, rank)
        columns = array.order == "F"
        # Compute only the message between this rank and the whole file, not those of other ranks.
        share = _call(_core.Share.between, plan._core, pair, array.dtype.itemsize, columns)
        return share, sum(elements for _, elements in share.receives())

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Yield the first element and the end (exclusive) of each piece that is moved at a time."""
        most = max(1, PIECE // self._array.dtype.itemsize)
        step = self._share.piece(False, 0, most) if self._elements else most
        for low in range(0, self._elements, step):
            yield low, min(low + step, self._elements)

    def _spans(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield the byte ranges of the file that contain elements `low` to `high` - 1."""
        if low < high:
            piece, strides = (0, low, high), self._all.strides
            for begin, end in _call(
                self._share.spans, piece, not self._writes, strides, FAULT_AROUND
            ):
                yield self._offset + begin, self._offset + end

    def _fault_in(self, begin: int, end: int) -> None:
        """Map pages before they are accessed: a failing access would kill the process."""
        begin -= begin % mmap.PAGESIZE
        with telling_of(self._path, "cannot be written" if self._writes else "cannot be read"):
            try:
                self._map.madvise(POPULATE_READ, begin, end - begin)
            except OSError as error:
                if error.errno != errno.EFAULT:
                    raise
                self._raise_cause(begin, end)

    def _raise_cause(self, begin: int, end: int) -> None:
        """Raise the reason why pages cannot be mapped."""
        check_length(self._path, self._array, self.status.st_size)
        if self._writes:
            # posix_fallocate raises the cause; if the cause is gone by now, the pages exist
            # afterwards.
            os.posix_fallocate(self._file.fileno(), begin, end - begin)
        self._map.madvise(POPULATE_READ, begin, end - begin)


def is_in_memory(place: Path) -> bool:
    """Return whether a file is on a file system in memory."""
    try:
        device = place.stat().st_dev
        mounts = MOUNTS.read_text().splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    # In /proc/self/mountinfo the file system type follows the separator " - ".
    return any(
        line.split()[2] == number and line.partition(" - ")[2].split()[0] == "tmpfs"
        for line in mounts
    )

"""A file in memory, which the ranks of one node read and write where it lies.

On a file system in memory a file is memory: each rank copies its elements straight to where they
belong in it, or from there, without buffers, rounds and waiting for others.
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
from isthmus.arrays.layouts import Layout, _told
from isthmus.arrays.plans import Plan
from isthmus.files import telling_of

if TYPE_CHECKING:
    from isthmus.arrays.files.formats import Described

PIECE = 4 << 20
"""Bytes of a rank that are moved at a time."""
AROUND = 1 << 16
"""Bytes that Linux shows around a page for one fault."""
THIN = 64
"""A rank with less than one in so many of the bytes among which its elements lie would spend its
time on pages of others."""
POPULATE_READ = 22
"""MADV_POPULATE_READ, of Linux 5.14. It shows many pages for one fault, and those of a file in
memory may be written to then; MADV_POPULATE_WRITE takes a fault for each."""
MOUNTS = Path("/proc/self/mountinfo")


class Mapped:
    """The elements of a file that one rank has, where they lie."""

    def __init__(
        self, path: Path, place: Path, array: Described, layout: Layout, rank: int, *, writes: bool
    ) -> None:
        """Look at a file that is there in its whole length; nothing is read or written yet.

        Args:
            path: its name when it is whole, for messages.
            place: where it is now.
            array: what is in it, with its offset.
            layout: who holds what.
            rank: whose elements are moved.
            writes: to the file, rather than from it.

        Raises:
            OSError: the system cannot show it so.
            ValueError: it is too short.

        """
        self._path, self._array, self._writes = path, array, writes
        self._offset = array.offset or 0
        self._share, self._elements = self._part(layout, rank)
        self._file = place.open("r+b" if writes else "rb", buffering=0)
        try:
            self._shown = mmap.mmap(
                self._file.fileno(),
                self._offset + array.size,
                access=mmap.ACCESS_WRITE if writes else mmap.ACCESS_READ,
            )
            # Of nothing: whether the system can.
            self._shown.madvise(POPULATE_READ, 0, 0)
        except BaseException:
            self._file.close()
            raise
        order: Any = array.order
        self._all: Any = np.ndarray(
            array.shape, array.dtype, self._shown, self._offset, order=order
        )

    @property
    def is_thin(self) -> bool:
        """Whether its elements are few among those of others."""
        # Each stretch is shown by pages, however short it is.
        spans = self._spans(0, self._elements)
        among = sum(max(end - begin, mmap.PAGESIZE) for begin, end in spans)
        return among > THIN * max(PIECE, self._elements * self._array.dtype.itemsize)

    @property
    def status(self) -> os.stat_result:
        """Of the file that is shown."""
        return os.fstat(self._file.fileno())

    def move(self, held: Any, progress: Callable[[int, int], None] | None) -> None:
        """Bring what the rank holds to the file, or from there.

        Args:
            held: its arrays.
            progress: is told after each piece how many bytes are done of how many, as far as this
                rank can tell of all.

        Raises:
            FileError: the file is cut short, or there is no room for it.

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
                self._show(begin, end)
            if self._writes:
                _told(self._share.unpack, [(piece, given)], [file])
            else:
                _told(self._share.unpack, [(piece, [file])], given)
            if progress is not None and high < self._elements:
                progress(size // element * high // self._elements * element, size)
        if progress is not None:
            progress(size, size)

    def close(self, *, sync: bool = False) -> None:
        """Be done; with `sync` what was written is kept through a power cut."""
        del self._all
        problem = "cannot be written" if self._writes else "cannot be read"
        with telling_of(self._path, problem), self._file:
            self._shown.close()
            if sync:
                os.fsync(self._file.fileno())

    def _part(self, layout: Layout, rank: int) -> tuple[Any, int]:
        """How the rank's elements move, as the only message, and how many they are."""
        from isthmus import _core

        array = self._array
        whole = Layout.whole(array.shape)
        plan = Plan(layout, whole) if self._writes else Plan(whole, layout)
        pair = (rank, 0) if self._writes else (0, rank)
        columns = array.order == "F"
        # Alone what this rank has of the file, not what all others have as well.
        share = _told(_core.Share.between, plan._core, pair, array.dtype.itemsize, columns)
        return share, sum(elements for _, elements in share.receives())

    def _pieces(self) -> Iterator[tuple[int, int]]:
        most = max(1, PIECE // self._array.dtype.itemsize)
        step = self._share.piece(False, 0, most) if self._elements else most
        for low in range(0, self._elements, step):
            yield low, min(low + step, self._elements)

    def _spans(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The bytes of the file among which elements from one to before another lie."""
        if low < high:
            piece, strides = (0, low, high), self._all.strides
            for begin, end in _told(self._share.spans, piece, not self._writes, strides, AROUND):
                yield self._offset + begin, self._offset + end

    def _show(self, begin: int, end: int) -> None:
        """Have pages there before they are touched: nobody could be told then what is missing."""
        begin -= begin % mmap.PAGESIZE
        with telling_of(self._path, "cannot be written" if self._writes else "cannot be read"):
            try:
                self._shown.madvise(POPULATE_READ, begin, end - begin)
            except OSError as error:
                if error.errno != errno.EFAULT:
                    raise
                self._find_out(begin, end)

    def _find_out(self, begin: int, end: int) -> None:
        """Say why pages cannot be had."""
        check_length(self._path, self._array, self.status.st_size)
        if self._writes:
            # Says what is in the way; if nothing is now, pages are there afterwards.
            os.posix_fallocate(self._file.fileno(), begin, end - begin)
        self._shown.madvise(POPULATE_READ, begin, end - begin)


def is_in_memory(place: Path) -> bool:
    """Whether a file is on a file system in memory."""
    try:
        device = place.stat().st_dev
        mounts = MOUNTS.read_text().splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    # After the mark of fields that may be missing the type of the file system comes first.
    return any(
        line.split()[2] == number and line.partition(" - ")[2].split()[0] == "tmpfs"
        for line in mounts
    )

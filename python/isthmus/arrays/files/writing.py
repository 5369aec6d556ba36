"""Atomic writing of an array: the file is either complete or unchanged."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.agreed import AgreedError, can_close_after, refuse_differences
from isthmus.arrays.files import sums
from isthmus.arrays.files.domains import Box
from isthmus.arrays.files.formats import ChunkedFormat, Described, same_shape
from isthmus.arrays.files.region import Writer
from isthmus.arrays.files.temporary import TEMPORARY, Temporary, hidden, sync_one, sync_tree
from isthmus.errors import IsthmusError
from isthmus.files import telling_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.access import Access
    from isthmus.arrays.layouts import Layout

    Part = NDArray[Any]


SECTOR = 512
"""Bytes of a block in `os.stat_result.st_blocks`."""


def write(access: Access, held: Any, layout: Layout) -> Described:
    """Write the arrays of all ranks.

    Args:
        access: settings of the file.
        held: arrays of this rank, or of all ranks in order if a single process holds them.
        layout: mapping of elements to ranks.

    Returns:
        The array in the file.

    Raises:
        IsthmusError: on all ranks, if the file cannot be written; it is unchanged.

    """
    team = access.team
    held, array = _check_arguments(access, held, layout)
    pending: list[_PendingFile] = []

    def begin() -> Described:
        """Create the file without its elements on rank 0."""
        pending.append(_PendingFile(access, array))
        return pending[0].array

    try:
        array = team.on_first(begin)
        place = hidden(access.path, TEMPORARY)
        by_rank = _write_elements(access, array, place, held, layout)
        team.on_first(lambda: pending[0].finish(by_rank))
    except BaseException as error:
        if can_close_after(type(error)):
            # Synchronise, so that no rank still writes to the files to be removed.
            with suppress(IsthmusError):
                team.on_all(lambda: None)
        for temporary in pending:
            temporary.discard()
        raise
    return array


def _check_arguments(access: Access, held: Any, layout: Layout) -> tuple[Any, Described]:
    """Return the checked arrays of this rank and the description of the whole array."""
    team, given = access.team, access.given

    def check() -> tuple[list[list[Part]], np.dtype[Any] | None]:
        """Check the arguments on this rank; return its parts and their element type."""
        same_shape(access.path, "shape=", given.shape, layout.shape)
        layout.refuse_missing("layout")
        ranks = access.ranks(layout)
        if team.alone:
            memory.refuse_unless_ranks(held, "held")
            by_rank = [memory.parts_of(of_one, "held") for of_one in held]
            if len(by_rank) != len(ranks):
                raise IsthmusError(
                    f"held: of {len(by_rank)} ranks; the layout has {len(ranks)} (give a list with "
                    "what each holds, as layout.scatter(array) makes it, or no layout)"
                )
        else:
            by_rank = [[] if held is None else memory.parts_of(held, "held")]
            if not ranks and by_rank[0]:
                raise IsthmusError("held: the layout does not have this rank")
        for rank, parts in zip(ranks, by_rank, strict=False):
            memory.check(layout, rank, parts, "held")
        kind = memory.one_type([part for parts in by_rank for part in parts], "held")
        if kind is not None and given.dtype is not None and kind != given.dtype:
            raise IsthmusError(
                f"{access.path}: held: elements of type {kind}; the file is to have {given.dtype}"
            )
        # Copy arrays with negative strides once here, rather than in each round.
        return [[_with_positive_strides(part) for part in parts] for parts in by_rank], kind

    by_rank, mine = team.on_all(check)
    answers = team.allgather((mine, {"layout": layout.fingerprint}))
    refuse_differences([said for _, said in answers])
    kinds = [kind for kind, _ in answers]
    known = [(rank, kind) for rank, kind in enumerate(kinds) if kind is not None]
    if not known and given.dtype is not None:
        # No rank has a part of an array without elements: take the type from the arguments.
        known = [(0, given.dtype)]
    if not known:
        raise AgreedError("held: no rank holds any array, and dtype= of open_array is left out")
    first, dtype = known[0]
    for rank, kind in known:
        if kind != dtype:
            raise AgreedError(
                f"held: elements of type {dtype} on rank {first}, of type {kind} on rank {rank}; "
                "all are of one"
            )
    array = Described(layout.shape, dtype, given.order or "C")
    return by_rank if team.alone else by_rank[0], array


def _with_positive_strides(part: Part) -> Part:
    """Return an array without negative strides, copied if necessary."""
    return part.copy() if any(stride < 0 for stride in part.strides) else part


def _write_elements(
    access: Access, array: Described, place: Path, held: Any, layout: Layout
) -> list[dict[int, int]]:
    """Write all elements; return the checksums of each rank on rank 0."""
    team, aggregator = access.team, access.aggregator
    if array.offset is None:
        _write_chunks(access, array, place, held, layout)
        return []
    mapped = None if access.block else access.mapped(array, place, layout, writes=True)
    if mapped is not None:

        def move() -> None:
            """Copy the elements of this rank to the mapped file."""
            try:
                mapped.move(held, access.progress)
            finally:
                mapped.close(sync=access.sync)

        team.on_all(move)
        return []
    block = access.block_of(array)
    domains = access.stretches(array, block)
    writer = team.on_all(
        lambda: (
            None if aggregator is None else Writer(access.path, place, array, domains, aggregator)
        )
    )

    def put(number: int, data: NDArray[np.uint8], boxes: list[Box], parts: list[Part]) -> None:
        """Write the data of one round, as the aggregator has collected it, to a contiguous file."""
        assert writer is not None
        writer.put(number, data, block)

    try:
        access.rounds(array, domains).write(layout, held, put)
        # Some write errors are reported only at close.
        team.on_all(lambda: None if writer is None else writer.close(sync=access.sync))
    except BaseException:
        if writer is not None:
            with suppress(IsthmusError):
                writer.close()
        raise
    return team.gather({} if writer is None else writer.sums)


def _write_chunks(access: Access, array: Described, place: Path, held: Any, layout: Layout) -> None:
    """Write all elements through a library that writes whole chunks."""
    team, aggregator = access.team, access.aggregator
    form = access.form
    assert isinstance(form, ChunkedFormat), "elements of all others have an offset"
    chunks = team.on_all(lambda: None if aggregator is None else form.chunks(place))

    def put(number: int, data: NDArray[np.uint8], boxes: list[Box], parts: list[Part]) -> None:
        """Write the chunks of one round, as the aggregator has collected them, through the
        library.
        """
        assert chunks is not None
        with telling_of(access.path, "cannot be written"):
            for box, part in zip(boxes, parts, strict=True):
                chunks.put(box, part)

    domains = access.chunks(array)
    access.rounds(array, domains).write(layout, held, put)
    turns = len(access.aggregators)
    if access.sync:
        team.on_all(lambda: None if aggregator is None else sync_tree(place, aggregator, turns))


class _PendingFile:
    """An array file that is being written under a temporary name; only rank 0 uses this class.

    It creates the file without elements, and renames it when all elements are written.
    """

    def __init__(self, access: Access, array: Described) -> None:
        """Create the temporary file; refuse an array that the format cannot store."""
        self._access = access
        path, folder = access.path, access.form.folder
        self._sums = hidden(sums.path_of(path), TEMPORARY)
        self._has_valid_sums_name = sums.has_valid_name(path)
        if access.block and not self._has_valid_sums_name:
            raise IsthmusError(
                f"{path}: its name is too long for that of its checksums, which ends in "
                f"{sums.SUFFIX}; give a shorter one, or no checksums"
            )
        if self._has_valid_sums_name:
            _refuse_other_sums(sums.path_of(path))
        access.form.refuse(array, access.given, path)
        self._temporary = Temporary(path, folder=folder, keep=access.keep)
        self._is_started = False
        try:
            with telling_of(path, "cannot be written"):
                self._sums.unlink(missing_ok=True)
                if not access.keep and self._has_valid_sums_name:
                    sums.path_of(path).unlink(missing_ok=True)
                if folder:
                    self.array = access.form.create(
                        self._temporary.place, array, access.given, path
                    )
                else:
                    self.array = self._reserve(array)
        except BaseException:
            if self._is_started or not self._temporary.restore():
                self._temporary.discard()
            raise

    def _reserve(self, array: Described) -> Described:
        """Extend the file to its final length, and write its header.

        Returns:
            the array, with the offset of its elements in the file.

        Raises:
            IsthmusError: the disk has too little space.

        """
        access, place = self._access, self._temporary.place
        volume, there = os.statvfs(place), place.stat()
        free = volume.f_bavail * volume.f_frsize + there.st_blocks * SECTOR
        if free < array.size:
            raise IsthmusError(
                f"{access.path}: cannot be written (No space left on device): {array.size} bytes "
                f"are needed beside what is there, {free} are free"
            )
        os.truncate(place, max(array.size, there.st_size))
        os.truncate(place, there.st_size)
        self._is_started = True
        made = access.form.create(place, array, access.given, access.path)
        if made.offset is not None:
            end, now = made.offset + made.size, place.stat().st_size
            # Cut off the rest of a former file, but not data that a library stores after elements.
            if now < end or (now > end and there.st_size > 0 and now == there.st_size):
                os.truncate(place, end)
        return made

    def finish(self, by_rank: list[dict[int, int]]) -> None:
        """Rename the file and its checksums to their final names."""
        path, array = self._access.path, self.array
        block = self._access.block_of(array)
        if not self._access.form.folder:
            if block and array.offset is not None:
                collected = sums.merge(array.offset, array.size, block, by_rank)
                collected.save(self._sums)
            if self._has_valid_sums_name:
                with telling_of(sums.path_of(path), "cannot be removed"):
                    sums.path_of(path).unlink(missing_ok=True)
        with telling_of(path, "cannot be written"):
            if self._access.sync and not self._access.form.folder:
                # Flush the header, which may be the only data that rank 0 writes.
                sync_one(self._temporary.place)
        self._temporary.finish()
        with suppress(FileNotFoundError):
            self._sums.replace(sums.path_of(path))
        if self._access.sync:
            with telling_of(path, "is written, but may not be there after a power cut"):
                sync_one(path.parent)

    def discard(self) -> None:
        """Remove the temporary files."""
        self._temporary.discard()
        with suppress(OSError):
            self._sums.unlink(missing_ok=True)


def _refuse_other_sums(place: Path) -> None:
    """Refuse to replace a user's file that happens to have the name of the checksum file."""
    if not os.path.lexists(place):
        return
    with telling_of(place, "cannot be read"), place.open("rb") as file:
        if not file.read(len(sums.BEGIN)).startswith(sums.BEGIN):
            raise IsthmusError(
                f"{place}: no sums of isthmus, but a file of that name would be removed; move it "
                "away"
            )

"""Reading of an array: collectively into a layout, or a part of it on one rank."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays import elements, memory
from isthmus.arrays.agreed import refuse_differences
from isthmus.arrays.files import sums
from isthmus.arrays.files.domains import Box, Domains, slices
from isthmus.arrays.files.formats import Described, LibraryFormat, same_shape
from isthmus.arrays.files.region import Reader, identity
from isthmus.arrays.files.selection import selected
from isthmus.arrays.files.temporary import recover
from isthmus.errors import IsthmusError
from isthmus.files import kind_of, telling_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from isthmus.arrays.files.access import Access
    from isthmus.arrays.files.formats import Pieces
    from isthmus.arrays.layouts import Layout

    Part = NDArray[Any]


@dataclass(frozen=True)
class _Contents:
    """The contents of the file, which rank 0 has inspected for all ranks."""

    array: Described
    sums: sums.Sums | None
    identity: tuple[int, int]
    """Inode and length, which detect that the file has been replaced."""


class Source:
    """An open file from which an array is read; all ranks create it collectively."""

    def __init__(self, access: Access) -> None:
        """Inspect the file.

        Raises:
            IsthmusError: on all ranks: the file is missing, damaged, or differs from the arguments.

        """
        self._access = access
        self._contents = access.team.on_first(self._inspect)
        self.array = self._contents.array
        self._reader: Reader | None = None
        self._pieces: Pieces | None = None

    def read(self, layout: Layout, out: Any, order: Any) -> list[Any]:
        """Read the whole array into a layout; a collective call."""
        team = self._access.team
        outputs = team.on_all(lambda: self._outputs(layout, out, order))
        refuse_differences(team.allgather({"layout": layout.fingerprint}))
        if self._read_mapped(layout, outputs):
            return outputs
        domains, work = team.on_all(self._open_domains)
        self._access.rounds(self.array, domains).read(layout, outputs, work)
        return outputs

    def part(self, key: Any) -> Any:
        """Read a selection of the array on this rank alone."""
        array = self.array
        selection = selected(key, array.shape)
        counts = [
            len(range(*along.indices(extent)))
            for along, extent in zip(selection.ascending, array.shape, strict=True)
        ]
        if not all(counts) or array.offset is None:
            found = elements.empty(str(self._access.path), counts, array.dtype)
            if found.size:
                self._open_library().get(selection.ascending, found)
        else:
            reader = self._open_reader()
            if self._contents.sums is not None:
                block = self._contents.sums.block
                reader.check(
                    selection.blocks(array.shape, array.order, array.dtype.itemsize, block)
                )
            found = np.array(reader.mapped()[selection.ascending])
        return found[selection.after]

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close()
        if self._pieces is not None:
            self._pieces.close()
        self._reader = self._pieces = None

    def _inspect(self) -> _Contents:
        """Read the description of the array and its checksums on rank 0."""
        access = self._access
        path, form, given = access.path, access.form, access.given
        with telling_of(path, "cannot be read"):
            if form.folder:
                recover(path)
            else:
                _refuse_unless_file(path)
            kept = None
            if access.verify and not form.folder and sums.has_valid_name(path):
                kept = sums.read_consistent(path, path.stat)
            array = form.describe(path, given)
            here = identity(path.stat())
        elements.refuse_type(str(path), array.dtype)
        elements.refuse_shape(str(path), array.shape, array.dtype)
        chunks = array.chunks or (1,) * len(array.shape)
        if len(chunks) != len(array.shape) or not all(extent >= 1 for extent in chunks):
            raise IsthmusError(
                f"{path}: chunks of shape {chunks} for an array of shape {array.shape}; they have "
                "an extent of at least 1 in each dimension"
            )
        same_shape(path, "shape=", given.shape, array.shape)
        if given.dtype is not None and given.dtype != array.dtype:
            raise IsthmusError(
                f"{path}: elements of type {array.dtype}; dtype= is {given.dtype} (leave it out, "
                "and change what is read by astype or view)"
            )
        if given.order is not None and given.order != array.order:
            raise IsthmusError(
                f'{path}: elements in order "{array.order}"; order= is "{given.order}"'
            )
        if array.offset is None:
            return _Contents(array, None, here)
        Reader(path, array, None, 0).close()
        if kept is not None and (
            (kept.offset, kept.size) != (array.offset, array.size)
            or kept.block % array.dtype.itemsize
        ):
            raise IsthmusError(
                f"{sums.path_of(path)}: sums of {kept.size} bytes from byte {kept.offset} on; the "
                f"array has {array.size} from byte {array.offset} on (verify=False reads it "
                "without them)"
            )
        return _Contents(array, kept, here)

    def _outputs(self, layout: Layout, out: Any, order: Any) -> list[Any]:
        """Return the arrays to read into: new arrays, or `out` after a check."""
        access, array = self._access, self.array
        same_shape(access.path, "the layout", layout.shape, array.shape)
        alone = access.team.alone
        ranks = access.ranks(layout)
        if out is None:
            fastest: Any = order or layout.order or array.order
            made: list[Any] = [layout.empty(rank, array.dtype, order=fastest) for rank in ranks]
        else:
            if alone:
                memory.refuse_unless_ranks(out, "out")
            made = [memory.parts_of(of_one, "out") for of_one in (out if alone else [out])]
            if not ranks and not alone and not made[0]:
                made = []
            if len(made) != len(ranks):
                raise IsthmusError(f"out: of {len(made)} ranks; the layout has {len(ranks)} here")
        for rank, parts in zip(ranks, made, strict=True):
            memory.check(layout, rank, parts, "out")
            for part in parts:
                memory.to_write(part, "out")
                if part.dtype != array.dtype:
                    raise IsthmusError(
                        f"{access.path}: elements of type {array.dtype}; out of rank {rank} has "
                        f"{part.dtype}"
                    )
        memory.distinct([part for parts in made for part in parts], "out")
        if alone:
            return made
        mine: list[Any] = made[0] if made else []
        return mine

    def _read_mapped(self, layout: Layout, outputs: list[Any]) -> bool:
        """Read from a memory-mapped file, if possible and no checksums are verified."""
        access, array = self._access, self.array
        if array.offset is None or self._contents.sums is not None:
            return False
        mapped = access.mapped(array, access.path, layout, writes=False)
        if mapped is None:
            return False

        def move() -> None:
            """Copy the elements of this rank from the mapped file."""
            try:
                if identity(mapped.status) != self._contents.identity:
                    raise self._replaced()
                mapped.move(outputs, access.progress)
            finally:
                mapped.close()

        access.team.on_all(move)
        return True

    def _open_domains(self) -> tuple[Domains, Any]:
        """Return the file domains, and the function that reads a round of this rank."""
        access, array = self._access, self.array
        if array.offset is None:
            if access.aggregator is not None:
                self._open_library()
            return access.chunks(array), self._get_chunks
        block = self._contents.sums.block if self._contents.sums is not None else 0
        if access.aggregator is not None:
            self._open_reader()
        domains = access.stretches(array, block)

        def get(number: int, data: NDArray[np.uint8], boxes: list[Box], parts: list[Part]) -> None:
            """Read the data of one round from a contiguous file."""
            assert access.aggregator is not None
            first, _ = domains.span(access.aggregator, number)
            self._open_reader().get(first, data)

        return domains, get

    def _get_chunks(
        self, number: int, data: NDArray[np.uint8], boxes: list[Box], parts: list[Part]
    ) -> None:
        """Read the boxes (array regions) of a round through the library of the file format."""
        for box, part in zip(boxes, parts, strict=True):
            self._open_library().get(slices(box), part)

    def _open_library(self) -> Pieces:
        """Return the array opened by the library of its format; refuse a file that was replaced."""
        if self._pieces is None:
            access, form = self._access, self._access.form
            assert isinstance(form, LibraryFormat), "elements of all others have an offset"
            with telling_of(access.path, "cannot be read"):
                pieces = form.pieces(access.path, access.given, access.team.rank)
                now = identity(access.path.stat())
            # Compare only the inode of a folder, as its length has no meaning.
            if now[: 1 if form.folder else 2] != self._contents.identity[: 1 if form.folder else 2]:
                pieces.close()
                raise self._replaced()
            self._pieces = pieces
        return self._pieces

    def _open_reader(self) -> Reader:
        """Return the open contiguous file; refuse a file that was replaced."""
        if self._reader is None:
            access = self._access
            reader = Reader(access.path, self.array, self._contents.sums, access.team.rank)
            if reader.identity != self._contents.identity:
                reader.close()
                raise self._replaced()
            self._reader = reader
        return self._reader

    def _replaced(self) -> IsthmusError:
        """Return the error that the file has been replaced since it was opened."""
        return IsthmusError(
            f"{self._access.path}: another file has taken its place since it was opened; open it "
            "again"
        )


def _refuse_unless_file(path: Path) -> None:
    """Refuse folders and files that would block, such as pipes."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise IsthmusError(f"{path}: {kind_of(mode)}; an array of this format is a file")

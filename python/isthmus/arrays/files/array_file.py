"""An array in a file: `open_array`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus import arguments
from isthmus.arrays import elements
from isthmus.arrays.agreed import may_close, refuse_others
from isthmus.arrays.files.access import Access
from isthmus.arrays.files.amounts import bytes_of
from isthmus.arrays.files.formats import Described, Given, format_of
from isthmus.arrays.files.reading import Source
from isthmus.arrays.files.team import Alone, aggregators_of, team_of
from isthmus.arrays.files.writing import write
from isthmus.arrays.layouts import Layout
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

BLOCK = "1 MiB"
"""Block that has a sum, if nothing else is said."""
BYTES_MAX = 1 << 30
"""Largest stripe, buffer and block."""
OFFSET_MAX = 1 << 62


class ArrayFile:
    """An array in a file. Made by `isthmus.open_array`.

    Those who have opened it together write, read and close it together. A part by index, as in
    ``file[10:20, ::2]``, anyone reads alone.
    """

    def __init__(self, access: Access, source: Source | None) -> None:
        self._access = access
        self._source = source
        self._array: Described | None = None if source is None else source.array
        self._closed = False

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._access.path

    @property
    def format(self) -> str:
        """``"raw"``, ``"npy"``, ``"hdf5"`` or ``"zarr"``."""
        return self._access.form.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Indices of each dimension."""
        return self._known.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self._known.dtype

    @property
    def order(self) -> str:
        """``"C"`` or ``"F"``: which index counts fastest in the file."""
        return self._known.order

    def write(self, held: Any, layout: Layout | None = None) -> None:
        """Write the whole array, in place of what is there.

        Data go beside the file and get its name when all ranks are done. If anything goes wrong on
        any of them, or they are killed, the file is as it was; gone, if it was not to be kept.

        Args:
            held: what this rank holds: an array without a mask, or a list of arrays where it has
                several parts; nothing on a rank that the layout does not have. One process alone
                gives a list, in order of the ranks of the layout, or the whole array without a
                layout.
            layout: who holds what. Replicas are written once.

        Raises:
            IsthmusError: on all ranks alike, naming the rank: something does not fit, the format
                would give back elements of another type, the disk is full, another program is
                writing the file.

        """
        self._refuse_closed()
        if self._source is not None:
            raise IsthmusError(f'{self.path}: opened to be read; open it with mode "w" to write')
        if layout is None:
            if not isinstance(self._access.team, Alone):
                raise IsthmusError("layout: ranks of a communicator write with one")
            whole = elements.array_of("held", held)
            layout, held = Layout.whole(whole.shape), [whole]
        _refuse_unless_layout(layout)
        self._array = write(self._access, held, layout)

    def read(
        self,
        layout: Layout | None = None,
        out: Any = None,
        *,
        order: Literal["C", "F"] | None = None,
    ) -> Any:
        """Read the whole array into a layout, whoever has written it.

        Args:
            layout: who is to hold what. One process alone may leave it out, for the whole array.
            out: arrays to read into, in the form of what is returned.
            order: in memory, of arrays that are made; without it that of the layout
                (`Layout.order`), else that of the file.

        Returns:
            The parts of this rank; for one process alone, in order of the ranks of the layout, the
            parts of each.

        Raises:
            IsthmusError: on all ranks alike, naming the rank: something does not fit, the file is
                cut short, or a block is not what was written.

        """
        source = self._readable()
        elements.refuse_order("order", order)
        if layout is None:
            if not isinstance(self._access.team, Alone) or out is not None:
                raise IsthmusError("layout: it is left out by one process alone, without out")
            return source.part(...)
        _refuse_unless_layout(layout)
        return source.read(layout, out, order)

    def __getitem__(self, key: Any) -> Any:
        """A part of the array, by numpy's basic slicing; a copy.

        Raises:
            IsthmusError: it cannot be read, or the index is none; out of range it is an
                `IndexError` as well.

        """
        return self._readable().part(key)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The whole array, for `numpy.asarray`."""
        return np.asarray(self[...], dtype)

    def close(self) -> None:
        """Be done with it; all who have opened it together do."""
        if not self._closed:
            self._leave()
            self._access.team.close()

    def _leave(self) -> None:
        self._closed = True
        if self._source is not None:
            self._source.close()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if may_close(kind):
            self.close()
        else:
            self._leave()

    def __repr__(self) -> str:
        if self._array is None:
            return f"<ArrayFile {self.path}, {self.format}, to be written>"
        shape = " x ".join(map(str, self.shape))
        return f"<ArrayFile {self.path}, {self.format}: {shape} of {self.dtype}>"

    @property
    def _known(self) -> Described:
        if self._array is None:
            raise IsthmusError(f"{self.path}: nothing has been written yet")
        return self._array

    def _readable(self) -> Source:
        self._refuse_closed()
        if self._source is None:
            raise IsthmusError(f'{self.path}: opened to be written; open it with mode "r" to read')
        return self._source

    def _refuse_closed(self) -> None:
        if self._closed:
            raise IsthmusError(f"{self.path}: closed")


def open_array(
    path: str | os.PathLike[str],
    mode: Literal["r", "w"] = "r",
    *,
    comm: Any = None,
    format: str | None = None,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    order: Literal["C", "F"] | None = None,
    offset: str | None = None,
    dataset: str | None = None,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    checksums: bool | str = False,
    verify: bool = True,
    aggregators: int | Sequence[int] | None = None,
    stripe: str = "1 MiB",
    buffer: str = "8 MiB",
    sync: bool = True,
    keep: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> ArrayFile:
    """Open a file that holds an array, to read it or to write it.

    Ranks hand data to *aggregators*, some of them, each of which writes one stretch of the file in
    large pieces, or reads it. On a file system in memory the ranks of one node copy their elements
    to or from the file themselves instead, if no sums are kept and no `aggregators` named. How many
    ranks write and how many read has nothing to do with one another.

    Args:
        path: of the file; of a folder for zarr.
        mode: ``"r"`` to read, ``"w"`` to write in place of what is there.
        comm: a communicator of mpi4py, all ranks of which open the file together with the same
            arguments; without it this process alone.
        format: ``"raw"``, ``"npy"``, ``"hdf5"`` or ``"zarr"`` (version 3); without it by the suffix
            (``.raw``, ``.bin``, ``.npy``, ``.h5``, ``.hdf5``, ``.zarr``).
        shape: of the array. To read a raw file it must be said; else it is compared.
        dtype: of the elements, in the same way.
        order: ``"C"`` or ``"F"``: which index counts fastest in the file; ``"C"`` without it. HDF5
            and zarr have no other.
        offset: of a raw file, bytes before the first element, with their unit.
        dataset: of an HDF5 file, its name; ``"data"`` without it, or the only one there is.
        chunks: of zarr, the shape of a chunk; without it as the library finds best.
        shards: of zarr, the shape of a shard: chunks that share a file.
        checksums: to write sums, CRC-32C: of blocks of about so much (``"1 MiB"``, which is
            `True`), in a file beside it, ``NAME.crc32c``; of each chunk where it is zarr (`True`).
        verify: to compare blocks that are read with their sums, if there are any.
        aggregators: how many ranks read and write the file, or which; without it on each node one
            for each processor.
        stripe: pieces of the file begin at multiples of so much.
        buffer: how much an aggregator reads or writes in a round; it has two of them.
        sync: to have data on disk before the file gets its name, so that not even a power cut
            leaves it half written.
        keep: to leave what is there as it is until all is written. Without it a file is written
            over where it lies: it needs no second place on the disk, and takes less time on a file
            system in memory. The name is gone meanwhile, and stays so if anything goes wrong.
        progress: is told from time to time, on each rank, how many bytes of how many have been
            moved, as far as it knows.

    Raises:
        IsthmusError: on all ranks alike: there is no such file, it is cut short or damaged, is not
            what was said, or arguments make no sense.

    """
    team = team_of(comm)

    def look() -> Access:
        arguments.path("path", path, "field.npy")
        arguments.choice("mode", mode, ("r", "w"))
        form = format_of(Path(path), format)
        form.ready()
        said = {"offset": offset, "dataset": dataset, "chunks": chunks, "shards": shards}
        for what, value in said.items():
            if value is not None and what not in form.takes:
                raise IsthmusError(f"{what}: arrays of format {form.name} have none")
        if progress is not None and not callable(progress):
            raise arguments.refuse("progress", progress, "a function of bytes done, and of all")
        arguments.flag("verify", verify)
        arguments.flag("sync", sync)
        arguments.flag("keep", keep)
        if form.folder and not keep:
            raise IsthmusError(
                f"keep: False; an array of format {form.name} is a folder, whose place is not used "
                "again"
            )
        if isinstance(checksums, str) and form.sums:
            raise IsthmusError(
                f"checksums: {checksums!r}; {form.name} has one for each chunk, give True"
            )
        given = Given(
            _shape("shape", shape),
            None if dtype is None else elements.type_of("dtype", dtype),
            order,
            None if offset is None else bytes_of("offset", offset, 0, OFFSET_MAX),
            _dataset(dataset),
            _shape("chunks", chunks, 1),
            _shape("shards", shards, 1),
            checksums=checksums is True and form.sums,
        )
        elements.refuse_order("order", order)
        return Access(
            Path(path),
            team,
            form,
            given,
            [0],
            aggregators is not None,
            bytes_of("stripe", stripe, 1, BYTES_MAX),
            bytes_of("buffer", buffer, 1, BYTES_MAX),
            _block(checksums),
            sync,
            keep,
            verify,
            progress,
        )

    try:
        access = team.together(look)
        refuse_others(
            team.everyone({"mode": mode, "aggregators": repr(aggregators), **_said(access)})
        )
        access = replace(access, aggregators=aggregators_of(team, aggregators))
        return ArrayFile(access, Source(access) if mode == "r" else None)
    except BaseException as error:
        if may_close(type(error)):
            team.close()
        raise


def _refuse_unless_layout(layout: Any) -> None:
    if not isinstance(layout, Layout):
        raise arguments.refuse("layout", layout, "a Layout: who holds what")


def _dataset(name: Any) -> str | None:
    if name is not None and not (isinstance(name, str) and name.strip("/")):
        raise arguments.refuse("dataset", name, "the name of a dataset, such as 'fields/density'")
    found: str | None = name
    return found


def _shape(name: str, shape: Any, least: int = 0) -> tuple[int, ...] | None:
    if shape is None:
        return None
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise arguments.refuse(name, shape, "an extent for each dimension, such as (100, 200)")
    for extent in shape:
        arguments.whole(name, extent, least, 1 << 62)
    return tuple(map(int, shape))


def _block(checksums: bool | str) -> int:
    if isinstance(checksums, bool):
        return bytes_of("checksums", BLOCK, 1, BYTES_MAX) if checksums else 0
    return bytes_of("checksums", checksums, 1, BYTES_MAX)


def _said(access: Access) -> dict[str, str]:
    """All that decides who does what: ranks that differ in it would wait for one another."""
    said = {
        "path": access.path,
        "format": access.form.name,
        **{field.name: getattr(access.given, field.name) for field in fields(access.given)},
        "stripe": access.stripe,
        "buffer": access.buffer,
        "block of checksums": access.block,
        "sync": access.sync,
        "keep": access.keep,
        "verify": access.verify,
    }
    return {name: str(value) for name, value in said.items()}

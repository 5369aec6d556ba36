"""An array in a file: `open_array`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus import arguments
from isthmus.arrays import elements
from isthmus.arrays.agreed import can_close_after, refuse_differences
from isthmus.arrays.files.access import Access
from isthmus.arrays.files.amounts import bytes_of
from isthmus.arrays.files.formats import Described, Given, format_of
from isthmus.arrays.files.reading import Source
from isthmus.arrays.files.team import aggregators_of, team_of
from isthmus.arrays.files.writing import write
from isthmus.arrays.layouts import Layout
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

BLOCK = "1 MiB"
"""Default size of a block of the file that has one checksum."""
BYTES_MAX = 1 << 30
"""Maximum bytes of a stripe, of a buffer and of a block with a checksum."""
OFFSET_MAX = 1 << 62


class ArrayFile:
    """An array in a file, returned by `isthmus.open_array`.

    All ranks that have opened it write, read and close it collectively. Indexing, as in
    ``file[10:20, ::2]``, reads a part on one rank alone.
    """

    def __init__(self, access: Access, source: Source | None) -> None:
        """Create the object for an open file; `source` is None for a file to be written."""
        self._access = access
        self._source = source
        self._array: Described | None = None if source is None else source.array
        self._closed = False

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._access.path

    @property
    def format(self) -> str:
        """``"raw"``, ``"npy"``, ``"hdf5"`` or ``"zarr"``."""
        return self._access.form.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension of the array in the file."""
        return self._described.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements in the file."""
        return self._described.dtype

    @property
    def order(self) -> str:
        """Order of the elements in the file: ``"C"`` (last index fastest) or ``"F"``."""
        return self._described.order

    def write(self, held: Any, layout: Layout | None = None) -> None:
        """Write the whole array; replace an existing file.

        Data are written to a temporary file, which is renamed when all ranks are done. If a rank
        fails or is killed, the former file stays unchanged; with ``keep=False`` it is lost.

        Args:
            held: an array of this rank without a mask, or a list of arrays if it has several parts;
                None on a rank outside the layout. A single process passes a list with an item for
                each rank of the layout in order, or the whole array without a layout.
            layout: mapping of elements to ranks. Replicas are written once.

        Raises:
            IsthmusError: on all ranks, naming the rank: an argument does not fit, the format would
                return elements of another type, the disk is full, or another program is writing
                the file.

        """
        self._refuse_closed()
        if self._source is not None:
            raise IsthmusError(f'{self.path}: opened to be read; open it with mode "w" to write')
        if layout is None:
            if not self._access.team.alone:
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
        """Read the whole array into a layout, which may differ from that of the writer.

        Args:
            layout: mapping of elements to ranks. A single process may omit it to get the whole
                array.
            out: arrays to read into, in the form of the return value.
            order: memory order of new arrays; the default is that of the layout (`Layout.order`),
                else that of the file.

        Returns:
            The parts of this rank; for a single process the parts of each rank of the layout in
            order.

        Raises:
            IsthmusError: on all ranks, naming the rank: an argument does not fit, the file is
                truncated, or a block differs from its checksum.

        """
        source = self._readable()
        elements.refuse_order("order", order)
        if layout is None:
            if not self._access.team.alone or out is not None:
                raise IsthmusError("layout: it is left out by one process alone, without out")
            return source.part(...)
        _refuse_unless_layout(layout)
        return source.read(layout, out, order)

    def __getitem__(self, key: Any) -> Any:
        """Return a copy of a part of the array, by numpy's basic slicing.

        Raises:
            IsthmusError: the part cannot be read, or the index is invalid; an index out of range
                raises an `IndexError` as well.

        """
        return self._readable().part(key)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the whole array, for `numpy.asarray`."""
        return np.asarray(self[...], dtype)

    def close(self) -> None:
        """Close the file; a collective call of all ranks that have opened it."""
        if not self._closed:
            self._close_source()
            self._access.team.close()

    def _close_source(self) -> None:
        """Close the file that is open for reading, if there is one."""
        self._closed = True
        if self._source is not None:
            self._source.close()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if can_close_after(kind):
            self.close()
        else:
            self._close_source()

    def __repr__(self) -> str:
        if self._array is None:
            return f"<ArrayFile {self.path}, {self.format}, to be written>"
        shape = " x ".join(map(str, self.shape))
        return f"<ArrayFile {self.path}, {self.format}: {shape} of {self.dtype}>"

    @property
    def _described(self) -> Described:
        """Return the description of the array in the file. Raise an error if nothing has been
        written to the file.
        """
        if self._array is None:
            raise IsthmusError(f"{self.path}: nothing has been written yet")
        return self._array

    def _readable(self) -> Source:
        """Return the file to read from; refuse a file that is closed or open for writing."""
        self._refuse_closed()
        if self._source is None:
            raise IsthmusError(f'{self.path}: opened to be written; open it with mode "r" to read')
        return self._source

    def _refuse_closed(self) -> None:
        """Raise an error if the file is closed."""
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
    """Open a file that holds an array, for reading or writing.

    Ranks exchange data with *aggregators*: ranks that read or write one range of the file each, in
    large pieces. On a file system in memory the ranks of one node copy their elements directly
    instead, unless checksums or `aggregators` are given. The numbers of writing and of reading
    ranks are independent.

    Args:
        path: path of the file, or of the folder for zarr.
        mode: ``"r"`` to read, ``"w"`` to write or replace.
        comm: a communicator of mpi4py, whose ranks all open the file with the same arguments; the
            default is this process alone.
        format: ``"raw"``, ``"npy"``, ``"hdf5"`` or ``"zarr"`` (version 3); the default follows from
            the suffix (``.raw``, ``.bin``, ``.npy``, ``.h5``, ``.hdf5``, ``.zarr``).
        shape: shape of the array. Reading a raw file requires it; other formats compare it.
        dtype: type of the elements, required or compared like `shape`.
        order: order of the elements in the file, ``"C"`` (the default) or ``"F"``. HDF5 and zarr
            support ``"C"`` only.
        offset: bytes before the first element of a raw file, with a unit.
        dataset: name of the dataset in an HDF5 file; the default is ``"data"``, or the only
            dataset.
        chunks: shape of a zarr chunk; the default is chosen by the library.
        shards: shape of a zarr shard: chunks that share a file.
        checksums: whether to write CRC-32C checksums. A size sets the approximate block size;
            `True` means ``"1 MiB"``. They are stored in ``NAME.crc32c``. For zarr, `True` adds one
            to each chunk.
        verify: whether to compare blocks with their checksums, if the file has any.
        aggregators: number or list of ranks that access the file; the default is one for each
            processor of each node.
        stripe: alignment of the pieces in the file.
        buffer: size of each of the two buffers of an aggregator, which moves one in each round.
        sync: whether data must be on disk before the file is renamed, so that a power failure
            cannot leave a partial file.
        keep: whether an existing file stays unchanged until all data are written. With `False` the
            file is overwritten in place. This needs no extra disk space and is faster on a file
            system in memory, but the file has no name during the write, and is lost on an error.
        progress: called on each rank from time to time with the bytes moved so far and the total,
            as far as this rank knows.

    Raises:
        IsthmusError: on all ranks: the file does not exist, is truncated or damaged, differs from
            the arguments, or an argument is invalid.

    """
    team = team_of(comm)

    def check() -> Access:
        """Check the arguments of `open_array` on this rank and return them as settings."""
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
        access = team.on_all(check)
        refuse_differences(
            team.allgather(
                {"mode": mode, "aggregators": repr(aggregators), **_agreed_settings(access)}
            )
        )
        access = replace(access, aggregators=aggregators_of(team, aggregators))
        return ArrayFile(access, Source(access) if mode == "r" else None)
    except BaseException as error:
        if can_close_after(type(error)):
            team.close()
        raise


def _refuse_unless_layout(layout: Any) -> None:
    """Refuse an argument `layout` that is not a `Layout`."""
    if not isinstance(layout, Layout):
        raise arguments.refuse("layout", layout, "a Layout: who holds what")


def _dataset(name: Any) -> str | None:
    """Check the name of an HDF5 dataset and return it."""
    if name is not None and not (isinstance(name, str) and name.strip("/")):
        raise arguments.refuse("dataset", name, "the name of a dataset, such as 'fields/density'")
    found: str | None = name
    return found


def _shape(name: str, shape: Any, least: int = 0) -> tuple[int, ...] | None:
    """Check an argument with one extent for each dimension and return it as a tuple."""
    if shape is None:
        return None
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise arguments.refuse(name, shape, "an extent for each dimension, such as (100, 200)")
    for extent in shape:
        arguments.whole(name, extent, least, 1 << 62)
    return tuple(map(int, shape))


def _block(checksums: bool | str) -> int:
    """Return the size in bytes of a block with one checksum; 0 for no checksums."""
    if isinstance(checksums, bool):
        return bytes_of("checksums", BLOCK, 1, BYTES_MAX) if checksums else 0
    return bytes_of("checksums", checksums, 1, BYTES_MAX)


def _agreed_settings(access: Access) -> dict[str, str]:
    """Return the settings by name, as text. Ranks whose settings differ would deadlock."""
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

"""Arrays of zarr version 3 through the zarr library, which encodes and decodes chunks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.arrays.files.domains import Box, slices
from isthmus.arrays.files.formats import (
    ChunkedFormat,
    Chunks,
    Described,
    Given,
    Pieces,
    library_errors,
    refuse_order,
)
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Zarr(ChunkedFormat):
    """The format of zarr arrays: a folder with a file for each chunk, or for each shard of several
    chunks.
    """

    name = "zarr"
    folder = True
    sums = True
    takes = frozenset({"chunks", "shards"})
    module = "zarr"

    def describe(self, path: Path, given: Given) -> Described:
        """Return the shape, element type and chunks of the zarr array in the folder `path`."""
        found = _opened(path, "r")
        return Described(found.shape, found.dtype, "C", chunks=found.shards or found.chunks)

    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the numpy element type that a reader of a zarr array with elements of `dtype`
        gets.
        """
        import zarr

        store: dict[str, Any] = {}
        with _without_warnings():
            zarr.create_array(store=store, shape=(1,), dtype=dtype, zarr_format=3)
            found: np.dtype[Any] = zarr.open_array(store=store, mode="r").dtype
        return found

    def refuse(self, array: Described, given: Given, path: Path) -> None:
        """Refuse an array that zarr cannot store."""
        super().refuse(array, given, path)
        refuse_order(self.name, array.order)

    def create(self, place: Path, array: Described, given: Given, path: Path) -> Described:
        """Create the zarr array in the folder `place`. Return its description with the shape of
        its chunks.
        """
        import zarr
        from zarr.codecs import Crc32cCodec, ZstdCodec

        keywords: dict[str, Any] = {}
        if given.checksums:
            keywords["compressors"] = (ZstdCodec(), Crc32cCodec())
        if given.chunks is not None:
            keywords["chunks"] = given.chunks
        if given.shards is not None:
            keywords["shards"] = given.shards
        with library_errors(path), _without_warnings():
            made = zarr.create_array(
                store=place,
                shape=array.shape,
                dtype=array.dtype,
                zarr_format=3,
                **keywords,
            )
        return Described(array.shape, array.dtype, "C", chunks=made.shards or made.chunks)

    def pieces(self, path: Path, given: Given, rank: int) -> Pieces:
        """Open the zarr array in the folder `path` for reading; errors name `rank`."""
        return _Pieces(path, rank)

    def chunks(self, place: Path) -> Chunks:
        """Open the existing zarr array in the folder `place` for writing in whole chunks."""
        return _Chunks(place)


class _Pieces(Pieces):
    """A zarr array that is open for reading, of which each rank reads pieces."""

    def __init__(self, path: Path, rank: int) -> None:
        """Open the array for reading; errors name this rank."""
        self._path, self._rank = path, rank
        self._array = _opened(path, "r")

    def get(self, where: tuple[slice, ...], into: NDArray[Any]) -> None:
        """Read the part `where` of the array into `into`."""
        region = ", ".join(f"{along.start}:{along.stop}" for along in where)
        with library_errors(self._path, f"in [{region}], as rank {self._rank} reads it: "):
            into[...] = self._array[where]

    def close(self) -> None:
        """Do nothing, as the library keeps no file open."""


class _Chunks(Chunks):
    """A zarr array that is open for writing in whole chunks."""

    def __init__(self, place: Path) -> None:
        """Open the existing zarr array in the folder `place` for writing."""
        self._place = place
        self._array = _opened(place, "r+")

    def put(self, box: Box, part: NDArray[Any]) -> None:
        """Write an array region that consists of whole chunks."""
        with library_errors(self._place):
            self._array[slices(box)] = part


def _opened(path: Path, mode: Any) -> Any:
    """Open the zarr array in the folder `path`; `mode` is that of ``zarr.open_array``."""
    import zarr

    if not path.is_dir():
        with path.open("rb"):
            raise IsthmusError(f"{path}: a file; an array of zarr is a folder")
    with library_errors(path), _without_warnings():
        return zarr.open_array(store=path, mode=mode)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress the zarr library's warnings about element types that no other library
    supports yet.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have a Zarr V3 specification.*")
        yield


FORMATS = {"zarr": Zarr}

"""The interface of file formats: how each describes, creates, reads and writes an array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arguments import choice
from isthmus.columns import flat
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.files.domains import Box


@dataclass(frozen=True)
class Described:
    """The description of an array in a file: shape, type, order, and position of the elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    """Order of the elements in the file, ``"C"`` or ``"F"``."""
    offset: int | None = None
    """File offset of contiguous elements; None if a library must read them."""
    chunks: tuple[int, ...] | None = None
    """Shape of a chunk, which a library reads or writes at once."""

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


@dataclass(frozen=True)
class Given:
    """The properties of an array that the user has passed."""

    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    order: str | None = None
    offset: int | None = None
    dataset: str | None = None
    """Name of the dataset in an HDF5 file."""
    chunks: tuple[int, ...] | None = None
    shards: tuple[int, ...] | None = None
    checksums: bool = False
    """Whether a format with built-in checksums writes them."""


class Pieces(ABC):
    """An array in a file that a library has opened for reading."""

    @abstractmethod
    def get(self, where: tuple[slice, ...], into: NDArray[Any]) -> None:
        """Read a non-empty selection `where`, slices with ascending indices, into an array."""

    @abstractmethod
    def close(self) -> None:
        """Close the array."""


class Chunks(ABC):
    """An array in a file that a library has opened for writing, chunk by chunk."""

    @abstractmethod
    def put(self, box: Box, part: NDArray[Any]) -> None:
        """Write an array region that consists of whole chunks."""


class Format(ABC):
    """A file format: how an array is described, created, and checked before it is written."""

    name: str
    folder = False
    """Whether an array of this format is a folder rather than a file."""
    sums = False
    """Whether the format has built-in checksums."""
    takes: frozenset[str] = frozenset()
    """Names of the properties besides shape, type and order that the format supports."""
    module = ""
    """Name of the Python library that the format requires; empty if it requires none."""

    def ready(self) -> None:
        """Refuse a format whose library is missing.

        Raises:
            IsthmusError: the library is not installed.

        """
        if self.module and find_spec(self.module) is None:
            raise IsthmusError(
                f"format {self.name}: {self.module} is not installed; "
                f"`pip install 'isthmus[{self.name}]'` brings it"
            )

    @abstractmethod
    def describe(self, path: Path, given: Given) -> Described:
        """Return the description of the array in a file.

        Raises:
            IsthmusError: the file holds no array.
            OSError: the file cannot be read.

        """

    @abstractmethod
    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of elements that a reader gets from the description of a type.

        Raises:
            Exception: the format does not support the type; libraries raise any class.

        """

    def refuse(self, array: Described, given: Given, path: Path) -> None:
        """Refuse an array that the format cannot write and read back, or that would lose data.

        Raises:
            IsthmusError: the reason.

        """
        dtype = array.dtype
        try:
            found = self.read_back(dtype)
        except Exception as error:
            why = f"cannot be written ({flat(str(error))})"
        else:
            if found == dtype:
                return
            why = f"would be read as {found}"
        view = f'array.view("u{dtype.itemsize}")' if dtype.itemsize in {1, 2, 4, 8} else "astype"
        raise IsthmusError(
            f"{path}: format {self.name}: elements of type {dtype} {why}; give another type, as by "
            f"{view}, or write a raw file, which is read with dtype="
        )

    @abstractmethod
    def create(self, place: Path, array: Described, given: Given, path: Path) -> Described:
        """Write everything except the elements to an existing empty file or folder.

        Args:
            place: path of the file or folder.
            array: the array to store.
            given: further properties from the user.
            path: final path, for messages.

        Returns:
            The array with the file offset of its elements.

        """


class LibraryFormat(Format):
    """A format that a library reads, because its elements may not be contiguous in the file."""

    @abstractmethod
    def pieces(self, path: Path, given: Given, rank: int) -> Pieces:
        """Open an existing array, and return an object that reads pieces of it."""


class ChunkedFormat(LibraryFormat):
    """A format that a library also writes, because its elements are never contiguous."""

    @abstractmethod
    def chunks(self, place: Path) -> Chunks:
        """Open a created array, and return an object that writes its chunks."""


@contextmanager
def library_errors(path: Path, where: str = "") -> Iterator[None]:
    """Convert errors of a library about a file to an `IsthmusError`.

    Raises:
        OSError: an error of the system, unchanged.
        IsthmusError: in place of any other error.

    """
    try:
        yield
    except IsthmusError:
        raise
    except Exception as error:
        # A hostile file may make a library raise an error of any class.
        if isinstance(error, OSError) and error.strerror:
            raise
        words = flat(str(error)) or type(error).__name__
        raise IsthmusError(f"{path}: {where}{words}") from error


FORMATS = {"raw": "flat", "npy": "flat", "hdf5": "hdf5", "zarr": "zarr3"}
"""For each file format, the module that implements it."""
SUFFIXES = {
    ".raw": "raw",
    ".bin": "raw",
    ".npy": "npy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
}


def format_of(path: Path, name: str | None) -> Format:
    """Return the format of a file, by its suffix or by the name of the format.

    Raises:
        IsthmusError: the format does not exist.

    """
    if name is None:
        name = SUFFIXES.get(path.suffix.lower())
        if name is None:
            what = f'the suffix "{path.suffix}"' if path.suffix else "no suffix"
            raise IsthmusError(
                f"{path}: {what} names no format (known are {', '.join(SUFFIXES)}); "
                f"say which with format=, one of {', '.join(FORMATS)}"
            )
    choice("format", name, tuple(FORMATS))
    home = import_module(f"isthmus.arrays.files.{FORMATS[name]}")
    made: Format = home.FORMATS[name]()
    return made


def refuse_order(name: str, order: str) -> None:
    """Refuse Fortran order for the format `name`, which has no such order.

    Raises:
        IsthmusError: `order` is not ``"C"``.

    """
    if order != "C":
        raise IsthmusError(
            f'format {name}: order "{order}"; it keeps arrays row by row, order "C" (write the '
            "transposed array, or a format that has both: raw, npy)"
        )


def same_shape(path: Path, what: str, given: Sequence[int] | None, found: Sequence[int]) -> None:
    """Refuse an array whose shape differs from the given one.

    Raises:
        IsthmusError: the shapes differ.

    """
    if given is not None and tuple(given) != tuple(found):
        raise IsthmusError(f"{path}: an array of shape {tuple(found)}; {what} has {tuple(given)}")

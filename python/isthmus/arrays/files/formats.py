"""The formats of files, and what each does alone: headers, regions, chunks."""

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
    """An array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    """``"C"`` or ``"F"``: which index counts fastest in the file."""
    offset: int | None = None
    """Where its first element lies, if all lie one behind the other; else a library reads it."""
    chunks: tuple[int, ...] | None = None
    """What a library reads or writes at once."""

    @property
    def size(self) -> int:
        """Bytes of all elements."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


@dataclass(frozen=True)
class Given:
    """What the user says of an array."""

    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    order: str | None = None
    offset: int | None = None
    dataset: str | None = None
    """The name of it in an HDF5 file."""
    chunks: tuple[int, ...] | None = None
    shards: tuple[int, ...] | None = None
    checksums: bool = False
    """Whether a format that has sums of its own is to keep them."""


class Pieces(ABC):
    """An array that a library reads in chunks."""

    @abstractmethod
    def get(self, where: tuple[slice, ...], into: NDArray[Any]) -> None:
        """Read what slices with ascending indices select; they select something."""

    @abstractmethod
    def close(self) -> None:
        """Be done with it."""


class Chunks(ABC):
    """An array that a library writes in chunks."""

    @abstractmethod
    def put(self, box: Box, part: NDArray[Any]) -> None:
        """Write a box of whole chunks."""


class Format(ABC):
    """What files of one kind have in common."""

    name: str
    folder = False
    """Whether an array is a folder rather than a file."""
    sums = False
    """Whether it keeps sums of its own."""
    takes: frozenset[str] = frozenset()
    """What the user may say of an array, besides its shape, its type and its order."""
    module = ""
    """The library that it needs."""

    def ready(self) -> None:
        """Whether the library is there.

        Raises:
            IsthmusError: it is not.

        """
        if self.module and find_spec(self.module) is None:
            raise IsthmusError(
                f"format {self.name}: {self.module} is not installed; "
                f"`pip install 'isthmus[{self.name}]'` brings it"
            )

    @abstractmethod
    def describe(self, path: Path, given: Given) -> Described:
        """Read what array is in a file.

        Raises:
            IsthmusError: there is none.
            OSError: it cannot be read.

        """

    @abstractmethod
    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of elements that a reader gets from the description of a type.

        Raises:
            Exception: the format has no description of it; errors of libraries are of any class.

        """

    def refuse(self, array: Described, given: Given, path: Path) -> None:
        """Refuse what cannot be written or read back, or would be lost, before anything is done.

        Raises:
            IsthmusError: why.

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
        """Write all but the elements to a file, or into a folder, that is there and empty.

        Args:
            place: where it is.
            array: what it is to hold.
            given: what else is said of it.
            path: what it is called, for messages.

        Returns:
            The array, and where its elements go.

        """


class LibraryFormat(Format):
    """One whose elements need not lie one behind the other: its library finds them."""

    @abstractmethod
    def pieces(self, path: Path, given: Given, rank: int) -> Pieces:
        """An array that is there, to be read."""


class ChunkedFormat(LibraryFormat):
    """One whose elements never do, so that its library writes them as well."""

    @abstractmethod
    def chunks(self, place: Path) -> Chunks:
        """An array that has been created, to be written."""


@contextmanager
def library_errors(path: Path, where: str = "") -> Iterator[None]:
    """Raise what a library says of a file as an `IsthmusError`.

    Raises:
        OSError: an error of the system, which has words of its own.
        IsthmusError: in place of any other error.

    """
    try:
        yield
    except IsthmusError:
        raise
    except Exception as error:
        # Libraries have many classes of errors; a hostile file brings out any of them.
        if isinstance(error, OSError) and error.strerror:
            raise
        words = flat(str(error)) or type(error).__name__
        raise IsthmusError(f"{path}: {where}{words}") from error


FORMATS = {"raw": "flat", "npy": "flat", "hdf5": "hdf5", "zarr": "zarr3"}
"""The module of each format."""
SUFFIXES = {
    ".raw": "raw",
    ".bin": "raw",
    ".npy": "npy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
}


def format_of(path: Path, name: str | None) -> Format:
    """The format of a file, by its name or by that of the format.

    Raises:
        IsthmusError: there is no such format.

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
    """Refuse Fortran order where a format has none.

    Raises:
        IsthmusError: it is asked for.

    """
    if order != "C":
        raise IsthmusError(
            f'format {name}: order "{order}"; it keeps arrays row by row, order "C" (write the '
            "transposed array, or a format that has both: raw, npy)"
        )


def same_shape(path: Path, what: str, given: Sequence[int] | None, found: Sequence[int]) -> None:
    """Refuse an array of another shape than was said.

    Raises:
        IsthmusError: it is of another.

    """
    if given is not None and tuple(given) != tuple(found):
        raise IsthmusError(f"{path}: an array of shape {tuple(found)}; {what} has {tuple(given)}")

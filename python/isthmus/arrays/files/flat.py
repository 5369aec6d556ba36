"""Files with contiguous elements: raw files and ``.npy`` files."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from isthmus.arrays.files.formats import Described, Format, Given, library_errors
from isthmus.errors import IsthmusError

HEADER_MAX = 1 << 18
"""Maximum header size of a ``.npy`` file, which numpy parses in seconds."""
PIECE = 1 << 20
"""Bytes that are copied at a time from the header of an existing file."""


class Raw(Format):
    """The format of files that contain only elements, without a header; the user passes shape and
    type.
    """

    name = "raw"
    takes = frozenset({"offset"})

    def describe(self, path: Path, given: Given) -> Described:
        """Return the description of the array from the properties that the user has passed."""
        missing = [what for what in ("shape", "dtype") if getattr(given, what) is None]
        if missing or given.shape is None or given.dtype is None:
            raise IsthmusError(
                f"{path}: a raw file does not say what is in it; give {' and '.join(missing)}"
            )
        with path.open("rb"):
            return Described(given.shape, given.dtype, given.order or "C", given.offset or 0)

    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the element type unchanged: a raw file stores no type, its reader passes it."""
        return dtype

    def create(self, place: Path, array: Described, given: Given, path: Path) -> Described:
        """Copy the bytes of an existing file before the elements to its replacement, and return the
        array with the offset that the user has given.
        """
        offset = given.offset or 0
        if offset:
            _copy_head(path, place, offset)
        return Described(array.shape, array.dtype, array.order, offset)


def _copy_head(path: Path, place: Path, size: int) -> None:
    """Copy the bytes before the elements of an existing file to its replacement, as MPI-IO keeps
    them.
    """
    with suppress(FileNotFoundError), path.open("rb") as before, place.open("r+b") as file:
        while size > 0 and (piece := before.read(min(size, PIECE))):
            file.write(piece)
            size -= len(piece)


class Npy(Format):
    """The format of numpy's ``.npy`` files, byte for byte as `numpy.save` writes them."""

    name = "npy"

    def describe(self, path: Path, given: Given) -> Described:
        """Return the description of the array from the header of the file."""
        with path.open("rb") as file:
            with library_errors(path, "not the header of a .npy file: "):
                shape, columns, dtype = _read_header(file)
            return Described(tuple(shape), dtype, "F" if columns else "C", file.tell())

    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the element type that a reader gets from the header."""
        file = BytesIO()
        _write_header(file, Described((1,), dtype, "C"))
        file.seek(0)
        return _read_header(file)[2]

    def create(self, place: Path, array: Described, given: Given, path: Path) -> Described:
        """Write the header, and return the array with the offset behind it."""
        with place.open("r+b") as file:
            _write_header(file, array)
            return Described(array.shape, array.dtype, array.order, file.tell())


def _read_header(file: BinaryIO) -> tuple[tuple[Any, ...], bool, np.dtype[Any]]:
    """Read the header of a ``.npy`` file: shape, whether the order is Fortran's, and type.

    numpy parses a header of at most `HEADER_MAX` bytes.

    Raises:
        Exception: of any class, if the header is invalid.

    """
    form = np.lib.format
    readers = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    version = form.read_magic(file)
    if version not in readers:
        raise ValueError("its version is {}.{}".format(*version))
    counted = file.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(counted, "little")
    if length > HEADER_MAX:
        raise ValueError(f"it claims {length} bytes; it has at most {HEADER_MAX}")
    # numpy would allocate the header length that a file claims; pass only existing bytes.
    header = BytesIO(counted + file.read(length))
    shape, columns, dtype = readers[version](header, max_header_size=HEADER_MAX)
    return shape, columns, dtype


def _write_header(file: BinaryIO, array: Described) -> None:
    """Write the header of a ``.npy`` file."""
    # Like numpy, write the order C for an array that is in both orders.
    lines = sum(extent > 1 for extent in array.shape) <= 1
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": array.order == "F" and not lines,
        "shape": array.shape,
    }
    try:
        np.lib.format.write_array_header_1_0(file, header)
    except UnicodeEncodeError as error:
        raise ValueError(f"names of fields are not in Latin-1: {error}") from error
    except ValueError:
        file.seek(0)
        np.lib.format.write_array_header_2_0(file, header)


FORMATS = {"raw": Raw, "npy": Npy}

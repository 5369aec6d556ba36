"""Files in which elements lie one behind the other: with nothing before them, or numpy's header."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from isthmus.arrays.files.formats import Described, Format, Given
from isthmus.errors import IsthmusError

PIECE = 1 << 20
"""Bytes that are copied at once."""


class Raw(Format):
    """Elements and nothing else; what they are the user says."""

    name = "raw"
    takes = frozenset({"offset"})

    def describe(self, path: Path, given: Given) -> Described:  # noqa: D102
        missing = [what for what in ("shape", "dtype") if getattr(given, what) is None]
        if missing or given.shape is None or given.dtype is None:
            raise IsthmusError(
                f"{path}: a raw file does not say what is in it; give {' and '.join(missing)}"
            )
        with path.open("rb"):
            return Described(given.shape, given.dtype, given.order or "C", given.offset or 0)

    def create(  # noqa: D102
        self, place: Path, array: Described, given: Given, path: Path
    ) -> Described:
        offset = given.offset or 0
        if offset:
            _copy_head(path, place, offset)
        return Described(array.shape, array.dtype, array.order, offset)


def _copy_head(path: Path, place: Path, size: int) -> None:
    """Keep what is before the elements of a file that is there, as MPI-IO does."""
    with suppress(FileNotFoundError), path.open("rb") as before, place.open("r+b") as file:
        while size > 0 and (piece := before.read(min(size, PIECE))):
            file.write(piece)
            size -= len(piece)


class Npy(Format):
    """The ``.npy`` files of numpy, byte for byte as `numpy.save` writes them."""

    name = "npy"

    def describe(self, path: Path, given: Given) -> Described:  # noqa: D102
        form = np.lib.format
        readers = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
        with path.open("rb") as file:
            try:
                version = form.read_magic(file)
                if version not in readers:
                    raise ValueError("its version is {}.{}".format(*version))
                shape, columns, dtype = readers[version](file)
            except (ValueError, SyntaxError, EOFError) as error:
                why = str(error).splitlines()[0]
                raise IsthmusError(f"{path}: not the header of a .npy file ({why})") from error
            if any(extent < 0 for extent in shape):
                raise IsthmusError(f"{path}: not the header of a .npy file (its shape is {shape})")
            return Described(tuple(shape), dtype, "F" if columns else "C", file.tell())

    def create(  # noqa: D102
        self, place: Path, array: Described, given: Given, path: Path
    ) -> Described:
        with place.open("r+b") as file:
            _write_header(path, file, array)
            return Described(array.shape, array.dtype, array.order, file.tell())


def _write_header(path: Path, file: BinaryIO, array: Described) -> None:
    # An array of which both can be said is of C order, as numpy has it.
    lines = sum(extent > 1 for extent in array.shape) <= 1
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": array.order == "F" and not lines,
        "shape": array.shape,
    }
    try:
        np.lib.format.write_array_header_1_0(file, header)
    except UnicodeEncodeError as error:
        raise IsthmusError(
            f"{path}: a .npy file has names of fields in Latin-1 ({error})"
        ) from error
    except ValueError:
        file.seek(0)
        np.lib.format.write_array_header_2_0(file, header)


FORMATS = {"raw": Raw, "npy": Npy}

"""HDF5 files through h5py.

The library creates the file and a contiguous dataset, whose offset is known before any element is
written. Elements are then written like those of a flat file. Chunked datasets are read through the
library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.arrays.files.formats import (
    Described,
    Given,
    LibraryFormat,
    Pieces,
    library_errors,
    refuse_order,
)
from isthmus.errors import IsthmusError
from isthmus.files import telling_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DATASET = "data"
"""Default name of the dataset."""
LISTED_MAX = 5
"""Maximum number of datasets that an error lists."""


class Hdf5(LibraryFormat):
    """The format of HDF5 files: one dataset of a file."""

    name = "hdf5"
    takes = frozenset({"dataset"})
    module = "h5py"

    def describe(self, path: Path, given: Given) -> Described:
        """Return shape, element type and memory order of the dataset of a file."""
        import h5py

        with _opened(path) as file, library_errors(path):
            found = _dataset(path, file, given.dataset)
            dtype = found.dtype
            if found.shape is None:
                raise IsthmusError(
                    f"{path}: dataset {found.name!r} has no shape (its dataspace is null); there "
                    "is nothing to read"
                )
            array = Described(found.shape, dtype, "C", chunks=found.chunks)
            offset = found.id.get_offset()
            # Elements are contiguous for numpy only if the file stores them in numpy's
            # representation.
            alike = h5py.h5t.py_create(dtype, logical=True) == found.id.get_type()
            if offset is not None and alike and not found.external and not found.is_virtual:
                return Described(found.shape, dtype, "C", int(offset))
            return array

    def read_back(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the element type that a reader gets, from HDF5's description of a type."""
        import h5py

        found: np.dtype[Any] = h5py.h5t.py_create(dtype, logical=True).dtype
        return found

    def refuse(self, array: Described, given: Given, path: Path) -> None:
        """Refuse an array that HDF5 cannot store."""
        import h5py

        super().refuse(array, given, path)
        refuse_order(self.name, array.order)
        if not path.is_file() or not h5py.is_hdf5(path):
            return
        with _opened(path) as file, library_errors(path):
            others = [name for name in _names(file) if name != _name(given)]
        if others:
            raise IsthmusError(
                f"{path}: holds {', '.join(others[:LISTED_MAX])}, which would be lost: the file "
                "gets one dataset and no other; give another file, or remove this one"
            )

    def create(self, place: Path, array: Described, given: Given, path: Path) -> Described:
        """Create the file and the dataset, whose elements are written later; return the array with
        their offset.
        """
        import h5py

        name = _name(given)
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_layout(h5py.h5d.CONTIGUOUS)
        # Allocate the space early and write no fill values.
        made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        link = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        link.set_create_intermediate_group(True)
        kind = h5py.h5t.py_create(array.dtype, logical=True)
        # Isthmus holds a lock on the file, so the library's lock must be off.
        with library_errors(path), h5py.File(place, "w", locking=False) as file:
            space = h5py.h5s.create_simple(array.shape)
            dataset = h5py.h5d.create(file.id, name.encode(), kind, space, made, link)
            offset = dataset.get_offset()
        # An empty dataset has no offset; use the end of the file.
        end = place.stat().st_size
        return Described(array.shape, array.dtype, "C", end if offset is None else int(offset))

    def pieces(self, path: Path, given: Given, rank: int) -> Pieces:
        """Open a dataset for reading."""
        return _Pieces(path, given)


class _Pieces(Pieces):
    """An HDF5 dataset that is open for reading."""

    def __init__(self, path: Path, given: Given) -> None:
        """Open the file and its dataset for reading."""
        self._path = path
        self._opened = _opened(path)
        with library_errors(path):
            self._dataset = _dataset(path, self._opened.__enter__(), given.dataset)

    def get(self, where: tuple[slice, ...], into: NDArray[Any]) -> None:
        """Read the part of the dataset at the indices `where` into the array `into`."""
        with telling_of(self._path, "cannot be read"), library_errors(self._path):
            self._dataset.read_direct(into, where)

    def close(self) -> None:
        """Close the HDF5 file."""
        self._opened.__exit__(None, None, None)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open an HDF5 file for reading during a ``with`` block."""
    import h5py

    # Open the file once without the library, so that an error of the system, such as "no such
    # file", is raised unchanged.
    with path.open("rb"):
        pass
    try:
        file = h5py.File(path, "r", locking="best-effort")
    except OSError as error:
        raise IsthmusError(f"{path}: not a whole HDF5 file ({error})") from error
    with file:
        yield file


def _name(given: Given) -> str:
    """Return the name of the dataset to write."""
    return (given.dataset or DATASET).strip("/")


def _names(file: Any) -> list[str]:
    """Return the names of all datasets in an HDF5 file."""
    import h5py

    names: list[str] = []
    file.visititems(
        lambda name, found: names.append(name) if isinstance(found, h5py.Dataset) else None
    )
    return names


def _dataset(path: Path, file: Any, name: str | None) -> Any:
    """Return the dataset with this name, or the only dataset if `name` is None; refuse any other
    case.
    """
    import h5py

    names = _names(file)
    if name is None and len(names) == 1:
        name = names[0]
    if name is None or not isinstance(file.get(name), h5py.Dataset):
        there = ", ".join(names[:LISTED_MAX]) or "none"
        more = f" and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else ""
        what = "give the one to read with dataset=" if name is None else f"no dataset {name!r}"
        raise IsthmusError(f"{path}: {what}; there are: {there}{more}")
    return file[name]


FORMATS = {"hdf5": Hdf5}

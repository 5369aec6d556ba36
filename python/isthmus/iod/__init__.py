"""The files of an I/O daemon in Python: ``iod://`` of fsspec, without a mount.

The daemon is ``isthmus iod serve``::

    import fsspec

    files = fsspec.filesystem("iod", address="unix:/tmp/iod.sock")
    files.pipe("results/step-1.bin", bytes(1 << 20))
    files.commit("results/step-1.bin")  # returns once the file is stored

pandas, zarr, xarray and others take such files by URL::

    import pandas as pd

    table = pd.read_csv(
        "iod://results/table.csv", storage_options={"address": "unix:/tmp/iod.sock"}
    )

The guide's page "The I/O daemon" says when a file is safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.iod.filesystem import IodFile, IodFileSystem

__all__ = ["IodFile", "IodFileSystem"]


def __getattr__(name: str) -> Any:
    """Import the classes of fsspec when they are used: other modules of the package do without."""
    if name not in __all__:
        raise AttributeError(name)
    try:
        from isthmus.iod import filesystem
    except ModuleNotFoundError as error:
        text = "fsspec is not installed; `pip install 'isthmus[iod]'` brings it"
        raise IsthmusError(text) from error
    return getattr(filesystem, name)

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

from isthmus.iod.filesystem import IodFile, IodFileSystem

__all__ = ["IodFile", "IodFileSystem"]

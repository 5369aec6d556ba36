"""Libraries that use ``iod://``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def round_trips(options: dict[str, Any]) -> None:
    """Write and read with pandas, zarr and xarray through ``iod://``."""
    pandas = pytest.importorskip("pandas")
    zarr = pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    frame = pandas.DataFrame({"x": np.arange(1000), "y": np.linspace(0, 1, 1000)})
    frame.to_csv("iod://table.csv", index=False, storage_options=options)
    frame.to_parquet("iod://table.parquet", storage_options=options)
    pandas.testing.assert_frame_equal(
        pandas.read_csv("iod://table.csv", storage_options=options), frame
    )
    read = pandas.read_parquet("iod://table.parquet", storage_options=options)
    pandas.testing.assert_frame_equal(read, frame)

    values = np.random.default_rng(1).random((64, 64))
    array = zarr.create_array(
        "iod://array.zarr", shape=(64, 64), chunks=(16, 16), dtype="f8", storage_options=options
    )
    array[:] = values
    again = zarr.open_array("iod://array.zarr", mode="r", storage_options=options)
    np.testing.assert_array_equal(again[:], values)

    data = xarray.Dataset({"t": (("y", "x"), values)}, attrs={"source": "test"})
    data.to_zarr("iod://data.zarr", storage_options=options)
    read = xarray.open_zarr("iod://data.zarr", storage_options=options)
    xarray.testing.assert_identical(read.load(), data)

"""Random arrays for files, and what formats can hold them."""

from __future__ import annotations

import random
import sys

import numpy as np

from array_cases import boxes, grid

DTYPES = ("f8", "f4", "i2", "u1", "c16", ">i4", [("a", "i4"), ("b", ">f8"), ("c", "S3")])
SUFFIXES = (
    (".raw", ".npy", ".h5", ".zarr") if sys.version_info >= (3, 11) else (".raw", ".npy", ".h5")
)


def file_case(seed: int, ranks: int, readers: int):
    """A file's suffix, order and settings; an array, and by rank what is held before and after."""
    chance = random.Random(f"file {seed}")
    dims = chance.randint(1, 4)
    shape = tuple(chance.randint(1, [300, 24, 11, 6][dims - 1]) for _ in range(dims))
    make = [boxes if chance.random() < 0.25 else grid for _ in range(2)]
    suffix = SUFFIXES[seed % len(SUFFIXES)]
    dtype = np.dtype(chance.choice(DTYPES))
    if suffix == ".zarr":
        # It gives elements in the byte order of the machine.
        dtype = dtype.newbyteorder("=")
    data = chance.randbytes(int(np.prod(shape)) * dtype.itemsize)
    whole = np.frombuffer(data, np.uint8).view(dtype).reshape(shape)
    held = []
    for one, count in zip(make, (ranks, readers), strict=True):
        layout, of_ranks = one(chance, shape, count)
        order = chance.choice("CF")
        parts = [[np.array(whole[np.ix_(*part)], order=order) for part in p] for p in of_ranks]
        held.append((layout, parts))
    sums = chance.choice([False, True, f"{chance.randint(1, 300)} B"])
    settings = {
        "order": chance.choice("CF") if suffix in {".raw", ".npy"} else "C",
        "checksums": bool(sums) if suffix == ".zarr" else sums,
    }
    if suffix == ".raw" and chance.random() < 0.5:
        settings["offset"] = f"{chance.randint(0, 200)} B"
    if suffix == ".zarr":
        settings["chunks"] = tuple(chance.randint(1, extent) for extent in shape)
        # The library has no shards of structured elements.
        if dtype.names is None and chance.random() < 0.5:
            settings["shards"] = tuple(size * chance.randint(1, 3) for size in settings["chunks"])
    return suffix, settings, whole, held[0], held[1], chance


def how(chance: random.Random, ranks: int):
    """How files are cut among aggregators: small enough for many rounds."""
    asked = [None, chance.randint(1, ranks), chance.sample(range(ranks), chance.randint(1, ranks))]
    return {
        "aggregators": chance.choice(asked),
        "stripe": f"{chance.choice([1, 16, 100, 512])} B",
        "buffer": f"{chance.choice([1, 64, 200, 1024, 1 << 20])} B",
    }


def to_read(suffix: str, settings, whole: np.ndarray):
    """What a reader has to say of the file."""
    if suffix != ".raw":
        return {}
    said = {key: settings[key] for key in ("order", "offset") if key in settings}
    return {"shape": whole.shape, "dtype": whole.dtype, **said}

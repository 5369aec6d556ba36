"""Types of elements: each kind that numpy has, and those of `ml_dtypes`."""

from __future__ import annotations

import numpy as np

UNITS = (
    "",
    "[Y]",
    "[M]",
    "[W]",
    "[D]",
    "[h]",
    "[m]",
    "[s]",
    "[25s]",
    "[ms]",
    "[us]",
    "[ns]",
    "[as]",
)
NUMBERS = [np.dtype(letter) for letter in "?bBhHiIlLqQefdgFDG"]
"""Of C, without text, times and Python objects."""
STRUCTURED = [
    np.dtype([("a", "i4"), ("b", ">f8"), ("c", "S3")]),
    np.dtype([("a", "f4", (2, 3)), ("b", "?")]),
    np.dtype([("a", "i1"), ("b", "f8")], align=True),
    np.dtype([("in", [("x", "M8[s]"), ("y", "U2")])]),
    np.dtype([(("a title", "a"), "i4")]),
    np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 0]}),
    np.dtype({"names": ["b", "a"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
    np.dtype((np.record, [("a", "i4")])),
]
NUMPY = [
    *NUMBERS,
    *(dtype.newbyteorder(">") for dtype in NUMBERS if dtype.itemsize > 1),
    *map(np.dtype, ("S1", "S3", "U1", "U3", ">U3", "V1", "V2", "V5")),
    *(np.dtype(f"{kind}8{unit}") for kind in "mM" for unit in UNITS),
    np.dtype(">M8[D]"),
    *STRUCTURED,
]
OBJECTS = [
    np.dtype(object),
    np.dtype([("a", object)]),
    np.dtype([("a", "f4"), ("b", object, (2,))]),
]
if hasattr(np.dtypes, "StringDType"):
    OBJECTS.append(np.dtypes.StringDType())


def of_ml_dtypes() -> list[np.dtype]:
    """Each type of `ml_dtypes`, and a structured one of some; none where it is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return []
    no_types = (ml_dtypes.finfo, ml_dtypes.iinfo)
    found = [each for each in vars(ml_dtypes).values() if isinstance(each, type)]
    types = [np.dtype(each) for each in found if each not in no_types]
    return [*types, np.dtype([("a", ml_dtypes.bfloat16), ("b", "f4")])]


def some(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a type with elements that differ; bytes of padding are 0."""
    count = int(np.prod(shape))
    if dtype.names is not None:
        made = np.zeros(shape, dtype)
        for name in dtype.names:
            field = dtype.fields[name][0]
            base, inner = field.subdtype or (field, ())
            made[name] = some(base, (*shape, *inner))
        return made
    if dtype.kind in "SUb":
        return (
            (np.arange(count) % 7 % (2 if dtype.kind == "b" else 10)).astype(dtype).reshape(shape)
        )
    data = np.arange(count * dtype.itemsize) * 37 % 251
    return data.astype(np.uint8).view(dtype).reshape(shape)

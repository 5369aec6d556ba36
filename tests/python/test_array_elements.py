"""Types of elements and kinds of arrays, wherever arrays enter: kept, or refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from array_cases import same
from array_file_cases import SUFFIXES
from array_types import NUMBERS, NUMPY, OBJECTS, of_ml_dtypes, some
from conftest import refused
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.streams.buffers import to_fill, to_send

ML = of_ml_dtypes()
needs_ml_dtypes = pytest.mark.skipif(not ML, reason="ml_dtypes is not installed")
SHAPE = (4, 3)
BLOCKS = Layout.block_cyclic(SHAPE, (2, 2), (1, 1))
ROWS = Layout.row_swath(SHAPE, 3)


def written(path, array) -> bool:
    """Whether an array is given back as it was written; if it is refused, nothing has changed."""
    path.write_bytes(b"before") if path.suffix != ".zarr" else None
    try:
        with isthmus.open_array(path, "w", sync=False, keep=path.suffix == ".zarr") as file:
            file.write(array)
    except IsthmusError as error:
        assert f"elements of type {array.dtype} " in str(error), error
        assert str(error).isprintable(), error
        left = [place.name for place in path.parent.iterdir()]
        assert left == ([] if path.suffix == ".zarr" else [path.name]), left
        assert not left or path.read_bytes() == b"before"
        return False
    said = {"shape": array.shape, "dtype": array.dtype} if path.suffix == ".raw" else {}
    with isthmus.open_array(path, **said) as file:
        assert (file.dtype, file.shape) == (array.dtype, array.shape)
        assert same(file[...], array), array.dtype
        assert joined(file.read(ROWS)) == array.tobytes(), array.dtype
    return True


def joined(parts) -> bytes:
    """The bytes of an array by rows, padding included."""
    return b"".join(part.tobytes() for held in parts for part in held)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_format_gives_back_the_type_that_it_takes(tmp_path, suffix):
    taken = []
    for number, dtype in enumerate([*NUMPY, *ML]):
        folder = tmp_path / str(number)
        folder.mkdir()
        if written(folder / f"a{suffix}", some(dtype, SHAPE)):
            taken.append(dtype)
    left = [dtype for dtype in [*NUMPY, *ML] if dtype not in taken]
    if suffix == ".raw":
        assert not left
    elif suffix == ".npy":
        # A description of .npy has fields one behind the other.
        assert [dtype for dtype in left if dtype not in ML] == NUMPY[-3:-1]
    elif suffix == ".h5":
        # h5py describes long complex numbers of the other byte order as native ones.
        swapped = np.dtype("G").newbyteorder(">")
        plain = [dtype for dtype in NUMPY if dtype.kind in "biufcSV" and dtype.names is None]
        assert [dtype for dtype in plain if dtype not in taken] == [swapped]
    else:
        native = [dtype for dtype in NUMBERS if dtype.isnative and dtype.char not in "gGqQ"]
        assert all(dtype in taken for dtype in native)
        assert not any(dtype in taken for dtype in NUMPY if dtype.byteorder == ">")
    assert suffix == ".raw" or not any(dtype in taken for dtype in ML)


@needs_ml_dtypes
def test_the_error_of_a_type_that_is_not_given_back_says_what_to_do(tmp_path):
    import ml_dtypes

    path = tmp_path / "a.npy"
    array = np.arange(3).astype(ml_dtypes.bfloat16)
    with isthmus.open_array(path, "w") as file:
        assert refused(lambda: file.write(array)) == (
            f"{path}: format npy: elements of type bfloat16 would be read as |V2; give another "
            'type, as by array.view("u2"), or write a raw file, which is read with dtype='
        )
        file.write(array.view("u2"))
    with isthmus.open_array(path) as file:
        assert same(file[...].view(ml_dtypes.bfloat16), array)
    # A file of another program has lost the type; the error names the way to it.
    np.save(path, array)
    assert "by astype or view" in refused(lambda: isthmus.open_array(path, dtype=array.dtype))


@pytest.mark.parametrize("dtype", [*NUMPY, *ML], ids=str)
def test_every_type_is_moved_and_sent(dtype):
    array = some(dtype, SHAPE)
    moved = Plan(ROWS, BLOCKS).redistribute([array[:2], array[2:], array[4:]])
    assert joined(Plan(BLOCKS, ROWS).redistribute(moved)) == array.tobytes()
    assert to_send("adu", array).tobytes() == array.tobytes()
    room = np.zeros_like(array)
    to_fill("out", room)[:] = to_send("adu", array)
    assert same(room, array)


def entrances(tmp_path, array):
    """By name a call of each place at which an array of shape `SHAPE` enters."""
    whole = Layout.whole(SHAPE)
    file = isthmus.open_array(tmp_path / "a.npy", "w", sync=False)
    np.save(tmp_path / "b.npy", np.zeros(SHAPE))
    source = isthmus.open_array(tmp_path / "b.npy")
    plan = Plan(whole, BLOCKS)
    back = Plan(BLOCKS, whole)
    parts = BLOCKS.scatter(np.zeros(SHAPE))
    return {
        "redistribute": lambda: plan.redistribute([array]),
        "redistribute out": lambda: back.redistribute(parts, [array]),
        "scatter": lambda: BLOCKS.scatter(array),
        "gather": lambda: whole.gather([[array]]),
        "write": lambda: file.write(array),
        "write with a layout": lambda: file.write([array], whole),
        "read out": lambda: source.read(whole, [array]),
        "send": lambda: to_send("adu", array),
        "receive": lambda: to_fill("out", array),
    }


def test_masked_arrays_are_refused_where_arrays_enter(tmp_path):
    masked = np.ma.masked_equal(np.arange(12.0).reshape(SHAPE), 5.0)
    for name, call in entrances(tmp_path, masked).items():
        words = refused(call)
        assert "a masked array, whose mask would be lost; pass array.filled(value)" in words, name
    with isthmus.open_array(tmp_path / "c.npy", "w") as file:
        assert "masked" in refused(lambda: file.write(list(masked)))
    assert not (tmp_path / "a.npy").exists()
    assert not (tmp_path / "c.npy").exists()


@pytest.mark.parametrize("dtype", OBJECTS, ids=str)
def test_python_objects_are_refused_where_arrays_enter(tmp_path, dtype):
    for call in entrances(tmp_path, np.zeros(SHAPE, dtype)).values():
        assert "Python objects have no fixed bytes" in refused(call)


def test_other_subclasses_are_viewed_as_arrays(tmp_path):
    plain = np.arange(12.0).reshape(SHAPE)
    (tmp_path / "mapped").write_bytes(plain.tobytes())
    for array in (
        plain.view(np.matrix),
        np.memmap(tmp_path / "mapped", "f8", "r+", shape=SHAPE),
        plain.copy().view(type("Odd", (np.ndarray,), {"__getitem__": None})),
    ):
        for call in entrances(tmp_path, array).values():
            call()
        (part,) = Plan(Layout.whole(SHAPE), Layout.whole(SHAPE)).redistribute([array])[0]
        assert type(part) is np.ndarray
        assert np.shares_memory(to_fill("out", array), array)
    record = np.zeros(4, [("a", "i4")]).view(np.recarray)
    (part,) = Plan(Layout.whole((4,)), Layout.whole((4,))).redistribute([record])[0]
    assert (type(part), part.dtype) == (np.ndarray, record.dtype)


NO_TYPES = [None, "f9", "nonsense", "()", [("a",)], {"names": 3}, -1, 3.5, ..., "V" * 9]
NO_BYTES = ["S0", "U0", "V0", [], object, "O", ("f4", (2,)), [("a", object)]]


@pytest.mark.parametrize("dtype", [*NO_TYPES, *NO_BYTES], ids=repr)
def test_types_that_are_none_are_refused_where_types_enter(tmp_path, dtype):
    calls = [lambda: Layout.whole(SHAPE).empty(0, dtype)]
    if dtype is not None:
        path = tmp_path / "a.raw"
        calls.append(lambda: isthmus.open_array(path, "w", shape=SHAPE, dtype=dtype))
    for call in calls:
        assert refused(call).startswith("dtype: ")


def test_the_layout_decides_the_order_of_what_is_made(tmp_path):
    columns = Layout.scalapack([1, 0, *SHAPE, 2, 2, 0, 0, 2], (2, 2))
    rows = Layout.row_swath(SHAPE, 2)
    array = np.arange(12.0).reshape(SHAPE)
    np.save(tmp_path / "a.npy", array)
    renumbered = columns.on_ranks([3, 2, 1, 0])
    assert (columns.order, renumbered.order, rows.order) == ("F", "F", None)

    def orders(parts):
        return {
            ("C" if part.flags.c_contiguous else "") + ("F" if part.flags.f_contiguous else "")
            for held in parts
            for part in held
            if min(part.shape) > 1
        }

    for layout in (columns, renumbered):
        plan = Plan(rows, layout)
        assert orders(plan.redistribute(rows.scatter(array))) == {"F"}
        assert orders(plan.redistribute(rows.scatter(array), order="C")) == {"C"}
        assert orders(layout.scatter(array)) == {"F"}
        assert orders(layout.scatter(array, order="C")) == {"C"}
        assert orders([layout.empty(layout.ranks[0], "f8")]) == {"F"}
        with isthmus.open_array(tmp_path / "a.npy") as file:
            assert orders(file.read(layout)) == {"F"}
            assert orders(file.read(layout, order="C")) == {"C"}
            assert np.array_equal(layout.gather(file.read(layout)), array)
    assert orders(Plan(columns, rows).redistribute(columns.scatter(array))) == {"F"}
    assert orders(Plan(rows, rows).redistribute(rows.scatter(array))) == {"C"}

"""Hostile headers, odd values of every argument, arrays without elements: errors of one line."""

from __future__ import annotations

import json
import math
import resource
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import isthmus
from array_file_cases import SUFFIXES
from conftest import refused
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan, Rates, block, cuts, cyclic, io_distribution, load
from isthmus.arrays.files import sums
from isthmus.arrays.files.flat import HEADER_MAX
from isthmus.streams import StreamSpec
from isthmus.streams.amounts import parse_size, seconds
from isthmus.streams.buffers import to_fill, to_send
from isthmus.streams.stream import Stream


def header(shape="(1,)", descr="'<f8'", *, version=1, claims=None, text=None) -> bytes:
    """A file of `.npy` with a header of these words, which claims so many bytes, and some data."""
    words = text or f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    data = words.encode() + b"\n"
    length = len(data) if claims is None else claims
    counted = length.to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + counted + data + bytes(64)


HEADERS = {
    "flag as an extent": (header("(True,)"), "shape (True,); extents are whole numbers"),
    "fraction": (header("(1.5,)"), "shape is not valid"),
    "below 0": (header("(-1,)"), "shape (-1,); extents are whole numbers"),
    "no tuple": (header("5"), "shape is not valid"),
    "65 dimensions": (header(str((1,) * 65)), "65 dimensions; an array has at most 32"),
    "33 dimensions": (header(str((1,) * 33)), "33 dimensions; an array has at most 32"),
    "huge beside 0": (header("(18446744073709551616, 0)"), "has fewer than 2^63 bytes"),
    "huge around 0": (header(f"({1 << 40}, 0, {1 << 40})"), "has fewer than 2^63 bytes"),
    "huge": (header(f"({1 << 40}, {1 << 40})"), "has fewer than 2^63 bytes"),
    "more than there is": (header(f"({1 << 40},)"), "cut short: "),
    "5,000 brackets": (header(text="[" * 5000), "not the header"),
    "brackets": (header(text="(" * 5000 + ")" * 5000), "not the header"),
    "signs": (header(text="-" * 5000 + "1"), "not the header"),
    "sums": (header(text="1" + "+1" * 30_000), "not the header"),
    "claims 4 GiB": (header(version=2, claims=(1 << 32) - 1), "it claims 4294967295 bytes"),
    "claims more": (header(version=2, claims=HEADER_MAX), "not the header"),
    "no text": (header(text="\0" * 20), "not the header"),
    "version 3": (header(version=3), "its version is 3.0"),
    "version 9": (header(version=9), "its version is 9.0"),
    "cut": (b"\x93NUMPY\1", "not the header"),
    "empty": (b"", "not the header"),
    "objects": (header(descr="'|O'"), "Python objects have no fixed bytes"),
    "no bytes": (header(descr="'|V0'"), "which have no bytes"),
    "no fields": (header(descr="[]"), "which have no bytes"),
    "arrays": (header(descr="('<f8', (2,))"), "which are arrays"),
    "large arrays": (header(descr="('<f8', (1073741824, 4))"), "not the header"),
    "large text": (header(descr="'|V2147483647'"), "cut short: "),
    "fields twice": (header(descr="[('a', '<f8'), ('a', '<f8')]"), "not the header"),
    "no type": (header(descr="'f9'"), "not the header"),
    "deep type": (header(descr="[('a'," * 3000 + "'<f8'" + ")]" * 3000), "not the header"),
}


@pytest.fixture
def little_memory():
    """Memory for a process that allocates no more than 512 MiB beside what it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize("name", HEADERS)
def test_hostile_headers(tmp_path, name, little_memory):
    data, words = HEADERS[name]
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    told = refused(lambda: isthmus.open_array(path))
    assert told.startswith(f"{path}: "), told
    assert words in told


def test_hdf5_that_is_no_array(tmp_path):
    import h5py

    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("null", data=h5py.Empty("f4"))
        file["type"] = np.dtype("f4")
        file["gone"] = h5py.SoftLink("/none")
        file["other"] = h5py.ExternalLink("none.h5", "/data")
        space = h5py.h5s.create_simple((3,))
        h5py.h5d.create(file.id, b"days", h5py.h5t.UNIX_D32LE, space)
        file.create_dataset("text", data=["a", "bc"])
        file["point"] = 3.0
    for dataset, words in (
        ("null", "dataset '/null' has no shape (its dataspace is null)"),
        ("days", "No NumPy equivalent"),
        ("type", "no dataset 'type'"),
        ("gone", "no dataset 'gone'"),
        ("other", "no dataset 'other'"),
        ("text", "Python objects have no fixed bytes"),
    ):
        assert words in refused(partial(isthmus.open_array, path, dataset=dataset))
    with isthmus.open_array(path, dataset="point") as file:
        assert (file.shape, file[...]) == ((), 3.0)
        assert "0 dimensions" in refused(lambda: file.read(Layout.whole(file.shape)))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arrays_without_elements(tmp_path, suffix, checksums, keep):
    path = tmp_path / f"a{suffix}"
    keep = keep or suffix == ".zarr"
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        said = {"shape": shape, "dtype": "f4"} if suffix == ".raw" else {}
        layouts = [
            Layout.whole(shape),
            Layout.row_swath(shape, 3),
            Layout.block_cyclic(shape, (2,) * len(shape), (1,) * len(shape)),
            Layout.boxes(shape, [[], [tuple(slice(0, extent) for extent in shape)]]),
        ]
        for layout in layouts:
            held = layout.scatter(np.empty(shape, "f4"))
            with isthmus.open_array(path, "w", checksums=checksums, sync=False, keep=keep) as file:
                file.write(held, layout)
            with isthmus.open_array(path, **said) as file:
                assert (file.shape, file.dtype) == (shape, "f4")
                assert file[...].shape == shape
                for other in layouts:
                    shapes = [[part.shape for part in parts] for parts in file.read(other)]
                    assert shapes == [other.extents(rank) for rank in other.ranks]
    if suffix == ".npy":
        assert np.load(path).shape == shape
    # No rank has a part: the type of elements comes from the caller.
    chunks = Layout.chunks((0, 3), (2, 2), 2)
    with isthmus.open_array(path, "w", sync=False) as file:
        assert "dtype= of open_array" in refused(lambda: file.write([[], []], chunks))
    with isthmus.open_array(path, "w", dtype="f4", sync=False) as file:
        file.write([[], []], chunks)
        assert (file.shape, file.dtype) == ((0, 3), "f4")


def test_plans_and_layouts_without_elements():
    shape = (0, 3)
    layouts = {
        "grid": Layout.grid(shape, (2,), [cyclic(2), None]),
        "cuts": Layout.grid(shape, (2, 2), [cuts([0, 0, 0]), block()]),
        "coarse": Layout.coarse(shape, 2),
        "fine": Layout.fine(shape, 2, 2),
        "hpf": Layout.hpf(shape, ["BLOCK", "CYCLIC"], (2, 2)),
        "scalapack": Layout.scalapack([1, 0, *shape, 2, 2, 0, 0, 1], (2, 2)),
        "darray": Layout.darray(shape, ["none", "block"], [None, None], (1, 2)),
    }
    assert Layout.block(shape, (2, 2)).to_scalapack(3)[2:6] == [0, 3, 1, 2]
    for from_ in layouts.values():
        for to in layouts.values():
            plan = Plan(from_, to)
            assert plan.messages() == []
            moved = plan.redistribute(from_.scatter(np.empty(shape)))
            assert to.gather(moved).shape == shape
            assert "0 elements" in str(plan) or "elements from" in str(plan)
    assert "has no indices" in refused(
        lambda: io_distribution(shape, (1, 1), links=1, tu=64, element=8)
    )
    for huge in ((0, 1 << 63), (1 << 40, 0, 1 << 40)):
        assert "fewer than 2^62 elements" in refused(partial(Layout.whole, huge))


def test_more_memory_than_there_is():
    huge = Layout.whole((1 << 46,))
    assert "Unable to allocate" in refused(lambda: huge.empty(0, "f8"))
    assert "has fewer than 2^63 bytes" in refused(lambda: Layout.whole((1 << 61,)).empty(0, "f8"))
    small = Layout.whole((1,))
    view = np.broadcast_to(np.zeros(1), (1 << 46,))
    plan = Plan(huge, huge)
    assert "Unable to allocate" in refused(lambda: plan.redistribute([view]))
    assert "of shape" in refused(lambda: Plan(small, small).redistribute([view]))


ODD = [
    None,
    0,
    -1,
    5,
    1 << 70,
    1.5,
    math.nan,
    True,
    "x",
    "a\nb",
    "\ud800",
    "",
    b"ab",
    [],
    [None],
    [[]],
    ["x"],
    [1 << 70],
    [-1],
    (2, 2),
    [[1], [1]],
    [slice(None)],
    [[slice(0, 2), slice(0, 2)]],
    {},
    {"a": 1},
    object(),
    range(3),
    int,
    np.array([2, 2]),
    np.array(3),
    np.zeros((2, 2)),
    np.zeros((2, 2))[::-1, ::-1],
    np.array([None]),
    np.ma.zeros(3),
    np.zeros(2, "M8[s]"),
    np.broadcast_to(np.zeros(1), (4, 4)),
    memoryview(b"abcd"),
]
"""Values that some argument takes and most do not."""

HALVES = Layout.block((4, 4), (2, 1))
PLAN = Plan(HALVES, Layout.block((4, 4), (1, 2)))
ARRAY = np.arange(16.0).reshape(4, 4)
GRID = {"shape": (4, 4), "grid": (2, 2), "numbering": "row", "ranks": [0, 1, 2, 3]}
CALLS = {
    "cyclic": (cyclic, {"block": 1, "axis": None, "source": 0}),
    "block": (block, {"axis": 0}),
    "cuts": (cuts, {"points": [0, 2], "axis": 0}),
    "grid": (Layout.grid, {**GRID, "dims": [block(), block()]}),
    "block_cyclic": (Layout.block_cyclic, {**GRID, "blocks": (1, 1)}),
    "blocks": (Layout.block, GRID),
    "whole": (Layout.whole, {"shape": (4, 4), "rank": 0}),
    "row_swath": (Layout.row_swath, {"shape": (4, 4), "ranks": 2}),
    "coarse": (Layout.coarse, {"shape": (4, 4), "side": 2}),
    "fine": (Layout.fine, {"shape": (4, 4), "side": 2, "factor": 2}),
    "hpf": (
        Layout.hpf,
        {"shape": (4, 4), "distribution": ["BLOCK", "CYCLIC"], "grid": (2, 2), "numbering": "row"},
    ),
    "scalapack": (
        Layout.scalapack,
        {"descriptor": [1, 0, 4, 4, 2, 2, 0, 0, 2], "grid": (2, 2), "numbering": "row"},
    ),
    "darray": (
        partial(Layout.darray, distributions=["block", "cyclic"]),
        {
            "sizes": (4, 4),
            # Numbers here are those of mpi4py, which would start MPI in this process.
            "arguments": [None, None],
            "processes": (2, 2),
        },
    ),
    "boxes": (Layout.boxes, {"shape": (2, 2), "ranks": [[(slice(2), slice(2))]], "partial": False}),
    "chunks": (Layout.chunks, {"shape": (4, 4), "chunks": (2, 2), "ranks": 2}),
    "on_ranks": (HALVES.on_ranks, {"ranks": [1, 0]}),
    "extents": (HALVES.extents, {"rank": 0}),
    "indices": (HALVES.indices, {"rank": 0}),
    "scatter": (HALVES.scatter, {"array": ARRAY, "order": "C"}),
    "gather": (HALVES.gather, {"parts": HALVES.scatter(ARRAY)}),
    "empty": (HALVES.empty, {"rank": 0, "dtype": "f8", "order": "C"}),
    "plan": (Plan, {"from_": HALVES, "to": HALVES}),
    "sends": (PLAN.sends, {"rank": 0}),
    "runs": (PLAN.runs, {"from_rank": 0, "to_rank": 0, "element": 8, "orders": ("C", "C")}),
    "redistribute": (
        PLAN.redistribute,
        {"arrays": HALVES.scatter(ARRAY), "out": None, "order": None, "threads": 1},
    ),
    "io_distribution": (
        io_distribution,
        {"shape": (4, 4), "grid": (2, 2), "links": 1, "tu": 64, "element": 8, "ranks": None},
    ),
    "load": (load, {"path": "none.toml"}),
    "to_send": (lambda data: to_send("adu", data), {"data": ARRAY}),
    "to_fill": (lambda data: to_fill("out", data), {"data": ARRAY.copy()}),
    "size": (lambda value: parse_size("tu", value), {"value": 1}),
    "seconds": (lambda value: seconds("timeout", value), {"value": "1 s"}),
    "spec": (
        StreamSpec,
        {
            **{"adu": 64, "tu": None, "links": 1, "su_order": None, "packet": None, "granule": 8},
            **{"adus": None, "direction": "transmit", "quantum": 1, "permanent": False},
            **{"after": [], "in_step_with": [], "finished": "done", "cut_through": False},
            **{"sums": "interface", "connection": type("C", (), {"number": 1, "checksum": "none"})},
        },
    ),
}


def each_is_refused_or_taken(call, good):
    for name in good:
        for value in ODD:
            try:
                call(**{**good, name: value})
            except IsthmusError as error:
                assert str(error).isprintable(), (name, error)
            except Exception as error:
                raise AssertionError(f"{name}: {value!r}") from error


@pytest.mark.parametrize("name", CALLS)
def test_odd_values_of_each_argument(name):
    each_is_refused_or_taken(*CALLS[name])


@pytest.mark.parametrize("suffix", [".npy", *(suffix for suffix in SUFFIXES if suffix != ".npy")])
def test_odd_values_of_files(tmp_path, suffix, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("source.npy", ARRAY)

    def write(held=ARRAY, layout=None, **settings):
        settings.setdefault("path", f"a{suffix}")
        with isthmus.open_array(**{"mode": "w", "sync": False, **settings}) as file:
            file.write(held, layout)

    def read(layout=HALVES, out=None, order=None, key=..., **settings):
        settings.setdefault("path", "source.npy")
        with isthmus.open_array(**settings) as file:
            file.read(layout, out, order=order)
            file[key]

    names = "format shape dtype order offset dataset chunks shards aggregators comm"
    settings = dict.fromkeys(names.split())
    sizes = {"checksums": False, "stripe": "1 MiB", "buffer": "1 MiB", "verify": True}
    if suffix != ".npy":
        settings = {name: settings[name] for name in ("shape", "dtype", "chunks", "dataset")}
        each_is_refused_or_taken(write, {"held": ARRAY, **settings, "checksums": False})
        return
    flags = {"sync": False, "keep": True}
    each_is_refused_or_taken(write, {"path": "a.npy", "held": ARRAY, "layout": None, **flags})
    each_is_refused_or_taken(write, {**settings, **sizes})
    each_is_refused_or_taken(read, {"path": "source.npy", "mode": "r", **settings, **sizes})
    each_is_refused_or_taken(read, {"layout": HALVES, "out": None, "order": None, "key": ...})
    raw = {"format": "raw", "shape": (4, 4), "dtype": "f8", "order": None, "offset": "128 B"}
    each_is_refused_or_taken(read, raw)


def test_distributions_that_are_none():
    for words in ([None, None], [[], "block"], ["x", "y"], "ab", 3, [{}, 1.5]):
        assert refused(partial(Layout.darray, (4, 4), words, [None, None], (2, 2)))


SUMS = [0, -1, None, "x", [], [[0]], [[-1, 0]], [["x", 0]], [[3, 0]], 1 << 70, 1.5, ["f" * 9], {}]


@pytest.mark.parametrize(
    "name", ["offset", "bytes", "block", "writers", "sums", "format", "isthmus"]
)
def test_hostile_checksums(tmp_path, name):
    path = tmp_path / "a.npy"
    with isthmus.open_array(path, "w", checksums="16 B", sync=False) as file:
        file.write(ARRAY)
    place = sums.path_of(path)
    told = json.loads(place.read_text())
    del told["crc32c"]
    for value in SUMS:
        changed = {**told, name: value}
        place.write_text(json.dumps({**changed, "crc32c": sums._digest(changed)}))
        if name == "format" and value in (0, -1):
            continue
        words = refused(lambda: isthmus.open_array(path))
        assert words.startswith(f"{place}: "), words
    place.write_text("[" * 100_000)
    assert "damaged" in refused(lambda: isthmus.open_array(path))
    place.with_name("rates.json").write_text("[" * 100_000)
    assert "no rates" in refused(lambda: Rates.load(place.with_name("rates.json")))


@pytest.mark.skipif(".zarr" not in SUFFIXES, reason="zarr 3 needs Python 3.11")
def test_hostile_zarr(tmp_path):
    path = tmp_path / "a.zarr"
    with isthmus.open_array(path, "w", chunks=(2, 2), sync=False) as file:
        file.write(ARRAY)
    place = path / "zarr.json"
    told = json.loads(place.read_text())
    grids = [
        {"name": "regular", "configuration": {"chunk_shape": shape}}
        for shape in ([0, 2], [-1, 2], [2], [1] * 33, "ab", None)
    ]
    changes = [
        *({"chunk_grid": grid} for grid in grids),
        *({"shape": shape} for shape in ([1 << 70, 2], [0, 1 << 63], [-1, 2], "ab", 3, None)),
        *({"data_type": name} for name in ("string", "f9", None)),
        *({"codecs": codecs} for codecs in ([], [{"name": "x\ny"}], 3)),
        {"shape": [1] * 33, "chunk_grid": grids[3]},
        {"node_type": "group"},
    ]

    def read(whole):
        with isthmus.open_array(path) as file:
            return file[...] if whole else file.read(HALVES)

    for change in changes:
        place.write_text(json.dumps({**told, **change}))
        for whole in (True, False):
            assert str(path) in refused(partial(read, whole)), change
    for text in ("[" * 100_000, "{}", "\0"):
        place.write_text(text)
        assert str(path) in refused(lambda: isthmus.open_array(path))


def test_errors_are_one_line_whatever_the_name_of_a_file(tmp_path):
    path = tmp_path / "a\nb\x1b[2J.npy"
    path.write_bytes(b"no array")
    for call in (
        lambda: isthmus.open_array(path),
        lambda: isthmus.open_array(path.with_suffix(".h5")),
        lambda: load(path),
    ):
        assert "a b\\x1b[2J" in refused(call)


def test_an_adu_that_no_memory_holds():
    stream = Stream.__new__(Stream)
    stream.spec = StreamSpec(connection=CALLS["spec"][1]["connection"], adu="variable", tu=64)
    for adu in (1 << 50, (1 << 63) - 1):
        assert refused(partial(stream.recv, adu=adu)).startswith("adu: ")

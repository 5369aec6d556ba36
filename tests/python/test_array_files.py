"""Arrays in files, written and read by one process."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import isthmus
from array_cases import same
from array_file_cases import SUFFIXES, file_case, how, to_read
from conftest import MORE_CASES
from isthmus import IsthmusError, _core
from isthmus.arrays import Layout
from isthmus.arrays.files import mapped
from isthmus.arrays.files.domains import Chunks, Rules, Stretches
from isthmus.arrays.files.formats import Described
from isthmus.arrays.files.selection import selected
from isthmus.arrays.files.temporary import FORMER, TEMPORARY, hidden

WHOLE = np.arange(600.0).reshape(20, 30)
BLOCKS = Layout.block_cyclic(WHOLE.shape, (2, 2), (3, 4))


def write(path, array=WHOLE, **settings):
    with isthmus.open_array(path, "w", **settings) as file:
        file.write(array)


def names(folder):
    return sorted(place.name for place in folder.iterdir())


def test_random_files(tmp_path):
    count = Counter()
    cases = 80 * MORE_CASES
    for seed in range(cases):
        suffix, settings, whole, (from_, before), (to, after), chance = file_case(seed, 6, 5)
        path = tmp_path / f"{seed}{suffix}"
        with isthmus.open_array(path, "w", **settings, **how(chance, 1)) as file:
            file.write(before, from_)
        with isthmus.open_array(path, **to_read(suffix, settings, whole), **how(chance, 1)) as file:
            assert (file.shape, file.dtype) == (whole.shape, whole.dtype)
            for parts, wanted in zip(file.read(to), after, strict=True):
                assert len(parts) == len(wanted)
                assert all(map(same, parts, wanted)), (seed, settings)
            for _ in range(5):
                key = tuple(index(chance, extent) for extent in whole.shape)
                assert same(np.asarray(file[key]), np.asarray(whole[key])), (seed, key)
        count[suffix] += 1
        count["sums"] += bool(settings["checksums"])
    print(dict(count))
    assert min(count.values()) >= cases // 4
    assert not [name for name in names(tmp_path) if "isthmus" in name]


def index(chance, extent):
    """An index, or a slice of any direction, of a dimension."""
    if chance.random() < 0.3:
        return chance.randrange(-extent, extent)
    start, stop = (chance.choice([None, chance.randint(-extent - 2, extent + 2)]) for _ in range(2))
    return slice(start, stop, chance.choice([None, 1, 2, -1, -3]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(20, 30), (600,), (1, 600), (2, 3, 100)])
def test_npy_files_are_those_of_numpy(tmp_path, order, shape):
    array = WHOLE.reshape(shape)
    for dtype in ("f8", ">c8", [("x", "f4"), ("y", "i8", (2,))], "S3", "?"):
        given = np.asarray(
            array.astype(dtype) if dtype != "S3" else np.full(shape, b"abc"), order=order
        )
        write(tmp_path / "ours.npy", given, order=order)
        np.save(tmp_path / "theirs.npy", given)
        assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
        with isthmus.open_array(tmp_path / "theirs.npy") as file:
            assert same(file.read(), given)


def test_npy_files_with_long_headers(tmp_path):
    long = np.zeros((3, 4), [(f"field {number:04}", "u1") for number in range(4000)])
    write(tmp_path / "a.npy", long)
    assert np.load(tmp_path / "a.npy", max_header_size=100_000).dtype == long.dtype
    with pytest.raises(IsthmusError, match="names of fields are not in Latin-1"):
        write(tmp_path / "a.npy", np.zeros(3, [("\u03c0", "f8")]))


def test_other_programs_read_what_we_write(tmp_path):
    import h5py

    write(tmp_path / "a.h5", dataset="run/field", order="C")
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["run/field"], WHOLE)
        assert file["run/field"].chunks is None
    write(tmp_path / "a.raw", order="F", offset="100 B")
    data = (tmp_path / "a.raw").read_bytes()
    assert data == bytes(100) + WHOLE.tobytes(order="F")
    if ".zarr" in SUFFIXES:
        import zarr

        write(tmp_path / "a.zarr", chunks=(7, 8), shards=(14, 16), checksums=True)
        assert np.array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], WHOLE)
        told = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())
        assert told["zarr_format"] == 3
        assert "crc32c" in json.dumps(told["codecs"])


def test_hdf5_files_of_other_programs(tmp_path):
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("packed", data=WHOLE, chunks=(6, 7), compression="gzip")
        file.create_dataset("plain", data=WHOLE.astype(">f4"))
        file.create_dataset("words", data=["a", "bc"])
        file.create_dataset("late", (20, 30), "f8")
        virtual = h5py.VirtualLayout(shape=(2, 20, 30), dtype="f8")
        virtual[1] = h5py.VirtualSource(".", "packed", shape=(20, 30))
        file.create_virtual_dataset("virtual", virtual, fillvalue=5)
    swaths = Layout.row_swath(WHOLE.shape, 3)
    with isthmus.open_array(tmp_path / "a.h5", dataset="packed", buffer="500 B") as file:
        assert same(swaths.gather(file.read(swaths)), WHOLE)
        assert same(file[3:15:4, ::-1], WHOLE[3:15:4, ::-1])
    with isthmus.open_array(tmp_path / "a.h5", dataset="plain") as file:
        assert same(file.read(swaths)[2][0], WHOLE[14:].astype(">f4"))
    with isthmus.open_array(tmp_path / "a.h5", dataset="late") as file:
        assert not file[...].any()
    with isthmus.open_array(tmp_path / "a.h5", dataset="virtual", stripe="64 B") as file:
        assert (file[0] == 5).all()
        (whole,) = file.read(Layout.whole(file.shape))
        assert np.array_equal(whole[0][1], WHOLE)
    for dataset, message in (
        (
            None,
            "give the one to read with dataset=; there are: late, packed, plain, virtual, words",
        ),
        ("rows", "no dataset 'rows'"),
        ("words", "elements of type object; Python objects have no fixed bytes"),
    ):
        with pytest.raises(IsthmusError, match=message):
            isthmus.open_array(tmp_path / "a.h5", dataset=dataset)


def test_stretches_are_few_boxes_that_follow_one_another():
    for shape in ((7,), (3, 5), (4, 3, 5), (2, 3, 2, 4)):
        places = np.arange(np.prod(shape)).reshape(shape)
        for first, columns in product(range(places.size + 1), (False, True)):
            order = "F" if columns else "C"
            wanted = places.ravel(order).tolist()
            for end in range(first, places.size + 1):
                found = _core.stretch(shape, first, end, columns)
                assert len(found) <= 2 * len(shape) - 1
                parts = [
                    places[tuple(slice(*along) for along in zip(*box, strict=True))].ravel(order)
                    for box in found
                ]
                assert np.concatenate([*parts, []]).tolist() == wanted[first:end]
    assert _core.stretch((3, 0, 4), 0, 0, False) == []


def test_domains_begin_at_stripes_and_blocks():
    for offset, block, stripe, buffer in (
        (0, 1, 512, 2048),
        (128, 1, 512, 600),
        (128, 13, 512, 600),
    ):
        rules = Rules(3, stripe, buffer)
        domains = Stretches((40, 50), "C", 8, offset, rules, block)
        spans = [domains.span(of, at) for of in range(3) for at in range(domains.rounds)]
        assert [0, *(end for _, end in spans)][:-1] == [first for first, _ in spans]
        assert spans[-1][1] == 2000
        assert max(end - first for first, end in spans) * 8 <= domains.room
        for first, _ in spans[1:]:
            assert first % block == 0
            at = offset + 8 * first
            assert first in {0, 2000} or at % stripe == 0 or block > 1
    # 10^12 elements on 10^3 aggregators: nothing is listed.
    huge = Stretches((10**6, 10**6), "F", 8, 0, Rules(1000, 1 << 20, 8 << 20))
    assert huge.span(999, huge.rounds - 1)[1] == 10**12
    chunks = Chunks((10**6, 10**6), (1000, 1000), 8, Rules(1000, 1 << 20, 8 << 20))
    assert chunks.boxes(999, chunks.rounds - 1) == [((999_000, 999_000), (10**6, 10**6))]


def test_blocks_of_a_part_are_those_in_which_its_bytes_lie():
    import random

    chance = random.Random(7)
    for _ in range(300):
        shape = tuple(chance.randint(1, 9) for _ in range(chance.randint(1, 4)))
        key = tuple(index(chance, extent) for extent in shape)
        order, block, element = chance.choice("CF"), chance.randint(1, 40), chance.choice([1, 4])
        places = np.arange(np.prod(shape)).reshape(shape, order=order)[key].ravel()
        wanted = {(at * element + byte) // block for at in places for byte in range(element)}
        assert selected(key, shape).blocks(shape, order, element, block) == sorted(wanted)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_not_what_was_written_is_named(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    small = {"chunks": (5, 6)} if suffix == ".zarr" else {}
    with isthmus.open_array(
        path, "w", checksums=True if suffix == ".zarr" else "400 B", **small
    ) as file:
        file.write(BLOCKS.scatter(WHOLE), BLOCKS)
    if suffix == ".zarr":
        damaged, at = path / "c" / "2" / "3", 20
    else:
        damaged, at = path, path.read_bytes().index(WHOLE.tobytes()) + 1234
    data = bytearray(damaged.read_bytes())
    data[at] ^= 1
    damaged.write_bytes(data)
    said = {"shape": WHOLE.shape, "dtype": "f8"} if suffix == ".raw" else {}
    with isthmus.open_array(path, **said) as file:
        with pytest.raises(IsthmusError) as error:
            file.read(BLOCKS)
        words = str(error.value)
        with pytest.raises(IsthmusError):
            file[5, 5:] if suffix != ".zarr" else file[10:15, 18:]
        # What lies in whole blocks is read.
        assert np.array_equal(file[:4], WHOLE[:4])
    if suffix == ".zarr":
        assert "in [10:15, 18:24], as rank 0 reads it" in words
        return
    begin = at - 1234 + 1200
    assert f"a{suffix}: block 3 (bytes {begin} to {begin + 399}) is not what rank 0 wrote" in words
    assert re.search(r"CRC-32C \w{8} as rank 0 reads it, \w{8} in a\.\w+\.crc32c", words)
    with isthmus.open_array(path, verify=False, **said) as file:
        assert (file[...] != WHOLE).sum() == 1


def test_sums_are_of_the_file_or_not_there(tmp_path):
    path, beside = tmp_path / "a.npy", tmp_path / "a.npy.crc32c"
    write(path, checksums=True)
    told = json.loads(beside.read_text())
    assert told["block"] == 1 << 20
    assert told["bytes"] == WHOLE.nbytes
    assert told["writers"] == [[0, 0]]
    # Castagnoli's polynomial, bit by bit.
    value = 0xFFFFFFFF
    for byte in WHOLE.tobytes():
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    assert told["sums"] == [f"{value ^ 0xFFFFFFFF:08x}"]
    write(path, WHOLE + 1)
    assert not beside.exists()
    write(path, WHOLE, checksums=True)
    for text, message in (
        (beside.read_text().replace(told["sums"][0], "00000000"), "damaged"),
        ("{", "damaged"),
        (json.dumps({**told, "format": 2}), "written by a later isthmus"),
    ):
        beside.write_text(text)
        with pytest.raises(IsthmusError, match=message):
            isthmus.open_array(path)
    write(path, WHOLE, checksums=True)
    np.save(path, WHOLE[:10])
    with pytest.raises(
        IsthmusError, match="sums of 4800 bytes from byte 128 on; the array has 2400"
    ):
        isthmus.open_array(path)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("a.dat", {}, 'the suffix ".dat" names no format'),
        ("a", {}, "no suffix names no format"),
        ("a.npy", {"format": "netcdf"}, 'format: \'netcdf\'; it is "raw", "npy", "hdf5" or "zarr"'),
        ("a.npy", {"mode": "a"}, 'mode: \'a\'; it is "r" or "w"'),
        ("a.npy", {"stripe": 4096}, "stripe: 4096 is no amount of data"),
        ("a.npy", {"stripe": "4096"}, 'stripe: "4096": the unit is missing'),
        ("a.npy", {"buffer": "4 KB"}, "`KB` is not a unit of data; use one of B, kB, MB"),
        ("a.npy", {"buffer": "0 B"}, 'buffer: "0 B"; it is from 1 B to 1 GiB'),
        ("a.npy", {"buffer": "1.5 B"}, "is not a whole number of bytes"),
        ("a.npy", {"checksums": "1"}, "the unit is missing"),
        ("a.npy", {"aggregators": 2}, "aggregators: 2; there are 1 to 1"),
        ("a.npy", {"aggregators": [3]}, "aggregators: 3 is no rank; they are 0 to 0"),
        ("a.npy", {"aggregators": "all"}, "aggregators: 'all' (str) is of no use here"),
        ("a.npy", {"chunks": (2, 2)}, "chunks: arrays of format npy have none"),
        ("a.npy", {"offset": "8 B"}, "offset: arrays of format npy have none"),
        ("a.npy", {"order": "A"}, 'order: \'A\'; it is "C" or "F"'),
        ("a.npy", {"comm": 3}, "comm: 3 (int) is of no use here; give a communicator of mpi4py"),
        ("a.npy", {"verify": 1}, "verify: 1 (int) is of no use here"),
        ("a.npy", {"shape": 3}, "shape: 3 (int) is of no use here"),
        ("a.npy", {"dtype": "f9"}, "dtype: 'f9' (str) is of no use here"),
        (
            "a.raw",
            {"dtype": object, "shape": (2,)},
            "dtype: elements of type object; Python objects have no fixed bytes",
        ),
        ("objects.npy", {}, "elements of type object; Python objects have no fixed bytes"),
        ("a.raw", {}, "a raw file does not say what is in it; give shape and dtype"),
        ("none.npy", {}, "none.npy: cannot be read (No such file or directory)"),
        ("none.h5", {}, "none.h5: cannot be read (No such file or directory)"),
        ("folder.npy", {}, "folder.npy: a folder; an array of this format is a file"),
        ("text.npy", {}, "text.npy: not the header of a .npy file"),
        ("text.h5", {}, "text.h5: not a whole HDF5 file"),
        ("a.npy", {"shape": (2, 3)}, "an array of shape (20, 30); shape= has (2, 3)"),
        ("a.npy", {"dtype": "f4"}, "elements of type float64; dtype= is float32"),
        ("a.npy", {"order": "F"}, 'elements in order "C"; order= is "F"'),
    ],
)
def test_what_cannot_be_opened(tmp_path, name, settings, message):
    write(tmp_path / "a.npy")
    write(tmp_path / "a.raw")
    (tmp_path / "folder.npy").mkdir()
    np.save(tmp_path / "objects.npy", np.array([None]))
    for text in ("text.npy", "text.h5"):
        (tmp_path / text).write_text("no array")
    with pytest.raises(IsthmusError) as error:
        isthmus.open_array(tmp_path / name, **settings)
    assert message in str(error.value)


@pytest.mark.skipif(".zarr" not in SUFFIXES, reason="zarr 3 needs Python 3.11")
def test_zarr_that_cannot_be_opened(tmp_path):
    for name, message in (("none.zarr", "No such file"), ("text.zarr", "a file; an array of zarr")):
        (tmp_path / "text.zarr").write_text("no array")
        with pytest.raises(IsthmusError, match=message):
            isthmus.open_array(tmp_path / name)
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "notes.txt").write_text("keep")
    with pytest.raises(IsthmusError, match=r"mine.zarr: a folder that is no array of zarr"):
        write(tmp_path / "mine.zarr")
    with pytest.raises(IsthmusError, match=r"mine.zarr: "):
        isthmus.open_array(tmp_path / "mine.zarr")
    with pytest.raises(IsthmusError, match=r"text.zarr: a file is there"):
        write(tmp_path / "text.zarr")
    with pytest.raises(IsthmusError, match="checksums: '1 MiB'; zarr has one for each chunk"):
        write(tmp_path / "a.zarr", checksums="1 MiB")
    with pytest.raises(IsthmusError, match=r"a.zarr: .*[Cc]hunk"):
        write(tmp_path / "a.zarr", chunks=(7, 7, 7))
    assert names(tmp_path) == ["mine.zarr", "text.zarr"]
    assert (tmp_path / "mine.zarr" / "notes.txt").read_text() == "keep"


@pytest.mark.parametrize("suffix", [".raw", ".npy", ".h5"])
def test_a_file_cut_short(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path)
    size = path.stat().st_size
    said = {"shape": WHOLE.shape, "dtype": "f8"} if suffix == ".raw" else {}
    with isthmus.open_array(path, **said) as file:
        os.truncate(path, size - 8)
        message = rf"a{suffix}: cut short: {size} bytes expected, {size - 8} found"
        with pytest.raises(IsthmusError, match=message):
            file.read(BLOCKS)
    if suffix == ".h5":
        message = r"a.h5: not a whole HDF5 file .*truncated file"
    with pytest.raises(IsthmusError, match=message):
        isthmus.open_array(path, **said)


def test_a_file_cut_short_while_it_is_read(tmp_path):
    path = tmp_path / "a.npy"
    write(path)
    with isthmus.open_array(path) as file:
        assert file[0, 1] == 1
        os.truncate(path, 3000)
        for read in (lambda: file.read(BLOCKS), lambda: file[...]):
            with pytest.raises(IsthmusError, match="cut short: 4928 bytes expected, 3000 found"):
                read()


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "a.npy"
    write(path, WHOLE)
    before = path.read_bytes()
    parts = BLOCKS.scatter(WHOLE)
    for held, layout, settings, message in (
        (parts[:3], BLOCKS, {}, "held: of 3 ranks; the layout has 4"),
        ([parts[1], *parts[1:]], BLOCKS, {}, "held of rank 0: an array of shape (11, 14); the"),
        ([parts[0][0].astype("f4"), *parts[1:]], BLOCKS, {}, "held: elements of type float32 and"),
        (parts, BLOCKS, {"dtype": "f4"}, "elements of type float64; the file is to have float32"),
        (parts, BLOCKS, {"shape": (30, 20)}, "an array of shape (20, 30); shape= has (30, 20)"),
        (WHOLE.astype(object), None, {}, "Python objects have no fixed bytes"),
        (WHOLE[0, 0], None, {}, "an array of 0 dimensions"),
    ):
        with (
            isthmus.open_array(path, "w", **settings) as file,
            pytest.raises(IsthmusError) as error,
        ):
            file.write(held, layout)
        assert message in str(error.value)
    for name, settings, message in (
        ("none/a.npy", {}, "there is no folder"),
        ("link.npy", {}, "a symbolic link"),
        ("folder.npy", {}, "folder.npy: a folder is there"),
        ("a.h5", {"order": "F"}, 'format hdf5: order "F"; it keeps arrays row by row'),
    ):
        if name == "link.npy":
            (tmp_path / name).symlink_to(path)
        if name == "folder.npy":
            (tmp_path / name).mkdir()
        with pytest.raises(IsthmusError) as error:
            write(tmp_path / name, **settings)
        assert message in str(error.value)
    with pytest.raises(IsthmusError, match="format hdf5: elements of type <U3 cannot be written"):
        write(tmp_path / "a.h5", np.full((2, 2), "abc"))
    assert path.read_bytes() == before
    assert names(tmp_path) == ["a.npy", "folder.npy", "link.npy"]
    with isthmus.open_array(path) as file, pytest.raises(IsthmusError, match="opened to be read"):
        file.write(WHOLE)
    with isthmus.open_array(path, "w") as file:
        for use in (lambda: file.shape, lambda: file[0], file.read):
            with pytest.raises(IsthmusError, match=r"been written|to be written"):
                use()
    with pytest.raises(IsthmusError, match=r"a.npy: closed"):
        file.write(WHOLE)


def test_parts_that_there_are_not(tmp_path):
    write(tmp_path / "a.npy")
    with isthmus.open_array(tmp_path / "a.npy") as file:
        for key, message in (
            ((0, 0, 0), "index: 3 of them; the array has 2 dimensions"),
            ((..., ...), "more than one ellipsis"),
            ([1, 2], "index of dimension 0: [1, 2]; give whole numbers and slices"),
            (slice(None, None, 0), "slice step cannot be zero"),
            (1.5, "index of dimension 0: 1.5"),
        ):
            with pytest.raises(IsthmusError) as error:
                file[key]
            assert message in str(error.value)
        with pytest.raises(IndexError, match="index 20 of dimension 0, which has 20"):
            file[20]
        assert np.array_equal(list(file), WHOLE)
        assert np.array_equal(np.asarray(file, "f4"), WHOLE.astype("f4"))
        assert len(file) == 20
        with pytest.raises(IsthmusError, match=r"shape \(20, 30\); the layout has \(20, 3\)"):
            file.read(Layout.whole((20, 3)))
        with pytest.raises(IsthmusError, match="elements of type float64; out of rank 0 has int64"):
            file.read(Layout.whole((20, 30)), [np.zeros((20, 30), "i8")])
        with pytest.raises(IsthmusError, match="out: the array is read-only"):
            file.read(Layout.whole((20, 30)), [np.broadcast_to(np.zeros(1), (20, 30))])


@pytest.fixture
def somebody():
    """For root, whom the system lets do anything, to be somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_where_one_may_not(request):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "a.npy")
        write(folder / "secret.npy")
        (folder / "secret.npy").chmod(0)
        folder.chmod(0o555)
        request.getfixturevalue("somebody")
        with pytest.raises(IsthmusError, match=r"cannot write here \(Permission denied\)"):
            write(folder / "a.npy", WHOLE + 1)
        with pytest.raises(IsthmusError, match=r"secret.npy: cannot be read \(Permission denied\)"):
            isthmus.open_array(folder / "secret.npy")
        with isthmus.open_array(folder / "a.npy") as file:
            assert np.array_equal(file[...], WHOLE)
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o755)


LIMITED = """
import resource, sys
import numpy as np
import isthmus
if sys.argv[2] == "file":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with isthmus.open_array(sys.argv[1], "w", buffer="64 KiB", stripe="4 KiB") as file:
        file.write(np.random.default_rng(1).random((1000, 1000)))
except isthmus.IsthmusError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_larger_than_may_be(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, "file"], capture_output=True, text=True, check=False
    )
    assert re.search(rf"a{suffix}: .*(File too large|Errno 27)", done.stdout), done
    unharmed(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk(tmp_path, suffix):
    unshare = shutil.which("unshare")
    script = f"""
        mount -t tmpfs -o size=3m none {tmp_path} || exit 99
        cp {tmp_path}-kept/* {tmp_path} -r
        {sys.executable} -c "$0" {tmp_path}/a{suffix} disk
        ls -A {tmp_path}
        cp -r {tmp_path}/a{suffix} {tmp_path}-after || exit 98
    """
    kept = tmp_path.with_name(f"{tmp_path.name}-kept")
    kept.mkdir()
    write(kept / f"a{suffix}")
    command = [unshare or "unshare", "-rm", "sh", "-c", script, LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if unshare else None
    if done is None or done.returncode in {1, 99}:
        pytest.skip("no file system may be mounted here")
    assert done.returncode == 0, done
    said, *there = done.stdout.splitlines()
    assert re.search(rf"a{suffix}: .*No space left on device", said), done
    assert there == [f"a{suffix}"]
    with isthmus.open_array(
        tmp_path.with_name(f"{tmp_path.name}-after"), format=form(suffix), **raw(suffix)
    ) as file:
        assert np.array_equal(file[...], WHOLE)


def form(suffix):
    return {".h5": "hdf5"}.get(suffix, suffix[1:])


def raw(suffix):
    return {"shape": WHOLE.shape, "dtype": "f8"} if suffix == ".raw" else {}


def unharmed(path):
    """The file is as it was, and nothing is beside it."""
    with isthmus.open_array(path, **raw(path.suffix)) as file:
        assert np.array_equal(file[...], WHOLE)
    assert names(path.parent) == [path.name]


KILLED = """
import os, signal, sys
import numpy as np
import isthmus
def progress(done, of):
    if done > of // 2:
        os.kill(os.getpid(), signal.SIGKILL)
how = {"buffer": "4 KiB", "stripe": "1 KiB", "progress": progress}
with isthmus.open_array(sys.argv[1], "w", **how) as file:
    file.write(np.random.default_rng(1).random((100, 100)))
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_program_that_is_killed(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path)
    small = {"chunks": (10, 10)} if suffix == ".zarr" else {}
    script = KILLED.replace('"w",', f'"w", {"".join(f"{k}={v}, " for k, v in small.items())}')
    done = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert done.returncode == -signal.SIGKILL
    left = hidden(path, TEMPORARY)
    assert left.exists()
    with isthmus.open_array(path, **raw(suffix)) as file:
        assert np.array_equal(file[...], WHOLE)
    # The next one removes what is left.
    write(path, WHOLE)
    unharmed(path)


def test_two_writers_of_one_name(tmp_path):
    path = tmp_path / "a.npy"
    told = []

    def meanwhile(done, of):
        if not told:
            with pytest.raises(IsthmusError) as error:
                write(path, WHOLE + 1)
            told.append(str(error.value))
            # Another name is free.
            write(tmp_path / "b.npy", WHOLE + 2)

    write(path, WHOLE, progress=meanwhile)
    assert told[0] == (
        f"{path}: another program is writing it (.a.npy.isthmus-part is locked); wait until it has "
        "ended, or give another name"
    )
    assert np.array_equal(np.load(path), WHOLE)
    assert np.array_equal(np.load(tmp_path / "b.npy"), WHOLE + 2)
    assert names(tmp_path) == ["a.npy", "b.npy"]


def test_a_reader_keeps_what_it_has_opened(tmp_path):
    path = tmp_path / "a.npy"
    write(path, checksums=True)
    with isthmus.open_array(path) as file:
        assert file[0, 0] == 0
        write(path, WHOLE + 1, checksums=True)
        assert np.array_equal(file[...], WHOLE)
    with isthmus.open_array(path) as file:
        write(path, WHOLE + 2)
        with pytest.raises(IsthmusError, match="another file has taken its place"):
            file[...]


@pytest.mark.skipif(".zarr" not in SUFFIXES, reason="zarr 3 needs Python 3.11")
def test_a_program_killed_while_it_exchanges_folders(tmp_path):
    path = tmp_path / "a.zarr"
    write(path)
    # As it is between the two renames.
    path.rename(hidden(path, FORMER))
    with isthmus.open_array(path) as file:
        assert np.array_equal(file[...], WHOLE)
    # As it is after the second.
    shutil.copytree(path, hidden(path, FORMER))
    write(path, WHOLE)
    unharmed(path)


def test_progress_is_told(tmp_path):
    told = []
    write(
        tmp_path / "a.npy", buffer="1 kB", stripe="1 B", progress=lambda *words: told.append(words)
    )
    assert {of for _, of in told} == {WHOLE.nbytes}
    done = [done for done, _ in told]
    assert done == sorted(done)
    assert done[-1] == WHOLE.nbytes
    assert len(set(done)) >= 5
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "a.npy", WHOLE + 1, progress=lambda *_: 1 / 0)
    unharmed(tmp_path / "a.npy")


def test_a_library_that_is_not_there(tmp_path, monkeypatch):
    from isthmus.arrays.files import formats

    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    with pytest.raises(
        IsthmusError, match=r"h5py is not installed; `pip install 'isthmus\[hdf5\]'`"
    ):
        write(tmp_path / "a.h5")


def stopped(moved, size):
    """Progress that cannot be told once anything has been moved."""
    if moved:
        raise IsthmusError("stopped in the middle")


@pytest.mark.parametrize("suffix", [".raw", ".npy", ".h5"])
def test_a_file_that_is_not_kept_gives_its_place(tmp_path, suffix):
    path = tmp_path / f"field{suffix}"
    settings = {"shape": None, "dtype": None}
    inodes = set()
    for length in (10_000, 10_000, 300, 20_000):
        wanted = np.arange(float(length)) + length
        with isthmus.open_array(path, "w", keep=False, sync=False, checksums="4 KiB") as file:
            file.write(wanted)
        inodes.add(path.stat().st_ino)
        if suffix == ".raw":
            assert path.stat().st_size == length * 8
            settings = {"shape": (length,), "dtype": "f8"}
        with isthmus.open_array(path, **settings) as file:
            assert np.array_equal(file[...], wanted)
        assert sorted(place.name for place in tmp_path.iterdir()) == [
            path.name,
            f"{path.name}.crc32c",
        ]
    assert len(inodes) == 1


def test_a_file_that_is_not_kept_is_gone_if_it_goes_wrong(tmp_path):
    path = tmp_path / "field.npy"
    for keep in (True, False):
        np.save(path, np.ones(100_000))
        with (
            pytest.raises(IsthmusError, match="stopped in the middle"),
            isthmus.open_array(
                path, "w", keep=keep, checksums=True, buffer="64 KiB", progress=stopped
            ) as file,
        ):
            file.write(np.zeros(100_000))
        assert [place.name for place in tmp_path.iterdir()] == ([path.name] if keep else [])
        if keep:
            assert np.array_equal(np.load(path), np.ones(100_000))


def test_other_names_of_a_file_that_is_not_kept(tmp_path):
    path, other = tmp_path / "field.npy", tmp_path / "other.npy"
    np.save(path, np.ones(100))
    other.hardlink_to(path)
    with isthmus.open_array(path, "w", keep=False) as file:
        file.write(np.zeros(100))
    assert np.array_equal(np.load(other), np.ones(100))
    assert np.array_equal(np.load(path), np.zeros(100))


def test_what_a_killed_program_has_left_of_a_file_that_is_not_kept(tmp_path):
    path, left = tmp_path / "field.npy", tmp_path / ".field.npy.isthmus-part"
    np.save(path, np.ones(100))
    left.write_bytes(b"what was begun")
    with isthmus.open_array(path, "w", keep=False) as file:
        file.write(np.zeros(100))
    assert [place.name for place in tmp_path.iterdir()] == [path.name]
    assert np.array_equal(np.load(path), np.zeros(100))


def test_a_folder_is_kept(tmp_path):
    with pytest.raises(IsthmusError, match="keep: False; an array of format zarr is a folder"):
        isthmus.open_array(tmp_path / "field.zarr", "w", keep=False)


def test_what_would_be_lost_is_refused(tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    group = tmp_path / "group.zarr"
    zarr.open_group(group, mode="w").create_array("precious", shape=(3,), dtype="f8")
    with pytest.raises(IsthmusError, match="a group of zarr is there, whose arrays would be lost"):
        write_to(group, np.ones(3))
    assert list(zarr.open_group(group, mode="r")) == ["precious"]
    path = tmp_path / "two.h5"
    write_to(path, np.ones(3), dataset="a")
    write_to(path, np.zeros(3), dataset="a")
    for keep in (True, False):
        with pytest.raises(IsthmusError, match="holds a, which would be lost"):
            write_to(path, np.ones(3), dataset="b", keep=keep)
        with h5py.File(path) as file:
            assert list(file) == ["a"]
    own = tmp_path / "own.npy.crc32c"
    own.write_text("my own")
    with pytest.raises(IsthmusError, match="no sums of isthmus"):
        write_to(tmp_path / "own.npy", np.ones(3))
    assert own.read_text() == "my own"
    assert not (tmp_path / "own.npy").exists()


def write_to(path, array, **settings):
    with isthmus.open_array(path, "w", **settings) as file:
        file.write(array)


@pytest.mark.parametrize("keep", [True, False])
def test_a_file_keeps_its_mode(tmp_path, keep):
    path = tmp_path / "field.npy"
    write_to(path, np.ones(3))
    path.chmod(0o600)
    write_to(path, np.zeros(3), keep=keep)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_kept_is_there_if_nothing_was_begun(tmp_path, monkeypatch):
    path = tmp_path / "field.npy"
    np.save(path, np.ones(100))
    before = path.read_bytes()
    full = os.statvfs(tmp_path)
    nothing = os.statvfs_result((*full[:4], 0, *full[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: nothing)
    with pytest.raises(IsthmusError, match="No space left on device"):
        write_to(path, np.zeros(10_000), keep=False)
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == [path.name]


def test_a_reader_is_told_that_a_folder_was_replaced(tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "field.zarr"
    write_to(path, np.ones((4, 4)))
    with isthmus.open_array(path) as file:
        write_to(path, np.full((1, 4), 7.0))
        with pytest.raises(IsthmusError, match="another file has taken its place"):
            file[...]


def test_memory_that_is_given_twice(tmp_path):
    path, layout = tmp_path / "field.npy", Layout.block((4,), (2,))
    write_to(path, np.arange(4.0))
    same = np.zeros(2)
    with (
        isthmus.open_array(path) as file,
        pytest.raises(IsthmusError, match="out: the same memory is given twice"),
    ):
        file.read(layout, [same, same])
    with pytest.raises(IsthmusError, match="out: the same memory is given twice"):
        isthmus.arrays.Plan(Layout.whole((4,)), layout).redistribute([np.arange(4.0)], [same, same])


def test_memory_given_in_part_to_two_ranks():
    plan = isthmus.arrays.Plan(Layout.whole((4, 4)), Layout.block((4, 4), (1, 2)))
    table = np.arange(16.0).reshape(4, 4)
    room = np.zeros((4, 4))
    with pytest.raises(IsthmusError, match="out: the same memory is given twice"):
        plan.redistribute([table], [room[:, 0:2], room[:, 1:3]])
    backwards = room[:, ::-1]
    with pytest.raises(IsthmusError, match="out: the same memory is given twice"):
        plan.redistribute([table], [room[:, 0:2], backwards[:, 2:4]])
    assert not room.any()
    plan.redistribute([table], [room[:, ::2], room[:, 1::2]])
    assert room.tolist() == table[:, [0, 2, 1, 3]].tolist()


def test_elements_of_no_bytes(tmp_path):
    with pytest.raises(IsthmusError, match=r"elements of type \|S0, which have no bytes"):
        isthmus.open_array(tmp_path / "field.raw", shape=(3,), dtype="S")
    with pytest.raises(IsthmusError, match="which have no bytes"):
        write_to(tmp_path / "field.raw", np.zeros(3, np.dtype([])))


def test_elements_among_many_of_others_are_thin(in_memory, monkeypatch):
    monkeypatch.setattr(mapped, "PIECE", 100)
    path, array = in_memory / "a.raw", Described((64 * 200,), np.dtype("u1"), "C", 0)
    path.write_bytes(bytes(array.size))
    for ranks, thin in ((64, False), (65, True)):
        layout = Layout.block_cyclic(array.shape, (ranks,), (1,))
        shown = mapped.Mapped(path, path, array, layout, 3, writes=False)
        assert shown.is_sparse is thin
        shown.close()


def test_which_files_are_in_memory(in_memory, monkeypatch):
    assert mapped.is_in_memory(in_memory)
    assert not mapped.is_in_memory(Path("/proc/self/stat"))
    assert not mapped.is_in_memory(in_memory / "none")
    device = in_memory.stat().st_dev
    mounts, number = in_memory / "mounts", f"{os.major(device)}:{os.minor(device)}"
    monkeypatch.setattr(mapped, "MOUNTS", mounts)
    for fields, kind, found in (
        ("rw,nosuid", "tmpfs", True),
        ("rw shared:12 master:3", "tmpfs", True),
        ("rw", "ext4", False),
    ):
        mounts.write_text(f"24 1 {number} / /some {fields} - {kind} none rw\n")
        assert mapped.is_in_memory(in_memory) is found


@pytest.mark.parametrize("folder", [False, True])
def test_what_cannot_be_kept_through_a_power_cut(in_memory, monkeypatch, folder):
    """Of the file: it is as it was; of its folder: it is written, and said to be."""
    path = in_memory / "field.npy"
    write_to(path, np.ones(100))
    fsync = os.fsync

    def fails(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode) is folder:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    problem = (
        "is written, but may not be there after a power cut" if folder else "cannot be written"
    )
    with pytest.raises(IsthmusError, match=problem):
        write_to(path, np.zeros(100))
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    assert np.array_equal(np.load(path), np.full(100, 0.0 if folder else 1.0))
    assert names(in_memory) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_no_rank_holds_is_not_made_up(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path)
    half = Layout.boxes((4, 3), [[(slice(0, 2), slice(0, 3))]], partial=True)
    with (
        pytest.raises(IsthmusError, match=r"layout: no rank holds element \[2, 0\]"),
        isthmus.open_array(path, "w") as file,
    ):
        file.write([np.zeros((2, 3))], half)
    unharmed(path)


@pytest.mark.parametrize("letter", ["y", "é", "語"])
@pytest.mark.parametrize("length", [150, 154, 244, 248, 249, 255])
def test_long_names(tmp_path, length, letter):
    """Two that begin alike are written at once."""
    many, rest = divmod(length - 5, len(letter.encode()))
    ends = [tmp_path / (letter * many + "x" * rest + f"{end}.npy") for end in (0, 1)]
    assert len(ends[0].name.encode()) == length
    with (
        isthmus.open_array(ends[0], "w", checksums=length < 249) as one,
        isthmus.open_array(ends[1], "w") as other,
    ):
        one.write(np.zeros(3))
        other.write(np.ones(3))
    assert [np.load(path).tolist() for path in ends] == [[0.0] * 3, [1.0] * 3]
    with isthmus.open_array(ends[1]) as file:
        assert file[...].tolist() == [1.0] * 3
    if length >= 249:
        for keep in (True, False):
            with pytest.raises(
                IsthmusError, match="its name is too long for that of its checksums"
            ):
                write(ends[0], np.ones(3), checksums=True, keep=keep)
            assert np.load(ends[0]).tolist() == [0.0] * 3


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(IsthmusError, match=r"cannot be written \(File name too long"):
        write(tmp_path / ("y" * 252 + ".npy"))


@pytest.mark.parametrize("keep", [True, False])
def test_what_is_before_the_elements_of_a_raw_file_is_kept(tmp_path, keep):
    path = tmp_path / "a.raw"
    path.write_bytes(b"HEADER!!" + bytes(100))
    with isthmus.open_array(path, "w", offset="8 B", keep=keep) as file:
        file.write(np.arange(3.0))
    assert path.read_bytes() == b"HEADER!!" + np.arange(3.0).tobytes()


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(IsthmusError, match="an array of this format is a file"):
        isthmus.open_array(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("settings", "held", "message"),
    [
        ({"suffix": ".h5", "dataset": "/"}, WHOLE, "dataset: '/' .* give the name of a dataset"),
        ({"suffix": ".h5", "dataset": 3}, WHOLE, "dataset: 3 .* give the name of a dataset"),
        ({"suffix": ".zarr", "chunks": (0, 2)}, WHOLE, "chunks"),
        (
            {"suffix": ".zarr"},
            np.zeros((4, 5), [("v", "f4", (3,)), ("n", "S5")]),
            "format zarr: elements of type .* cannot be written",
        ),
    ],
)
def test_settings_that_make_no_sense(tmp_path, settings, held, message):
    pytest.importorskip("zarr")
    with pytest.raises(IsthmusError, match=message):
        write(tmp_path / f"a{settings.pop('suffix')}", held, **settings)
    assert names(tmp_path) == []


def test_layouts_that_are_none(tmp_path):
    with isthmus.open_array(tmp_path / "a.npy", "w") as file:
        with pytest.raises(IsthmusError, match="give a Layout"):
            file.write([WHOLE], WHOLE)
        with pytest.raises(IsthmusError, match="held: give a list"):
            file.write(5, Layout.whole((5,)))

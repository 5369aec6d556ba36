"""Arrays in files, between the ranks of real MPI programs."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus
from array_file_cases import SUFFIXES
from conftest import MORE_CASES
from ranks import mpiexec, of_the_guide

HERE = Path(__file__).parent


def names(folder):
    return sorted(place.name for place in folder.iterdir())


@pytest.mark.parametrize(("ranks", "cases"), [(4, 24), (3, 12), (1, 8)])
def test_random_files(ranks, cases, tmp_path):
    cases *= MORE_CASES
    done = mpiexec(ranks, str(HERE / "array_file_ranks.py"), str(cases), str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert re.search(rf"{cases} files on {ranks} ranks", done.stdout)
    assert len([name for name in names(tmp_path) if not name.endswith(".crc32c")]) == cases


@pytest.mark.parametrize(("ranks", "cases"), [(4, 24), (2, 12)])
def test_random_files_in_memory(ranks, cases, in_memory):
    cases *= MORE_CASES
    script = str(HERE / "array_file_ranks.py")
    done = mpiexec(ranks, script, str(cases), str(in_memory), "memory")
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert re.search(rf"{cases} files on {ranks} ranks", done.stdout)
    (moved,) = re.findall(r"'by each rank': (\d+)", done.stdout)
    assert int(moved) > cases // 2


FAULTS = """
import os, sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus import IsthmusError
from isthmus.arrays import Layout
comm, folder = MPI.COMM_WORLD, Path(sys.argv[1])
rank = comm.rank
blocks = Layout.block_cyclic((40, 60), (2, 2), (4, 5))
whole = np.arange(2400.0).reshape(40, 60)
(mine,) = blocks.scatter(whole)[rank]
small = {"buffer": "1 KiB", "stripe": "256 B", "comm": comm}

def refused(what, function):
    try:
        function()
    except IsthmusError as error:
        words = str(error).replace(str(folder) + "/", "")
        if len(set(comm.allgather(words))) > 1:
            words = f"NOT THE SAME {comm.allgather(words)}"
    else:
        words = "NOT REFUSED"
    if rank == 0:
        print(f"<{what}: {words}>")

def write(name, held=mine, layout=blocks, **settings):
    with isthmus.open_array(folder / name, "w", **{**small, **settings}) as file:
        file.write(held, layout)

def read(name, change=lambda: None, out=None, layout=blocks, **settings):
    with isthmus.open_array(folder / name, **{**small, **settings}) as file:
        comm.Barrier()
        if rank == 0:
            change()
        comm.Barrier()
        return file.read(layout, out)

write("a.npy", checksums="1 kB")
refused("missing", lambda: read("none.npy"))
refused("held", lambda: write("a.npy", mine[:-1] if rank == 2 else mine))
refused("dtype", lambda: write("a.npy", mine.astype("f4") if rank == 3 else mine))
refused("nothing", lambda: write("a.npy", None if rank == 1 else mine))
refused("ranks", lambda: write("a.npy", mine, blocks.on_ranks([0, 1, 2, 4])))
refused("out", lambda: read("a.npy", out=np.zeros_like(mine, "i4" if rank == 1 else "f8")))
refused("other way", lambda: read("a.npy", buffer=f"{1 + rank // 2} kB"))
other = Layout.block_cyclic(whole.shape, (2, 2), (4, 5) if rank < 3 else (4, 15))
refused("other layout", lambda: write("d.npy", layout=other))
refused("other layout read", lambda: read("a.npy", layout=other))
refused("option", lambda: read("a.npy", stripe="1 kB" if rank else "1000"))
refused("aggregators", lambda: read("a.npy", aggregators=5))
refused("cut", lambda: read("a.npy", lambda: os.truncate(folder / "a.npy", 18000)))
assert rank or (folder / "a.npy").unlink() is None
write("a.npy", checksums="1 kB", aggregators=[3, 1])

def spoil():
    with (folder / "a.npy").open("r+b") as file:
        file.seek(128 + 12_345)
        file.write(b"?")

refused("sum", lambda: read("a.npy", spoil, aggregators=[0, 2]))
write("b.npy")
refused("replaced", lambda: read("b.npy", lambda: (folder / "c.npy").write_bytes(bytes(19328))
    and os.replace(folder / "c.npy", folder / "b.npy")))
write("b.npy")
refused("cut later", lambda: read("b.npy", lambda: os.truncate(folder / "b.npy", 300)))
assert rank or (folder / "b.npy").unlink() is None

def stop(done, of):
    if rank == 1 and done > of // 2:
        raise ValueError("enough")

refused("progress", lambda: write("a.npy", progress=stop))
refused("shape", lambda: write("a.npy", shape=(60, 40)))
with isthmus.open_array(folder / "a.npy", comm=comm, verify=False) as file:
    again = file.read(blocks)[0]
    assert (again != mine).sum() == (1 if rank == RANK_OF_SPOILT else 0)
    assert np.array_equal(file[rank], whole[rank])
if rank == 0:
    print("<left:", sorted(place.name for place in folder.iterdir()), ">")
"""


@pytest.fixture(params=["any", "memory"])
def folder(request, tmp_path):
    """A folder of the tests, and one in memory."""
    return tmp_path if request.param == "any" else request.getfixturevalue("in_memory")


def test_all_ranks_say_the_same(folder):
    # Byte 12,345 is in element 1543, in row 25 and column 43: of rank 0 by blocks of 4 x 5.
    row, column = divmod(1543, 60)
    spoilt = row // 4 % 2 * 2 + column // 5 % 2
    done = mpiexec(4, "-c", FAULTS.replace("RANK_OF_SPOILT", str(spoilt)), str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.findall(r"<([a-z ]+): (.*)>", done.stdout))
    for what, words in {
        "missing": "none.npy: cannot be read (No such file or directory)",
        "held": "rank 2: held of rank 2: an array of shape (19, 30); the layout gives it (20, 30)",
        "dtype": "held: elements of type float64 on rank 0, of type float32 on rank 3",
        "nothing": "rank 1: held of rank 1: 0 arrays; the layout gives it 1",
        "ranks": "the layout has rank 4, but the communicator has 4 ranks",
        "out": "rank 1: a.npy: elements of type float64; out of rank 1 has int32",
        "other way": "rank 2: buffer: not what rank 0 gives (2000 there, 1000 here); all",
        "other layout": "rank 3: layout: not what rank 0 gives; all ranks give the same",
        "other layout read": "rank 3: layout: not what rank 0 gives; all ranks give the same",
        "option": 'rank 0: stripe: "1000": the unit is missing',
        "aggregators": "aggregators: 5; there are 1 to 4",
        "cut": "cut short: 19328 bytes expected, 18000 found",
        "replaced": "b.npy: another file has taken its place since it was opened; open it again",
        "cut later": "b.npy: cut short: 19328 bytes expected, 300 found (float64 elements",
        "progress": "rank 1: ValueError: enough",
        "shape": "rank 0: a.npy: an array of shape (40, 60); shape= has (60, 40)",
        "sum": "a.npy: block 12 (bytes 12128 to 13127) is not what rank 1 wrote: CRC-32C",
    }.items():
        assert words in told[what], (what, told[what])
    assert told["left"] == "['a.npy', 'a.npy.crc32c'] "


def test_the_program_of_the_guide(tmp_path):
    told = of_the_guide("arrays.md", "checkpoint.py", tmp_path)
    # The last columns of the first rows are of the first row of ranks.
    assert sorted(told.splitlines()) == [f"{rank} (250, 1000) [0. 1.]" for rank in range(4)]
    assert names(tmp_path) == ["checkpoint.py", "field.npy", "field.npy.crc32c"]
    assert set(np.unique(np.load(tmp_path / "field.npy"))) == {0, 1, 2, 3}


def test_from_four_ranks_to_one_file(tmp_path):
    of_the_guide("array-to-file.md", "write.py", tmp_path)
    whole = np.load(tmp_path / "field.npy")
    assert np.array_equal(whole, np.arange(800_000.0).reshape(1000, 800))
    told = of_the_guide("array-to-file.md", "read.py", tmp_path, ranks=3)
    shapes = ["(334, 800)", "(334, 800)", "(332, 800)"]
    assert sorted(told.splitlines()) == [f"{rank} {shapes[rank]} 801.0" for rank in range(3)]


TEAMS = """
import sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout
world, path = MPI.COMM_WORLD, Path(sys.argv[1])
side = world.rank // 2
team = world.Split(side)
layout = Layout.row_swath((40, 60), 2)
mine = np.full((20, 60), float(side))
met = []

def meet(done, of):
    # The others try while this team is in the middle.
    if not met:
        met.append(done)
        world.Barrier()
        world.Barrier()

if side == 0:
    with isthmus.open_array(path, "w", comm=team, progress=meet) as file:
        file.write(mine, layout)
else:
    world.Barrier()
    try:
        with isthmus.open_array(path, "w", comm=team) as file:
            file.write(mine, layout)
    except isthmus.IsthmusError as error:
        print(f"<{world.rank}: {error}>", flush=True)
    world.Barrier()
world.Barrier()
assert (isthmus.open_array(path)[...] == 0).all()
"""


@pytest.mark.parametrize("suffix", [".npy", *(s for s in SUFFIXES if s == ".zarr")])
def test_the_second_of_two_teams_is_told(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    done = mpiexec(4, "-c", TEAMS, str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    words = f"{path}: another program is writing it (.a{suffix}.isthmus-part is locked); wait until"
    told = sorted(re.findall(r"<(\d: .*?) until", done.stdout))
    assert told == [f"{rank}: {words.removesuffix(' until')}" for rank in (2, 3)]
    assert names(tmp_path) == [path.name]


DYING = """
import os, signal, sys
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout
from isthmus.arrays.files import mapped
comm, path = MPI.COMM_WORLD, sys.argv[1]
blocks = Layout.block_cyclic((200, 300), (2, 2), (4, 5))

def progress(done, of):
    if comm.rank == int(sys.argv[2]) and done > of // 2:
        os.kill(os.getpid(), signal.SIGKILL)

mapped.PIECE = 1 << 13
how = {"buffer": "8 KiB", "stripe": "1 KiB", "aggregators": AGGREGATORS, "progress": progress}
if path.endswith(".zarr"):
    how["chunks"] = (20, 30)
with isthmus.open_array(path, "w", comm=comm, **how) as file:
    file.write(np.full(blocks.extents(comm.rank)[0], 7.0), blocks)
"""


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_dies(tmp_path, suffix, rank):
    if suffix not in SUFFIXES:
        pytest.skip("the zarr library of version 3 needs Python 3.11")
    dies(tmp_path, suffix, rank, aggregators=4)


@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_dies_while_each_writes_for_itself(in_memory, rank):
    dies(in_memory, ".npy", rank, aggregators=None)


def dies(folder, suffix, rank, aggregators):
    program = DYING.replace("AGGREGATORS", str(aggregators))
    path, before = folder / f"a{suffix}", np.arange(600.0).reshape(20, 30)
    with isthmus.open_array(path, "w") as file:
        file.write(before)
    done = mpiexec(4, "-c", program, str(path), str(rank))
    assert done.returncode != 0
    by_launcher = rf"rank {rank}\b[^.]*signal\s{signal.SIGKILL:d}\b"
    assert re.search(rf"{by_launcher}|in vain for rank {rank}: ended", done.stderr), done.stderr
    with isthmus.open_array(path) as file:
        assert np.array_equal(file[...], before)
    # What is left is removed by whoever writes next.
    done = mpiexec(4, "-c", program, str(path), "5")
    assert done.returncode == 0, done.stdout + done.stderr
    with isthmus.open_array(path) as file:
        assert (file[...] == np.full((200, 300), 7.0)).all()
    assert names(folder) == [path.name]


FULL = """
import resource, sys
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout
comm, path = MPI.COMM_WORLD, sys.argv[1]
blocks = Layout.block_cyclic((200, 300), (2, 2), (4, 5))
if comm.rank == 3:
    # Not found out before data move: of this rank alone.
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
how = {"buffer": "8 KiB", "stripe": "1 KiB", "aggregators": 4, "comm": comm}
try:
    with isthmus.open_array(path, "w", **how) as file:
        file.write(np.full(blocks.extents(comm.rank)[0], 7.0), blocks)
except isthmus.IsthmusError as error:
    print(f"<{error}>", flush=True)
"""


def test_a_disk_that_is_full_in_the_middle(tmp_path):
    path, before = tmp_path / "a.npy", np.arange(600.0).reshape(20, 30)
    np.save(path, before)
    done = mpiexec(4, "-c", FULL, str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    words = f"rank 3: {path}: cannot be written (File too large)"
    assert re.findall(r"<(.*?)>", done.stdout) == [words] * 4
    assert np.array_equal(np.load(path), before)
    assert names(tmp_path) == ["a.npy"]


SHORT = """
import os, sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout
from isthmus.arrays.files import mapped
comm, path, what = MPI.COMM_WORLD, Path(sys.argv[1]), sys.argv[2]
mapped.PIECE = 1 << 18
blocks = Layout.block_cyclic((1000, 300), (2, 2), (4, 5))
met = []

def meet(done, of):
    # In the middle, while nobody is about to touch what goes away.
    if met:
        return
    met.append(done)
    comm.Barrier()
    if comm.rank == 0:
        if what == "w":
            with (path.parent / "fill").open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
        else:
            os.truncate(path, 1_000_000)
    comm.Barrier()

try:
    with isthmus.open_array(path, what, comm=comm, progress=meet) as file:
        if what == "w":
            file.write(np.full(blocks.extents(comm.rank)[0], 7.0), blocks)
        else:
            file.read(blocks)
except isthmus.IsthmusError as error:
    sys.stdout.write(f"<{error}>\\n")
    sys.stdout.flush()
assert met and met[0] < 2_400_000
comm.Barrier()
if comm.rank == 0 and what == "w":
    (path.parent / "fill").unlink()
"""


def test_a_file_cut_short_while_each_reads_for_itself(in_memory):
    path = in_memory / "a.npy"
    np.save(path, np.zeros((1000, 300)))
    done = mpiexec(4, "-c", SHORT, str(path), "r")
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"<rank \d: (.*?)>", done.stdout)
    assert len(said) == 4
    words = f"{path}: cut short: 2400128 bytes expected, 1000000 found (float64 elements"
    assert all(each.startswith(words) for each in said), said


def test_memory_that_is_full_in_the_middle(in_memory):
    unshare = shutil.which("unshare")
    # The first 3 MB are the former file and the new one's beginning.
    script = f"""
        mount -t tmpfs -o size=4m none {in_memory} || exit 99
        {sys.executable} -c "import numpy; numpy.save('{in_memory}/a.npy', numpy.ones(9))"
        "$@"
        ls -A {in_memory}
        {sys.executable} -c "import numpy; print(numpy.load('{in_memory}/a.npy').tolist())"
    """
    prefix = [unshare or "unshare", "-rm", "sh", "-c", script, "sh"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False) if unshare else None
    if tried is None or tried.returncode != 0:
        pytest.skip("no file system may be mounted here")
    done = mpiexec(4, "-c", SHORT, f"{in_memory}/a.npy", "w", prefix=prefix)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"<rank \d: (.*?)>", done.stdout)
    words = f"{in_memory}/a.npy: cannot be written (No space left on device)"
    assert said == [words] * 4, done.stdout + done.stderr
    assert done.stdout.splitlines()[-2:] == ["a.npy", str([1.0] * 9)]


DIFFER = """
import sys
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout, Plan
from isthmus.arrays.costs import Measured, Rates
from isthmus.arrays.mpi import Exchange, Ranks
comm = MPI.COMM_WORLD
for name, value in {"checksums": ("1 KiB", False), "sync": (True, False)}.items():
    try:
        isthmus.open_array(sys.argv[1], "w", comm=comm, **{name: value[comm.rank]})
    except isthmus.IsthmusError as error:
        print(f"<{name}: {error}>", flush=True)
plan = Plan(Layout.block((4,), (2,)), Layout.block_cyclic((4,), (2,), (1,)))
with Ranks(comm) as ranks:
    ranks.rates = Rates(2, 1, {"threads": [Measured(32, 24, 8, 8, 1.0)]})
    with Exchange(ranks, plan, "f8") as exchange:
        held, out = [[1.0 + comm.rank, 2.0]], np.zeros(2)
        exchange(held, out)
        held[0][0] = 9.0 + comm.rank
        exchange(held, out)
        print(f"<{exchange.form} {comm.rank}: {out.tolist()}>", flush=True)
"""


def test_what_ranks_say_in_different_ways(tmp_path):
    done = mpiexec(2, "-c", DIFFER, str(tmp_path / "a.npy"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"<(.*?)>", done.stdout)
    for name in ("checksums", "sync"):
        said = [one for one in told if one.startswith(name)]
        assert len(said) == 2
        assert all(re.search(r"rank 1: .*: not what rank 0 gives \(", one) for one in said)
    assert {"window 0: [9.0, 10.0]", "window 1: [2.0, 2.0]"} <= {*told}
    assert names(tmp_path) == []

"""Plans between the ranks of real MPI programs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from conftest import MORE_CASES
from isthmus.arrays.mpi import FORMS, shared
from ranks import alone, mpiexec, of_the_guide

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("ranks", "cases", "most"), [(4, 40, []), (3, 20, []), (3, 20, ["5"]), (1, 20, [])]
)
def test_every_element_is_in_its_place(ranks, cases, most):
    cases *= MORE_CASES
    done = mpiexec(ranks, str(HERE / "array_ranks.py"), str(cases), *most)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert re.search(rf"{cases} pairs of layouts on {ranks} ranks", done.stdout)
    told = {form: int(times) for form, times in re.findall(r"'([a-z ]+)': (\d+)", done.stdout)}
    for form in ("alltoall", "pairwise", "datatype", "window", "in place"):
        assert told[form] >= cases // 6, form
    # A rank may have nothing to hold, and no memory in which the two could overlap.
    assert told["read where it lies"] >= cases // 20
    assert told["overlap"] >= cases // 20


WRONG = """
import numpy as np
from mpi4py import MPI
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import exchange
comm = MPI.COMM_WORLD
plan = Plan(Layout.block((8,), (2,)), Layout.block((8,), (1,)))
try:
    exchange(comm, plan, np.zeros(4 + comm.rank))
except IsthmusError as error:
    print(f"[{comm.rank} of {comm.size}: {error}]")
"""


def test_all_ranks_say_which_of_them_is_wrong():
    done = mpiexec(2, "-c", WRONG)
    assert done.returncode == 0, done.stderr
    problem = "rank 1: held of rank 1: an array of shape (5,); the layout gives it (4,)"
    assert sorted(re.findall(r"\[.*?\]", done.stdout)) == [
        f"[{rank} of 2: {problem}]" for rank in range(2)
    ]


def test_the_programs_of_the_guide(tmp_path):
    # A swath of 250 rows has blocks of all ranks.
    assert sorted(of_the_guide("arrays.md", "reshuffle.py", tmp_path).splitlines()) == [
        f"{rank} (250, 1000) [0. 1. 2. 3.]" for rank in range(4)
    ]
    form, seconds, unit = of_the_guide("arrays.md", "steps.py", tmp_path).split()
    assert form in FORMS
    assert 0 < float(seconds) < 10
    assert unit == "s"


AGAIN = """
import sys
import numpy as np
from mpi4py import MPI
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange
comm, form, side, steps = MPI.COMM_WORLD, sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
blocks = Layout.block_cyclic((side, side), (2, 2), (3, 5))
there = Plan(blocks, Layout.row_swath((side, side), 4))
back = Plan(there.to, there.from_)
wrong = right = 0
with Exchange(comm, there, "i4", form=form) as out, Exchange(comm, back, "i4", form=form) as home:
    held = np.empty(there.from_.extents(comm.rank)[0], "i4")
    swath = np.empty(there.to.extents(comm.rank)[0], "i4")
    for step in range(steps):
        # Other numbers each time; ranks come late, and at times one brings what does not fit.
        chance = np.random.default_rng([step, comm.rank])
        held[...] = chance.integers(0, 1 << 30, held.shape)
        given = held[:-1] if step % 7 == 3 and comm.rank == step % 4 else held
        sum(range(chance.integers(0, 40_000)))
        # Messages of the program itself are not those of the exchange.
        note = comm.isend(step, (comm.rank + 1) % 4)
        try:
            out(given, swath)
        except IsthmusError:
            wrong += 1
            continue
        finally:
            assert comm.recv(source=(comm.rank - 1) % 4) == step
            note.wait()
        (again,) = home(swath if step % 2 else swath.copy())
        assert np.array_equal(again, held), (step, comm.rank)
        right += 1
assert out.form == form
print(f"[{comm.rank}: {right} right, {wrong} refused]")
"""


@pytest.mark.parametrize("form", ["alltoall", "pairwise", "datatype", "window"])
def test_an_exchange_is_made_again_and_again(form):
    # Small enough for windows with two buffers, and too large.
    for side, steps in ((64, 60), (2400, 14)) if form == "window" else ((64, 60),):
        done = mpiexec(4, "-c", AGAIN, form, str(side), str(steps))
        assert done.returncode == 0, done.stderr
        told = sorted(re.findall(r"\[\d: .*?\]", done.stdout))
        # One step in seven is refused, the fourth first.
        refused = (steps + 3) // 7
        words = f"{steps - refused} right, {refused} refused"
        assert told == [f"[{rank}: {words}]" for rank in range(4)]


LATE = """
import sys, time
from pathlib import Path
import numpy as np
from mpi4py import MPI
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, Ranks
comm, form, heard = MPI.COMM_WORLD, sys.argv[1], Path(sys.argv[2])
plan = Plan(Layout.block((8,), (4,)), Layout.whole((8,)))
waits = False
def tell(words):
    # On a busy machine others may be waited for before, and until they are there.
    if waits and "for rank 2, not there yet" in words and comm.rank != 2:
        (heard / str(comm.rank)).write_text(words)
def late():
    global waits
    comm.Barrier()
    waits = True
    # Comes when all others have said that they wait.
    while comm.rank == 2 and len(list(heard.iterdir())) < 3:
        time.sleep(0.01)
if form == "first":
    with Ranks(comm, patience_s=0.2, tell=tell) as ranks:
        late()
        ranks.exchange(plan, np.zeros(2))
else:
    with Exchange(comm, plan, "f8", form=form, patience_s=0.2, tell=tell) as exchange:
        exchange(np.zeros(2))
        late()
        exchange(np.zeros(2))
"""


@pytest.mark.parametrize("form", ["alltoall", "pairwise", "datatype", "window", "first"])
def test_who_waits_says_for_whom(form, tmp_path):
    done = mpiexec(4, "-c", LATE, form, str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert sorted(told) == ["0", "1", "3"]
    for rank, words in told.items():
        assert re.fullmatch(rf"rank {rank} has waited [\d.]+ s for rank 2, not there yet", words)


DIES = """
import os, signal, sys
import numpy as np
from mpi4py import MPI
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, RankEndedError
comm, form, when = MPI.COMM_WORLD, sys.argv[1], sys.argv[2]
plan = Plan(Layout.block((8,), (4,)), Layout.block_cyclic((8,), (4,), (1,)))
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with Exchange(comm, plan, "f8", form=form) as exchange:
    exchange(np.zeros(2))
    if comm.rank == 2 and when == "before":
        die()
    elif comm.rank == 2:
        # All have agreed to go on by then.
        exchange._share.unpack = exchange._share.pack = die
    try:
        exchange(np.zeros(2))
    except RankEndedError as error:
        print(f"[{error}]", flush=True)
        os._exit(3)
"""


@pytest.mark.parametrize("form", ["window", "alltoall", "pairwise", "datatype"])
def test_a_rank_that_dies_is_named(form):
    # The launcher leaves the other ranks alone: they find out themselves.
    done = mpiexec(4, "-c", DIES, form, "before", launcher=alone())
    assert done.returncode != 0
    told = re.findall(r"\[rank (\d) waits in vain for rank 2: ended\]", done.stdout)
    assert told  # all, or those who were not ended by another's end before
    assert set(told) <= {"0", "1", "3"}


@pytest.mark.parametrize("form", ["alltoall", "pairwise"])
def test_a_rank_that_dies_while_others_wait_in_mpi_is_named(form):
    # A launcher that leaves ranks alone may exit with status 0 even if one died.
    done = mpiexec(4, "-c", DIES, form, "within", launcher=alone())
    assert re.search(r"isthmus: rank [013] waits in vain for rank 2: ended", done.stderr)


def test_the_launcher_names_the_rank_that_died():
    alone()  # left out where the launcher does not
    done = mpiexec(4, "-c", DIES, "alltoall", "before")
    assert done.returncode != 0
    assert re.search(r"rank 2\b.*exited on\s+signal 9", done.stderr, re.DOTALL)


SHARED = """
import numpy as np
from mpi4py import MPI
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange
from isthmus.arrays.mpi.forms import window

comm = MPI.COMM_WORLD
plan = Plan(Layout.block((4, 4), (2, 1)), Layout.block((4, 4), (1, 2)))
table = np.arange(16.0).reshape(4, 4)
direct = []
read = window._WindowTransfer._read_shared
window._WindowTransfer._read_shared = lambda *given: direct.append(1) or read(*given)
with Exchange(comm, plan, "f8", form="window") as there:
    parts = there.allocate()
    for held in (parts, [parts[0]], parts[0]):
        parts[0][...] = table[2 * comm.rank : 2 * comm.rank + 2] + len(direct)
        (out,) = there(held)
        assert (out == table[:, 2 * comm.rank : 2 * comm.rank + 2] + len(direct) - 1).all(), out
    assert len(direct) == 3, direct
    # Another array in the list is taken for what it is.
    parts[0] = table[2 * comm.rank : 2 * comm.rank + 2] * 2
    (out,) = there(parts)
    assert (out == 2 * table[:, 2 * comm.rank : 2 * comm.rank + 2]).all(), out
    assert len(direct) == 3, direct
comm.Barrier()
if comm.rank == 0:
    print("as they are")
"""


def test_shared_arrays_are_known_however_they_are_given():
    done = mpiexec(2, "-c", SHARED)
    assert done.stdout == "as they are\n", done.stderr


AGREED = """
import threading
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, exchange

comm = MPI.COMM_WORLD
plan = Plan(Layout.block((4,), (2,)), Layout.block((4,), (2,), ranks=[1, 0]))
back = Plan(Layout.block((4,), (2,)), Layout.block_cyclic((4,), (2,), (1,)))
class Odd:
    # No array, and no error of isthmus.
    def __array__(self, *_, **__):
        raise RuntimeError("odd")
for case in (
    lambda: exchange(comm, plan, np.zeros(2, "f4 f8".split()[comm.rank])),
    lambda: exchange(comm, plan, np.zeros(2), form="carrier"),
    lambda: exchange(comm, plan, np.zeros(2) if comm.rank else None, dtype="f9"),
    lambda: exchange(comm, plan, np.zeros(2) if comm.rank else Odd()),
    lambda: isthmus.open_array("none.npy", "w", comm=comm, aggregators=5),
    lambda: exchange(comm, [plan, back][comm.rank], np.zeros(2)),
    lambda: isthmus.open_array("none.npy", "w", comm=comm, aggregators="all"),
):
    for _ in range(3):
        said = ""
        try:
            case()
        except isthmus.IsthmusError as error:
            said = str(error)
    told = comm.gather((said, threading.active_count()))
    if comm.rank == 0:
        assert told[0] == told[1], told
        print(*told[0])
for settings in ({"dtype": "f9"}, {"dtype": "f8", "order": "Q"}):
    try:
        Exchange(comm, plan, **settings)
    except isthmus.IsthmusError as error:
        if comm.rank == 0:
            print(error)
"""


def test_what_all_ranks_refuse_alike_leaves_nothing_open():
    done = mpiexec(2, "-c", AGREED)
    lines = done.stdout.splitlines()
    assert len(lines) == 9, done.stderr
    assert lines[0] == "elements are of the types float32, float64; on all ranks they are of one 1"
    assert lines[1].startswith("form: 'carrier'")
    assert lines[2].startswith("rank 0: dtype: 'f9' (str) is of no use here")
    assert lines[3].startswith("rank 0: held: not an array of numpy (odd)")
    assert lines[4].startswith("aggregators: 5; there are 1 to 2")
    assert lines[5].startswith(
        "rank 1: the layout that data go to: not what rank 0 gives; all ranks"
    )
    assert lines[6].startswith("aggregators: 'all'")
    assert all(line.endswith(" 1") for line in lines[:7]), lines
    assert lines[7].startswith("rank 0: dtype: 'f9'")
    assert lines[8] == 'rank 0: order: \'Q\'; it is "C" or "F"'


NODES = """
import sys
import numpy as np
from mpi4py import MPI
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import ranks

class TwoNodes:
    # A communicator whose ranks are on two nodes.
    def __init__(self, comm):
        self.comm = comm
    def __getattr__(self, name):
        return getattr(self.comm, name)
    def Split_type(self, *_, key):
        return self.comm.Split(self.comm.rank // 2, key)

comm = MPI.COMM_WORLD
if sys.argv[1] == "one":
    # The second node cannot share memory.
    can = ranks.can_share
    ranks.can_share = lambda node: can(node) and comm.rank < 2
plan = Plan(Layout.block((8, 3), (4, 1)), Layout.block((8, 3), (4, 1), ranks=[2, 3, 0, 1]))
table = np.arange(24.0).reshape(8, 3)
for form in (None, "pairwise", "datatype"):
    with ranks.Ranks(TwoNodes(comm)) as all_of:
        assert not all_of.is_one_node
        (out,) = all_of.exchange(plan, table[2 * comm.rank : 2 * comm.rank + 2], form=form)
    place = (comm.rank + 2) % 4
    assert (out == table[2 * place : 2 * place + 2]).all()
comm.Barrier()
if comm.rank == 0:
    print("moved")
"""


@pytest.mark.parametrize("shares", ["both", "one"])
def test_ranks_on_two_nodes(shares):
    done = mpiexec(4, "-c", NODES, shares)
    assert done.stdout == "moved\n", done.stderr


def test_memory_of_another_process_with_the_same_number_is_not_taken():
    """In containers of their own, processes of two ranks may have one number."""
    own = os.memfd_create(f"{shared.NAME}mark")
    try:
        os.truncate(own, 64)
        assert shared._map_memory(os.getpid(), own, 64, f"{shared.NAME}mark").size == 64
        with pytest.raises(OSError, match="No such process"):
            shared._map_memory(os.getpid(), own, 64, f"{shared.NAME}other")
    finally:
        os.close(own)


CHOSEN = """
from mpi4py import MPI
from isthmus.arrays import Layout, Plan
from isthmus.arrays.calibration import cases
from isthmus.arrays.costs import Measured, Rates
from isthmus.arrays.mpi import Exchange, Ranks

comm = MPI.COMM_WORLD
plan = Plan(Layout.block((640, 640), (4, 1)), Layout.block((640, 640), (1, 4)))
def measured(factor):
    told = [case.measured([0.0]) for case in cases(4)]
    return [
        Measured(one.size, one.moved, one.packed, one.unpacked, factor * (1e-5 + one.size * 1e-9))
        for one in told
    ]
with Ranks(comm) as ranks:
    for slower in (0.9, 1.2, 1.3, 9.0):
        ranks.rates = Rates(4, 2, {"datatype": measured(1.0), "window": measured(slower)})
        with Exchange(ranks, plan, "f8") as exchange:
            assert len(set(comm.allgather(exchange.form))) == 1
            if comm.rank == 0:
                print(exchange.form)
    ranks.rates = Rates(3, 2, {"datatype": measured(1.0), "window": measured(1.0)})
    try:
        Exchange(ranks, plan, "f8")
    except Exception as error:
        if comm.rank == 0:
            print(error)
"""


def test_noise_does_not_choose_the_form():
    done = mpiexec(4, "-c", CHOSEN)
    *forms, refused = done.stdout.splitlines()
    assert forms == ["window", "window", "datatype", "datatype"], done.stderr
    assert refused.startswith("rates: measured between 3 ranks; the plan has 4")


ONE_RANK = """
import sys, threading, time
import numpy as np
from mpi4py import MPI
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, Ranks

comm = MPI.COMM_WORLD
plan = Plan(Layout.block((8,), (4,)), Layout.block_cyclic((8,), (4,), (1,)))
half = Layout.boxes((8,), [[(slice(0, 2),)]], partial=True)
good = {"plan": plan, "dtype": "f8", "form": "alltoall"}
for bad in (
    {"dtype": "foo"}, {"order": "Q"}, {"plan": None}, {"form": "window"}, {"buffer_bytes": 4096},
    {"buffer_bytes": -1}, {"buffer_bytes": "1 kB"}, {"patience_s": 0}, {"patience_s": "long"},
):
    for _ in range(2):
        said = ""
        try:
            Exchange(comm, **{**good, **(bad if comm.rank == 2 else {})})
        except IsthmusError as error:
            said = str(error)
    told = comm.gather((said, threading.active_count()))
    if comm.rank == 0:
        assert len(set(told)) == 1 and told[0][1] == 1, told
        print(said)
with Ranks(comm) as ranks:
    try:
        of_one = np.zeros(2) if comm.rank == 0 else None
        ranks.exchange(Plan(half, Layout.block((8,), (4,))), of_one)
    except IsthmusError as error:
        if comm.rank == 0:
            print(error)
heard = threading.Event()
comm.Barrier()
if comm.rank == 3:
    # Comes when another has said that it waits.
    comm.recv(source=0)
else:
    def tell(words):
        print(words, flush=True)
        heard.set()
    if comm.rank == 0:
        threading.Thread(target=lambda: heard.wait() and comm.send(None, 3)).start()
with Ranks(comm, patience_s=0.2, tell=None if comm.rank == 3 else tell):
    pass
"""


def test_what_one_rank_does_otherwise_all_are_told():
    done = mpiexec(4, "-c", ONE_RANK)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line, words in zip(
        lines,
        (
            "rank 2: dtype: 'foo'",
            "rank 2: order: 'Q'",
            "rank 2: plan: None",
            "rank 2: form: not what rank 0 gives (window there, alltoall here)",
            "rank 2: buffer_bytes: not what rank 0 gives (4096 there, None here)",
            "rank 2: buffer_bytes: -1; it is a number of bytes above 0",
            "rank 2: buffer_bytes: '1 kB'",
            "rank 2: patience_s: 0; it is a number of seconds above 0",
            "rank 2: patience_s: 'long'",
        ),
        strict=False,
    ):
        assert line.startswith(words), lines
    assert (
        "out: left out, but of the layout that data come from: no rank holds element [2]"
        in lines[9]
    )
    waited = [line for line in lines[10:] if "which have not started yet" in line]
    assert any(line.startswith("rank 0 has waited 0.2 s for other ranks") for line in waited), lines


TAKEN = """
import sys
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, exchange

comm = MPI.COMM_WORLD
rows = Layout.row_swath((4, 4), 2)
columns = Layout.scalapack([1, 0, 4, 4, 2, 2, 0, 0, 4], (1, 2))
whole = np.arange(16.0).reshape(4, 4)
mine, wanted = whole[2 * comm.rank :][:2], whole[:, 2 * comm.rank :][:, :2]
for made in (
    exchange(comm, Plan(rows, columns), mine),
    exchange(comm, Plan(rows, columns), mine.view(np.matrix)),
    exchange(comm, Plan(columns, columns), wanted),
):
    (part,) = made
    assert type(part) is np.ndarray and part.flags.f_contiguous and (part == wanted).all()
(part,) = exchange(comm, Plan(rows, columns), mine, order="C")
assert part.flags.c_contiguous and (part == wanted).all()
with Exchange(comm, Plan(rows, columns), "f8") as step:
    assert step.order == "F"
    (part,) = step(mine)
    assert part.flags.f_contiguous and (part == wanted).all()
for suffix in (".npy", ".h5"):
    for shape in ((0, 4), (4, 0)):
        none = Layout.row_swath(shape, 2)
        (part,) = none.empty(comm.rank, "f4")
        assert exchange(comm, Plan(none, none), part)[0].shape == part.shape
        path = sys.argv[1] + suffix
        with isthmus.open_array(path, "w", comm=comm) as file:
            file.write(part, none)
        with isthmus.open_array(path, comm=comm) as file:
            assert (file.shape, file.dtype) == (shape, "f4")
            assert file.read(none)[0].shape == part.shape
try:
    exchange(comm, Plan(rows, columns), np.ma.masked_equal(mine, 9))
except IsthmusError as error:
    print(f"[{error}]")
"""


def test_what_an_exchange_takes_and_makes(tmp_path):
    pytest.importorskip("h5py")
    done = mpiexec(2, "-c", TAKEN, str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[rank 0: held: a masked array, whose mask would be lost; ") == 2


COMMUNICATORS = """
import numpy as np
from mpi4py import MPI
import isthmus
from isthmus import IsthmusError
from isthmus.arrays import Layout, Plan
from isthmus.arrays.mpi import Exchange, Ranks, exchange
from isthmus.streams import connect_ranks

comm = MPI.COMM_WORLD
plan = Plan(Layout.block((4,), (2,)), Layout.block((4,), (2,), ranks=[1, 0]))
freed = comm.Dup()
freed.Free()
# A communicator of one rank alone: the other has the null communicator.
group = comm.group.Incl([0])
alone = comm.Create(group)
half = comm.Split(comm.rank)
inter = half.Create_intercomm(0, comm, 1 - comm.rank)
closed = Ranks(comm)
closed.close()
closed.close()
once = Exchange(comm, plan, "f8")
once.close()
once.close()

def refused(what, *calls):
    for call in calls:
        try:
            call()
        except IsthmusError as error:
            assert what in str(error) and str(error).isprintable(), error
        else:
            raise AssertionError(what)

wrong = [(freed, "comm: the null communicator"), (MPI.COMM_NULL, "comm: the null communicator")]
wrong += [(inter, "comm: an inter-communicator; merge it"), (closed, "ranks: they are closed")]
wrong += [(alone, "comm: the null communicator")] if comm.rank else []
wrong += [(3, "comm: 3 (int) is of no use here; give a communicator of mpi4py")]
wrong += [(MPI.BYTE, "give a communicator of mpi4py")]
for given, words in wrong:
    refused(words, lambda: Exchange(given, plan, "f8"))
    refused(words, lambda: isthmus.open_array("none.npy", "w", comm=given))
    if given is closed:
        refused(words, lambda: closed.exchange(plan, np.zeros(2)))
        continue
    refused(words, lambda: Ranks(given), lambda: exchange(given, plan, np.zeros(2)))
    refused(words, lambda: connect_ranks("unix:/none", given))
refused("exchange: it is closed", lambda: once(np.zeros(2)), once.allocate)
refused("buffer_bytes: ", lambda: Ranks(comm, buffer_bytes=1 << 70))
(mine,) = exchange(comm, plan, np.full(2, float(comm.rank)))
assert (mine == 1 - comm.rank).all()
MPI.Finalize()
refused("comm: MPI is not running", lambda: Ranks(comm), lambda: exchange(comm, plan))
print("[refused]", flush=True)
"""


def test_communicators_that_are_none():
    done = mpiexec(2, "-c", COMMUNICATORS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[refused]") == 2

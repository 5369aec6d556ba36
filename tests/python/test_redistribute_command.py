"""``isthmus redistribute``: what is printed, drawn and refused, on terminals and in pipes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import command_line
from conftest import REPOSITORY
from isthmus.arrays import calibrate_threads, calibration
from isthmus.arrays.costs import Rates
from isthmus.cli.commands import cli
from terminal import Terminal

FILE = """\
title = "Panels"
[array]
shape = [64, 48]
dtype = "float64"
[from]
kind = "block-cyclic"
grid = [2, 2]
blocks = [2, 3]
[to]
kind = "row-swath"
ranks = 4
[costs]
message_overhead = "2 us"
[io]
stripe = "3 KiB"
"""
TREE = """\
version = 1
name = "tree"
[machine]
kind = "fat-tree"
arity = 4
levels = 2
[workload.servers]
placement = "clustered"
count = 2
"""
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "p.toml").write_text(FILE)
    (tmp_path / "tree.toml").write_text(TREE)


@pytest.fixture(scope="module")
def rates(tmp_path_factory):
    """What 2 threads cost, measured once: each run measures it otherwise, for a second."""
    path = tmp_path_factory.mktemp("rates") / "rates.json"
    calibrate_threads(2, seconds=0.1).save(path)
    return path


def good(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def bad(done):
    """The one line on standard error of a command that was refused."""
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line.removeprefix("isthmus: ")


def test_a_plan_is_printed(isthmus):
    shown = good(isthmus("redistribute", "plan", "p.toml"))
    assert "64 x 48 elements from 4 to 4 ranks" in shown
    # 3,072 elements, a quarter of which stay: 24,576 bytes in all.
    assert "12 messages of 1.54 kB, 18.4 kB" in shown
    assert "1,024 of 24 B" in shown


def test_a_plan_for_programs(isthmus):
    told = json.loads(good(isthmus("redistribute", "plan", "p.toml", "--json")))
    assert (told["messages"], told["bytes_sent"], told["bytes_kept"]) == (12, 18432, 6144)
    assert sum(size for _, _, size in told["pairs"]) == told["bytes"] == 64 * 48 * 8
    assert told["runs"] == [[24, 1024]]
    changed = isthmus("redistribute", "plan", "p.toml", "from.blocks=[8, 48]", "--json")
    assert json.loads(good(changed))["messages"] < 12


def test_a_plan_in_which_nothing_moves(isthmus, tmp_path, rates):
    head, _, _ = FILE.partition("[to]")
    before = head.partition("[from]")[2]
    (tmp_path / "p.toml").write_text(f"{head}[to]{before}")
    shown = good(isthmus("redistribute", "plan", "p.toml"))
    assert "between ranks   nothing" in shown
    words = ["redistribute", "run", "p.toml", "--repeat", "1", "--threads", "2", "--json"]
    moved = isthmus(*words, "--rates", rates)
    assert json.loads(good(moved))["checked"] == 64 * 48


def test_a_plan_between_very_many_ranks_is_not_counted(isthmus):
    words = ["array.shape=[1000000, 1000000]", "to.ranks=100000", "from.grid=[100, 100]"]
    shown = good(isthmus("redistribute", "plan", "p.toml", *words))
    assert "not counted: too many pairs of ranks" in shown
    assert "1,000,000 x 1,000,000 of float64, 8.00 TB" in shown


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_plan_is_drawn(isthmus, tmp_path, suffix):
    words = ["redistribute", "plan", "p.toml", "--plot", f"p.{suffix}"]
    assert f"Drawn: p.{suffix}" in good(isthmus(*words))
    first = (tmp_path / f"p.{suffix}").read_bytes()
    assert len(first) > 5_000
    good(isthmus(*words))
    assert (tmp_path / f"p.{suffix}").read_bytes() == first
    assert bad(isthmus(*words[:-1], "p.pdf")) == "p.pdf: pictures are written as .png or .svg"


@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["array.order=F"],
        ['array.dtype=[["a", "float64"], ["b", "int32"]]'],
        ["array.dtype=int8", "to.ranks=[7, 2, 5]"],
        ["array.shape=[513, 257]", "from.blocks=[5, 300]"],
    ],
    ids=str,
)
def test_every_element_is_moved_and_checked(isthmus, changes, rates):
    words = ["redistribute", "run", "p.toml", *changes, "--repeat", "2", "--threads", "2"]
    words += ["--rates", rates]
    told = json.loads(good(isthmus(*words, "--json")))
    shape = [513, 257] if "513" in str(changes) else [64, 48]
    assert told["checked"] == shape[0] * shape[1]
    assert (told["form"], told["threads"], len(told["seconds"])) == ("threads", 2, 2)
    assert told["bytes_per_s"] > 0 and told["copy_bytes_per_s"] > 0
    shown = good(isthmus(*words))
    assert "all in their places" in shown and "by 2 threads" in shown


def test_what_was_measured_of_a_machine_is_kept_and_predicts(isthmus, tmp_path):
    words = ["redistribute", "run", "p.toml", "--threads", "2", "--repeat", "2"]
    first = json.loads(good(isthmus(*words, "--rates", "here.json", "--json")))
    assert 0 < first["predicted_s"] < 1
    kept = (tmp_path / "here.json").read_bytes()
    # What is there is read, and left as it is: the same prediction.
    again = json.loads(good(isthmus(*words, "--rates", "here.json", "--json")))
    assert again["predicted_s"] == first["predicted_s"]
    assert (tmp_path / "here.json").read_bytes() == kept
    plan = ["redistribute", "plan", "p.toml", "--rates", "here.json"]
    assert json.loads(good(isthmus(*plan, "--json")))["predicted_s"] == {
        "threads": first["predicted_s"]
    }
    assert re.search(r"predicted +threads [\d.]+ ms", good(isthmus(*plan)))
    told = bad(isthmus("redistribute", "run", "p.toml", "--threads", "1", "--rates", "here.json"))
    assert told.startswith("here.json: measured with 2 ranks or threads, and here are 1")
    told = bad(isthmus(*plan[:3], "--rates", "p.toml"))
    assert told == "p.toml: no rates as `Rates.save` writes them"


def test_an_element_in_the_wrong_place_is_found(isthmus, tmp_path):
    code = (
        "import sys\nfrom isthmus.arrays import Plan\n"
        "real = Plan.redistribute\n"
        "def wrong(self, held, out, **how):\n"
        "    real(self, held, out, **how)\n"
        "    if self.from_.shape == (64, 48):\n"
        "        part = out[2][0]\n"
        "        part[3, 4], part[3, 5] = part[3, 5].copy(), part[3, 4].copy()\n"
        "Plan.redistribute = wrong\n"
        "from isthmus.cli import main\n"
        "sys.argv = ['isthmus', 'redistribute', 'run', 'p.toml', '--repeat', '1']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    told = "isthmus: rank 2: element [35, 4] is not the one that belongs there\n"
    assert done.stderr == told


def test_memory_that_would_not_suffice_is_refused_before(isthmus):
    told = bad(isthmus("redistribute", "run", "p.toml", "--memory", "40 kB"))
    assert told == (
        "p.toml: arrays before and after take 49.2 kB, and 40.0 kB may be taken; make array.shape "
        "smaller, or give --memory where there is more"
    )
    assert "16.0 EB" not in told
    huge = bad(isthmus("redistribute", "run", "p.toml", "array.shape=[2000000, 2000000]"))
    assert "take 64.0 TB" in huge


def test_a_machine_that_is_not_there_yet(isthmus):
    words = ["redistribute", "predict", "p.toml", "--machine", "tree.toml"]
    told = json.loads(good(isthmus(*words, "--json")))
    assert (told["nodes"], told["io_servers"], told["ranks"]) == (14, 2, 4)
    assert told["redistribution"]["messages"] == 12
    assert told["direct"]["messages"] == 1024 and told["after"]["messages"] == 8
    assert told["verdict"] == "reshuffle"
    whole = told["redistribution"]["seconds"] + told["after"]["seconds"]
    assert told["reshuffled"]["seconds"] == pytest.approx(whole)
    ratio = told["direct"]["seconds"] / whole
    shown = good(isthmus(*words))
    answer = re.search(r"Reshuffle: ([\d.]+) times sooner\.", shown)
    assert float(answer[1]) == pytest.approx(ratio, rel=0.06)
    again = isthmus(*words, "--json", "--jobs", "1")
    assert again.stdout == isthmus(*words, "--json", "--jobs", "2").stdout
    assert json.loads(again.stdout)["seed"] == 1
    assert json.loads(good(isthmus(*words, "--json", "--seed", "7")))["seed"] == 7
    larger = json.loads(good(isthmus(*words, "machine.levels=3", "to.ranks=8", "--json")))
    assert (larger["nodes"], larger["ranks"]) == (62, 8)


def test_blocks_are_compared_and_drawn(isthmus, tmp_path):
    words = ["redistribute", "predict", "p.toml", "--machine", "tree.toml", "--blocks", "1,4,24"]
    shown = good(isthmus(*words, "--plot", "b.png"))
    assert "Reshuffling pays" in shown and "Drawn: b.png" in shown
    assert (tmp_path / "b.png").stat().st_size > 5_000
    told = json.loads(good(isthmus(*words, "--json")))
    assert [row["block"] for row in told["blocks"]] == [1, 4, 24]
    direct = [row["direct"]["seconds"] for row in told["blocks"]]
    assert direct == sorted(direct, reverse=True)


def test_without_io_there_is_only_the_redistribution(isthmus, tmp_path):
    (tmp_path / "p.toml").write_text(FILE.partition("[io]")[0])
    shown = good(isthmus("redistribute", "predict", "p.toml", "--machine", "tree.toml"))
    assert "redistribution" in shown and "requests" not in shown and "sooner" not in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plan", "none.toml"], "none.toml: cannot be read (No such file or directory)"),
        (["plan", "p.toml", "from.block=3"], "override `from.block=3`: from.block: no such field"),
        (["plan", "p.toml", "from"], "'from': not of the form key=value"),
        (
            ["run", "p.toml", "--form", "window"],
            "--form: it is of ranks of MPI; start with mpiexec",
        ),
        (["run", "p.toml", "--memory", "4"], "--memory: the unit of 4 is missing; write"),
        (["run", "p.toml", "--threads", "0"], "Invalid value for '--threads'"),
        (["predict", "p.toml"], "Missing option '--machine'"),
        (["predict", "p.toml", "--machine", "p.toml"], "p.toml"),
        (
            ["predict", "p.toml", "--machine", "tree.toml", "machine.arity=1"],
            "override `machine.arity=1`: machine.arity: 1 is out of range; give 2 to 2048",
        ),
        (
            ["predict", "p.toml", "--machine", "tree.toml", "machine.levels=1"],
            "tree.toml: 2 nodes for the 4 ranks of p.toml; give a larger machine",
        ),
        (
            ["predict", "p.toml", "--machine", "tree.toml", 'nodes=["0-2"]'],
            "tree.toml: 3 nodes for the 4 ranks of p.toml; give a larger machine",
        ),
        (
            ["predict", "p.toml", "--machine", "tree.toml", "nodes=[0, 1, 2, 15]"],
            "tree.toml with the plan as its job:5: workload.jobs.plan.nodes: node 15 is an I/O",
        ),
        (
            ["predict", "p.toml", "--machine", "tree.toml", "workload.servers.placement=none"],
            "",
        ),
        (["predict", "p.toml", "--machine", "tree.toml", "--plot", "b.png"], "--plot: it draws"),
        (["plam", "p.toml"], "no command 'plam'; did you mean 'plan'?"),
    ],
)
def test_what_is_of_no_use_is_told_in_one_line(isthmus, tmp_path, words, told):
    before = sorted(tmp_path.iterdir())
    assert bad(isthmus("redistribute", *words)).startswith(told)
    assert sorted(tmp_path.iterdir()) == before


def test_standard_input(tmp_path):
    words = ["redistribute", "plan", "-", "to.ranks=2"]
    done = command_line.call(*words, cwd=tmp_path, stdin=FILE)
    assert "from 4 to 2 ranks" in good(done)
    done = command_line.call(*words, cwd=tmp_path, stdin="[array")
    assert bad(done).startswith("<stdin>:1: not TOML: ")


@pytest.mark.parametrize("words", [[], ["plan"], ["run"], ["predict"]], ids=str)
def test_help_teaches_on_80_columns(isthmus, words):
    done = isthmus("redistribute", *words, "--help", COLUMNS="80")
    lines = good(done).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert sum("isthmus redistribute " in line for line in lines) >= 2
    assert cli.get_command(None, "redistribute") is not None


def test_the_examples_work(isthmus):
    panels, tree = "examples/redistribute-panels.toml", "examples/redistribute-tree.toml"
    for words in (
        ["plan", panels],
        ["plan", "examples/redistribute-interface.toml"],
        ["run", panels, "--repeat", "1"],
        ["predict", panels, "--machine", tree],
    ):
        good(isthmus("redistribute", *words, cwd=REPOSITORY))


LONG = ["-m", "isthmus", "redistribute", "predict", "p.toml", "--machine", "tree.toml"]
MUCH = ["array.shape=[2048, 2048]", "--most", "32 MiB", "--jobs", "1"]


def test_a_bar_is_shown_and_ctrl_c_ends_it(tmp_path):
    terminal = Terminal([*LONG, *MUCH], tmp_path)
    terminal.until(lambda: "simulating" in terminal.text())
    terminal.press(b"\x03")
    assert terminal.end() == 130
    assert "interrupted" in terminal.text()
    assert not re.search("[█░]", terminal.text())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.toml", "tree.toml"]


def test_a_narrow_terminal_gets_all_of_the_answer(tmp_path):
    terminal = Terminal([*LONG, "--blocks", "1,24"], tmp_path, columns=40)
    assert terminal.end() == 0
    assert "Reshuffling pays" in terminal.text()
    assert all(len(line) <= 40 for line in terminal.text().splitlines())


def mpiexec(ranks, *words, cwd):
    if MPIEXEC is None:
        pytest.skip("no mpiexec")
    pytest.importorskip("mpi4py", exc_type=ImportError)
    from ranks import ENVIRONMENT

    command = [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "isthmus", "redistribute", *words]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env={**os.environ, **ENVIRONMENT},
    )


@pytest.fixture(scope="module")
def rates_of_ranks(tmp_path_factory):
    """What exchanges of 4 ranks cost: to measure it takes each run seconds."""
    path = tmp_path_factory.mktemp("ranks") / "rates.json"
    told = [case.measured([1e-3]) for case in calibration.cases(4)]
    Rates(4, 2, {"pairwise": told, "window": told}).save(path)
    return path


@pytest.mark.parametrize("form", ["alltoall", "pairwise", "window"])
def test_ranks_of_mpi_move_it_and_one_of_them_says_so(tmp_path, form, rates_of_ranks):
    words = ["run", "p.toml", "--form", form, "--repeat", "2", "--json"]
    words += [] if form == "alltoall" else ["--rates", rates_of_ranks]
    done = mpiexec(4, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["form"], told["threads"], told["checked"]) == (form, 4, 64 * 48)
    assert told["predicted_s"] > 0


def test_ranks_of_mpi_are_refused_once(tmp_path):
    for words, told in [
        (["run", "p.toml"], "a layout has rank 3, but the communicator has 2 ranks"),
        (["run", "p.toml", "to.rank=3"], "override `to.rank=3`: to.rank: no such field"),
        (["run", "p.toml", "--memory", "1 kB"], "p.toml: arrays before and after and messages"),
    ]:
        done = mpiexec(2, *words, cwd=tmp_path)
        assert done.returncode != 0
        lines = [line for line in done.stderr.splitlines() if line.startswith("isthmus: ")]
        assert len(lines) == 1, done.stderr
        assert lines[0].removeprefix("isthmus: ").startswith(told)
        assert "Traceback" not in done.stderr

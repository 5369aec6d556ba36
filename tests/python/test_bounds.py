"""What a run may take, from the command line and from Python."""

import json
import subprocess
import sys
import time

import pytest

import command_line
from isthmus import _core
from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.execution import Job

HOPELESS = """
version = 1
name = "hopeless"
[machine]
kind = "hypercube"
dimension = 4
[machine.lanes]
io_link = 1
[workload]
io_probability = "5%"
rate = "10000 /us"
[stop]
rule = "precision"
precision = "10%"
replications = 4
"""

SEARCH = (
    HOPELESS
    + """
[search]
over = "workload.rate"
from = "1000 /us"
to = "10000 /us"
resolution = "20%"
"""
)

LARGE = """
version = 1
name = "large"
[machine]
kind = "sci"
fabric = "uniform-ring-torus"
size = "64x64"
[sweep]
"machine.ring_change" = ["10 ns", "20 ns", "30 ns"]
[workload]
load = "1 GB/s"
"""


def cli(*words):
    return command_line.call(*words)


def test_a_hopeless_point_ends_within_its_memory_and_says_so(tmp_path):
    scenario = tmp_path / "hopeless.toml"
    scenario.write_text(HOPELESS, encoding="utf-8")
    done = cli("run", str(scenario), "--memory", "200 MB", "--json", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout)["points"][0]
    assert point["verdict"]["verdict"] == "saturated"
    assert point["ended_by"] == "memory"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "more waits than the run has memory for" in page
    # The first words of the answer say so, too.
    done = cli("report", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "Saturated, so that no latency is known; ended early: more waits than the run" in told


@pytest.mark.parametrize("memory", ["4", "4 Gb/s", "much", "-1 GB", "10 B"])
def test_memory_is_an_amount_with_a_unit(tmp_path, memory):
    scenario = tmp_path / "hopeless.toml"
    scenario.write_text(HOPELESS, encoding="utf-8")
    done = cli("run", str(scenario), "--memory", memory, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("isthmus: memory: ")
    with pytest.raises(IsthmusError, match="memory"):
        Job(HOPELESS, "hopeless.toml", memory=memory).run()


FAULTY = {"kind": "hypercube", "dimension": 13, "faults": {"links": [[0, 1]]}}
"""All pairs of its 8192 nodes are walked."""


@pytest.mark.parametrize(
    "call", [f"check({LARGE!r}, 'large.toml', [])", f"topology({json.dumps(FAULTY)!r})"]
)
def test_ctrl_c_is_heard_while_the_core_works(call):
    """64 x 64 tori take seconds each; nothing heard of Ctrl-C until all were built.

    Where a call listens for Ctrl-C, a panic is an error, too: both in one function.
    """
    code = (
        "import _thread, threading, time\n"
        "from isthmus import _core\n"
        "threading.Timer(0.5, _thread.interrupt_main).start()\n"
        "began = time.monotonic()\n"
        "try:\n"
        f"    _core.{call}\n"
        "except KeyboardInterrupt:\n"
        "    print(time.monotonic() - began)\n"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    took = time.monotonic() - began
    assert done.stdout, f"not interrupted in {took} s: {done.stderr}"
    assert float(done.stdout) < 0.5 + 1.0


def test_a_failure_of_the_core_is_one_error_that_asks_for_a_report():
    def fails():
        raise _core.CoreError("node 7 is gone (engine.rs:3); please report it")

    with pytest.raises(RunFailedError, match="please report it"):
        ask(fails)


def test_what_the_memory_ended_is_run_again_with_more(tmp_path):
    """It is neither kept in the journal nor taken from the folder."""
    scenario = tmp_path / "hopeless.toml"
    scenario.write_text(HOPELESS, encoding="utf-8")
    words = ("run", str(scenario), "--json", "--out", str(tmp_path / "out"))
    ended = []
    for memory in ("200 MB", "8 GB"):
        done = cli(*words, "--memory", memory)
        assert done.returncode == 0, done.stderr
        ended.append(json.loads(done.stdout)["points"][0]["ended_by"])
    assert ended == ["memory", "backlog"]


def test_a_search_that_the_memory_ended_is_made_again_with_more(tmp_path):
    """Its trials are not kept in the journal: what ended them would be told of again."""
    scenario = tmp_path / "search.toml"
    scenario.write_text(SEARCH, encoding="utf-8")
    words = ("run", str(scenario), "--json", "--out", str(tmp_path / "out"))
    ended = []
    for memory in ("4 MB", "8 GB"):
        done = cli(*words, "--memory", memory)
        assert done.returncode == 0, done.stderr
        trials = json.loads(done.stdout)["searches"][0]["trials"]
        ended.append("memory" in [trial["ended_by"] for trial in trials])
    assert ended == [True, False]

"""What befalls runs in parts: nodes that are gone, clocks apart, full folders, bad entries."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus import __version__
from isthmus.sweeps import state_of

LIMIT_S = 120
"""Longer than anything here takes on a busy machine."""
SLOW = ("stop.rule=fixed", "stop.messages=2000000", "stop.warmup_messages=10")
"""A point takes a second."""
ENDLESS = ("stop.rule=fixed", "stop.messages=4000000000", "stop.warmup_messages=10")
DAY_S = 86_400
CLOCK = Path(__file__).parent / "scripts/clock.c"


@pytest.fixture
def started(tmp_path):
    """``isthmus`` begun and not waited for, in an empty folder but for a scenario."""
    begun = []
    (tmp_path / "small.toml").write_text(SMALL)

    def start(*words, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", "isthmus", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate(timeout=LIMIT_S)


@pytest.fixture
def isthmus(started):
    def call(*words, **environment):
        return ended(started(*words, **environment))

    return call


def ended(process):
    out, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, said


def until(said, what):
    deadline = time.monotonic() + LIMIT_S
    while not (found := said()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.02)
    return found


def done_by(folder):
    """What processes say that they have done: for each entry how often, and the seconds."""
    found = {}
    for file in (folder / "points").glob("worker-*.jsonl"):
        for line in file.read_text().splitlines():
            told = json.loads(line)
            if "done" in told:
                found.setdefault(told["done"], []).append(told["took_s"])
    return found


def test_a_node_that_is_gone_has_lost_its_point_after_the_time_stated(started, isthmus, tmp_path):
    points = tmp_path / "o/points"
    claim = points / "point-00000.claim"
    first = started("run", "small.toml", "--points", "0", "--out", "o", *ENDLESS, "--jobs", 1)
    until(claim.exists, "claim")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=LIMIT_S)
    # As if it had been a process of another machine, of which nothing can be known here.
    (own,) = points.glob("worker-*.jsonl")
    process = own.stem.split("-")[-2:]
    name = "-".join(["worker", "far.away", *process])
    own.rename(points / f"{name}.jsonl")
    claim.write_text(claim.read_text().replace(own.stem, name))
    assert name in claim.read_text()
    (running,) = state_of(tmp_path / "o").running
    assert (running.host, running.lost) == ("far.away", False)
    second = started(
        "run", "small.toml", "--points", "0", "--out", "o", *ENDLESS, "--jobs", 1,
        "--expiry", "2 s",
    )  # fmt: skip
    until(lambda: name not in claim.read_text() if claim.exists() else False, "new claim")
    assert time.time() - (points / f"{name}.jsonl").stat().st_mtime >= 2
    taken = {r.process: r.lost for r in state_of(tmp_path / "o").running if r.host != "far.away"}
    assert taken == {second.pid: False}


@pytest.fixture(scope="session")
def clock(tmp_path_factory):
    """A library that sets the clock of a process apart."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler to set a clock apart with")
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    words = [compiler, "-shared", "-fPIC", "-o", made, CLOCK, "-ldl"]
    subprocess.run(words, check=True, timeout=LIMIT_S)
    return str(made)


def test_clocks_apart_take_no_point_from_who_is_alive(started, tmp_path, clock):
    apart = {at: {"LD_PRELOAD": clock, "CLOCK_APART_S": str(at)} for at in (DAY_S, -DAY_S)}
    for apart_s, environment in apart.items():
        told = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        assert abs(float(told.stdout) - time.time() - apart_s) < DAY_S / 2
    words = ("run", "small.toml", *SLOW, "--points", "0", "--out", "o", "--jobs", 1)
    words = (*words, "stop.messages=16000000", "--expiry", "4 s")
    first = started(*words)
    until((tmp_path / "o/points/point-00000.claim").exists, "claim")
    for environment in apart.values():
        told = subprocess.run(
            [sys.executable, "-m", "isthmus", "status", "o"],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        assert f"  point-00000: process {first.pid} on " in told.stdout
    others = [started(*words, **environment) for environment in apart.values()]
    for process in (first, *others):
        status, _, said = ended(process)
        assert status == 0, said
    ((took_s,),) = done_by(tmp_path / "o").values()
    # Long enough that it would have been taken over.
    assert took_s > 4


@pytest.fixture
def full(tmp_path):
    """A folder on a small file system of its own."""
    place = tmp_path / "small-disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "isthmus-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=LIMIT_S)


@pytest.mark.parametrize("on", [("--part", "1/1"), ("--on", "dask", "--jobs", 1), ()])
def test_a_full_folder_is_said_and_the_run_goes_on_with_room(isthmus, full, tmp_path, on):
    if "dask" in on:
        pytest.importorskip("distributed")
    out = full / "out"
    status, _, said = isthmus("run", "small.toml", "--quick", "--points", "0", "--out", out)
    assert status == 0, said
    kept = (out / "points/point-00000.json").read_bytes()
    ballast = full / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass
    status, _, said = isthmus("run", "small.toml", "--quick", *on, "--out", out)
    # Not that of points which cannot be done: with room all of them can.
    assert status == 2
    assert "No space left on device" in said
    assert said.count("\n") == 1, said
    assert str(out) in said
    # Nothing is wrong with the folder.
    assert "make room there" in said or "put that right and repeat" in said
    assert "another folder" not in said and "that can be" not in said
    assert (out / "points/point-00000.json").read_bytes() == kept
    assert state_of(out).done == 1
    ballast.unlink()
    status, _, said = isthmus("run", "small.toml", "--quick", *on, "--out", out)
    assert status == 0, said
    here = tmp_path / "here"
    assert isthmus("run", "small.toml", "--quick", "--out", here)[0] == 0
    if on[:1] == ("--part",):
        assert isthmus("collect", out)[0] == 0
    assert (out / "result.json").read_bytes() == (here / "result.json").read_bytes()


def test_an_entry_cut_short_is_named_and_nothing_is_counted(isthmus, tmp_path):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, "--part", "1/1")[0] == 0
    entry = tmp_path / "o/points/point-00002.json"
    whole = entry.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        entry.write_bytes(whole[:size])
        for command in (("collect", "o"), words):
            status, out, said = isthmus(*command)
            assert (status, out) == (2, ""), command
            assert "point-00002.json" in said
            assert said.count("\n") == 1
        status, out, said = isthmus(*words, "--points", "2")
        assert (status, out) == (1, "0 of 1 point of this part is in o\n")
        assert "point-00002 failed" in said and "point-00002.json:1" in said
        assert said.count("\n") == 1
        assert not (tmp_path / "o/result.json").exists()
    entry.unlink()
    assert isthmus(*words, "--points", "2")[0] == 0
    assert entry.read_bytes() == whole
    assert isthmus("collect", "o")[0] == 0


def test_an_entry_of_another_version_is_refused_and_both_are_named(isthmus, tmp_path):
    words = ("run", "small.toml", "--quick", "--out", "o")
    assert isthmus(*words, "--part", "1/1")[0] == 0
    entry = tmp_path / "o/points/point-00001.json"
    ours = f'"version":"{__version__}"'.encode()
    whole = entry.read_bytes()
    assert whole.count(ours) >= 1
    entry.write_bytes(whole.replace(ours, b'"version":"0.0.7"', 1))
    for command in (("collect", "o"), words):
        status, out, said = isthmus(*command)
        assert (status, out) == (2, "")
        assert "point-00001.json" in said and "0.0.7" in said and __version__ in said
        assert "move this file away" in said and "--fresh" not in said
        assert said.count("\n") == 1


def test_the_same_part_twice_at_once_does_each_point_once(started, tmp_path):
    words = ("run", "small.toml", *SLOW, "--part", "1/1", "--out", "o", "--jobs", 1)
    parts = [started(*words) for _ in range(2)]
    for part in parts:
        status, out, said = ended(part)
        assert status == 0, said
        assert out == "4 of 4 points of this part are in o\n"
    assert {name: len(took) for name, took in done_by(tmp_path / "o").items()} == {
        f"point-{at:05}": 1 for at in range(4)
    }

"""Parts of a run: done by many processes in one folder, told, and collected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import command_line
from conftest import SMALL
from isthmus.errors import IsthmusError
from isthmus.execution import Job
from isthmus.sweeps import Selection, state_of
from isthmus.sweeps.selection import listed, ranges
from test_check import CHECKPOINTS

FILES = ("result.json", "results.csv", "results.parquet", "report.html", "scenario.toml")
SEARCHED = SMALL + '\n[search]\nover = "workload.rate"\nfrom = "2 /ms"\nto = "100 /ms"\n'
NOBODY = 65534
LIMIT_S = 120
"""Longer than anything here takes on a busy machine."""


def isthmus(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command_line.call(*words, cwd=cwd)


def started(*words: object, cwd: Path) -> subprocess.Popen[str]:
    words_ = [sys.executable, "-m", "isthmus", *map(str, words)]
    return subprocess.Popen(words_, cwd=cwd, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SEARCHED)
    return path


def same(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_parts_of_many_processes_are_collected_to_the_bytes_of_one_run(file):
    here = file.parent
    whole = isthmus("run", file, "--quick", "--out", "whole", "--jobs", 2, cwd=here)
    assert whole.returncode == 0, whole.stderr
    parts = [
        started("run", file, "--quick", "--part", f"{k}/3", "--out", "parts", cwd=here)
        for k in (1, 2, 3, 2)
    ]
    for part in parts:
        _, told = part.communicate(timeout=LIMIT_S)
        assert part.returncode == 0, told
    state = state_of(here / "parts")
    assert (state.done, state.total, state.running, state.failed) == (6, 6, [], [])
    done = isthmus("collect", "parts", cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:-1] == whole.stdout.splitlines()[:-1]
    same(here / "parts", here / "whole")
    # Nothing is left to be done.
    before = sorted((p.name, p.stat().st_mtime_ns) for p in (here / "parts/points").iterdir())
    again = isthmus("run", file, "--quick", "--out", "parts", cwd=here)
    assert again.returncode == 0, again.stderr
    assert (
        sorted((p.name, p.stat().st_mtime_ns) for p in (here / "parts/points").iterdir()) == before
    )


def test_what_is_missing_is_named_by_what_does_it(file):
    here = file.parent
    words = ("run", file, "stop.precision=50%", "search.resolution=20%", "--out", "o")
    assert isthmus(*words, "--points", "0,3", cwd=here).returncode == 0
    told = isthmus("status", "o", cwd=here).stdout
    first = told.splitlines()[0]
    assert first == "small: 2 of 6 points and searches done, 0 running, 0 failed, 4 waiting"
    done = isthmus("collect", "o", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    missing = "of 4 points and 2 searches 2 points (1:3) and 2 searches (0:2) are missing"
    assert missing in done.stderr
    assert "`isthmus run o --points 1:3 --searches 0:2`" in done.stderr
    assert not (here / "o/result.json").exists()
    more = isthmus(*words, "--points", "1:3", "--searches", "0:2", cwd=here)
    assert more.returncode == 0, more.stderr
    assert isthmus("collect", "o", cwd=here).returncode == 0


def test_a_point_that_cannot_be_done_keeps_no_other_from_being_done(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    stop = 'stop={rule="fixed", time="2 ms", warmup="fixed", warmup_messages=50, replications=2}'
    # At the lower load so many messages do not come in that time.
    sweep = "sweep.workload.rate=['20 /ms', '0.1 /ms']"
    done = isthmus("run", "s.toml", stop, sweep, "--part", "1/1", "--out", "o", cwd=tmp_path)
    state = state_of(tmp_path / "o")
    assert done.returncode == 1, done.stderr
    assert [each.entry for each in state.failed] == ["point-00001", "point-00003"]
    assert state.done == 2
    assert all(each.reason in done.stderr for each in state.failed)
    told = isthmus("status", "o", cwd=tmp_path).stdout
    assert told.splitlines()[0] == "small: 2 of 4 points done, 0 running, 2 failed"
    told = json.loads(isthmus("status", "o", "--json", cwd=tmp_path).stdout)
    assert [each["reason"] for each in told["failed"]] == [f.reason for f in state.failed]
    collected = isthmus("collect", "o", cwd=tmp_path)
    assert collected.returncode == 1 and state.failed[0].reason[:60] in collected.stderr


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("--part", "0/3"), "give K/N with 1 <= K <= N"),
        (("--part", "4/3"), "give K/N with 1 <= K <= N"),
        (("--part", "half"), "give K/N with 1 <= K <= N"),
        (("--part", ""), "give K/N with 1 <= K <= N"),
        (("--points", ""), "is no range"),
        (("--searches", ""), "is no range"),
        (("--points", "4"), "there are 0:4"),
        (("--points", "2:2"), "there are 0:4"),
        (("--points", "1-3"), "is no range; give numbers from 0"),
        (("--searches", "7"), "there are 0:2"),
        (("--part", "1/2", "--points", "0"), "leave --points, --searches out"),
        (("--part", "1/2", "--fresh"), "--fresh: is not for parts"),
        (("--part", "1/2", "--expiry", "60"), "give a number and its unit"),
        (("--part", "1/2", "--expiry", "1 ms"), "too little"),
        (("--expiry", "60 s"), "give --part or --points as well"),
    ],
)
def test_words_that_make_no_sense_are_refused(file, words, right):
    done = isthmus("run", file, *words, "--out", "o", cwd=file.parent)
    assert done.returncode == 2, done.stderr
    assert right in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (file.parent / "o").exists()


def test_a_folder_is_needed_and_is_that_of_this_run(file):
    here = file.parent
    done = isthmus("run", file, "--part", "1/2", cwd=here)
    assert done.returncode == 2 and "parts meet in a folder" in done.stderr
    assert isthmus("run", file, "--points", "0", "--out", "o", cwd=here).returncode == 0
    for change, what in (
        ("seed=9", "another scenario"),
        ("title=Another", "another title, text or changes"),
        ("workload.locality=0.3", "another scenario"),
    ):
        done = isthmus("run", file, change, "--points", "1", "--out", "o", cwd=here)
        assert done.returncode == 2, (change, done.stderr)
        assert what in done.stderr, done.stderr
    assert (
        isthmus("run", file, "--seed", "9", "--points", "1", "--out", "o", cwd=here).returncode == 2
    )
    mine = here / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("all of it")
    for command in (("run", file, "--part", "1/2", "--out"), ("collect",), ("status",)):
        done = isthmus(*command, mine, cwd=here)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_results_are_not_written_while_parts_are_done(file):
    here = file.parent
    # Enough work to be found at it.
    slow = ("stop.rule=fixed", "stop.messages=20000000", "stop.warmup_messages=10")
    part = started("run", file, *slow, "--points", "0", "--out", "o", "--jobs", 1, cwd=here)
    try:
        wait_for((here / "o/points/point-00000.claim").exists)
        state = state_of(here / "o")
        assert [(r.entry, r.process, r.lost) for r in state.running] == [
            ("point-00000", part.pid, False)
        ]
        told = isthmus("status", "o", cwd=here).stdout
        assert f"point-00000: process {part.pid} on " in told
        done = isthmus("run", file, *slow, "--out", "o", cwd=here)
        assert done.returncode == 2
        assert "one that does a part of this run, is working in this folder" in done.stderr
        done = isthmus("collect", "o", cwd=here)
        assert done.returncode == 1
        assert "others are at 1 of them: wait for these" in done.stderr
        assert "`isthmus run o`" not in done.stderr
        part.send_signal(signal.SIGINT)
        _, told = part.communicate(timeout=LIMIT_S)
        assert part.returncode == 130, told
        assert "0 of 1 point" in told
        assert not (here / "o/points/point-00000.claim").exists()
    finally:
        part.kill()
        part.wait()


def test_a_search_that_cannot_be_done_is_said_by_its_own_values(file):
    here = file.parent
    words = ("sweep.machine.dimension=[3,20]", "--memory", "60 MB", "--out", "o")
    done = isthmus("run", file, *words, "--searches", "1", cwd=here)
    assert done.returncode == 1
    where = "(at machine.lanes.io_link = 0, machine.dimension = 20)"
    assert "search-00001 failed: the simulation takes more than 60 MB, the memory" in done.stderr
    assert where in done.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_part_that_waits_for_others_ends_at_once(file, number, status):
    here = file.parent
    assert isthmus("run", file, "--points", "0", "--out", "o", cwd=here).returncode == 0
    far = "worker-far.away-7-0123456789abcdef"
    (here / f"o/points/{far}.jsonl").write_text(json.dumps({"worker": far, "expiry_s": 900.0}))
    (here / "o/points/point-00001.claim").write_text(f"{far}\n")
    words = ("--points", "0:2", "--out", "o", "--expiry", "15 min", "--verbose")
    part = started("run", file, *words, cwd=here)
    try:
        assert part.stderr is not None
        while "waits for 1 point of others" not in (line := part.stderr.readline()):
            assert line, "it ended"
        part.send_signal(number)
        began = time.monotonic()
        _, told = part.communicate(timeout=LIMIT_S)
        # A minute is what a run is given that hears nothing.
        assert time.monotonic() - began < 30
        assert part.returncode == status, told
    finally:
        part.kill()
        part.wait()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_process_that_is_told_to_end_gives_back_what_it_was_at(file, number):
    here = file.parent
    slow = ("stop.rule=fixed", "stop.messages=20000000", "stop.warmup_messages=10")
    part = started("run", file, *slow, "--points", "0", "--out", "o", "--jobs", 1, cwd=here)
    try:
        wait_for((here / "o/points/point-00000.claim").exists)
        part.send_signal(number)
        if number == signal.SIGHUP:
            # The shell says again what the system has said.
            part.send_signal(number)
        _, told = part.communicate(timeout=LIMIT_S)
    finally:
        part.kill()
        part.wait()
    assert part.returncode == 128 + number, told
    assert "interrupted; 0 of 1 point" in told
    assert not (here / "o/points/point-00000.claim").exists()


def test_a_process_begun_by_nohup_goes_on(file):
    here = file.parent
    slow = ("stop.rule=fixed", "stop.messages=2000000", "stop.warmup_messages=10")
    words = ["run", str(file), *slow, "--points", "0", "--out", "o", "--jobs", "1"]
    part = subprocess.Popen(
        ["nohup", sys.executable, "-m", "isthmus", *words],
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for((here / "o/points/point-00000.claim").exists)
        part.send_signal(signal.SIGHUP)
        _, told = part.communicate(timeout=LIMIT_S)
    finally:
        part.kill()
        part.wait()
    assert part.returncode == 0, told
    assert (here / "o/points/point-00000.json").exists()


def test_what_a_killed_process_was_at_is_taken_over(file):
    here = file.parent
    slow = ("stop.rule=fixed", "stop.messages=2000000", "stop.warmup_messages=10")
    words = ("run", file, *slow, "--points", "0", "--out", "o", "--jobs", 1)
    first = started(*words, cwd=here)
    wait_for((here / "o/points/point-00000.claim").exists)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=LIMIT_S)
    assert (here / "o/points/point-00000.claim").exists()
    (left,) = state_of(here / "o").running
    assert (left.process, left.lost) == (first.pid, True)
    told = isthmus("status", "o", cwd=here).stdout.splitlines()
    first_line = (
        "small: 0 of 6 points and searches done, 0 running, 0 failed, 1 given up, 5 waiting"
    )
    assert told[0] == first_line
    assert told[1].startswith(f"  point-00000: given up by process {first.pid} on ")
    done = isthmus(*words, cwd=here)
    assert done.returncode == 0, done.stderr
    assert not (here / "o/points/point-00000.claim").exists()
    alone = isthmus("run", file, *slow, "--points", "0", "--out", "alone", cwd=here)
    assert alone.returncode == 0
    entry = "points/point-00000.json"
    assert (here / "o" / entry).read_bytes() == (here / "alone" / entry).read_bytes()


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may read, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="isthmus-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_status_only_reads_and_tells_who_may_not_write(open_to_all):
    """Run as a user who owns nothing there."""
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    tmp_path = open_to_all
    (tmp_path / "small.toml").write_text(SMALL)
    done = isthmus("run", "small.toml", "--quick", "--points", "0", "--out", "o", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Of another machine, and silent for long.
    (file,) = (tmp_path / "o/points").glob("worker-*.jsonl")
    there = "worker-far.away-" + "-".join(file.stem.split("-")[-2:])
    file = file.rename(file.with_name(f"{there}.jsonl"))
    (tmp_path / "o/points/point-00001.claim").write_text(f"{there}\n")
    os.utime(file, (time.time() - 600,) * 2)
    paths = [tmp_path / "o", *sorted((tmp_path / "o").rglob("*"))]
    before = [(str(path), path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in paths]
    code = (
        "import os, sys\nfrom isthmus.cli.process import run\nimport isthmus.cli.status\n"
        "import isthmus.sweeps.words\nimport isthmus.cli.streams\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "assert not os.access('o', os.W_OK) and not os.access('o/points', os.W_OK)\n"
        "sys.argv = ['isthmus', 'status', 'o']\nrun()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    process = there.split("-")[-2]
    assert done.stdout.splitlines() == [
        "small: 1 of 4 points done, 0 running, 0 failed, 1 given up, 2 waiting",
        f"  point-00001: given up by process {process} on far.away",
        "nobody is at it: `isthmus run o` does what is missing",
    ]
    # One who may write does not, either.
    assert isthmus("status", "o", cwd=tmp_path).stdout == done.stdout
    paths = [tmp_path / "o", *sorted((tmp_path / "o").rglob("*"))]
    after = [(str(path), path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in paths]
    assert after == before


@pytest.mark.parametrize("last", [("run", "small.toml", "--quick", "--out", "o"), ("collect", "o")])
def test_nothing_is_left_of_what_killed_processes_were_at(file, last):
    here = file.parent
    points = here / "o/points"
    done = isthmus("run", file, "--quick", "--part", "1/1", "--out", "o", cwd=here)
    assert done.returncode == 0, done.stderr
    before = sorted(path.name for path in points.iterdir())
    (worker,) = (path.stem for path in points.glob("worker-*.jsonl"))
    # Killed when it had done a point, and as it took over a point and a search.
    for name in (
        "point-00001.claim",
        f"point-00002.claim.{worker}",
        f"search-00000.claim.{worker}",
    ):
        (points / name).write_text(f"{worker}\n")
    # Of no point of this run, and not of a worker: not isthmus' own.
    mine = ["point-00099.claim", "point-00001.claim.txt"]
    for name in mine:
        (points / name).write_text("mine")
    done = isthmus(*last, cwd=here)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in points.iterdir()) == sorted([*before, *mine])
    (points / f"point-00003.claim.{worker}").touch()
    done = isthmus("run", file, "--quick", "--fresh", "--out", "o", cwd=here)
    assert done.returncode == 0, done.stderr
    assert not list(points.glob(f"*{worker}*"))


def test_what_may_mislead_is_told_in_every_way_of_running(tmp_path):
    (tmp_path / "dump.toml").write_text(CHECKPOINTS)
    words = ("run", "dump.toml", "stop.time=5 ms")
    whole = isthmus(*words, "--out", "whole", cwd=tmp_path)
    assert isthmus(*words, "--part", "1/1", "--out", "parts", cwd=tmp_path).returncode == 0
    collected = isthmus("collect", "parts", cwd=tmp_path)
    (line,) = whole.stderr.splitlines()
    assert line.startswith("isthmus: dump.toml: stop.time: 5 ms is less than a period")
    assert collected.stderr == whole.stderr.replace("dump.toml", "parts")


def test_a_damaged_entry_is_not_counted(file):
    here = file.parent
    assert isthmus("run", file, "--quick", "--part", "1/1", "--out", "o", cwd=here).returncode == 0
    entry = here / "o/points/point-00002.json"
    entry.write_bytes(entry.read_bytes()[:-9])
    state = state_of(here / "o")
    assert (state.done, [flaw.entry for flaw in state.damaged]) == (5, ["point-00002"])
    told = isthmus("status", "o", cwd=here).stdout
    assert "point-00002: damaged (its bytes are not those that were written); delete " in told
    assert "all is there" not in told
    again = "once that is out of the way, `isthmus run o` does what is missing"
    assert told.splitlines()[-1] == f"nobody is at it: {again}"
    assert isthmus("collect", "o", cwd=here).returncode == 2
    entry.unlink()
    assert isthmus("run", file, "--quick", "--part", "1/1", "--out", "o", cwd=here).returncode == 0
    assert isthmus("collect", "o", cwd=here).returncode == 0


def test_points_that_an_executor_has_done_are_kept(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    class Ending(ThreadPoolExecutor):
        """After two points every further one is lost."""

        given = 0

        def submit(self, function, /, *words, **more):
            self.given += 1
            if self.given > 2:
                return super().submit(lost)
            return super().submit(function, *words, **more)

    def lost():
        raise OSError("the node is gone")

    with Ending(1) as executor:
        job = Job(SMALL, "small.toml", quick=True, executor=executor)
        with pytest.raises(IsthmusError, match="the node is gone"):
            job.run_into(tmp_path / "o")
    state = state_of(tmp_path / "o")
    assert state.done in (1, 2)
    Job(SMALL, "small.toml", quick=True).run_into(tmp_path / "o")
    Job(SMALL, "small.toml", quick=True).run_into(tmp_path / "whole")
    same(tmp_path / "o", tmp_path / "whole")


def wait_for(seen, limit_s: float = LIMIT_S) -> None:
    end = time.monotonic() + limit_s
    while not seen():
        assert time.monotonic() < end, "not seen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 40])
@pytest.mark.parametrize(("points", "searches"), [(0, 1), (5, 0), (12, 3)])
def test_parts_are_all_there_is_and_each_once(parts, points, searches):
    shares = [Selection.share(f"{k}/{parts}", points, searches) for k in range(1, parts + 1)]
    assert sorted(p for s in shares for p in s.points) == list(range(points))
    assert sorted(p for s in shares for p in s.searches) == list(range(searches))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_lists_are_read_as_they_are_written():
    random = Random(54)
    for _ in range(500):
        count = random.randint(1, 60)
        chosen = tuple(sorted(random.sample(range(count), random.randint(1, count))))
        assert listed("--points", ranges(chosen), count) == chosen

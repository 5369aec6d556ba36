"""What lies in the folder of a run that is not as one's own, and who only looks at it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus.owned import lock, mark
from isthmus.owned.lock import LOCK, holder_of
from isthmus.sweeps import state, state_of
from test_sweeps import LIMIT_S, NOBODY, isthmus, open_to_all, started, wait_for
from test_sweeps_faults import ENDLESS
from test_sweeps_folder import here, one_line

__all__ = ["here", "open_to_all"]

PART = ("run", "small.toml", "--quick", "--part", "1/1", "--out", "o")
FAR = "worker-far.away-1-0123456789abcdef"
"""A process of another machine."""
STALE = Path(__file__).parent / "scripts/estale.c"


def begun(here: Path) -> Path:
    """The journal of a folder with one of four points."""
    done = isthmus("run", "small.toml", "--quick", "--points", "0", "--out", "o", cwd=here)
    assert done.returncode == 0, done.stderr
    return here / "o/points"


def test_a_claim_that_is_no_file_is_one_failed_point(here):
    points = begun(here)
    (points / "point-00001.claim").mkdir()
    part = isthmus(*PART, cwd=here)
    assert (part.returncode, part.stdout) == (1, "3 of 4 points of this part are in o\n")
    assert part.stderr.count("point-00001.claim: not a plain file") == 1
    (points / "point-00001.claim").rmdir()
    assert isthmus(*PART, cwd=here).returncode == 0


def test_a_claim_that_another_machine_removes_while_it_is_read_is_looked_at_again(here):
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler to have a read fail with")
    words = [compiler, "-shared", "-fPIC", "-o", here / "stale.so", STALE, "-ldl"]
    subprocess.run(words, check=True, timeout=LIMIT_S)
    points = begun(here)
    (points / f"{FAR}.jsonl").write_text("")
    os.utime(points / f"{FAR}.jsonl", (time.time() - 600,) * 2)
    (points / "point-00001.claim").write_text(f"{FAR}\n")
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", *PART],
        cwd=here,
        env={**os.environ, "LD_PRELOAD": str(here / "stale.so")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 of 4 points of this part are in o\n"


def test_status_waits_for_nothing_that_lies_there_and_follows_no_link(here):
    points = begun(here)
    os.mkfifo(points / "point-00001.claim")
    os.mkfifo(points / f"{FAR}.jsonl")
    (points / "point-00002.claim").symlink_to("/dev/zero")
    (points / "worker-far-2-0123456789abcdef.jsonl").symlink_to("/dev/zero")
    told = {"failed": "point-00003", "at_s": 1, "reason": "theirs"}
    (here / "theirs").write_text(json.dumps(told))
    (points / "worker-far-3-0123456789abcdef.jsonl").symlink_to(here / "theirs")
    done = isthmus("status", "o", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["done"], found["running"], found["failed"]) == (1, [], [])


def test_the_time_that_a_process_states_is_that_after_which_it_is_lost(here):
    points = begun(here)
    (points / f"{FAR}.jsonl").write_text(json.dumps({"worker": FAR, "expiry_s": 900.0}) + "\n")
    (points / "point-00001.claim").write_text(f"{FAR}\n")
    (own,) = (path for path in points.glob("worker-*.jsonl") if path.stem != FAR)
    now = time.time()
    os.utime(own, (now, now))
    for ago, lost in ((100, False), (1000, True)):
        os.utime(points / f"{FAR}.jsonl", (now - ago, now - ago))
        (running,) = state_of(here / "o").running
        assert (running.host, running.lost) == ("far.away", lost)


def test_the_lock_says_who_holds_a_folder_whatever_its_number_is_here(here):
    dead = subprocess.Popen(["true"])
    dead.wait()
    with lock.hold(here, work=lock.DOES_ALL):
        told = json.loads((here / LOCK).read_text())
        # As it would be of a process in a container of the same host's name.
        (here / LOCK).write_text(json.dumps({**told, "pid": dead.pid}))
        holder = holder_of(here)
        assert holder is not None and holder.pid == dead.pid
        left = (here / LOCK).read_text()
    (here / LOCK).write_text(left)
    assert holder_of(here) is None


def test_a_process_of_another_container_with_this_host_s_name_is_not_dead(here):
    words = ["unshare", "--pid", "--fork", "--mount-proc"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True, timeout=LIMIT_S)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("process numbers of their own cannot be had here")
    command = [*words, "--kill-child", sys.executable, "-m", "isthmus", "run", "small.toml"]
    more = ["--points", "0", "--out", "o", *ENDLESS, "--jobs", "1"]
    process = subprocess.Popen([*command, *more], cwd=here, stderr=subprocess.DEVNULL)
    try:
        claim = here / "o/points/point-00000.claim"
        wait_for(lambda: claim.exists() and claim.read_text().endswith("\n"))
        # As if it had there a number that nobody has here.
        worker = here / f"o/points/{claim.read_text().strip()}.jsonl"
        parts = worker.stem.split("-")
        dead = subprocess.Popen(["true"])
        dead.wait()
        other = worker.with_name("-".join([*parts[:-2], str(dead.pid), parts[-1]]) + ".jsonl")
        other.write_bytes(worker.read_bytes())
        claim.write_text(f"{other.stem}\n")
        (running,) = state_of(here / "o").running
        assert (running.process, running.lost) == (dead.pid, False)
    finally:
        process.kill()
        process.wait(timeout=LIMIT_S)


def test_a_part_begins_beside_a_living_one_where_what_is_run_is_gone(here):
    words = ("run", "small.toml", "--out", "o", *ENDLESS, "--jobs", "1")
    first = started(*words, "--points", "0", cwd=here)
    try:
        wait_for((here / "o/points/point-00000.claim").exists)
        (here / "o/scenario.toml").unlink()
        (here / "o/run.json").unlink()
        second = started(*words, "--points", "1", cwd=here)
        try:
            wait_for((here / "o/points/point-00001.claim").exists)
            assert second.poll() is None
        finally:
            second.kill()
            second.communicate(timeout=LIMIT_S)
        # What is changed is somebody's work, and is told at once.
        (here / "o/run.json").write_text("mine")
        assert "run.json: changed" in one_line(isthmus(*words, "--points", "1", cwd=here))
        (here / "o/run.json").unlink()
    finally:
        first.kill()
        first.communicate(timeout=LIMIT_S)
    # Who is alone there writes them anew.
    mine = ("run", "small.toml", "--out", "o", *ENDLESS, "--points", "2", "--jobs", "1")
    third = started(*mine, cwd=here)
    wait_for((here / "o/points/point-00002.claim").exists)
    third.kill()
    third.communicate(timeout=LIMIT_S)
    assert (here / "o/run.json").exists() and (here / "o/scenario.toml").exists()


def test_a_result_that_was_changed_is_told_whoever_has_written_the_mark_since(here, monkeypatch):
    from isthmus.execution import Job

    monkeypatch.setattr(mark, "LARGE", 0)
    Job(SMALL, "small.toml", quick=True).run_into(here / "o")
    out = here / "o"
    data = bytearray((out / "result.json").read_bytes())
    data[len(data) // 2] ^= 1
    (out / "result.json").write_bytes(data)
    assert state_of(out).changed == ["result.json"]
    # As who submits a job does, who looks at other files only.
    found = mark.read_mark(out)
    assert found is not None and found.verified_ns
    found.save(out)
    told = state_of(out)
    assert told.changed == ["result.json"] and not told.collected


def test_a_folder_in_the_place_of_an_entry_is_missing_as_for_the_core(here):
    points = begun(here)
    (points / "point-00001.json").mkdir()
    (points / "point-00002.json").symlink_to(points / "point-00000.json")
    lacks = state.missing_units(here / "o", 4, 0)
    assert lacks.points == (1, 2, 3)
    part = isthmus(*PART, cwd=here)
    assert (part.returncode, part.stdout) == (1, "2 of 4 points of this part are in o\n")


def test_nobody_is_told_to_delete_what_only_cannot_be_read(open_to_all):
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    (open_to_all / "small.toml").write_text(SMALL)
    points = begun(open_to_all)
    (points / "point-00000.json").chmod(0o600)
    code = (
        "import os, sys\nfrom isthmus.cli.process import run\nimport isthmus.cli.status\n"
        "import isthmus.sweeps.words\nimport isthmus.cli.streams\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "sys.argv = ['isthmus', 'status', 'o', *sys.argv[1:]]\nrun()"
    )

    def status(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=open_to_all,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    told = status()
    assert "  point-00000: cannot be read (Permission denied (os error 13)); it may be good" in told
    assert "delete" not in told and "damaged" not in told
    found = json.loads(status("--json"))
    assert found["damaged"] == []
    assert [each["entry"] for each in found["unread"]] == ["point-00000"]

"""Submitting to Slurm: beside those who work in the folder, and whatever interrupts it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import SMALL
from isthmus import IsthmusError
from isthmus.execution import Job
from isthmus.owned import OwnedFolder
from isthmus.sweeps import Selection, do_part, state_of
from isthmus.sweeps.slurm import Array, Sweep, Wanted
from isthmus.sweeps.slurm import sweep as sweeps
from isthmus.sweeps.slurm.jobs import jobs_of
from isthmus.sweeps.source import joined
from scripted_slurm import FORGOTTEN, TEST_ONLY, Commands, finish_here, sweep

PATIENCE_S = 180
QUEUE = 'case "$*" in *--name*) [ ! -e {queued} ] || echo 7 ;; esac'
"""A `squeue` that knows a job by its name once it is there."""


@pytest.fixture
def commands(tmp_path):
    return Commands(tmp_path / "bin")


def until(said, what):
    deadline = time.monotonic() + PATIENCE_S
    while not said():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.05)


@pytest.fixture
def isthmus_on(tmp_path, commands):
    """``isthmus run --on slurm``, begun and not waited for."""
    begun = []
    (tmp_path / "small.toml").write_text(SMALL)

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "isthmus", "run", "small.toml", "--on", "slurm", *words],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{commands.place}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def ended(process):
    out, said = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said
    return process.returncode, out, said


def slow_sbatch(tmp_path, then):
    """An `sbatch` that answers when it is told to, and what it is told by."""
    began, go = tmp_path / "began", tmp_path / "go"
    script = f"{TEST_ONLY}touch {began}; while [ ! -e {go} ]; do sleep 0.05; done; {then}"
    return script, began, go


def numbers(folder):
    return [job["number"] for job in json.loads((folder / "slurm/jobs.json").read_text())]


def test_a_job_is_submitted_beside_parts_that_work(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    with joined(made.job, made.folder) as part:
        assert made.submitted() == Array("7")
        # And whoever joins meanwhile finds what is written.
        with joined(made.job, made.folder) as other:
            assert {"slurm/array.sh", "slurm/jobs.json"} <= set(other.mark.files)
        assert part.intact("run.json")
    assert numbers(made.folder) == ["7"]


def test_nobody_is_kept_out_of_the_folder_while_sbatch_is_asked(tmp_path, commands):
    words = f"{sys.executable} -m isthmus run {tmp_path}/out --quiet"
    slurm = commands(sbatch=f"{TEST_ONLY}{words} >&2 && echo 7", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    # A whole run, which must be alone.
    assert made.submitted() == Array("7")
    assert (made.folder / "result.json").exists()
    assert numbers(made.folder) == ["7"]


def test_a_job_is_named_whose_folder_has_become_that_of_another_run(tmp_path, commands):
    (tmp_path / "small.toml").write_text(SMALL)
    other = f"{sys.executable} -m isthmus run {tmp_path}/small.toml --seed 9 --fresh -q"
    slurm = commands(
        sbatch=f"{TEST_ONLY}{other} --out {tmp_path}/out >&2 && echo 7",
        squeue="true",
        scontrol="true",
    )
    made, _ = sweep(tmp_path, slurm, tasks=4)
    with pytest.raises(IsthmusError, match=r"holds results with seed 9.* `scancel 7` ends it"):
        made.submitted()


def test_ctrl_c_waits_for_the_answer_of_sbatch(tmp_path, commands, isthmus_on):
    sbatch, began, go = slow_sbatch(tmp_path, "echo 7")
    commands(sbatch=sbatch, squeue="true", scontrol="true")
    whole = isthmus_on("--array-size", "4", "--out", "a & b")
    until(began.exists, "question to sbatch")
    whole.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        whole.wait(2)
    go.touch()
    status, out, said = ended(whole)
    assert (status, out) == (130, "")
    assert "interrupted; sbatch is asked to the end" in said
    assert "Slurm job 7 goes on (0 of 4 done)" in said
    # What may be pasted into a shell.
    assert "`isthmus status 'a & b'`" in said
    assert numbers(tmp_path / "a & b") == ["7"]


def test_ctrl_c_is_heard_also_where_sbatch_fails(tmp_path, commands, isthmus_on):
    sbatch, began, go = slow_sbatch(tmp_path, "echo 'sbatch: error: limit' >&2; exit 1")
    commands(sbatch=sbatch, squeue="true", scontrol="true")
    whole = isthmus_on("--array-size", "4")
    until(began.exists, "question to sbatch")
    whole.send_signal(signal.SIGTERM)
    go.touch()
    status, _, said = ended(whole)
    assert status == 143, said


def test_ctrl_c_is_heard_where_lost_tasks_are_refused(tmp_path, commands, isthmus_on):
    sbatch, began, go = slow_sbatch(tmp_path, "echo 'sbatch: error: limit' >&2; exit 1")
    commands(
        sbatch=f"[ -e {tmp_path}/first ] || {{ {TEST_ONLY} touch {tmp_path}/first; echo 7; exit; }}"
        f"\n{sbatch}",
        squeue=f'case "$*" in *--name*) ;; *) {FORGOTTEN} ;; esac',
        scontrol=FORGOTTEN,
    )
    whole = isthmus_on("--array-size", "4")
    until(began.exists, "question to sbatch")
    whole.send_signal(signal.SIGINT)
    go.touch()
    status, _, said = ended(whole)
    assert status == 130, said
    assert "0 of 4 points are kept in out/small" in said


def test_a_second_ctrl_c_leaves_sbatch_alone_and_the_job_is_found(tmp_path, commands, isthmus_on):
    queued = tmp_path / "queued"
    sbatch, began, go = slow_sbatch(tmp_path, f"echo 7; echo 7 >{queued}")
    commands(sbatch=sbatch, squeue=QUEUE.format(queued=queued), scontrol="true")
    whole = isthmus_on("--array-size", "4")
    until(began.exists, "question to sbatch")
    whole.send_signal(signal.SIGINT)
    while "asked to the end" not in (line := whole.stderr.readline()):
        assert line, "it has ended"
    whole.send_signal(signal.SIGINT)
    status, _, said = ended(whole)
    assert status == 130, said
    assert not queued.exists()
    go.touch()
    until(queued.exists, "answer of sbatch, which nobody hears")
    assert numbers(tmp_path / "out/small") == [None]
    status, out, said = ended(isthmus_on("--array-size", "4", "--detach"))
    assert status == 0, said
    assert "Slurm job 7 is at it already" in said
    assert "Slurm job 7: what its tasks say is in" in out


def test_a_job_on_another_cluster_is_found_by_its_name(tmp_path, commands, monkeypatch):
    asked = "*--clusters=big,huge*--name*"
    slurm = commands(
        sbatch="exit 1",
        squeue=f'case "$*" in {asked}) printf "CLUSTER: big\\n\\nCLUSTER: huge\\n41\\n" ;; esac',
        scontrol="true",
    )
    # Named by the command, ...
    for word in ("--clusters=big,huge", "-Mbig,huge"):
        made, _ = sweep(tmp_path, slurm, words=(word,))
        do_part(made.job, made.folder, Selection((0,)))
        assert made.submitted() == Array("41", "huge")
    # ... by the user's environment, ...
    there = Sweep(made.job, made.folder, Wanted(), print, slurm)
    assert there.submitted is not None and not there.clusters
    for name in ("SBATCH_CLUSTERS", "SLURM_CLUSTERS"):
        slurm.environment[name] = "big,huge"
        there = Sweep(made.job, made.folder, Wanted(), lambda _: None, slurm)
        assert there.submitted() == Array("41", "huge")
        del slurm.environment[name]
    # ... or by the command before, which was ended before it heard of a number.
    commands(sbatch=f"{TEST_ONLY}exit 1", squeue="true")
    made, _ = sweep(tmp_path, slurm, words=("--clusters=big,huge",), tasks=4)
    with pytest.raises(Exception, match="sbatch refused"):
        made.submitted()
    commands(squeue=f'case "$*" in {asked}) printf "CLUSTER: huge\\n41\\n" ;; esac')
    made, _ = sweep(tmp_path, slurm, tasks=4)
    assert made.submitted() == Array("41", "huge")


def test_a_process_that_is_killed_at_its_first_submission_is_in_nobodys_way(
    tmp_path, commands, monkeypatch
):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="true")
    job = Job(SMALL, "small.toml")
    at, status = 0, -1
    while status != 0:
        at += 1
        out = tmp_path / f"out-{at}"
        made = Sweep(job, out, Wanted(tasks=4), lambda _: None, slurm)
        if (child := os.fork()) == 0:
            end_at(at)
            made.submitted()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        if not out.exists():
            continue
        # Others do parts, look, submit, and put it together.
        do_part(job, out, Selection((0,)))
        assert state_of(out).done == 1
        assert made.submitted() == Array("7")
        finish_here(made)
        assert len(made.finished(Array("7")).run.points) == 4
    assert at > 6, "hardly anything was written"


def end_at(change):
    """Have this process end at that file which it puts in place, before it, or after it."""
    replace, seen = Path.replace, 0

    def replaced(path, target):
        nonlocal seen
        seen += 1
        if seen == change / 2:
            replace(path, target)
        if seen >= change / 2:
            os._exit(9)
        return replace(path, target)

    Path.replace = replaced


def test_a_whole_run_beside_a_resubmission_is_waited_for(tmp_path, commands, monkeypatch):
    monkeypatch.setattr(sweeps, "BUSY_S", 0.3)
    lost = commands(
        sbatch="echo 7",
        squeue=f'case "$*" in *--name*) ;; *) {FORGOTTEN} ;; esac',
        scontrol=FORGOTTEN,
    )
    made, notes = sweep(tmp_path, lost, tasks=4)
    array = made.submitted()
    states = []
    taken, done = threading.Event(), threading.Event()
    made.job.watch = lambda progress: states.append(progress.state)

    def whole():
        with alone(made.job, made.folder):
            taken.set()
            until(lambda: any("waits for process" in state for state in states), "wait")
            time.sleep(1)
            done.set()

    def submitted(*_words):
        assert done.is_set()
        finish_here(made)
        return Array("8"), ""

    monkeypatch.setattr(made.slurm, "submit", submitted)
    thread = threading.Thread(target=whole)
    thread.start()
    assert taken.wait(PATIENCE_S)
    assert len(made.finished(array).run.points) == 4
    thread.join()
    assert any("submitted again as job 8" in note for note in notes), notes


@contextmanager
def alone(job, folder):
    counts = job.summary["points"], job.summary["searches"]
    with OwnedFolder.opened(folder, job.identity, journal=counts, work="does all of this run"):
        yield


def test_a_script_that_the_user_edits_is_the_users(tmp_path, commands):
    line = "JobId={0} ArrayJobId=7 ArrayTaskId={0} JobState=FAILED ExitCode=2:0 EndTime=now"
    known = "; ".join(f"echo '{line.format(task)}'" for task in range(4))
    slurm = commands(sbatch="echo 7", squeue="true", scontrol=known)
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    script = made.folder / "slurm/array.sh"
    mine = script.read_text().replace("--array=0-3", "--array=0-99")
    script.write_text(mine)
    # Nobody counts tasks from it: four ended by an error, and that is all of them.
    with pytest.raises(
        sweeps.RunFailedError, match="4 tasks, the first of them task 0: it ended with status 2"
    ):
        made.finished(array)
    # It is not written over, and in nobody's way.
    assert made.submitted() == Array("7")
    assert script.read_text() == mine
    assert notes == [
        f"{script} was changed, and stays as it is; what is submitted is not this script"
    ]
    finish_here(made)
    assert len(made.finished(Array("7")).run.points) == 4
    assert script.read_text() == mine
    # One that is gone is written anew.
    (made.folder / "points/point-00000.json").unlink()
    script.unlink()
    again = Sweep(made.job, made.folder, Wanted(tasks=1), notes.append, slurm)
    assert again.submitted() == Array("7")
    assert "--array=0-0" in script.read_text()
    assert len(notes) == 1


def test_a_script_that_the_user_puts_there_is_the_users(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="true")
    made, notes = sweep(tmp_path, slurm, tasks=4)
    do_part(made.job, made.folder, Selection((0,)))
    script = made.folder / "slurm/array.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/bash\n# mine\n")
    assert made.submitted() == Array("7")
    assert script.read_text() == "#!/bin/bash\n# mine\n"
    assert notes == [
        f"{script} is not isthmus's, and stays as it is; what is submitted is not this script"
    ]
    assert numbers(made.folder) == ["7"]


@pytest.mark.parametrize(
    "told", ["", "{", "7", '{"number": "7"}', '["7"]', "[[]]", '[{"number": "7"}]', '[{"x": 1}]']
)
def test_a_damaged_list_of_jobs_is_as_none(tmp_path, commands, told):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    made.submitted()
    (made.folder / "slurm/jobs.json").write_text(told)
    assert jobs_of(made.folder) == []
    assert made.submitted() == Array("7")
    assert numbers(made.folder) == ["7"]


def test_a_bad_expiry_is_told_before_anything_is_submitted(isthmus, tmp_path, commands):
    asked = tmp_path / "asked"
    commands(sbatch=f"touch {asked}; echo 7", squeue="true", scontrol="true")
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("run", "small.toml", "--on", "slurm", "--array-size", 4, "--expiry")
    for bad, told in (
        ("10", "'10' is no number with a unit of time"),
        ("0.1 s", "give 1 s or more"),
    ):
        done = isthmus(*words, bad, PATH=f"{commands.place}:/usr/bin:/bin")
        assert done.returncode == 2, done.stderr
        assert f"--expiry: {told}" in done.stderr or told in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not asked.exists()
    assert not (tmp_path / "out").exists()


def test_what_detach_prints_may_be_pasted_into_a_shell(isthmus, tmp_path, commands):
    commands(sbatch="echo 7", squeue="true", scontrol="true")
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("run", "small.toml", "--on", "slurm", "--array-size", 4, "--detach", "--out", "a & b")
    done = isthmus(*words, PATH=f"{commands.place}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    hints = [line.split("  ")[1] for line in done.stdout.splitlines()[1:]]
    assert hints == ["isthmus status 'a & b'", "isthmus collect 'a & b'", "scancel 7"]


def test_it_is_told_that_sbatch_has_not_answered_yet(tmp_path, commands):
    slurm = commands(sbatch="sleep 0.5; echo 7", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    states = []
    made.job.watch = lambda progress: states.append(progress.state)
    assert made.submitted() == Array("7")
    assert "Slurm: asked whether it takes the job" in states
    assert "Slurm: sbatch is asked" in states

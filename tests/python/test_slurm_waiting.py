"""An array that is over, or of which Slurm says nothing: what is looked at, tried again, told."""

import threading
import time

import pytest

from conftest import SMALL
from isthmus import errors
from isthmus.errors import RunFailedError
from isthmus.execution import Job
from isthmus.files import FileError
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.slurm import Array, Sweep, Wanted, monitor, waiting
from isthmus.sweeps.slurm import sweep as sweeps
from scripted_slurm import FORGOTTEN, Commands, finish_here, sweep
from test_slurm import TOO_SHORT

FORGETS = {
    "squeue": f'case "$*" in *--name*) ;; *) {FORGOTTEN} ;; esac',
    "scontrol": FORGOTTEN,
}


@pytest.fixture
def commands(tmp_path):
    return Commands(tmp_path / "bin")


def ended(*tasks):
    """A `scontrol` that knows how tasks ended: state and exit code."""
    line = "JobId={0} ArrayJobId=7 ArrayTaskId={0} JobState={1} ExitCode={2} EndTime=now"
    return "; ".join(f"echo '{line.format(at, *task)}'" for at, task in enumerate(tasks))


WELL = ("COMPLETED", "0:0")


def counting(tmp_path):
    """An `sbatch` that numbers its jobs."""
    submitted = tmp_path / "submitted"
    return f"case $* in *--test-only*) exit ;; esac\necho x >>{submitted}; wc -l <{submitted}"


def test_a_folder_that_shows_late_what_tasks_did_is_looked_at_again(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol=ended(*[WELL] * 4))
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    states = []
    seen = threading.Event()

    def watch(progress):
        states.append(progress.state)
        if "last points are looked for" in progress.state:
            seen.set()

    made.job.watch = watch

    def shown_late():
        if seen.wait(60):
            finish_here(Sweep(Job(SMALL, "small.toml"), made.folder, Wanted()))

    thread = threading.Thread(target=shown_late)
    thread.start()
    assert len(made.finished(array).run.points) == 4
    thread.join()
    assert seen.is_set()
    assert notes == []


def test_failures_that_are_shown_late_are_waited_for_as_well(tmp_path, commands, monkeypatch):
    # A long path of the folder would have the middle of the message left out.
    monkeypatch.setattr(errors, "LONGEST", 100_000)
    slurm = commands(sbatch="echo 7", squeue="true", scontrol=ended(*[("FAILED", "1:0")] * 2))
    job = Job(TOO_SHORT, "short.toml")
    made = Sweep(job, tmp_path / "out", Wanted(tasks=4), lambda _: None, slurm)
    array = made.submitted()
    seen = threading.Event()
    job.watch = lambda progress: "looked for" in progress.state and seen.set()

    def shown_late():
        if seen.wait(60):
            do_part(Job(TOO_SHORT, "short.toml"), made.folder, Selection((0, 1)))

    thread = threading.Thread(target=shown_late)
    thread.start()
    with pytest.raises(RunFailedError, match=r"point-00001 failed: stop\.warmup_messages"):
        made.finished(array)
    thread.join()
    assert seen.is_set()


def test_what_is_never_shown_is_tried_once_more_and_no_more(tmp_path, commands, monkeypatch):
    monkeypatch.setattr(sweeps, "LATE_S", 0.3)
    slurm = commands(sbatch=counting(tmp_path), squeue="true", scontrol=ended(*[WELL] * 4))
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    with pytest.raises(RunFailedError, match="do all nodes see this folder") as told:
        made.finished(array)
    assert "Slurm job 2: its tasks ended well, and not all is in the folder" in str(told.value)
    assert "4 points (0:4) are missing" in str(told.value)
    assert len(notes) == 1
    assert (
        "4 points of Slurm job 1 were lost (its tasks ended well, and not all is in the folder)"
        in notes[0]
    )


def test_tasks_that_ended_by_an_error_of_their_own_are_not_looked_for(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol=ended(*[("FAILED", "2:0")] * 4))
    made, _ = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    states = []
    made.job.watch = lambda progress: states.append(progress.state)
    with pytest.raises(
        RunFailedError, match="4 tasks, the first of them task 0: it ended with status 2"
    ):
        made.finished(array)
    assert not any("looked for" in state for state in states)


def test_what_failed_in_an_earlier_job_is_tried_once_more(tmp_path, commands):
    slurm = commands(sbatch=counting(tmp_path), **FORGETS)
    job = Job(TOO_SHORT, "short.toml")

    def again():
        notes = []
        return Sweep(job, tmp_path / "out", Wanted(tasks=2), notes.append, slurm), notes

    made, _ = again()
    made.submitted()
    done = do_part(job, made.folder, Selection((0, 1)))
    assert len(done.failed) == 2
    # The same command again, whose script has the same bytes. Its tasks are lost before any of them
    # has failed.
    made, notes = again()
    array = made.submitted()
    with pytest.raises(RunFailedError, match="lost 6 times"):
        made.finished(array)
    assert len(notes) == sweeps.RESUBMITTED
    # What fails in the job itself is not.
    made, notes = again()
    array = made.submitted()
    do_part(job, made.folder, Selection((0, 1)))
    with pytest.raises(RunFailedError, match=r"point-00001 failed: stop\.warmup_messages"):
        made.finished(array)
    assert notes == []


def test_a_controller_that_is_silent_for_seconds_is_told(tmp_path, commands, monkeypatch):
    """Slurm's own commands try for long before they say so."""
    asked, go = tmp_path / "asked", tmp_path / "go"
    silent = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    first = f"while [ ! -e {go} ]; do sleep 0.05; done; {silent}"
    slurm = commands(
        sbatch="echo 7",
        squeue=f"echo x >>{asked}\nif [ $(wc -l <{asked}) -lt 3 ]; then {first}; fi",
        scontrol="exit 1",
    )
    made, notes = sweep(tmp_path, slurm)
    finish_here(made)
    seen = []

    def watch(progress):
        seen.append(progress.state)
        if progress.state == "Slurm: no answer yet":
            # Only then does the command give up.
            go.touch()

    made.job.watch = watch
    assert len(made.finished(Array("7")).run.points) == 4
    assert any("Unable to contact" in state for state in seen)
    assert len(notes) == 1, notes
    assert "Slurm does not answer (squeue: Unable to contact slurm controller)" in notes[0]


def test_the_queue_is_looked_at_soon_once_all_points_are_there(tmp_path, commands, monkeypatch):
    asked, over = tmp_path / "asked", tmp_path / "over"
    slurm = commands(
        sbatch="echo 7",
        squeue=f"echo x >>{asked}; [ -e {over} ] || echo 'RUNNING|None'",
        scontrol="exit 1",
    )
    made, _ = sweep(tmp_path, slurm)
    # The second look would be an hour after the first one.
    monkeypatch.setattr(waiting, "LOOK_MAX_S", 3600.0)
    monkeypatch.setattr(waiting, "SLOWER", 3600.0)
    seen = threading.Event()
    made.job.watch = lambda progress: "1 running" in progress.state and seen.set()

    def done():
        if seen.wait(60):
            over.touch()
            finish_here(Sweep(Job(SMALL, "small.toml"), made.folder, Wanted()))

    thread = threading.Thread(target=done)
    thread.start()
    assert len(made.finished(Array("7")).run.points) == 4
    thread.join()
    assert len(asked.read_text().split()) == 2


def test_ctrl_c_does_not_wait_for_a_silent_controller(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="exec sleep 60", scontrol="exit 1")
    made, _ = sweep(tmp_path, slurm)
    finish_here(made)

    def watch(progress):
        if progress.state.startswith("Slurm: no answer"):
            raise KeyboardInterrupt

    made.job.watch = watch
    began = time.monotonic()
    with pytest.raises(sweeps.Detached):
        made.finished(Array("7"))
    assert time.monotonic() - began < 50


def unreadable(monkeypatch, looks):
    """A folder whose file system does not answer some of so many looks."""
    real, seen = monitor.missing_units, []

    def missing_units(*words):
        seen.append(words)
        if len(seen) in looks:
            raise FileError("o/points: cannot be read (Stale file handle)")
        return real(*words)

    monkeypatch.setattr(monitor, "missing_units", missing_units)
    return seen


def test_a_folder_that_cannot_be_read_for_a_moment_is_looked_at_again(
    tmp_path, commands, monkeypatch
):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol=ended(*[WELL] * 4))
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    finish_here(Sweep(Job(SMALL, "small.toml"), made.folder, Wanted()))
    seen = unreadable(monkeypatch, {1})
    made.monitor._next_count = 0.0
    assert len(made.finished(array).run.points) == 4
    assert len(seen) > 1 and notes == []


def test_a_folder_that_cannot_be_read_for_long_is_an_error_that_names_the_job(
    tmp_path, commands, monkeypatch
):
    monkeypatch.setattr(monitor, "UNSEEN_S", 0.5)
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="exit 1")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    commands(squeue=f'echo "RUNNING|None|{made.name}"')
    unreadable(monkeypatch, range(1, 1000))
    with pytest.raises(RunFailedError, match=r"Stale file handle.*; Slurm job 7 may go on: run"):
        made.finished(array)

"""What is made of what Slurm's commands say, where they are scripts that say it."""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError

import pytest

from conftest import SMALL
from isthmus import IsthmusError
from isthmus.errors import RunFailedError
from isthmus.execution import Job
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.selection import listed
from isthmus.sweeps.slurm import Array, Slurm, SlurmError, Sweep, Wanted
from isthmus.sweeps.slurm import sweep as sweeps
from isthmus.sweeps.slurm.sweep import RESUBMITTED
from scripted_slurm import FORGOTTEN, TEST_ONLY, Commands, finish_here, sweep


@pytest.fixture
def commands(tmp_path):
    """Commands that are scripts; what they say is the test's."""
    return Commands(tmp_path / "bin")


def test_a_controller_that_does_not_answer_for_a_while_is_waited_for(tmp_path, commands):
    asked = tmp_path / "asked"
    silent = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    slurm = commands(
        sbatch="echo 7",
        squeue=f"echo x >>{asked}\nif [ $(wc -l <{asked}) -lt 4 ]; then {silent}; fi",
        scontrol="exit 1",
    )
    made, _ = sweep(tmp_path, slurm)
    finish_here(made)
    states = []
    made.job.watch = lambda progress: states.append(progress.state)
    results = made.finished(Array("7"))
    assert len(results.run.points) == 4
    assert any("Unable to contact slurm controller" in state for state in states)


def test_a_job_that_slurm_has_forgotten_is_submitted_again_and_not_for_ever(tmp_path, commands):
    submitted = tmp_path / "submitted"
    slurm = commands(
        sbatch=f"echo x >>{submitted}; wc -l <{submitted}",
        squeue=f'case "$*" in *--name*) ;; *) {FORGOTTEN} ;; esac',
        scontrol=FORGOTTEN,
    )
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    first = int(array.number)
    with pytest.raises(RunFailedError, match="lost 6 times, at last in Slurm job") as told:
        made.finished(array)
    assert "Slurm knows no more of it" in str(told.value)
    assert "4 points (0:4) are missing" in str(told.value)
    assert len(notes) == RESUBMITTED
    jobs = json.loads((made.folder / "slurm/jobs.json").read_text())
    assert [int(job["number"]) for job in jobs] == list(range(first, first + 1 + RESUBMITTED))


def test_tasks_that_slurm_has_forgotten_may_have_been_lost(tmp_path, commands):
    """A controller forgets each task some minutes after its end, and knows the last ones only."""
    submitted = tmp_path / "submitted"
    line = "JobId=9 ArrayJobId=9 ArrayTaskId=3 JobState=COMPLETED ExitCode=0:0 EndTime=now"
    slurm = commands(
        sbatch=f"echo x >>{submitted}; wc -l <{submitted}",
        squeue=f'case "$*" in *--name*) ;; *) {FORGOTTEN} ;; esac',
        scontrol=f"echo '{line}'",
        sacct="exit 1",
    )
    made, notes = sweep(tmp_path, slurm, tasks=4)
    array = made.submitted()
    assert [(task.task, task.state) for task in slurm.ended(array)] == [(3, "COMPLETED")]
    with pytest.raises(RunFailedError, match="lost 6 times"):
        made.finished(array)
    assert len(notes) == RESUBMITTED


NOT_NOW = {
    "silent": "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1",
    "refuses": "echo 'sbatch: error: Job submit limit reached' >&2; exit 1",
}


def busy(tmp_path, commands, how, tries):
    """A Slurm that loses the first job, and takes the next one only after so many tries."""
    asked = tmp_path / "asked"
    not_now = f"echo x >>{asked}\nif [ $(wc -l <{asked}) -le {tries} ]; then {NOT_NOW[how]}; fi"
    return commands(
        squeue='case "$*" in *--name*) '
        + (not_now if how == "silent" else "")
        + f"\n;; *) {FORGOTTEN} ;; esac",
        scontrol=FORGOTTEN,
        sbatch=(not_now if how == "refuses" else "") + "\necho 8",
    )


@pytest.mark.parametrize("how", NOT_NOW)
def test_lost_tasks_are_submitted_again_once_slurm_takes_them(tmp_path, commands, monkeypatch, how):
    monkeypatch.setattr(sweeps, "LOOK_S", 0.05)
    made, notes = sweep(
        tmp_path, commands(sbatch="echo 7", squeue="true", scontrol="true"), tasks=4
    )
    array = made.submitted()
    made.slurm = busy(tmp_path, commands, how, 3)
    # What it then does ends the wait.
    submit = made.slurm.submit

    def submitted(*words):
        found = submit(*words)
        finish_here(made)
        return found

    monkeypatch.setattr(made.slurm, "submit", submitted)
    states = []
    made.job.watch = lambda progress: states.append(progress.state)
    results = made.finished(array)
    assert len(results.run.points) == 4
    said = {"silent": "Unable to contact slurm controller", "refuses": "Job submit limit reached"}
    assert len(notes) == 2, notes
    assert "lost points of Slurm job 7 cannot be submitted now" in notes[0]
    assert said[how] in notes[0] and "tried again for 30 min" in notes[0]
    assert "submitted again as job 8" in notes[1]
    assert any(said[how] in state for state in states)


def test_a_slurm_that_never_takes_lost_tasks_again_is_given_up_and_told(
    tmp_path, commands, monkeypatch
):
    monkeypatch.setattr(sweeps, "LOOK_S", 0.05)
    monkeypatch.setattr(sweeps, "SILENT_S", 1.0)
    made, notes = sweep(
        tmp_path, commands(sbatch="echo 7", squeue="true", scontrol="true"), tasks=4
    )
    array = made.submitted()
    made.slurm = busy(tmp_path, commands, "refuses", 1000)
    with pytest.raises(RunFailedError, match="has not taken the lost points of job 7 for") as told:
        made.finished(array)
    assert "sbatch refused the job: Job submit limit reached" in str(told.value)
    assert len(notes) == 1, notes
    tries = len((tmp_path / "asked").read_text().split())
    assert tries > 2


def test_tasks_may_begin_before_sbatch_has_answered(tmp_path, commands):
    words = f"{sys.executable} -m isthmus run {tmp_path}/out --quiet --points"
    slurm = commands(
        sbatch=f'case "$*" in *--test-only*) exit 0 ;; esac\n{words} 0:4 >&2 && echo 7',
        squeue="true",
        scontrol="true",
    )
    made, notes = sweep(tmp_path, slurm, tasks=4)
    assert made.submitted() == Array("7")
    assert notes == [f"sbatch: 4 of 4 points of this part are in {tmp_path}/out"]
    assert not made.monitor.missing()
    (job,) = json.loads((made.folder / "slurm/jobs.json").read_text())
    assert (job["number"], job["cluster"], job["tasks"]) == ("7", "", 4)
    assert len(made.finished(Array("7")).run.points) == 4


def test_a_second_process_waits_for_the_one_that_submits_and_finds_its_job(tmp_path, commands):
    began, go = tmp_path / "began", tmp_path / "go"
    queued = tmp_path / "queued"
    slurm = commands(
        sbatch='case "$*" in *--test-only*) exit 0 ;; esac\n'
        f"echo x >>{began}; while [ ! -e {go} ]; do sleep 0.05; done; touch {queued}; echo 7",
        squeue=f'case "$*" in *--name*) [ ! -e {queued} ] || echo 7 ;; esac',
        scontrol="true",
    )
    (first, _), (second, _) = (sweep(tmp_path, slurm, tasks=4) for _ in range(2))
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first.submitted)
        while not began.exists():
            assert not one.done(), one.result()
            time.sleep(0.02)
        other = pool.submit(second.submitted)
        with pytest.raises(LateError):
            other.result(1.0)
        go.touch()
        assert (one.result(60), other.result(60)) == (Array("7"), Array("7"))
    assert began.read_text() == "x\n"


def test_a_dry_run_as_json_is_one_document_with_the_script(isthmus, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("run", "small.toml", "--on", "slurm", "--dry-run", "--json", "--out", "o")
    done = isthmus(*words, "--array-size", 3, "--time", "61 s", "--jobs", 2)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["tasks"], told["points"], told["searches"]) == (3, 4, 0)
    assert told["folder"] == str(tmp_path / "o")
    assert told["time_limit_s"] == 120
    assert told["longest_s"] > 0
    assert told["script"].startswith("#!/bin/bash\n")
    assert "#SBATCH --array=0-2\n" in told["script"]
    points = [command[command.index("--points") + 1] for command in told["commands"]]
    assert sorted(at for each in points for at in listed("--points", each, 4)) == [0, 1, 2, 3]
    assert not (tmp_path / "o").exists()
    # It is what a task runs.
    for command in told["commands"]:
        assert command[0] == sys.executable and command[-2:] == ["--jobs", "2"]
    assert isthmus("run", "small.toml", "--part", "1/1", "--out", "o").returncode == 0
    done = isthmus(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"folder": str(tmp_path / "o"), "tasks": 0}


def test_accounting_knows_what_the_controller_has_forgotten(commands):
    slurm = commands(
        scontrol="echo 'JobId=9 ArrayJobId=9 ArrayTaskId=3 JobState=COMPLETED ExitCode=0:0'",
        sacct="printf '9_1|TIMEOUT|0:0|n1|x\n9_3|RUNNING|0:0|n1|x\n9_2|COMPLETED|0:0|n2|x\n'",
    )
    ended = slurm.ended(Array("9"))
    assert [(t.task, t.state) for t in ended] == [
        (1, "TIMEOUT"),
        (2, "COMPLETED"),
        (3, "COMPLETED"),
    ]


def test_what_would_change_the_answers_is_not_passed_on(monkeypatch):
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    monkeypatch.setenv("SBATCH_JOB_NAME", "mine")
    monkeypatch.setenv("SBATCH_ACCOUNT", "physics")
    environment = Slurm().environment
    assert environment["SBATCH_ACCOUNT"] == "physics" and "PATH" in environment
    assert not {"SQUEUE_STATES", "SBATCH_JOB_NAME"} & set(environment)


def test_what_sbatch_says_beside_the_number_is_passed_on(tmp_path, commands):
    slurm = commands(
        sbatch="echo 'sbatch: the long partition is slow today' >&2; echo '7;big'",
        squeue="true",
        scontrol="true",
    )
    made, notes = sweep(tmp_path, slurm, tasks=4)
    assert made.submitted() == Array("7", "big")
    assert notes == ["sbatch: the long partition is slow today"]


@pytest.mark.parametrize(
    ("sbatch", "said"),
    [
        ("echo 'Submitted batch job 7'", "in place of the number of a job"),
        ("echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1", "QOSMaxSubmitJob"),
        ("exit 3", "it ended with status 3"),
        (
            "echo 'sbatch: error: Unable to contact slurm controller (failure)' >&2; exit 1",
            "^sbatch: Unable to contact slurm controller",
        ),
    ],
)
def test_an_sbatch_that_gives_no_job_is_told(tmp_path, commands, sbatch, said):
    test = 'case "$*" in *--test-only*) exit 0 ;; esac\n'
    slurm = commands(sbatch=test + sbatch, squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    with pytest.raises(SlurmError, match=said):
        made.submitted()
    # What was begun can be gone on with.
    made.slurm = commands(sbatch="echo 8")
    assert made.submitted() == Array("8")


def test_a_job_is_looked_for_whose_number_sbatch_does_not_say(tmp_path, commands):
    slurm = commands(sbatch=TEST_ONLY + "exit 0", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    asked = tmp_path / "asked"
    # It is there once it was submitted.
    commands(
        sbatch=TEST_ONLY + f"touch {asked}",
        squeue=f'case "$*" in *--name={made.name}*) [ ! -e {asked} ] || echo 41 ;; esac',
    )
    assert made.submitted() == Array("41")


def test_a_job_whose_number_was_not_written_down_is_found_by_its_name(tmp_path, commands):
    slurm = commands(sbatch="exit 1", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm)
    finish = Selection((0,))
    do_part(made.job, made.folder, finish)
    slurm = commands(squeue=f'case "$*" in *--name={made.name}*) echo 41 ;; *) {FORGOTTEN} ;; esac')
    made.slurm = slurm
    assert made.submitted() == Array("41")
    assert made.name.startswith("isthmus-small-")
    elsewhere = Sweep(made.job, tmp_path / "elsewhere", Wanted(), print, slurm)
    assert elsewhere.name != made.name


def test_a_folder_of_another_run_is_refused_before_anything_is_submitted(tmp_path, commands):
    slurm = commands(sbatch=f"echo x >>{tmp_path}/asked; echo 7", squeue="true", scontrol="true")
    made, _ = sweep(tmp_path, slurm)
    do_part(Job(SMALL, "small.toml", seed=5), made.folder, Selection((0,)))
    with pytest.raises(IsthmusError, match="holds results with seed 5"):
        made.submitted()
    assert not (tmp_path / "asked").exists()


def test_no_more_tasks_than_slurm_takes(tmp_path, commands):
    slurm = commands(sbatch="echo 7", squeue="true", scontrol="echo 'MaxArraySize            = 4'")
    made, _ = sweep(tmp_path, slurm, tasks=50)
    assert len(made.script().tasks) == 3
    assert os.listdir(tmp_path) == ["bin"]  # noqa: PTH208 - names are enough

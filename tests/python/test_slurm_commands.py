"""What is made of what Slurm's commands say, where they are scripts that say it."""

import json
import os

import pytest

from conftest import SMALL
from isthmus import IsthmusError
from isthmus.errors import RunFailedError
from isthmus.execution import Job
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.slurm import Array, Slurm, SlurmError, Sweep, Wanted
from isthmus.sweeps.slurm.sweep import RESUBMITTED

FORGOTTEN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"


@pytest.fixture
def commands(tmp_path):
    """Commands that are scripts; what they say is the test's."""
    place = tmp_path / "bin"
    place.mkdir()

    def make(**scripts):
        for name, script in scripts.items():
            path = place / name
            path.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
            path.chmod(0o755)
        return Slurm({"PATH": f"{place}:/usr/bin:/bin"})

    return make


def sweep(tmp_path, slurm, **wanted):
    notes = []
    job = Job(SMALL, "small.toml")
    return Sweep(job, tmp_path / "out", Wanted(**wanted), notes.append, slurm), notes


def finish_here(made):
    do_part(made.job, made.folder, Selection.whole(*made.counts))


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

"""What those are told who look at a folder whose run is a job of Slurm."""

from __future__ import annotations

import json
import time

import pytest

import command_line
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.slurm import Slurm
from isthmus.sweeps.slurm.queued import queued
from scripted_slurm import FORGOTTEN, Commands, finish_here, sweep

LIMIT_S = 120
UNNAMED = "case $* in *--name*) exit ;; esac\n"
QUEUE = UNNAMED + "echo 'RUNNING|None'; echo 'PENDING|Resources'; echo 'PENDING|Resources'"
OVER = UNNAMED + FORGOTTEN


@pytest.fixture
def commands(tmp_path):
    return Commands(tmp_path / "bin")


@pytest.fixture
def isthmus(tmp_path, commands):
    def call(*words):
        path = f"{commands.place}:/usr/bin:/bin"
        return command_line.call(*words, cwd=tmp_path, environment={"PATH": path})

    return call


def submitted(tmp_path, commands):
    """A run whose array of four tasks was submitted as job 7 and not waited for."""
    slurm = commands(sbatch="case $* in *--test-only*) ;; *) echo 7 ;; esac", squeue="true")
    made, _ = sweep(tmp_path, slurm, tasks=4)
    assert str(made.submitted()) == "7"
    return made


def test_a_queued_job_is_told_and_nobody_is_advised_to_do_its_work(tmp_path, commands, isthmus):
    made = submitted(tmp_path, commands)
    commands(squeue=QUEUE)
    told = isthmus("status", "out").stdout.splitlines()
    assert told[1:] == ["Slurm job 7: 1 running, 2 waiting (Resources)"]
    job = json.loads(isthmus("status", "out", "--json").stdout)["job"]
    assert (job["number"], job["running"], job["waiting"]) == ("7", 1, 2)
    done = isthmus("collect", "out")
    (said,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert (
        "Slurm job 7 is at it (1 running, 2 waiting (Resources)): `isthmus run out --on sl" in said
    )
    assert "`isthmus run out`" not in said and "does what" not in said
    # Over, as after `scancel`, and not all is there: a new job is named first.
    commands(squeue=OVER)
    again = "`isthmus run out --on slurm` does what is missing in a new job, `isthmus run out` "
    (said,) = isthmus("status", "out").stdout.splitlines()[1:]
    assert said == f"nobody is at it: {again}does so here"
    assert f"; {again}here, `isthmus run out --points 0:4`" in isthmus("collect", "out").stderr
    # Nor is Slurm asked where all is there.
    finish_here(made)
    commands(squeue="touch asked; exit 1")
    assert "all is there" in isthmus("status", "out").stdout
    assert isthmus("collect", "out").returncode == 0
    assert not (tmp_path / "asked").exists()


def test_a_job_that_was_submitted_by_hand_is_known_once_it_was_found(tmp_path, commands, isthmus):
    slurm = commands(
        sbatch="exit 1",
        squeue="case $* in *--name*) echo '9|PENDING' ;; *) echo 'PENDING|Resources' ;; esac",
    )
    made, notes = sweep(tmp_path, slurm, tasks=4)
    do_part(made.job, made.folder, Selection((0,)))
    assert isthmus("status", "out").stdout.splitlines()[-1].startswith("nobody is at it")
    for _ in range(2):
        assert str(made.submitted()) == "9"
    (job,) = json.loads((made.folder / "slurm/jobs.json").read_text())
    assert (job["number"], job["tasks"]) == ("9", None)
    assert "Slurm job 9: 1 waiting (Resources)" in isthmus("status", "out").stdout
    assert "Slurm job 9 is at it" in isthmus("collect", "out").stderr
    assert notes == ["Slurm job 9 is at it already"] * 2


def test_where_slurm_cannot_be_asked_it_is_said_that_nothing_is_known(tmp_path, commands, isthmus):
    submitted(tmp_path, commands)
    commands(squeue="echo 'Unable to contact slurm controller' >&2; exit 1")
    unknown = "whether it goes on is not known here (squeue: Unable to contact slurm controller)"
    assert f"Slurm job 7: {unknown}\n" in isthmus("status", "out").stdout
    said = isthmus("collect", "out").stderr
    assert f"Slurm job 7 was submitted for it, and {unknown}; `isthmus run out --part 1/1`" in said
    assert "`isthmus run out`" not in said
    commands(squeue="sleep 60")
    began = time.monotonic()
    slow = queued(tmp_path / "out", Slurm({"PATH": f"{commands.place}:/usr/bin:/bin"}, 0.5))
    assert time.monotonic() - began < 30
    assert slow is not None and "no answer within" in slow.trouble


@pytest.mark.parametrize("damage", [None, "#!/bin/bash\n# mine\n"])
def test_a_script_that_the_user_edits_or_removes_is_the_user_s(tmp_path, commands, isthmus, damage):
    made = submitted(tmp_path, commands)
    script = made.folder / "slurm/array.sh"
    script.unlink()
    if damage:
        script.write_text(damage)
    commands(squeue=OVER)
    told = isthmus("status", "out").stdout
    assert "array.sh" not in told
    finish_here(made)
    done = isthmus("collect", "out")
    assert done.returncode == 0, done.stderr
    assert isthmus("status", "out").stdout.splitlines()[1:] == ["the results are there"]
    assert isthmus("run", "out").returncode == 0
    assert (script.read_text() if script.exists() else None) == damage

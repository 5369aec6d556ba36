"""A Slurm whose commands are scripts of a test, and runs on it."""

from pathlib import Path

from conftest import SMALL
from isthmus.execution import Job
from isthmus.sweeps import Selection, do_part
from isthmus.sweeps.slurm import Slurm, Sweep, Wanted

FORGOTTEN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
"""What `squeue` and `scontrol` say of a job that the controller has forgotten."""
TEST_ONLY = 'case "$*" in *--test-only*) exit 0 ;; esac\n'
"""How an `sbatch` begins that takes any job when it is asked whether it would."""


class Commands:
    """Commands in a folder; what they say is the test's."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()

    def __call__(self, **scripts: str) -> Slurm:
        """Make some of them, or make them anew."""
        for name, script in scripts.items():
            path = self.place / name
            path.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
            path.chmod(0o755)
        return Slurm({"PATH": f"{self.place}:/usr/bin:/bin"})


def sweep(tmp_path, slurm, **wanted):
    """A run of four points on it, and what the user is told."""
    notes = []
    job = Job(SMALL, "small.toml")
    return Sweep(job, tmp_path / "out", Wanted(**wanted), notes.append, slurm), notes


def finish_here(made):
    """Do all of it, as its tasks would."""
    do_part(made.job, made.folder, Selection.whole(*made.counts))

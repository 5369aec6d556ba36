"""The jobs that were submitted for a run, in its folder, and the script that they came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from isthmus.owned import OwnedFolder
from isthmus.owned.mark import SUBMITTED, sha256
from isthmus.sweeps.slurm.control import Array, Slurm

SCRIPT, JOBS = f"{SUBMITTED}/array.sh", f"{SUBMITTED}/jobs.json"
"""Files below the folder: the script that was submitted last, and the jobs of all submissions."""


@dataclass(frozen=True)
class Submission:
    """A job that was submitted, or is about to be."""

    name: str
    """Of the job: the same for all of a run in a folder."""
    tasks: int
    """How many it was submitted with."""
    script: str
    """The SHA-256 of its script."""
    clusters: str = ""
    """Those of which Slurm was to choose one; empty for the one that is asked anyway."""
    submitted_s: float = 0.0
    """When, in seconds since 1970 by the folder's clock."""
    array: Array | None = None
    """None until `sbatch` has answered, and if its answer was lost."""


def jobs_of(folder: Path) -> list[Submission]:
    """The jobs that were submitted for a folder; none where nothing whole is written."""
    path = folder / JOBS
    try:
        jobs = [_read(each) for each in json.loads(path.read_bytes())]
        if jobs and jobs[-1].array is None:
            # It was written in the moment before `sbatch` was asked.
            jobs[-1] = replace(jobs[-1], submitted_s=path.stat().st_mtime)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []
    return jobs


def under_way(folder: Path, slurm: Slurm, name: str = "", clusters: str = "") -> Array | None:
    """The array of a folder's run that is in Slurm's queue, if there is one, whoever submitted it.

    Args:
        folder: that of the run.
        slurm: who is asked.
        name: of its jobs, if that is known; else the name of the last one.
        clusters: where it may be as well.

    Raises:
        SlurmError: Slurm does not answer.

    """
    last = next(reversed(jobs_of(folder)), None)
    if last and last.array and slurm.queue(last.array):
        return last.array
    name = name or (last.name if last else "")
    if not name:
        return None
    # One whose number could not be written any more, or that was submitted by hand.
    for where in dict.fromkeys((clusters, last.clusters if last else clusters)):
        if found := slurm.named(name, where):
            return found
    return None


def keep_script(own: OwnedFolder, text: str) -> str:
    """Write the script that is about to be submitted; what is to be said of that.

    One that was changed is the user's, and is left alone.
    """
    path = own.path / SCRIPT
    ours = {each.script for each in jobs_of(own.path)} | {sha256(text.encode())}
    if SCRIPT in own.mark.files and path.is_file() and sha256(path.read_bytes()) not in ours:
        return f"{path} was changed, and stays as it is; what is submitted is not this script"
    own.write_beside(SCRIPT, text, SUBMITTED)
    return ""


def keep_jobs(own: OwnedFolder, jobs: Sequence[Submission]) -> float:
    """Write the jobs; when that was, by the folder's clock."""
    text = json.dumps([_told(job) for job in jobs], indent=1) + "\n"
    own.write_beside(JOBS, text, SUBMITTED)
    return (own.path / JOBS).stat().st_mtime


def _told(job: Submission) -> dict[str, Any]:
    told = asdict(job)
    array = told.pop("array")
    return {**(array or {"number": None, "cluster": ""}), **told}


def _read(told: dict[str, Any]) -> Submission:
    number, cluster = told.pop("number"), told.pop("cluster")
    return Submission(**told, array=Array(str(number), str(cluster)) if number else None)

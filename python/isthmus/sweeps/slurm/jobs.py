"""The jobs that were submitted for a run, in its folder, and a copy of their last script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from isthmus.owned import OwnedFolder
from isthmus.owned.mark import SUBMITTED, Identity, read_mark, sha256
from isthmus.sweeps.slurm.control import Array, Slurm

SCRIPT, JOBS = f"{SUBMITTED}/array.sh", f"{SUBMITTED}/jobs.json"
"""Files below the folder: the script that was submitted last, and the jobs of all submissions."""
SEAL = "# As isthmus wrote it, with the SHA-256 of all above: "
"""How the last line of the script begins."""


@dataclass(frozen=True)
class Submission:
    """A job that was submitted, or is about to be."""

    name: str
    """Of the job: the same for all of a run in a folder."""
    tasks: int | None
    """How many it was submitted with; None of one that was submitted by hand."""
    clusters: str = ""
    """Those of which Slurm was to choose one; empty for the one that is asked anyway."""
    submitted_s: float = 0.0
    """When, in seconds since 1970 by the folder's clock."""
    array: Array | None = None
    """None until `sbatch` has answered, and if its answer was lost."""


def name_of(run: str, folder: Path, identity: Identity) -> str:
    """The name of the jobs of a run in a folder, which no other run has, nor a copy of the folder.

    Args:
        run: its name.
        folder: its folder.
        identity: what the folder says that its run is of.

    """
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in run)
    return f"isthmus-{plain}-{_place(folder, identity)}"


def _place(folder: Path, identity: Identity) -> str:
    return sha256(f"{folder.resolve()}\n{identity}".encode())[:8]


def named_in(folder: Path) -> str:
    """The name of the jobs of a folder's run; empty where none was submitted from here, as in a
    copy of another folder.
    """
    last, mark = next(reversed(jobs_of(folder)), None), read_mark(folder)
    ours = last and mark and last.name.endswith(f"-{_place(folder, mark.of)}")
    return last.name if last and ours else ""


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


def under_way(folder: Path, slurm: Slurm, name: str, clusters: str = "") -> Array | None:
    """The array of a folder's run that is at work or waits to be, if there is one, whoever
    submitted it. One that is about to be over, as after `scancel`, does nothing more.

    Args:
        folder: that of the run.
        slurm: who is asked.
        name: of its jobs.
        clusters: where it may be as well.

    Raises:
        SlurmError: Slurm does not answer.

    """
    last = next(reversed(jobs_of(folder)), None)
    if last and last.array and slurm.queue(last.array, name).at_work:
        return last.array
    # One whose number could not be written any more, or that was submitted by hand.
    for where in dict.fromkeys((clusters, last.clusters if last else clusters)):
        if found := slurm.named(name, where):
            return found
    return None


def keep_script(own: OwnedFolder, text: str) -> str:
    """Write the script that is about to be submitted; what is to be said of that.

    One that was changed is the user's, and is left alone: its last line no longer tells what is
    above it.
    """
    path = own.path / SCRIPT
    if path.is_file() and SCRIPT not in own.mark.files:
        return f"{path} is not isthmus's, and stays as it is; what is submitted is not this script"
    if path.is_file() and not _as_written(path.read_bytes()):
        return f"{path} was changed, and stays as it is; what is submitted is not this script"
    own.write_beside(SCRIPT, f"{text}{SEAL}{sha256(text.encode())}\n", SUBMITTED)
    return ""


def _as_written(script: bytes) -> bool:
    text, _, told = script.rpartition(SEAL.encode())
    return told.decode(errors="replace") == f"{sha256(text)}\n"


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

"""Submitted jobs of a run, recorded in its folder, and a copy of their latest script."""

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
"""Files in the run's folder: the latest job script, and the record of all submitted jobs."""
SEAL = "# As isthmus wrote it, with the SHA-256 of all above: "
"""Start of the last line of a job script, which holds a digest of the other lines."""


@dataclass(frozen=True)
class Submission:
    """A Slurm job that was submitted, or is about to be submitted."""

    name: str
    """Name of the job, which all jobs of a run in a folder share."""
    tasks: int | None
    """Number of tasks; None if a user submitted the job by hand."""
    clusters: str = ""
    """Clusters from which Slurm chooses one; empty for the default cluster."""
    submitted_s: float = 0.0
    """Time of submission, in seconds since 1970 by the folder's clock."""
    array: Array | None = None
    """The array job; None until `sbatch` has answered, and if its answer was lost."""


def name_of(run: str, folder: Path, identity: Identity) -> str:
    """Return the name of the jobs of a run in a folder; other runs and copies of the folder have
    other names.

    Args:
        run: name of the run.
        folder: folder of the run.
        identity: identity of the run, from the folder's mark.

    """
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in run)
    return f"isthmus-{plain}-{_place_hash(folder, identity)}"


def _place_hash(folder: Path, identity: Identity) -> str:
    """Return a short hash of the folder and the run, for the name of jobs."""
    return sha256(f"{folder.resolve()}\n{identity}".encode())[:8]


def named_in(folder: Path) -> str:
    """Return the name of the jobs of a folder's run; empty if no job was submitted from this
    folder.

    In a copy of another folder the name is empty too.
    """
    last, mark = next(reversed(jobs_of(folder)), None), read_mark(folder)
    own = last and mark and last.name.endswith(f"-{_place_hash(folder, mark.identity)}")
    return last.name if last and own else ""


def jobs_of(folder: Path) -> list[Submission]:
    """Return the jobs that were submitted for a folder; an empty list if the record of jobs is
    missing or damaged.
    """
    path = folder / JOBS
    try:
        jobs = [_parse_submission(each) for each in json.loads(path.read_bytes())]
        if jobs and jobs[-1].array is None:
            # The result of `sbatch` is not recorded. Use the time of the file as the time of
            # submission, because the file is written just before the call.
            jobs[-1] = replace(jobs[-1], submitted_s=path.stat().st_mtime)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []
    return jobs


def under_way(folder: Path, slurm: Slurm, name: str, clusters: str = "") -> Array | None:
    """Return the array that works on a folder's run or waits in the queue, whichever user submitted
    it.

    An array whose tasks are all ending, as after `scancel`, does not count.

    Args:
        folder: folder of the run.
        slurm: the Slurm to ask.
        name: name of the jobs.
        clusters: further clusters to search.

    Raises:
        SlurmError: Slurm does not answer.

    """
    last = next(reversed(jobs_of(folder)), None)
    if last and last.array and slurm.queue(last.array, name).at_work:
        return last.array
    # Find jobs by name if their number was not recorded, or if a user submitted them by hand.
    for where in dict.fromkeys((clusters, last.clusters if last else clusters)):
        if found := slurm.named(name, where):
            return found
    return None


def keep_script(own: OwnedFolder, text: str) -> str:
    """Write the script that is about to be submitted; return a note for the user, or an empty text.

    A script that the user has changed is not overwritten. The digest in its last line shows the
    change, because it no longer matches the script.
    """
    path = own.path / SCRIPT
    if path.is_file() and SCRIPT not in own.mark.files:
        return f"{path} is not isthmus's, and stays as it is; what is submitted is not this script"
    if path.is_file() and not _is_unchanged(path.read_bytes()):
        return f"{path} was changed, and stays as it is; what is submitted is not this script"
    own.write_beside(SCRIPT, f"{text}{SEAL}{sha256(text.encode())}\n", SUBMITTED)
    return ""


def _is_unchanged(script: bytes) -> bool:
    """Return whether a job script is unchanged since isthmus wrote it."""
    text, _, seal = script.rpartition(SEAL.encode())
    return seal.decode(errors="replace") == f"{sha256(text)}\n"


def keep_jobs(own: OwnedFolder, jobs: Sequence[Submission]) -> float:
    """Write the record of submitted jobs; return the time of the write, by the folder's clock."""
    text = json.dumps([_as_json(job) for job in jobs], indent=1) + "\n"
    own.write_beside(JOBS, text, SUBMITTED)
    return (own.path / JOBS).stat().st_mtime


def _as_json(job: Submission) -> dict[str, Any]:
    """Return a submitted job as JSON values for the record of jobs."""
    fields = asdict(job)
    array = fields.pop("array")
    return {**(array or {"number": None, "cluster": ""}), **fields}


def _parse_submission(fields: dict[str, Any]) -> Submission:
    """Read a submitted job from JSON values of the record of jobs."""
    number, cluster = fields.pop("number"), fields.pop("cluster")
    return Submission(**fields, array=Array(str(number), str(cluster)) if number else None)

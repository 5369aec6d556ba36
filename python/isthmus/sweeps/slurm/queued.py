"""The job of Slurm that is at a folder's run, told to those who only look at the folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.sweeps.slurm.control import Array, Queue, Slurm, SlurmError
from isthmus.sweeps.slurm.jobs import jobs_of, named_in, under_way

LOOK_S = 10.0
"""Seconds that Slurm is given to answer who only looks."""


@dataclass(frozen=True)
class Queued:
    """A job of Slurm that is in its queue, or may be."""

    array: Array | None
    """None where its number is not known."""
    queue: Queue
    trouble: str = ""
    """Why it is not known whether it is in the queue; empty if it is."""

    def __str__(self) -> str:
        return "Slurm job" + (f" {self.array}" if self.array else " of unknown number")

    @property
    def state(self) -> str:
        """How it does, in a few words."""
        if self.trouble:
            return f"whether it goes on is not known here ({self.trouble})"
        rows = ((self.queue.running, "running"), (self.queue.waiting, "waiting"))
        words = ", ".join(f"{number:,} {what}" for number, what in rows if number)
        reasons = ", ".join(self.queue.reasons[:2])
        return words + (f" ({reasons})" if reasons else "")

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "number": self.array and self.array.number,
            "cluster": self.array.cluster if self.array else "",
            "running": self.queue.running,
            "waiting": self.queue.waiting,
            "reasons": list(self.queue.reasons),
            "trouble": self.trouble,
        }


def queued(folder: Path, slurm: Slurm | None = None) -> Queued | None:
    """The job that was submitted for a folder's run, unless it is over."""
    name = named_in(folder)
    if not name:
        return None
    slurm = slurm or Slurm(patience_s=LOOK_S)
    try:
        array = under_way(folder, slurm, name)
        queue = slurm.queue(array, name) if array else Queue()
    except SlurmError as error:
        last = next(reversed(jobs_of(folder)), None)
        return Queued(last.array if last else None, Queue(), str(error))
    # Between two looks it may have ended.
    return Queued(array, queue) if queue else None

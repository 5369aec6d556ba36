"""The Slurm job of a folder's run, for commands that only show its state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.sweeps.slurm.control import Array, Queue, Slurm, SlurmError
from isthmus.sweeps.slurm.jobs import jobs_of, named_in, under_way

LOOK_S = 10.0
"""Seconds within which Slurm must answer a command that only shows the state."""


@dataclass(frozen=True)
class Queued:
    """A Slurm job that is in the queue, or whose state is unknown because Slurm does not answer."""

    array: Array | None
    """The array job; None if its number is unknown."""
    queue: Queue
    trouble: str = ""
    """The reason why the state of the job is unknown; empty if it is known."""

    def __str__(self) -> str:
        """Return the job in words: ``Slurm job`` and its number, if that is known."""
        return "Slurm job" + (f" {self.array}" if self.array else " of unknown number")

    @property
    def state(self) -> str:
        """Return the state of the Slurm job in the queue, in a few words."""
        if self.trouble:
            return f"whether it goes on is not known here ({self.trouble})"
        rows = ((self.queue.running, "running"), (self.queue.waiting, "waiting"))
        words = ", ".join(f"{number:,} {what}" for number, what in rows if number)
        reasons = ", ".join(self.queue.reasons[:2])
        return words + (f" ({reasons})" if reasons else "")

    def as_json(self) -> dict[str, Any]:
        """Return the Slurm job in the form of the JSON output."""
        return {
            "number": self.array and self.array.number,
            "cluster": self.array.cluster if self.array else "",
            "running": self.queue.running,
            "waiting": self.queue.waiting,
            "reasons": list(self.queue.reasons),
            "trouble": self.trouble,
        }


def queued(folder: Path, slurm: Slurm | None = None) -> Queued | None:
    """Return the job that was submitted for a folder's run, unless it has ended."""
    name = named_in(folder)
    if not name:
        return None
    slurm = slurm or Slurm(timeout_s=LOOK_S)
    try:
        array = under_way(folder, slurm, name)
        queue = slurm.queue(array, name) if array else Queue()
    except SlurmError as error:
        last = next(reversed(jobs_of(folder)), None)
        return Queued(last.array if last else None, Queue(), str(error))
    # The job may have ended between the two queries to Slurm.
    return Queued(array, queue) if queue else None

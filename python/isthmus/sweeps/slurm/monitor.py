"""Progress of a run whose points other processes do."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.execution import Stopped
from isthmus.files import FileError
from isthmus.progress import Progress
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.state import missing_units

if TYPE_CHECKING:
    from isthmus.execution import Job

TICK_S = 0.2
"""Seconds between two checks of the condition that ends a wait."""
COUNT_S = 1.0
"""The minimum number of seconds between two counts of finished points."""
COUNT_SHARE = 20
"""Minimum pause between two counts, as a multiple of the duration of a count; it spares slow file
systems.
"""
UNSEEN_S = 1800.0
"""Seconds for which the folder may be unreadable before that is an error."""


@dataclass
class Monitor:
    """Counts finished points of a run, and shows the progress to the user."""

    job: Job
    folder: Path
    done: int = 0
    _next_count: float = field(default=0.0, repr=False)
    _readable_at: float | None = field(default=None, repr=False)
    """Time at which the folder was last readable."""

    @property
    def counts(self) -> tuple[int, int]:
        """Return the number of points of the run, and the number of its searches."""
        return self.job.summary["points"], self.job.summary["searches"]

    @property
    def total(self) -> int:
        """Return the number of points and searches of the run together."""
        return sum(self.counts)

    def missing(self) -> Selection:
        """Return the points and searches of the run that are not finished now."""
        found = missing_units(self.folder, *self.counts)
        self.done = self.total - len(found)
        return found

    def show(self, state: str) -> None:
        """Show the progress of the run, with the text `state` about the Slurm job array.

        Raises:
            FileError: the folder has been unreadable for `UNSEEN_S`; its file system may be gone.

        """
        now = time.monotonic()
        if now >= self._next_count:
            try:
                self.missing()
                self._readable_at = now
            except FileError:
                self._readable_at = now if self._readable_at is None else self._readable_at
                if now - self._readable_at > UNSEEN_S:
                    raise
            took_s = time.monotonic() - now
            self._next_count = now + max(COUNT_S, COUNT_SHARE * took_s)
        title = self.job.title or self.job.name
        self.job.watch(Progress("simulating", self.done, self.total, title=title, state=state))

    def tick(self, state: str) -> None:
        """Show the progress of the run, and wait for `TICK_S` seconds."""
        self.show(state)
        time.sleep(TICK_S)

    def wait(self, seconds: float, state: str) -> None:
        """Wait for some seconds, and show the progress of the run meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tick(state)

    def stopped(self) -> Stopped:
        """Return the exception to raise after Ctrl-C if no Slurm job continues the run."""
        return Stopped((self.done, self.total))

"""A run whose points others do, looked at again and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.execution import Stopped
from isthmus.files import FileError
from isthmus.progress import Progress
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.state import lacking

if TYPE_CHECKING:
    from isthmus.execution import Job

TICK_S = 0.2
"""Seconds between two looks at what may end a wait."""
COUNT_S = 1.0
"""Least seconds between two looks at how many points are done."""
COUNT_SHARE = 20
"""How many times as long as a look takes the next one is put off: large folders of slow file
systems are not asked all the time."""
UNSEEN_S = 1800.0
"""Seconds for which a folder that cannot be read is looked at again."""


@dataclass
class Watched:
    """How far it is, told to who watches."""

    job: Job
    folder: Path
    done: int = 0
    _next_count: float = field(default=0.0, repr=False)
    _seen: float | None = field(default=None, repr=False)
    """When the folder could be read at last."""

    @property
    def counts(self) -> tuple[int, int]:
        """Points and searches."""
        return self.job.summary["points"], self.job.summary["searches"]

    @property
    def total(self) -> int:
        """The same together."""
        return sum(self.counts)

    def lacking(self) -> Selection:
        """What is missing now."""
        found = lacking(self.folder, *self.counts)
        self.done = self.total - len(found)
        return found

    def tell(self, state: str) -> None:
        """Tell how far it is, and how those do who do it.

        Raises:
            FileError: the folder could not be read for `UNSEEN_S`, as if its file system is gone.

        """
        now = time.monotonic()
        if now >= self._next_count:
            try:
                self.lacking()
                self._seen = now
            except FileError:
                self._seen = now if self._seen is None else self._seen
                if now - self._seen > UNSEEN_S:
                    raise
            took_s = time.monotonic() - now
            self._next_count = now + max(COUNT_S, COUNT_SHARE * took_s)
        title = self.job.title or self.job.name
        self.job.watch(Progress("simulating", self.done, self.total, title=title, state=state))

    def tick(self, state: str) -> None:
        """The same, and a little later."""
        self.tell(state)
        time.sleep(TICK_S)

    def wait(self, seconds: float, state: str) -> None:
        """The same for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tick(state)

    def stopped(self) -> Stopped:
        """What Ctrl-C is where nothing goes on."""
        return Stopped((self.done, self.total))

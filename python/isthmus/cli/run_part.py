"""``isthmus run --part``: one part of a run that several processes share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus import arguments
from isthmus.cli.running import Ending, interrupted
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.sweeps import Selection

EXPIRY_MIN_S = 1.0
"""Minimum lease time in seconds. A process whose lease has expired counts as dead."""


@dataclass(frozen=True)
class RequestedPart:
    """The requested part of the run; all fields unset for the whole run."""

    part: str | None
    points: str | None
    searches: str | None
    expiry: str | None

    def __bool__(self) -> bool:
        """Return whether any option selects a part of the run."""
        # An option with an empty text counts, too: it is an error and does not mean the whole run.
        return (self.part, self.points, self.searches) != (None, None, None)

    @property
    def expiry_s(self) -> float | None:
        """The time in seconds after which leases expire; None if the option --expiry is not given.

        Raises:
            IsthmusError: it is not a time, or too short.

        """
        if self.expiry is None:
            return None
        return arguments.seconds("--expiry", self.expiry, EXPIRY_MIN_S, "60 s")

    def check(
        self, out: Path | None, *, fresh: bool, plots: bool, as_json: bool, on: str | None
    ) -> None:
        """Refuse options that contradict each other.

        Raises:
            IsthmusError: two selections of a part, an option that parts do not support, or an
                invalid --expiry.

        """
        if self.part is not None and (self.points, self.searches) != (None, None):
            raise IsthmusError("--part: says already which points; leave --points, --searches out")
        if self and on:
            raise IsthmusError(f"--on {on}: is for all of a run; leave --part, --points, ... out")
        if self.expiry is not None and not self and not on:
            raise IsthmusError("--expiry: is for parts of a run; give --part or --points as well")
        # Check the lease time before a job is submitted, as an invalid one makes all tasks fail.
        _ = self.expiry_s
        if not self:
            return
        if out is None:
            raise IsthmusError("--out: parts meet in a folder; give the same one to all of them")
        for name, given in (("--fresh", fresh), ("--plots", plots), ("--json", as_json)):
            if given:
                raise IsthmusError(f"{name}: is not for parts of a run; see isthmus collect --help")

    def run(self, job: Job, out: Path | None) -> Ending:
        """Run the selected part of the job; return a function that prints its result."""
        from isthmus import sweeps
        from isthmus.cli.process import DONE, FAILED
        from isthmus.cli.voice import voice
        from isthmus.execution import Stopped
        from isthmus.progress.terminal import say
        from isthmus.sweeps import Selection
        from isthmus.sweeps.shared import EXPIRY_S

        assert out is not None
        part = self._selection(job)
        if not part:
            # The part may be empty: a script for runs of any size may define more parts than
            # points.
            there = Selection.whole(job.summary["points"], job.summary["searches"]).words
            voice().note(f"--part {self.part}: nothing is to be done, there are {there}")
        expiry_s = EXPIRY_S if self.expiry_s is None else self.expiry_s
        try:
            done = sweeps.do_part(job, out, part, expiry_s, voice().note)
        except Stopped as stop:
            return partial(interrupted, out, stop.reached)

        def ending() -> int:
            """Print the failed points and the number of points done; return the exit status."""
            # Failures are printed even with --quiet.
            for failure in done.failed:
                say(f"{out}: {failure.entry} failed: {failure.reason}")
            verb = "is" if len(part) == 1 else "are"
            click.echo(f"{part.with_done(done.units)} of this part {verb} in {out}")
            return FAILED if done.failed else DONE

        return ending

    def _selection(self, job: Job) -> Selection:
        """Return the points and searches that the options select."""
        from isthmus.sweeps import Selection
        from isthmus.sweeps.selection import listed

        points, searches = job.summary["points"], job.summary["searches"]
        if self.part is not None:
            return Selection.share(self.part, points, searches)
        return Selection(
            () if self.points is None else listed("--points", self.points, points),
            () if self.searches is None else listed("--searches", self.searches, searches),
        )

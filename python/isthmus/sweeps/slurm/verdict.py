"""Analysis of an array that has ended: why points are missing, and whether to submit them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.owned.mark import SUBMITTED, entry_of
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.slurm.control import CANCELLED, Array, Ended

SAID = 400
"""Maximum length, in characters, of the last line of a task's output in a message."""
COMPLETED = "COMPLETED"
FAILED_POINTS = 1
"""Exit status of a Slurm task in which points or searches failed."""


@dataclass(frozen=True)
class EndedArray:
    """An array job that has ended, and the points and searches that are missing in its folder."""

    array: Array
    ended: Sequence[Ended]
    """Tasks of which Slurm still knows how they ended."""
    tasks: int | None
    """Number of tasks of the array; None if unknown."""
    missing: Selection
    failed: Collection[str] = field(default_factory=frozenset)
    """Names of the points and searches that failed after the array job was submitted."""

    @property
    def bad(self) -> list[Ended]:
        """Return the tasks of the array that did not complete normally."""
        return [task for task in self.ended if task.state != COMPLETED]

    @property
    def all_known(self) -> bool:
        """Whether the end of every task is known; a task that Slurm has forgotten may have been
        lost.
        """
        return self.tasks is not None and len(self.ended) >= self.tasks

    @property
    def explained(self) -> bool:
        """Whether every missing point or search has a recorded failure, which explains why it is
        missing.
        """
        return all(name in self.failed for name in names(self.missing))

    @property
    def may_be_late(self) -> bool:
        """Whether files of completed points may still appear.

        All tasks did their points or reported failures, but a network file system may show files of
        other nodes later.
        """
        did_points = all(not task.lost and task.status == FAILED_POINTS for task in self.bad)
        return self.all_known and not self.explained and did_points

    @property
    def ended_well(self) -> bool:
        """Whether all tasks of the array completed all of their points."""
        return self.all_known and not self.bad

    @property
    def ended_themselves(self) -> bool:
        """Whether no task was lost, so that another submission would end in the same way."""
        return self.all_known and bool(self.bad) and not any(task.lost for task in self.bad)

    @property
    def why(self) -> str:
        """Return the reason why points and searches are missing."""
        if bad := summary(self.bad):
            return bad
        if not self.ended:
            return "Slurm knows no more of it"
        if self.tasks is not None and not self.all_known:
            return "Slurm knows no more of some of its tasks"
        return "its tasks ended well, and not all is in the folder"

    def last_words(self, folder: Path) -> str:
        """Return the last line of output of the first failed task; tasks that were not lost come
        first.
        """
        if not self.bad:
            return ""
        first = min(self.bad, key=lambda task: (task.lost, task.task))
        log = folder / SUBMITTED / f"{self.array.number}_{first.task}.log"
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except FileNotFoundError:
            return f", and left no {log}: do all nodes see this folder?"
        except OSError as error:
            return f", and {log} cannot be read ({error.strerror})"
        return f": {lines[-1][-SAID:]} ({log})" if lines else f" and said nothing ({log})"


def names(selection: Selection) -> list[str]:
    """Return the names of the journal entries of the selected points and searches."""
    return [entry_of(kind, at) for kind, at in selection.units]


def was_cancelled(ended: Sequence[Ended]) -> bool:
    """Return whether an array was cancelled as a whole.

    Every task that had not ended at the last cancellation was cancelled, and no other task was lost
    in the same second.
    """
    cancelled = [task.at for task in ended if task.state == CANCELLED]
    others = [task for task in ended if task.state != CANCELLED]
    last = max(cancelled, default="")
    went_on = (task.at > last or (task.at == last and task.lost) for task in others)
    return bool(cancelled) and not any(went_on)


def summary(tasks: Sequence[Ended]) -> str:
    """Return a text with the reasons why tasks did not complete, each reason once."""
    of = Counter(task.reason for task in tasks)
    named = {reason: next(t.task for t in tasks if t.reason == reason) for reason in of}
    words = [
        f"task {named[reason]}: {reason}"
        if count == 1
        else f"{count} tasks, the first of them task {named[reason]}: {reason}"
        for reason, count in of.most_common(3)
    ]
    return ", ".join(words)

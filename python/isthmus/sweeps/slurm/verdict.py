"""Why points are missing of an array that is over, and whether they are worth another try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.owned.mark import SUBMITTED, entry_of
from isthmus.sweeps.selection import Selection
from isthmus.sweeps.slurm.control import CANCELLED, Array, Ended

SAID = 400
"""Most characters of what a task said last."""
COMPLETED = "COMPLETED"
FAILED_POINTS = 1
"""The exit status of a task some of whose points could not be done."""


@dataclass(frozen=True)
class Over:
    """An array that is over, and what is missing in its folder."""

    array: Array
    ended: Sequence[Ended]
    """What is still known of its tasks."""
    tasks: int | None
    """How many it had; None if nobody knows."""
    lacks: Selection
    failed: Collection[str] = field(default_factory=frozenset)
    """Entries that could not be done, since it was submitted."""

    @property
    def bad(self) -> list[Ended]:
        """Tasks that are over and not well."""
        return [task for task in self.ended if task.state != COMPLETED]

    @property
    def all_known(self) -> bool:
        """Whether it is known of each task how it ended: one that Slurm has forgotten may have been
        lost.
        """
        return self.tasks is not None and len(self.ended) >= self.tasks

    @property
    def explained(self) -> bool:
        """Whether all that is missing could not be done."""
        return all(name in self.failed for name in names(self.lacks))

    @property
    def may_be_late(self) -> bool:
        """Whether the folder should have what is missing: tasks have done it, or said why not, on
        nodes of whose files this one may see the last ones later.
        """
        return self.all_known and not self.explained and all(map(_did_its_points, self.bad))

    @property
    def ended_well(self) -> bool:
        """Whether all tasks have done all of their points."""
        return self.all_known and not self.bad

    @property
    def ended_themselves(self) -> bool:
        """Whether nothing was lost: tasks would end in the same way again."""
        return self.all_known and bool(self.bad) and not any(task.lost for task in self.bad)

    @property
    def why(self) -> str:
        """Why something is missing."""
        if bad := summary(self.bad):
            return bad
        if not self.ended:
            return "Slurm knows no more of it"
        if self.tasks is not None and not self.all_known:
            return "Slurm knows no more of some of its tasks"
        return "its tasks ended well, and not all is in the folder"

    def last_words(self, folder: Path) -> str:
        """What the first of the tasks that ended by itself has said last."""
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


def _did_its_points(task: Ended) -> bool:
    return not task.lost and task.status == FAILED_POINTS


def names(selection: Selection) -> list[str]:
    """The entries of points and searches in the journal."""
    return [entry_of(kind, at) for kind, at in selection.units]


def was_cancelled(ended: Sequence[Ended]) -> bool:
    """Whether an array was cancelled as a whole: whatever had not ended by then was cancelled, and
    nothing was lost in the same second in another way.
    """
    cancelled = [task.at for task in ended if task.state == CANCELLED]
    others = [task for task in ended if task.state != CANCELLED]
    last = max(cancelled, default="")
    went_on = (task.at > last or (task.at == last and task.lost) for task in others)
    return bool(cancelled) and not any(went_on)


def summary(tasks: Sequence[Ended]) -> str:
    """Why tasks are over that should not be, each reason once."""
    of = Counter(task.reason for task in tasks)
    named = {reason: next(t.task for t in tasks if t.reason == reason) for reason in of}
    words = [
        f"task {named[reason]}: {reason}"
        if count == 1
        else f"{count} tasks, the first of them task {named[reason]}: {reason}"
        for reason, count in of.most_common(3)
    ]
    return ", ".join(words)

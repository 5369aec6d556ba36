"""The script of an array job: options for Slurm, and the command of each task."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus import arguments
from isthmus.errors import IsthmusError
from isthmus.owned.mark import SUBMITTED
from isthmus.sweeps.selection import Selection, ranges
from isthmus.sweeps.shared import EXPIRY_S
from isthmus.wording import counted

NOTICE_S = 60
"""Seconds before the time limit at which Slurm sends SIGTERM to a task."""
NOTICED_S = 600
"""Shortest time limit in seconds of a job for which Slurm is asked to send SIGTERM `NOTICE_S`
before the limit; Slurm may send it a minute too early. With a shorter limit a task receives SIGTERM
at the limit, some seconds before SIGKILL.
"""
OWN = (
    "array",
    "output",
    "error",
    "job-name",
    "chdir",
    "open-mode",
    "parsable",
    "wrap",
    "wait",
    "signal",
    "test-only",
    "quiet",
)
"""Options of `sbatch` that isthmus sets and users must not."""
GIVEN = {
    "time": "--time",
    "partition": "--partition",
    "account": "--account",
    "cpus-per-task": "--jobs",
}
"""Options of `sbatch` that users must set through an option of isthmus."""
SHORT = {
    "a": "array",
    "o": "output",
    "e": "error",
    "J": "job-name",
    "D": "chdir",
    "W": "wait",
    "Q": "quiet",
    "t": "time",
    "p": "partition",
    "A": "account",
    "c": "cpus-per-task",
}
_CLUSTERS = re.compile(r"(?:--cluster=|--clusters=|-M)(.+)")
LIST_MAX = 100_000
"""The maximum length of a list of points: Linux allows 128 KiB in a word of a command."""


@dataclass(frozen=True)
class Wanted:
    """The user's requests for a Slurm job: time limit, partition, account, number of tasks."""

    time_s: float | None = None
    """Time limit of a task in seconds; None for that of the partition."""
    partition: str | None = None
    account: str | None = None
    tasks: int | None = None
    """Number of tasks; None to choose it from the predicted durations."""
    words: tuple[str, ...] = ()
    """Further options that the user passes to `sbatch`."""
    expiry_s: float = EXPIRY_S
    """Seconds after which leases of lost tasks are taken over."""

    def __post_init__(self) -> None:
        """Refuse values that a script line cannot contain, and options that isthmus sets itself."""
        for name, value in (("--partition", self.partition), ("--account", self.account)):
            if value is not None:
                _refuse_special(name, value)
        for word in self.words:
            _refuse_special("--sbatch", word)
            name = word.lstrip("-").partition("=")[0]
            if not word.startswith("-") or not name:
                raise IsthmusError(
                    f"--sbatch: {arguments.shown(word)} is no option of sbatch; give one with its "
                    "value, such as --sbatch=--mem=4G"
                )
            short = SHORT.get(name[:1], "")
            known = _own_option(name) if word.startswith("--") else short
            if known in GIVEN:
                raise IsthmusError(f"--sbatch: --{known} is chosen by isthmus; give {GIVEN[known]}")
            if known:
                raise IsthmusError(f"--sbatch: --{known} is chosen by isthmus; leave it out")

    @property
    def clusters(self) -> str:
        """Return the clusters from which Slurm chooses one; empty if the user names none."""
        named = [_CLUSTERS.match(word) for word in self.words]
        return next((found[1].strip() for found in reversed(named) if found), "")

    @property
    def limit_s(self) -> float | None:
        """Return the time limit rounded up to whole minutes, as Slurm takes it; None if unset."""
        return None if self.time_s is None else 60.0 * max(1, math.ceil(self.time_s / 60))

    @property
    def options(self) -> list[str]:
        """Return the user's requests as options for `sbatch`."""
        found = [f"--partition={self.partition}"] if self.partition else []
        found += [f"--account={self.account}"] if self.account else []
        if self.time_s is not None and self.limit_s is not None:
            found.append(f"--time={_limit(self.limit_s)}")
            if self.time_s >= NOTICED_S:
                found.append(f"--signal=B:TERM@{NOTICE_S}")
        else:
            found.append(f"--signal=B:TERM@{NOTICE_S}")
        return [*found, *self.words]


@dataclass(frozen=True)
class Script:
    """The script of an array job that is submitted to Slurm."""

    name: str
    """Name of the job."""
    folder: Path
    wanted: Wanted
    threads: int
    memory: str | None
    tasks: Sequence[Selection]
    about_s: float | None
    """Predicted duration of the longest task in seconds; None if unknown."""

    @property
    def options(self) -> list[str]:
        """Return all options of the job for `sbatch`."""
        # Double each %, which has a meaning in Slurm's patterns of file names.
        log = str(self.folder / SUBMITTED).replace("%", "%%") + "/%A_%a.log"
        return [
            f"--job-name={self.name}",
            f"--array=0-{len(self.tasks) - 1}",
            f"--cpus-per-task={self.threads}",
            *self.wanted.options,
            f"--chdir={self.folder}",
            f"--output={log}",
            "--open-mode=append",
        ]

    def as_text(self) -> str:
        """Return the text of the job script."""
        points, searches = (
            sum(len(each) for each in kind)
            for kind in ([t.points for t in self.tasks], [t.searches for t in self.tasks])
        )
        about = f"{Selection.whole(points, searches).words} in {counted(len(self.tasks), 'task')}"
        if self.about_s is not None:
            about += f", packed to take about {_span(self.about_s)} each"
        lines = [
            "#!/bin/bash",
            *(f"#SBATCH {_quoted(word)}" for word in self.options),
            f"# {about}.",
        ]
        lines += ['case "$SLURM_ARRAY_TASK_ID" in']
        lines += [f"{i}) set -- {shlex.join(_words(task))} ;;" for i, task in enumerate(self.tasks)]
        lines += ['*) echo "no task $SLURM_ARRAY_TASK_ID" >&2; exit 2 ;;', "esac"]
        first, more = self._command
        threads = '--jobs "${SLURM_CPUS_PER_TASK:-1}"'
        lines.append(f'exec {shlex.join(first)} "$@" {shlex.join(more)} {threads}')
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Return the script in the form of the JSON output, with times in seconds."""
        first, more = self._command
        threads = ["--jobs", str(self.threads)]
        return {
            "name": self.name,
            "folder": str(self.folder),
            "tasks": len(self.tasks),
            "points": sum(len(task.points) for task in self.tasks),
            "searches": sum(len(task.searches) for task in self.tasks),
            "longest_s": self.about_s,
            "time_limit_s": self.wanted.limit_s,
            "commands": [[*first, *_words(task), *more, *threads] for task in self.tasks],
            "script": self.as_text(),
        }

    @property
    def _command(self) -> tuple[list[str], list[str]]:
        """Return the command of a task: the words before and after the selection of points."""
        more = ["--verbose"]
        more += ["--memory", self.memory] if self.memory else []
        if self.wanted.expiry_s != EXPIRY_S:
            more += ["--expiry", f"{self.wanted.expiry_s!r} s"]
        return [sys.executable, "-m", "isthmus", "run", str(self.folder)], more


def _words(task: Selection) -> list[str]:
    """Return the command options that select the points and searches of a task."""
    words = ["--points", _position_list(task.points)] if task.points else []
    return words + (["--searches", _position_list(task.searches)] if task.searches else [])


def _position_list(positions: Sequence[int]) -> str:
    """Format positions as a list that fits into a command.

    A list that is too long becomes the range that covers it: tasks skip finished points, and share
    the others.
    """
    words = ranges(positions)
    return words if len(words) <= LIST_MAX else f"{min(positions)}:{max(positions) + 1}"


def _own_option(name: str) -> str:
    """Return the option of isthmus that a name abbreviates, as `sbatch` does; empty if none."""
    return next((own for own in (*OWN, *GIVEN) if own.startswith(name)), "")


def refuse_odd(folder: Path) -> None:
    """Refuse a folder whose name Slurm or a script line would misinterpret.

    A backslash disables patterns in the names of logs.

    Raises:
        IsthmusError: the folder has such a name.

    """
    if odd := next((c for c in str(folder) if c == "\\" or not c.isprintable()), None):
        what = "a backslash" if odd == "\\" else f"the character {odd!a}"
        raise IsthmusError(
            f"--out: {arguments.shown(str(folder))} has {what} in its name, which Slurm cannot "
            "take; give another folder"
        )


def _limit(seconds: float) -> str:
    """Format a time limit as Slurm does: ``1-00:30:00``."""
    hours, minutes = divmod(round(seconds / 60), 60)
    days, hours = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:00"


def _span(seconds: float) -> str:
    """Return a duration in words, for a message."""
    from isthmus.sweeps.words import span

    return span(seconds)


def _refuse_special(name: str, value: str) -> None:
    """Raise an error if a value has characters that cannot be part of a script line."""
    if not value or not value.isprintable():
        raise arguments.refuse(name, value, "a word in one line")


def _quoted(word: str) -> str:
    """Quote a word for a line of the job script."""
    if all(c.isalnum() or c in "-_=./:,@%+" for c in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'

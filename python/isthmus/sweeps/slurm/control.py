"""Slurm's own commands: what they are asked, and what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO

from isthmus.errors import IsthmusError

PATIENCE_S = 120.0
"""Seconds after which a command of Slurm that says nothing is given up, if nobody says so."""
TICK_S = 0.1
"""Seconds between two looks whether a command has answered."""
GONE = "Invalid job id"
"""What Slurm says of a job that it has forgotten."""
UNHEARD = "Unable to contact slurm controller"
"""What its commands say that have heard nothing of the controller, after some 20 s."""
WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
CANCELLED, COMPLETING = "CANCELLED", "COMPLETING"
UNDER_WAY = (
    *WAITING,
    COMPLETING,
    "CONFIGURING",
    "RUNNING",
    "SIGNALING",
    "STAGE_OUT",
    "SUSPENDED",
)
LOST = (
    "BOOT_FAIL",
    CANCELLED,
    "DEADLINE",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
)
"""States of tasks that something outside of them has ended."""
WORDS = {
    "BOOT_FAIL": "its node did not boot",
    "DEADLINE": "its deadline passed",
    "NODE_FAIL": "its node failed",
    "OUT_OF_MEMORY": "it had not enough memory",
    "PREEMPTED": "it was preempted",
    "REVOKED": "another cluster took it",
    "TIMEOUT": "its time limit passed",
    CANCELLED: "it was cancelled",
}
"""Of states, in words."""
SIGNALLED = 128
"""An exit status above it is that of a process that a signal has ended."""
TERMINATED = SIGNALLED + 15
"""The exit status of a task that ended in order when it was told to."""

CLUSTER = "CLUSTER:"
"""How a line of `squeue` begins that names a cluster."""

_FIRST = re.compile(r"\d+")
_WHO = re.compile(r"^(?:sbatch: |squeue: )?(?:error: )?(?:slurm_load_jobs error: )?")
"""What commands put before what they have to say."""


class SlurmError(IsthmusError):
    """A command of Slurm failed; its own words are in the message."""


class NoCommandError(SlurmError):
    """A command of Slurm is not there: no use to ask again."""


class UnansweredError(SlurmError):
    """`sbatch` has not said whether a job is submitted, and may have submitted it."""


@dataclass(frozen=True)
class Array:
    """An array job, as `sbatch` names it."""

    number: str
    cluster: str = ""
    """Where several clusters share their controllers; else empty."""

    @classmethod
    def parsed(cls, text: str) -> Array:
        """What ``sbatch --parsable`` prints.

        Raises:
            UnansweredError: it is something else.

        """
        number, _, cluster = text.strip().partition(";")
        if not number.isdigit():
            raise UnansweredError(
                f"sbatch: said {text.strip()!r} in place of the number of a job, and may have "
                "submitted it; see `squeue --me`"
            )
        return cls(number, cluster)

    def __str__(self) -> str:
        return self.number + (f" on {self.cluster}" if self.cluster else "")

    @property
    def words(self) -> list[str]:
        """Options that say which cluster."""
        return [f"--clusters={self.cluster}"] if self.cluster else []

    @property
    def cancel(self) -> str:
        """The command that ends it."""
        return " ".join(["scancel", *self.words, self.number])


@dataclass(frozen=True)
class Queue:
    """What is left of an array in the queue."""

    running: int = 0
    """Those that are about to be over as well."""
    waiting: int = 0
    reasons: tuple[str, ...] = ()
    """Why tasks wait, each once."""
    ending: int = 0
    """Those that are about to be over: their processes have ended, or are being ended."""

    def __bool__(self) -> bool:
        return bool(self.running or self.waiting)

    @property
    def at_work(self) -> bool:
        """Whether anything of it does points still, or will."""
        return bool(self.running > self.ending or self.waiting)


@dataclass(frozen=True)
class Ended:
    """A task that is over."""

    task: int
    state: str
    status: int
    signal: int
    node: str
    at: str
    """When it was over, as Slurm has it."""

    @property
    def lost(self) -> bool:
        """Whether it was ended from outside, so that what it had not done is worth another try."""
        if self.state == "FAILED":
            return self.signal != 0 or self.status > SIGNALLED
        return self.state in LOST

    @property
    def reason(self) -> str:
        """Why it is over, in words."""
        if self.state in WORDS:
            return WORDS[self.state] + (f" ({self.node})" if self.state == "NODE_FAIL" else "")
        if self.status == TERMINATED:
            return "it was told to end, at its time limit or before"
        if self.signal or self.status > SIGNALLED:
            return f"it was killed by signal {self.signal or self.status - SIGNALLED}"
        return f"it ended with status {self.status}"


@dataclass
class Slurm:
    """The user's Slurm, by its commands."""

    environment: dict[str, str] = field(default_factory=lambda: _heeded(os.environ))
    patience_s: float = PATIENCE_S
    """Seconds after which a command that says nothing is given up."""
    _left: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    """An `sbatch` that was left alone, as it had not answered."""

    def check(self) -> None:
        """Refuse to go on where there is no Slurm.

        Raises:
            SlurmError: there is no `sbatch` or no `squeue`.

        """
        for name in ("sbatch", "squeue"):
            self._found(name)

    @property
    def clusters(self) -> str:
        """Clusters that the user has named for all commands, if any."""
        told = (self.environment.get(f"{name}_CLUSTERS", "") for name in ("SBATCH", "SLURM"))
        return next(filter(None, told), "")

    def test(
        self, script: str, options: Sequence[str] = (), tick: Callable[[], None] = lambda: None
    ) -> None:
        """Ask whether Slurm would take a job; nothing is submitted.

        Args:
            script: the job.
            options: for `sbatch`.
            tick: called again and again until there is an answer.

        Raises:
            SlurmError: it would not.

        """
        done = self._asked(["sbatch", "--test-only", *options], script, tick)
        if done.returncode != 0:
            raise _refused(done)

    def submit(
        self, script: str, options: Sequence[str] = (), tick: Callable[[], None] = lambda: None
    ) -> tuple[Array, str]:
        """Submit a script; the job, and what else `sbatch` said.

        Args:
            script: the job.
            options: for `sbatch`. In its command line, since the user's `SBATCH_...` variables go
                before those in the script, and behind these.
            tick: called again and again until there is an answer.

        Raises:
            UnansweredError: `sbatch`, this one or one before, has not answered, and goes on.
            SlurmError: there is no `sbatch`, or it refuses.

        """
        if self._left is not None and self._left.poll() is None:
            raise UnansweredError("sbatch: has not answered yet, and was left alone")
        done = self._asked(["sbatch", "--parsable", *options], script, tick, cut=False)
        if done.returncode != 0:
            raise _refused(done)
        return Array.parsed(done.stdout), _line(done.stderr)

    def queue(self, array: Array, name: str = "") -> Queue:
        """What is left of an array.

        Args:
            array: the array.
            name: of the job: numbers come again, in other clusters and once a controller has lost
                its state, and one of another name is another job; empty if it is not known.

        Raises:
            SlurmError: the controller does not answer.

        """
        words = [*array.words, f"--jobs={array.number}"]
        told = self._run(["squeue", *words, "--noheader", "--array", "--format=%T|%r|%j"])
        if told.returncode != 0:
            if GONE in told.stderr:
                return Queue()
            raise SlurmError(f"squeue: {_said(told)}")
        lines = [[*line.split("|", 2), ""][:3] for line in told.stdout.splitlines() if "|" in line]
        ours = [(state.strip(), why) for state, why, of in lines if not of or of == (name or of)]
        waiting = [reason for state, reason in ours if state in WAITING]
        known = dict.fromkeys(reason for reason in waiting if reason != "None")
        ending = sum(state == COMPLETING for state, _ in ours)
        return Queue(len(ours) - len(waiting), len(waiting), tuple(known), ending)

    def named(self, name: str, clusters: str = "") -> Array | None:
        """The job of the user's of that name that is at work or waits to be, if there is one.

        Args:
            name: of the job.
            clusters: those that are asked; empty for the one that is asked anyway.

        Raises:
            SlurmError: there is no `squeue`, or the controller does not answer.

        """
        words = ["squeue", *([f"--clusters={clusters}"] if clusters else []), "--noheader"]
        told = self._run([*words, f"--name={name}", f"--user={os.getuid()}", "--format=%F|%T"])
        if told.returncode != 0:
            raise SlurmError(f"squeue: {_said(told)}")
        found, cluster = set(), ""
        for line in told.stdout.splitlines():
            if line.startswith(CLUSTER):
                # Where clusters are named, the jobs of each come below its name.
                cluster = line.removeprefix(CLUSTER).strip()
                continue
            number, _, state = line.strip().partition("|")
            if number.isdigit() and state != COMPLETING:
                found.add((int(number), cluster))
        if not found:
            return None
        latest, cluster = max(found)
        return Array(str(latest), cluster)

    def ended(self, array: Array) -> list[Ended]:
        """How the tasks of an array ended, as far as that is still known: the controller forgets
        each some minutes later, its accounting, where a site has one, does not.
        """
        known = {task.task: task for task in self._accounted(array)}
        with suppress(SlurmError):
            told = self._run(["scontrol", *array.words, "--oneliner", "show", "job", array.number])
            found = (_ended(line) for line in told.stdout.splitlines())
            known |= {task.task: task for task in found if task is not None}
        return [known[task] for task in sorted(known)]

    def _accounted(self, array: Array) -> list[Ended]:
        """The same from Slurm's accounting, where a site has one."""
        words = [
            "--noheader",
            "--parsable2",
            "--allocations",
            "--format=JobID,State,ExitCode,NodeList,End",
        ]
        try:
            told = self._run(["sacct", *array.words, f"--jobs={array.number}", *words])
        except SlurmError:
            return []
        found = []
        for line in told.stdout.splitlines():
            job, state, *rest = (line.split("|") + [""] * 5)[:5]
            task = _FIRST.match(job.partition("_")[2].lstrip("["))
            if task and state and state.split()[0] not in UNDER_WAY:
                found.append(_task(task[0], state.split()[0], *rest))
        return found

    def largest_array(self) -> int | None:
        """The most tasks of an array that this Slurm takes; None if it does not say."""
        try:
            told = self._run(["scontrol", "show", "config"])
        except SlurmError:
            return None
        match = re.search(r"^MaxArraySize\s*=\s*(\d+)", told.stdout, re.MULTILINE)
        return int(match[1]) - 1 if match else None

    def _found(self, name: str) -> str:
        program = shutil.which(name, path=self.environment.get("PATH"))
        if program is None:
            raise NoCommandError(
                f"{name}: not found; run this where Slurm's commands are, such as a login node of "
                "the cluster"
            )
        return program

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = self._found(words[0])
        try:
            return subprocess.run(
                [program, *words[1:]],
                # Times that can be compared, whatever the season.
                env={**self.environment, "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.patience_s,
                check=False,
                # Ctrl-C is for us.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise self._silent(words) from None
        except OSError as error:
            raise SlurmError(f"{words[0]}: {error.strerror}") from error

    def _asked(
        self, words: Sequence[str], text: str, tick: Callable[[], None], *, cut: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command that may change something: whatever `tick` raises, it is not cut, and can
        go on when this process has ended. Unless `cut` says so it goes on also where it is silent.
        """
        program = self._found(words[0])
        with ExitStack() as stack:
            # Files, not pipes: these would end with this process.
            script, *said = (stack.enter_context(TemporaryFile()) for _ in range(3))
            script.write(text.encode())
            script.seek(0)
            try:
                process = subprocess.Popen(
                    [program, *words[1:]],
                    env=self.environment,
                    stdin=script,
                    stdout=said[0],
                    stderr=said[1],
                    start_new_session=True,
                )
            except OSError as error:
                raise SlurmError(f"{words[0]}: {error.strerror}") from error
            give_up = time.monotonic() + self.patience_s
            while process.poll() is None:
                if time.monotonic() > give_up:
                    if not cut:
                        self._left = process
                        raise UnansweredError(
                            f"sbatch: no answer within {self.patience_s:.0f} s; it was left alone, "
                            "and may submit the job yet, which the same command then finds"
                        )
                    process.kill()
                    process.wait()
                    raise self._silent(words)
                tick()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(TICK_S)
            out, err = (_read(each) for each in said)
        return subprocess.CompletedProcess([*words], process.returncode, out, err)

    def _silent(self, words: Sequence[str]) -> SlurmError:
        return SlurmError(f"{words[0]}: no answer within {self.patience_s:.0f} s")


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _refused(done: subprocess.CompletedProcess[str]) -> SlurmError:
    said = _said(done)
    told = UNHEARD in said or done.returncode < 0
    return SlurmError(f"sbatch: {said}" if told else f"sbatch refused the job: {said}")


OWN = re.compile(
    r"S(?:QUEUE|ACCT|CONTROL)_\w+|SLURM_TIME_FORMAT"
    r"|SBATCH_(?:JOB_NAME|ARRAY_INX|OUTPUT|ERROR|SIGNAL|OPEN_MODE|WAIT)"
)
"""Variables of a user's that would change what is asked and told here. Others of sbatch's say what
is to be where no option does.
"""


def _heeded(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not OWN.fullmatch(name)}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said of its failure, in a line."""
    words = _line(done.stderr) or _line(done.stdout)
    if done.returncode < 0:
        return f"it was killed by signal {-done.returncode}"
    return words or f"it ended with status {done.returncode}"


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return "; ".join(_WHO.sub("", line) for line in lines)


def _ended(line: str) -> Ended | None:
    """A task from a line of ``scontrol --oneliner show job``; None if it is not over."""
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    # Of tasks that never began there is a range.
    task, state = _FIRST.match(fields.get("ArrayTaskId", "")), fields.get("JobState", "")
    if not task or not state or state in UNDER_WAY:
        return None
    return _task(task[0], state, *(fields.get(n, "") for n in ("ExitCode", "NodeList", "EndTime")))


def _task(task: str, state: str, code: str, node: str, at: str) -> Ended:
    status, _, signal = code.partition(":")
    numbers = [int(each) if each.isdigit() else 0 for each in (status, signal)]
    return Ended(int(task), state, numbers[0], numbers[1], node, at)

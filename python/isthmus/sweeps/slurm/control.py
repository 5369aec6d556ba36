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
CANCELLED = "CANCELLED"
UNDER_WAY = (
    *WAITING,
    "COMPLETING",
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
            SlurmError: it is something else.

        """
        number, _, cluster = text.strip().partition(";")
        if not number.isdigit():
            raise SlurmError(f"sbatch: said {text.strip()!r} in place of the number of a job")
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
    waiting: int = 0
    reasons: tuple[str, ...] = ()
    """Why tasks wait, each once."""

    def __bool__(self) -> bool:
        return bool(self.running or self.waiting)


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

    def check(self) -> None:
        """Refuse to go on where there is no Slurm.

        Raises:
            SlurmError: there is no `sbatch`.

        """
        self._found("sbatch")

    @property
    def clusters(self) -> str:
        """Clusters that the user has named for all commands, if any."""
        told = (self.environment.get(f"{name}_CLUSTERS", "") for name in ("SBATCH", "SLURM"))
        return next(filter(None, told), "")

    def test(self, script: str, tick: Callable[[], None] = lambda: None) -> None:
        """Ask whether Slurm would take a job; nothing is submitted.

        Args:
            script: the job.
            tick: called again and again until there is an answer.

        Raises:
            SlurmError: it would not.

        """
        done = self._asked(["sbatch", "--test-only"], script, tick)
        if done.returncode != 0:
            raise _refused(done)

    def submit(self, script: str, tick: Callable[[], None] = lambda: None) -> tuple[Array, str]:
        """Submit a script; the job, and what else `sbatch` said.

        Args:
            script: the job.
            tick: called again and again until there is an answer.

        Raises:
            SlurmError: there is no `sbatch`, or it refuses.

        """
        done = self._asked(["sbatch", "--parsable"], script, tick)
        if done.returncode != 0:
            raise _refused(done)
        return Array.parsed(done.stdout), _line(done.stderr)

    def queue(self, array: Array) -> Queue:
        """What is left of an array.

        Raises:
            SlurmError: the controller does not answer.

        """
        words = [*array.words, f"--jobs={array.number}"]
        told = self._run(["squeue", *words, "--noheader", "--array", "--format=%T|%r"])
        if told.returncode != 0:
            if GONE in told.stderr:
                return Queue()
            raise SlurmError(f"squeue: {_said(told)}")
        lines = [line.split("|", 1) for line in told.stdout.splitlines() if "|" in line]
        waiting = [reason for state, reason in lines if state.strip() in WAITING]
        known = dict.fromkeys(reason for reason in waiting if reason != "None")
        return Queue(len(lines) - len(waiting), len(waiting), tuple(known))

    def named(self, name: str, clusters: str = "") -> Array | None:
        """The job of the user's of that name that is in the queue, if there is one.

        Args:
            name: of the job.
            clusters: those that are asked; empty for the one that is asked anyway.

        Raises:
            SlurmError: there is no `squeue`, or the controller does not answer.

        """
        words = ["squeue", *([f"--clusters={clusters}"] if clusters else []), "--noheader"]
        told = self._run([*words, f"--name={name}", f"--user={os.getuid()}", "--format=%F"])
        if told.returncode != 0:
            raise SlurmError(f"squeue: {_said(told)}")
        found, cluster = set(), ""
        for line in told.stdout.splitlines():
            # Where clusters are named, the jobs of each come below its name.
            if line.startswith(CLUSTER):
                cluster = line.removeprefix(CLUSTER).strip()
            elif line.strip().isdigit():
                found.add((int(line), cluster))
        if not found:
            return None
        number, cluster = max(found)
        return Array(str(number), cluster)

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
            raise SlurmError(
                f"{name}: not found; run this where Slurm's commands are, such as a login node of "
                "the cluster"
            )
        return program

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = self._found(words[0])
        try:
            return subprocess.run(
                [program, *words[1:]],
                env=self.environment,
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
        self, words: Sequence[str], text: str, tick: Callable[[], None]
    ) -> subprocess.CompletedProcess[str]:
        """Run a command that may change something: whatever `tick` raises, it is not cut, and can
        go on when this process has ended.
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
    return SlurmError(f"sbatch: {said}" if UNHEARD in said else f"sbatch refused the job: {said}")


OWN = re.compile(r"S(?:QUEUE|ACCT|CONTROL)_\w+|SBATCH_(?:JOB_NAME|ARRAY_INX|OUTPUT|ERROR)")
"""Variables of a user's that would change what is asked and told here."""


def _heeded(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not OWN.fullmatch(name)}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said of its failure, in a line."""
    words = _line(done.stderr) or _line(done.stdout)
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

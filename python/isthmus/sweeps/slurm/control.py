"""Slurm's commands: calling them and parsing their output."""

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

TIMEOUT_S = 120.0
"""Default number of seconds after which a Slurm command without an answer counts as failed."""
TICK_S = 0.1
"""Seconds between two checks whether a Slurm command has ended."""
GONE = "Invalid job id"
"""Slurm's message about a job that it has forgotten."""
UNREACHABLE = "Unable to contact slurm controller"
"""Message of Slurm's commands if the controller has not answered, after about 20 s."""
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
"""Slurm's states of tasks that Slurm, a user or a failure of the node has ended."""
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
"""Descriptions of Slurm's states of tasks, for messages."""
SIGNALLED = 128
"""Exit statuses above this value mean that a signal ended the process."""
TERMINATED = SIGNALLED + 15
"""The exit status of a task that ended in order after SIGTERM."""

CLUSTER = "CLUSTER:"
"""Prefix of a line in the output of `squeue` that names a cluster."""

_FIRST = re.compile(r"\d+")
_WHO = re.compile(r"^(?:sbatch: |squeue: )?(?:error: )?(?:slurm_load_jobs error: )?")
"""Prefixes of the messages of Slurm's commands."""


class SlurmError(IsthmusError):
    """Error: a command of Slurm failed; the message contains that of the command."""


class NoCommandError(SlurmError):
    """Error: a command of Slurm is not installed, so it is futile to repeat the request."""


class UnansweredError(SlurmError):
    """Error: `sbatch` has not reported whether it submitted a job, and may have done so."""


@dataclass(frozen=True)
class Array:
    """A Slurm array job: its number and its cluster, as `sbatch` reports them."""

    number: str
    cluster: str = ""
    """Name of the cluster if several share their controllers; else empty."""

    @classmethod
    def parsed(cls, text: str) -> Array:
        """Parse the output of ``sbatch --parsable``.

        Raises:
            UnansweredError: the output has another form.

        """
        number, _, cluster = text.strip().partition(";")
        if not number.isdigit():
            raise UnansweredError(
                f"sbatch: said {text.strip()!r} in place of the number of a job, and may have "
                "submitted it; see `squeue --me`"
            )
        return cls(number, cluster)

    def __str__(self) -> str:
        """Return the number of the array, and its cluster if it is known."""
        return self.number + (f" on {self.cluster}" if self.cluster else "")

    @property
    def words(self) -> list[str]:
        """Return the options of a Slurm command that select the cluster of the array."""
        return [f"--clusters={self.cluster}"] if self.cluster else []

    @property
    def cancel(self) -> str:
        """Return the command that cancels the array."""
        return " ".join(["scancel", *self.words, self.number])


@dataclass(frozen=True)
class Queue:
    """The tasks of a Slurm array job that have not ended, counted by state."""

    running: int = 0
    """Number of running tasks, including those that are ending."""
    waiting: int = 0
    reasons: tuple[str, ...] = ()
    """Reasons why tasks wait in the queue, each once."""
    ending: int = 0
    """Number of tasks that are ending: their processes have ended, or are being ended."""

    def __bool__(self) -> bool:
        """Return whether any task runs or waits in the queue."""
        return bool(self.running or self.waiting)

    @property
    def at_work(self) -> bool:
        """Whether any task runs points, or waits in the queue to run them."""
        return bool(self.running > self.ending or self.waiting)


@dataclass(frozen=True)
class Ended:
    """A task of a Slurm array that has ended: its state, exit status, node and time."""

    task: int
    state: str
    status: int
    signal: int
    node: str
    at: str
    """Time of the end, as Slurm formats it."""

    @property
    def lost(self) -> bool:
        """Whether Slurm or a failure ended the task, so that its missing points are worth another
        try.
        """
        if self.state == "FAILED":
            return self.signal != 0 or self.status > SIGNALLED
        return self.state in LOST

    @property
    def reason(self) -> str:
        """Return the reason why the task ended."""
        if self.state in WORDS:
            return WORDS[self.state] + (f" ({self.node})" if self.state == "NODE_FAIL" else "")
        if self.status == TERMINATED:
            return "it was told to end, at its time limit or before"  # codespell:ignore told
        if self.signal or self.status > SIGNALLED:
            return f"it was killed by signal {self.signal or self.status - SIGNALLED}"
        return f"it ended with status {self.status}"


@dataclass
class Slurm:
    """Interface to the user's Slurm, through commands such as `sbatch` and `squeue`."""

    environment: dict[str, str] = field(default_factory=lambda: _without_overrides(os.environ))
    timeout_s: float = TIMEOUT_S
    """Seconds after which a Slurm command without an answer counts as failed."""
    _unanswered: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    """An `sbatch` that did not answer in time and still runs."""

    def check(self) -> None:
        """Check that Slurm is installed.

        Raises:
            SlurmError: `sbatch` or `squeue` is missing.

        """
        for name in ("sbatch", "squeue"):
            self._found(name)

    @property
    def clusters(self) -> str:
        """Return the clusters that the user's environment selects for all Slurm commands."""
        named = (self.environment.get(f"{name}_CLUSTERS", "") for name in ("SBATCH", "SLURM"))
        return next(filter(None, named), "")

    def test(
        self, script: str, options: Sequence[str] = (), tick: Callable[[], None] = lambda: None
    ) -> None:
        """Check that Slurm would accept a job, without submitting it.

        Args:
            script: the job script.
            options: options for `sbatch`.
            tick: called repeatedly until Slurm answers.

        Raises:
            SlurmError: Slurm would refuse the job.

        """
        done = self._run_changing(["sbatch", "--test-only", *options], script, tick)
        if done.returncode != 0:
            raise _refused(done)

    def submit(
        self, script: str, options: Sequence[str] = (), tick: Callable[[], None] = lambda: None
    ) -> tuple[Array, str]:
        """Submit a script; return the job, and further output of `sbatch`.

        Args:
            script: the job script.
            options: options for `sbatch`. They must be on its command line, because the user's
                `SBATCH_...` variables take precedence over options in the script.
            tick: called repeatedly until Slurm answers.

        Raises:
            UnansweredError: this `sbatch`, or an earlier one, has not answered and still runs.
            SlurmError: `sbatch` is missing, or it refuses the job.

        """
        if self._unanswered is not None and self._unanswered.poll() is None:
            raise UnansweredError("sbatch: has not answered yet, and was left alone")
        done = self._run_changing(["sbatch", "--parsable", *options], script, tick, kill=False)
        if done.returncode != 0:
            raise _refused(done)
        return Array.parsed(done.stdout), _line(done.stderr)

    def queue(self, array: Array, name: str = "") -> Queue:
        """Return the tasks of an array that are still in the queue.

        Args:
            array: the array.
            name: name of the job; empty if unknown. Numbers are reused, in other clusters and after
                a controller has lost its state, so a job of another name is another job.

        Raises:
            SlurmError: the controller does not answer.

        """
        words = [*array.words, f"--jobs={array.number}"]
        done = self._run(["squeue", *words, "--noheader", "--array", "--format=%T|%r|%j"])
        if done.returncode != 0:
            if GONE in done.stderr:
                return Queue()
            raise SlurmError(f"squeue: {_error_message(done)}")
        lines = [[*line.split("|", 2), ""][:3] for line in done.stdout.splitlines() if "|" in line]
        own = [(state.strip(), why) for state, why, job in lines if not job or job == (name or job)]
        waiting = [reason for state, reason in own if state in WAITING]
        known = dict.fromkeys(reason for reason in waiting if reason != "None")
        ending = sum(state == COMPLETING for state, _ in own)
        return Queue(len(own) - len(waiting), len(waiting), tuple(known), ending)

    def named(self, name: str, clusters: str = "") -> Array | None:
        """Return the user's latest job with a name that is at work or waits in the queue, if any.

        Args:
            name: name of the job.
            clusters: clusters to search; empty for the default cluster.

        Raises:
            SlurmError: `squeue` is missing, or the controller does not answer.

        """
        words = ["squeue", *([f"--clusters={clusters}"] if clusters else []), "--noheader"]
        done = self._run([*words, f"--name={name}", f"--user={os.getuid()}", "--format=%F|%T"])
        if done.returncode != 0:
            raise SlurmError(f"squeue: {_error_message(done)}")
        found, cluster = set(), ""
        for line in done.stdout.splitlines():
            if line.startswith(CLUSTER):
                # If the user's option names clusters, a line with the name of a cluster precedes
                # its jobs.
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
        """Return how the tasks of an array ended, as far as that is still known.

        The controller forgets each task after some minutes; accounting, if a site has it, does not.
        """
        known = {task.task: task for task in self._accounted(array)}
        with suppress(SlurmError):
            done = self._run(["scontrol", *array.words, "--oneliner", "show", "job", array.number])
            found = (_ended(line) for line in done.stdout.splitlines())
            known |= {task.task: task for task in found if task is not None}
        return [known[task] for task in sorted(known)]

    def _accounted(self, array: Array) -> list[Ended]:
        """Return how the tasks of an array ended, from Slurm's accounting; empty if a site has
        none.
        """
        words = [
            "--noheader",
            "--parsable2",
            "--allocations",
            "--format=JobID,State,ExitCode,NodeList,End",
        ]
        try:
            done = self._run(["sacct", *array.words, f"--jobs={array.number}", *words])
        except SlurmError:
            return []
        found = []
        for line in done.stdout.splitlines():
            job, state, *rest = (line.split("|") + [""] * 5)[:5]
            task = _FIRST.match(job.partition("_")[2].lstrip("["))
            if task and state and state.split()[0] not in UNDER_WAY:
                found.append(_task(task[0], state.split()[0], *rest))
        return found

    def largest_array(self) -> int | None:
        """Return the maximum number of tasks of a job array; None if Slurm does not report it."""
        try:
            done = self._run(["scontrol", "show", "config"])
        except SlurmError:
            return None
        match = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
        return int(match[1]) - 1 if match else None

    def _found(self, name: str) -> str:
        """Return the path of the Slurm command with this name."""
        program = shutil.which(name, path=self.environment.get("PATH"))
        if program is None:
            raise NoCommandError(
                f"{name}: not found; run this where Slurm's commands are, such as a login node of "
                "the cluster"
            )
        return program

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command that changes nothing, and return its output."""
        program = self._found(words[0])
        try:
            return subprocess.run(
                [program, *words[1:]],
                # Times in UTC compare correctly across changes of daylight saving time.
                env={**self.environment, "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout_s,
                check=False,
                # Start `sbatch` in its own session, so that Ctrl-C reaches isthmus only.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise self._timeout_error(words) from None
        except OSError as error:
            raise SlurmError(f"{words[0]}: {error.strerror}") from error

    def _run_changing(
        self, words: Sequence[str], text: str, tick: Callable[[], None], *, kill: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command that may change Slurm's state, and call `tick` while it runs.

        If `tick` raises an exception, the command keeps running, even after this process ends. If
        `kill` is false, it also keeps running after the timeout.
        """
        program = self._found(words[0])
        with ExitStack() as stack:
            # Use files, not pipes: pipes would break when this process ends.
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
            give_up = time.monotonic() + self.timeout_s
            while process.poll() is None:
                if time.monotonic() > give_up:
                    if not kill:
                        self._unanswered = process
                        raise UnansweredError(
                            f"sbatch: no answer within {self.timeout_s:.0f} s; it was left alone, "
                            "and may submit the job yet, which the same command then finds"
                        )
                    process.kill()
                    process.wait()
                    raise self._timeout_error(words)
                tick()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(TICK_S)
            out, err = (_read(each) for each in said)
        return subprocess.CompletedProcess([*words], process.returncode, out, err)

    def _timeout_error(self, words: Sequence[str]) -> SlurmError:
        """Return the error that a Slurm command did not answer in time."""
        return SlurmError(f"{words[0]}: no answer within {self.timeout_s:.0f} s")


def _read(file: IO[bytes]) -> str:
    """Return the content of a file as text, from its start."""
    file.seek(0)
    return file.read().decode(errors="replace")


def _refused(done: subprocess.CompletedProcess[str]) -> SlurmError:
    """Return the error for a failed `sbatch`."""
    said = _error_message(done)
    plain = UNREACHABLE in said or done.returncode < 0
    return SlurmError(f"sbatch: {said}" if plain else f"sbatch refused the job: {said}")


OWN = re.compile(
    r"S(?:QUEUE|ACCT|CONTROL)_\w+|SLURM_TIME_FORMAT"
    r"|SBATCH_(?:JOB_NAME|ARRAY_INX|OUTPUT|ERROR|SIGNAL|OPEN_MODE|WAIT)"
)
"""The user's environment variables that would change the queries or the output of Slurm's commands.
Other variables of `sbatch` supply values for options that are not given.
"""


def _without_overrides(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that would change the output of Slurm's commands."""
    return {name: value for name, value in environment.items() if not OWN.fullmatch(name)}


def _error_message(done: subprocess.CompletedProcess[str]) -> str:
    """Return the error message of a Slurm command, in one line."""
    words = _line(done.stderr) or _line(done.stdout)
    if done.returncode < 0:
        return f"it was killed by signal {-done.returncode}"
    return words or f"it ended with status {done.returncode}"


def _line(text: str) -> str:
    """Return the output of a Slurm command in one line, without the prefixes of its messages."""
    lines = text.strip().splitlines()
    return "; ".join(_WHO.sub("", line) for line in lines)


def _ended(line: str) -> Ended | None:
    """Return the ended task that a line of ``scontrol --oneliner show job`` shows, or None."""
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    # Slurm lists tasks that never started as one range: take the first number.
    task, state = _FIRST.match(fields.get("ArrayTaskId", "")), fields.get("JobState", "")
    if not task or not state or state in UNDER_WAY:
        return None
    return _task(task[0], state, *(fields.get(n, "") for n in ("ExitCode", "NodeList", "EndTime")))


def _task(task: str, state: str, code: str, node: str, at: str) -> Ended:
    """Create the record of an ended task from columns of the output of a Slurm command."""
    status, _, signal = code.partition(":")
    numbers = [int(each) if each.isdigit() else 0 for each in (status, signal)]
    return Ended(int(task), state, numbers[0], numbers[1], node, at)

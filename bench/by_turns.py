"""Run programs that do the same work in turns on one machine, half a second each.

The speed of a shared machine varies by half from minute to minute. Sequential runs would mostly
measure this variation; in turns, all programs share it. The rest of the longest program runs alone.
A stopped program notices only that time passes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from measure import ROOT, cpu_s, refuse_failed

TURN_S = 0.5
"""Seconds of a turn."""
LOOK_S = 0.02
"""Seconds between two checks whether a side has ended."""
STOP_S = 0.1
"""Seconds between two checks for new child processes of stopped programs."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    cpu_s: float
    """CPU seconds, including those of child processes that it waited for."""
    output: str


@dataclass
class Side:
    """Commands that run together and start at the same time."""

    commands: list[list[str]]
    helpers: Callable[[], Iterable[int]] = tuple
    """Function that returns the IDs of further processes, which work for the commands but are not
    their children.
    """
    ended: list[Ended] = field(default_factory=list)
    """The outcome of each command; complete at the end."""


def by_turns(*sides: Side) -> None:
    """Run all sides to their end, in turns. Raise ``SystemExit`` with the output of a failed
    command.
    """
    running = [_Running(side) for side in sides]
    try:
        left = list(running)
        while left:
            each = left.pop(0)
            each.go_on()
            deadline = time.perf_counter() + TURN_S
            looked = time.perf_counter()
            while each.is_at_work() and time.perf_counter() < deadline:
                time.sleep(LOOK_S)
                if time.perf_counter() - looked >= STOP_S:
                    looked = time.perf_counter()
                    for other in left:
                        other.stop()
            if each.is_at_work():
                if left:
                    each.stop()
                left.append(each)
    finally:
        for each in running:
            each.close()
    for each in running:
        each.side.ended = [each.ended[at] for at in range(len(each.side.commands))]


class _Running:
    """The processes of a side, which are stopped and continued in turn."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.ended: dict[int, Ended] = {}
        self._started: dict[int, tuple[subprocess.Popen[bytes], Path]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._stopped: set[int] = set()

    def go_on(self) -> None:
        """Start the commands, or continue their stopped processes."""
        if self._folder is not None:
            _signal(self._stopped, signal.SIGCONT)
            self._stopped.clear()
            return
        self._folder = tempfile.TemporaryDirectory(prefix="isthmus-turns-")
        for at, command in enumerate(self.side.commands):
            path = Path(self._folder.name) / str(at)
            with path.open("wb") as output:
                self._started[at] = (
                    subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT),
                    path,
                )

    def stop(self) -> None:
        """Stop all running processes of the side, including those started meanwhile."""
        if self._folder is None:
            return
        while new := set(self._at_work()) - self._stopped:
            _signal(new, signal.SIGSTOP)
            self._stopped |= new

    def is_at_work(self) -> bool:
        """Return whether a command still runs; record the cost of those that have ended."""
        for at, (process, path) in list(self._started.items()):
            # Use the resources of this child alone, not of all children so far.
            number, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not number:
                continue
            del self._started[at]
            process.returncode = os.waitstatus_to_exitcode(status)
            output = path.read_text()
            refuse_failed(self.side.commands[at], process.returncode, output)
            self.ended[at] = Ended(cpu_s(usage), output)
        return bool(self._started)

    def close(self) -> None:
        """Kill the running processes after an error."""
        if self._started:
            _signal(self._at_work(), signal.SIGKILL)
            for process, _ in self._started.values():
                process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def _at_work(self) -> list[int]:
        """Return all processes of the side, with their descendants."""
        started = [process.pid for process, _ in self._started.values()]
        return _with_children([*started, *self.side.helpers()])


def _signal(numbers: Iterable[int], what: signal.Signals) -> None:
    """Send a signal to processes, and ignore those that have ended."""
    for number in numbers:
        with suppress(ProcessLookupError):
            os.kill(number, what)


def _with_children(numbers: Iterable[int]) -> list[int]:
    """Return processes and all their descendants, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = list(numbers)
    for number in found:
        found += children.get(number, [])
    return found

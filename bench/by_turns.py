"""Programs that do the same work, by turns on one machine: each half a second, again and again.

A machine that many share is half as quick again in one minute as in the next. Programs that are run
one after the other tell more of that than of themselves; by turns both have the same of it. What is
left of the longer one has the machine alone. Who is stopped notices only that time passes.
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

from measure import ROOT, Cost

TURN_S = 0.5
"""Seconds of a turn."""
LOOK_S = 0.02
"""Seconds between two looks whether a side has ended."""


@dataclass
class Side:
    """Commands that work together, all begun at once."""

    commands: list[list[str]]
    helpers: Callable[[], Iterable[int]] = tuple
    """Numbers of processes that work for them and that none of them has begun."""
    costs: list[Cost] = field(default_factory=list)
    """What each command cost, with all that it has begun and waited for; known at the end."""


def by_turns(*sides: Side) -> None:
    """Run all to their end. Raises ``SystemExit`` where a command fails, with its last words."""
    running = [_Running(side) for side in sides]
    try:
        left = list(running)
        while left:
            each = left.pop(0)
            each.go_on()
            deadline = time.perf_counter() + TURN_S
            while each.is_at_work() and time.perf_counter() < deadline:
                time.sleep(LOOK_S)
            if each.is_at_work():
                if left:
                    each.signal(signal.SIGSTOP)
                left.append(each)
    finally:
        for each in running:
            each.signal(signal.SIGKILL)
    for each in running:
        each.side.costs = [each.costs[at] for at in range(len(each.side.commands))]


class _Running:
    def __init__(self, side: Side) -> None:
        self.side = side
        self.costs: dict[int, Cost] = {}
        self._begun: dict[int, tuple[subprocess.Popen[bytes], Path, float]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def go_on(self) -> None:
        if self._folder is not None:
            self.signal(signal.SIGCONT)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="isthmus-turns-")
        for at, command in enumerate(self.side.commands):
            path = Path(self._folder.name) / str(at)
            with path.open("wb") as output:
                process = subprocess.Popen(
                    command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
                )
            self._begun[at] = process, path, time.perf_counter()

    def is_at_work(self) -> bool:
        for at, (process, path, began) in list(self._begun.items()):
            # The resources of this child alone, not of all children so far.
            number, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not number:
                continue
            del self._begun[at]
            process.returncode = os.waitstatus_to_exitcode(status)
            output = path.read_text()
            if process.returncode:
                last_words = "\n".join(output.splitlines()[-20:])
                raise SystemExit(f"{' '.join(self.side.commands[at])} failed:\n{last_words}")
            self.costs[at] = Cost(
                cpu_s=usage.ru_utime + usage.ru_stime,
                wall_s=time.perf_counter() - began,
                memory_gib=usage.ru_maxrss / 2**20,
                output=output,
            )
        return bool(self._begun)

    def signal(self, what: signal.Signals) -> None:
        """Signal all that work; to who has ended nothing is said."""
        begun = [process.pid for process, _, _ in self._begun.values()]
        for number in _with_children([*begun, *self.side.helpers()]):
            with suppress(ProcessLookupError):
                os.kill(number, what)
        if what == signal.SIGKILL:
            for process, _, _ in self._begun.values():
                process.wait()
            if self._folder is not None:
                self._folder.cleanup()


def _with_children(numbers: Iterable[int]) -> list[int]:
    """Processes and all that they have begun, parents first."""
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

"""One mutant in a process of its own, and what became of it.

The process is forked from one that has imported everything, so that a mutant costs milliseconds; a
crash, endless work or hunger for memory ends the child alone.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from kinds import CALLS, Mutant

CPU_S = 5.0
"""CPU seconds that a case may take: the machine may be busy with other work."""
CPU_MOST_S = 15
"""CPU seconds after which the system ends a case."""
WALL_S = 120.0
"""Seconds after which a case hangs, however little it works."""
MEMORY_GB = 1.0
"""Resident memory that a case may take."""
ADDRESSES = 6 << 30
"""Addresses that a case is given: more than it may use, and less than the machine has."""
LINE = 2000
"""Longest line of an error, in characters."""


@dataclass(frozen=True)
class Outcome:
    """What a case printed, cost and returned."""

    status: int
    """Exit status; negative for the signal that ended it."""
    out: bytes
    err: bytes
    cpu_s: float
    memory_gb: float
    hung: bool
    interrupted_s: float | None = None
    """Seconds from an interruption to the end, if it was interrupted."""


def run(mutant: Mutant, folder: Path, patience_s: float | None = None) -> Outcome:
    """Run a mutant in `folder`. After `patience_s` it is interrupted, as by Ctrl-C."""
    out, err = folder / ".stdout", folder / ".stderr"
    process = os.fork()
    if process == 0:
        _be_child(mutant, folder, out, err)
    began = time.monotonic()
    interrupted = None
    descriptor = os.pidfd_open(process)
    try:
        if patience_s is not None and not _ends(descriptor, patience_s):
            os.kill(process, signal.SIGINT)
            interrupted = time.monotonic()
        left = began + WALL_S - time.monotonic()
        hung = not _ends(descriptor, left)
        if hung:
            os.kill(process, signal.SIGKILL)
        _, status, usage = os.wait4(process, 0)
    finally:
        os.close(descriptor)
    ended = time.monotonic()
    return Outcome(
        status=os.waitstatus_to_exitcode(status),
        out=out.read_bytes(),
        err=err.read_bytes(),
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_gb=usage.ru_maxrss * 1024 / 1e9,
        hung=hung,
        interrupted_s=None if interrupted is None else ended - interrupted,
    )


def _ends(descriptor: int, within_s: float) -> bool:
    return bool(select.select([descriptor], [], [], max(0.0, within_s))[0])


def _be_child(mutant: Mutant, folder: Path, out: Path, err: Path) -> NoReturn:
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_MOST_S, CPU_MOST_S + 5))
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        status = _call(mutant)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                status = 1
        os._exit(status)


def _call(mutant: Mutant) -> int:
    """As the command line does it: `isthmus.cli.main` reads `sys.argv` and exits."""
    from isthmus.errors import IsthmusError, RunFailedError, one_line
    from isthmus.execution import Stopped

    if mutant.call == "command":
        from isthmus.cli import main

        sys.argv = ["isthmus", *mutant.words]
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        return 0
    try:
        return CALLS[mutant.call](*mutant.words)
    except Stopped:
        return 130
    except RunFailedError as error:
        print(f"isthmus: {one_line(str(error))}", file=sys.stderr)
        return 1
    except IsthmusError as error:
        print(f"isthmus: {one_line(str(error))}", file=sys.stderr)
        return 2


def judged(mutant: Mutant, outcome: Outcome) -> str | None:
    """What is wrong with an outcome: the sort, a colon, particulars. `None` if all is well."""
    err = outcome.err.decode("utf-8", errors="replace")
    lines = err.splitlines()
    last = lines[-1][:200] if lines else ""
    if outcome.hung:
        return f"hangs: no end after {WALL_S:g} s ({outcome.cpu_s:.1f} s of CPU); {last}"
    if "Traceback (most recent call last)" in err:
        return f"traceback: {last}"
    if "panicked at" in err:
        return f"panic: {next(line for line in lines if 'panicked at' in line)[:200]}"
    if outcome.status == -signal.SIGXCPU:
        return f"slow: ended after {CPU_MOST_S} s of CPU"
    if outcome.status < 0:
        return f"crash: {signal.Signals(-outcome.status).name}; {last}"
    if outcome.memory_gb > MEMORY_GB:
        return f"memory: {outcome.memory_gb:.2f} GB"
    if outcome.interrupted_s is not None and outcome.interrupted_s > CPU_S:
        return f"deaf: ended {outcome.interrupted_s:.1f} s after the interruption"
    if outcome.interrupted_s is None and outcome.cpu_s > CPU_S:
        return f"slow: {outcome.cpu_s:.1f} s of CPU; status {outcome.status}"
    allowed = (0, 2) if outcome.interrupted_s is None else (0, 2, 130)
    if outcome.status not in allowed:
        return f"status {outcome.status}: {last}"
    if outcome.status == 2:
        return _misworded(err)
    if outcome.status == 0 and mutant.same is not None and outcome.out != mutant.same:
        return "another result was accepted"
    return None


def _misworded(err: str) -> str | None:
    """What is wrong with the words of a refusal."""
    lines = err.splitlines()
    if len(lines) != 1 or not err.endswith("\n") or not err.strip():
        return f"lines: {len(lines)} lines of error; {err[-200:]!r}"
    if len(err) > LINE:
        return f"long: an error of {len(err)} characters; {err[:80]!r}"
    unseen = [c for c in lines[0] if not c.isprintable()]
    if unseen:
        return f"unprintable: {unseen[0]!r} in the error; {err[-80:]!r}"
    return None

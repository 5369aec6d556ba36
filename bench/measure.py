"""Running programs and measuring their cost."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
TRIES = 7
"""Number of runs of each setting when the best setting is chosen."""

K = TypeVar("K")


@dataclass(frozen=True)
class Cost:
    """The cost and the output of one run of a program."""

    cpu_s: float
    """CPU seconds, user and system together."""
    wall_s: float
    memory_gib: float
    """Largest resident memory of the process, in GiB."""
    output: str


def run(command: list[str], *, cwd: Path | None = None, success: int = 0) -> Cost:
    """Run ``command`` to its end.

    Raises ``SystemExit`` with its last output if its exit status is not that of ``success``.
    """
    begin = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=cwd or ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        # Use the resources of this child alone, not of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    refuse_failed(command, process.returncode, output, success)
    return Cost(
        cpu_s=cpu_s(usage),
        wall_s=time.perf_counter() - begin,
        memory_gib=usage.ru_maxrss / 2**20,
        output=output,
    )


def report(command: list[str]) -> dict[str, Any]:
    """Run a program that prints one JSON object, and return the object."""
    found: dict[str, Any] = json.loads(run(command).output)
    return found


def quickest(commands: dict[K, list[str]]) -> K:
    """Return the fastest command by the median of several runs; a single one is not run.

    The commands run in turns: a slow second of the machine affects one run of each command, and a
    fast second does not decide the choice.
    """
    if len(commands) == 1:
        return next(iter(commands))
    took: dict[K, list[float]] = {key: [] for key in commands}
    for key in [*commands] * TRIES:
        took[key].append(report(commands[key])["seconds"])
    return min(took, key=lambda key: statistics.median(took[key]))


def throughput(rates: list[float], cost: list[float]) -> dict[str, Any]:
    """Summarise runs that moved bytes: MB/s and CPU s/GB."""
    return {"rate_mb_per_s": spread(rates), "cpu_s_per_gb": spread(cost)}


def refuse_failed(command: list[str], status: int, output: str, success: int = 0) -> None:
    """Raise ``SystemExit`` with the last output of a command that failed."""
    if status != success:
        last_words = "\n".join(output.splitlines()[-20:])
        raise SystemExit(f"{' '.join(command)} failed:\n{last_words}")


def cpu_s(usage: resource.struct_rusage) -> float:
    """Return CPU seconds of a process and of the children that it waited for."""
    return usage.ru_utime + usage.ru_stime


class Engine:
    """The measuring program of this folder."""

    def __init__(self) -> None:
        profile = os.environ.get("CORE_PROFILE", "release")
        build = ["cargo", "build", "--profile", profile, "--locked", "--package", "isthmus-bench"]
        messages = run([*build, "--message-format=json"]).output
        programs = [
            line["executable"]
            for line in map(json.loads, filter(_is_json, messages.splitlines()))
            if line.get("executable")
        ]
        self._program = programs[-1]

    def words(self, what: str, **values: float | str) -> list[str]:
        """Return the command line that measures ``what``."""
        return [self._program, what, *(f"{name}={value}" for name, value in values.items())]

    def measure(self, what: str, **values: float) -> tuple[dict[str, Any], Cost]:
        """Return the program's report, and the cost of the whole process."""
        cost = run(self.words(what, **values))
        return json.loads(cost.output), cost


def _is_json(line: str) -> bool:
    """Return whether a line of output is a JSON object."""
    return line.startswith("{")


@dataclass(frozen=True)
class Window:
    """The work of a flit simulator in the measured window, in flits and flit cycles."""

    messages: float
    cpu_s: float
    accepted: float
    """Accepted load in flits per cycle and node."""
    latency: float
    """Mean latency of a message as the simulator itself counts it, in cycles."""

    @property
    def rate_per_s(self) -> float:
        """Messages delivered for each CPU second."""
        return self.messages / self.cpu_s


# If accepted loads differ by more than this, the work differs, so there is no ratio of speeds.
EQUAL = 0.02


def apart(isthmus: list[float], peers: list[float]) -> float:
    """Return the difference of two medians of accepted loads, relative to the peer's."""
    middle = statistics.median(peers)
    return abs(statistics.median(isthmus) - middle) / middle


@dataclass(frozen=True)
class Line:
    """One row of ``results.json``."""

    id: str
    """Benchmark and row, such as ``peer/32-flits-60``; it stays the same if the row is renamed."""
    name: str
    isthmus: float | None
    unit: str
    peer: float | None = None
    ratio: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    """Details behind the figures, which are stored in ``results/`` only."""
    note: str = ""
    """A remark that readers need, such as the reason for a missing ratio."""
    command: str = ""
    """The command that measures it; empty for the driver with the benchmark's name."""

    def row(self) -> dict[str, Any]:
        """Return the row in the schema of ``results.json``."""
        return {
            "id": self.id,
            "name": self.name,
            "ours": rounded(self.isthmus),  # codespell:ignore ours
            "peer": rounded(self.peer),
            "unit": self.unit,
            "ratio": rounded(self.ratio),
            "command": self.command,
        }


def rounded(value: float | None) -> float | None:
    """Round ``value`` to four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def spread(values: list[float]) -> dict[str, Any]:
    """Return minimum, median and maximum of some measurements, with their number."""
    return {
        "min": rounded(min(values)),
        "median": rounded(statistics.median(values)),
        "max": rounded(max(values)),
        "runs": len(values),
    }


def machine_kind() -> str:
    """Return the kind of machine: processor and number of cores, without a host name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    fields = dict(re.findall(r"^(vendor_id|cpu family|model name)\s*: (.*)$", text, re.MULTILINE))
    name = fields.get("model name", "unknown processor")
    family = f" family {fields['cpu family']}" if "cpu family" in fields else ""
    return f"{name}{family}, {cores} cores"

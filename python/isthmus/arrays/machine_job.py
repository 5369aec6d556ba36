"""Listed messages as the one job on the machine of a scenario: how long a round of them takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from isthmus.arrays.requests import Row
from isthmus.core import ask, parse_toml
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.progress import Watch, unwatched
from isthmus.scenario_fields import toml_value

JOB = "plan"
PROBE = f'\n[workload.jobs.{JOB}]\ntraffic = "listed"\nmessages = [[0, 1, "1 B"]]\n'
SURE, UNSURE = 2, 8
"""Replications at first, and where they differ."""
LEFT = ("jobs", "load", "active")
"""What a scenario says of its own jobs, in whose place the plan runs."""
KEPT_OF_DEMANDS = ("servers", "mapping")
"""What is of use of the workload of a scenario without jobs."""

Message = tuple[int, int | str, int, int]
"""Rank, rank or server, bytes, and how many follow one another."""


@dataclass(frozen=True)
class Time:
    """How long a round of messages takes on a machine, in seconds."""

    seconds: float
    low: float
    high: float
    """Ends of the interval; those of exact times are the time itself."""
    messages: int
    bytes: int
    share: float = 1.0
    """Part of the messages, or of their lengths, that was simulated; else it is drawn on from there
    in a straight line through this part and half of it.
    """

    @property
    def exact(self) -> bool:
        """Whether all replications came to the same."""
        return self.low == self.high


@dataclass
class Machine:
    """The machine of a scenario, on which nothing else runs."""

    file: str
    base: dict[str, Any]
    """Tables of the scenario: machine, and what is left of the workload."""
    where: str | list[int | str]
    """Nodes of the job, as scenarios write them."""
    seed: int
    threads: int = 1
    watch: Watch = field(default=unwatched, repr=False)
    nodes: list[int] = field(default_factory=list)
    """Nodes that ranks may lie on, in order."""
    servers: list[int] = field(default_factory=list)
    _known: dict[str, Time] = field(default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        text: str,
        file: str,
        changes: Sequence[str],
        where: str | list[int | str],
        seed: int | None,
    ) -> Machine:
        """The machine of a scenario; its own jobs, sweep and search are left out.

        Raises:
            IsthmusError: the scenario makes no sense, or no jobs can run on its machine.

        """
        from isthmus import _core

        try:
            told = json.loads(ask(_core.check, text, file, list(changes)))
        except IsthmusError:
            if "workload.jobs" in text:
                raise
            # Only a machine: the plan is its one job.
            told = json.loads(ask(_core.check, text + PROBE, file, list(changes)))
        canonical = parse_toml(told["canonical"], file)
        work = canonical.get("workload", {})
        kept = [key for key in work if key not in LEFT] if "jobs" in work else KEPT_OF_DEMANDS
        base = {
            "machine": canonical["machine"],
            "workload": {key: work[key] for key in kept if key in work},
        }
        chosen = told["seed"] if seed is None else seed
        found = cls(f"{file} with the plan as its job", base, where, chosen)
        # The model is asked, so that nothing is simulated.
        probe = found._text([(0, 1, 1, 1)], 0.0, None, SURE)
        try:
            (point,) = json.loads(ask(_core.analyze, probe, found.file, []))["points"]
        except IsthmusError as error:
            if not told["axes"]:
                raise
            swept = ", ".join(axis["key"] for axis in told["axes"])
            raise IsthmusError(
                f"{error} (the sweep over {swept} is left out: give what it gives as key=value)"
            ) from error
        found.nodes, found.servers = point["jobs"][0]["nodes"], point["servers"]
        found.file = file
        return found

    def _text(
        self,
        messages: Sequence[Message],
        overhead_s: float,
        outstanding: int | None,
        replications: int,
    ) -> str:
        rows = [
            [a, b, f"{size} B"] if times == 1 else [a, b, f"{size} B", times]
            for a, b, size, times in messages
        ]
        job: dict[str, Any] = {"traffic": "listed", "nodes": self.where, "messages": rows}
        if overhead_s:
            job["overhead"] = f"{round(overhead_s * 1e12)} ps"
        if outstanding is not None:
            job["outstanding"] = outstanding
        work = {**self.base["workload"], "jobs": {JOB: job}}
        stop = {
            "rule": "fixed",
            # All of a round, and the first of the next.
            "messages": sum(row[3] for row in messages) + 1,
            "warmup": "none",
            "replications": replications,
        }
        lines = ["version = 1", f'name = "{JOB}"', f"seed = {self.seed}"]
        lines += [f"machine = {toml_value(self.base['machine'])}"]
        lines += [f"workload = {toml_value(work)}", f"stop = {toml_value(stop)}"]
        return "\n".join(lines) + "\n"

    def round(
        self,
        messages: Sequence[Message],
        *,
        overhead_s: float = 0.0,
        outstanding: int | None = None,
    ) -> Time:
        """How long one round of messages takes on the machine when it is empty.

        Raises:
            IsthmusError: they cannot be sent there.
            RunFailedError: the run could not be finished.

        """
        if not messages:
            return Time(0.0, 0.0, 0.0, 0, 0)
        text = self._text(messages, overhead_s, outstanding, SURE)
        if text not in self._known:
            found = self._run(text, messages)
            if not found.exact:
                found = self._run(self._text(messages, overhead_s, outstanding, UNSURE), messages)
            self._known[text] = found
        return self._known[text]

    def _run(self, text: str, messages: Sequence[Message]) -> Time:
        from isthmus.execution import Job, Stopped

        job = Job(text, self.file, jobs=self.threads, watch=self.watch)
        try:
            results = job.run()
        except Stopped:
            raise KeyboardInterrupt from None
        measures = results.run.points[0].measures
        phase = next(measure for measure in measures if measure.name == f"{JOB}.phase")
        if phase.mean is None:
            raise RunFailedError(f"{self.file}: no round of messages came to its end")
        mean = phase.mean
        low = mean if phase.low is None else phase.low
        high = mean if phase.high is None else phase.high
        if high - low <= 1e-9 * mean:
            low = high = mean
        return Time(
            mean / 1e6,
            low / 1e6,
            high / 1e6,
            sum(row[3] for row in messages),
            sum(row[2] * row[3] for row in messages),
        )


def to_servers(rows: Sequence[Row]) -> list[Message]:
    """Requests as messages to the I/O servers of a machine."""
    return [(rank, f"server {server}", size, times) for rank, server, size, times in rows]

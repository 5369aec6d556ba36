"""The time of one round of messages, run as the only job on the machine of a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from isthmus.arrays.requests import Row
from isthmus.core import ask, parse_toml
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.progress import Watch, ignore_progress
from isthmus.scenario_fields import toml_value

JOB = "plan"
PROBE = f'\n[workload.jobs.{JOB}]\ntraffic = "listed"\nmessages = [[0, 1, "1 B"]]\n'
FEW, MANY = 2, 8
"""Number of replications of a run, and of its repetition if the first ones gave different times."""
OWN = ("jobs", "load", "active")
"""Workload keys of the scenario's own jobs; the redistribution replaces these jobs."""
KEPT_OF_DEMANDS = ("servers", "mapping")
"""Workload keys to keep from a scenario without jobs when the redistribution becomes its job."""

Message = tuple[int, int | str, int, int]
"""Sender rank, receiver rank or server, bytes, and number of consecutive repetitions."""


@dataclass(frozen=True)
class Time:
    """The simulated time of a round of messages in seconds, with its confidence interval."""

    seconds: float
    low: float
    high: float
    """Upper end of the confidence interval in seconds; both ends equal the time if it is exact."""
    messages: int
    bytes: int
    share: float = 1.0
    """Fraction of the messages, or of their lengths, that was simulated; the rest is extrapolated
    linearly from this fraction and half of it.
    """

    @property
    def exact(self) -> bool:
        """Whether all replications gave the same time."""
        return self.low == self.high


@dataclass
class Machine:
    """The simulated machine of a scenario file, without the scenario's own jobs."""

    file: str
    base: dict[str, Any]
    """Tables of the scenario: the machine, and the workload without the scenario's own jobs."""
    where: str | list[int | str]
    """Nodes of the job, as scenarios write them."""
    seed: int
    threads: int = 1
    watch: Watch = field(default=ignore_progress, repr=False)
    nodes: list[int] = field(default_factory=list)
    """Nodes of the machine on which the ranks run, in the order of the ranks."""
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
        """Read a scenario and return its machine, without the scenario's jobs, sweep and search.

        Raises:
            IsthmusError: the scenario makes no sense, or no jobs can run on its machine.

        """
        from isthmus import _core

        try:
            checked = json.loads(ask(_core.check, text, file, list(changes)))
        except IsthmusError:
            if "workload.jobs" in text:
                raise
            # A scenario without jobs is valid here, so a probe job stands in for the
            # redistribution.
            checked = json.loads(ask(_core.check, text + PROBE, file, list(changes)))
        canonical = parse_toml(checked["canonical"], file)
        work = canonical.get("workload", {})
        kept = [key for key in work if key not in OWN] if "jobs" in work else KEPT_OF_DEMANDS
        base = {
            "machine": canonical["machine"],
            "workload": {key: work[key] for key in kept if key in work},
        }
        chosen = checked["seed"] if seed is None else seed
        found = cls(f"{file} with the plan as its job", base, where, chosen)
        # Check that the scenario accepts a small job: evaluate the analytic model, without a
        # simulation.
        probe = found._text([(0, 1, 1, 1)], 0.0, None, FEW)
        try:
            (point,) = json.loads(ask(_core.analyze, probe, found.file, []))["points"]
        except IsthmusError as error:
            if not checked["axes"]:
                raise
            swept = ", ".join(axis["key"] for axis in checked["axes"])
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
        """Return the scenario with one job that sends these messages."""
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
            # Count all messages of a round, and the first message of the next round.
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
        """Return the time of one round of messages on the idle machine.

        Raises:
            IsthmusError: the machine cannot send them.
            RunFailedError: the run could not be finished.

        """
        if not messages:
            return Time(0.0, 0.0, 0.0, 0, 0)
        text = self._text(messages, overhead_s, outstanding, FEW)
        if text not in self._known:
            found = self._run(text, messages)
            if not found.exact:
                found = self._run(self._text(messages, overhead_s, outstanding, MANY), messages)
            self._known[text] = found
        return self._known[text]

    def _run(self, text: str, messages: Sequence[Message]) -> Time:
        """Run a scenario and return the time of its only job."""
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
    """Convert requests to messages to the I/O servers of a machine."""
    return [(rank, f"server {server}", size, times) for rank, server, size, times in rows]

"""Measurements of a scenario's points on this machine, and the file that stores them.

One file holds the measurements of several scenarios::

    {
      "isthmus": "0.1.0",
      "scenarios": {
        "figure-10": {
          "machine": "2 processors, Linux-6.1-x86_64",
          "measured": "2026-11-25",
          "command": "isthmus nic measure figure-10.toml --pace described",
          "measure": "accepted",
          "unit": "MB/s",
          "points": [{"at": {"striped": "1 link", "workload.tu": "1 KiB"}, "each": [38.5, 38.9]}]
        }
      }
    }

``each`` lists the value of each repetition in that unit.
"""

from __future__ import annotations

import datetime
import json
import platform
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.core import ask_json, processors, read_text
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from pathlib import Path

MEASURE, UNIT, BYTES_PER_UNIT = "accepted", "MB/s", 1e6
"""Name of the measured quantity (accepted data), its unit, and the bytes per second of one unit."""
GROWTH = 16
"""Maximum factor by which a trial has more data than the previous trial, which was too short."""
TRIALS = 8
"""Maximum number of trials to find how much data a repetition needs to take long enough."""


@dataclass(frozen=True)
class Point:
    """A point of a scenario's sweep: its measurements on this machine, or the reason why it was
    not measured.
    """

    at: dict[str, str]
    """Values of the axes of the sweep at the point, by the names of the axes."""
    missing: str | None
    """Reason why the point cannot be measured on this machine; None if it can."""
    each: tuple[float, ...] = ()
    """Measured throughput in MB/s, for each repetition."""

    @property
    def median(self) -> float:
        """Median of the throughputs of all repetitions of the point, in MB/s."""
        return statistics.median(self.each)


@dataclass(frozen=True)
class Measured:
    """A scenario's points, with the measurements of those that were carried out on this machine."""

    name: str
    points: tuple[Point, ...]

    @property
    def carried_out(self) -> list[Point]:
        """Those points of the sweep that were measured."""
        return [point for point in self.points if point.each]

    @property
    def left_out(self) -> dict[str, int]:
        """Number of points that were not measured, for each reason."""
        found: dict[str, int] = {}
        for point in self.points:
            if point.missing:
                found[point.missing] = found.get(point.missing, 0) + 1
        return found

    def as_json(self, command: str) -> dict[str, Any]:
        """Return the measurements as JSON values, in the form in which `keep` writes them to a
        file.
        """
        return {
            "machine": f"{processors()} processors, {platform.platform()}",
            "measured": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "command": command,
            "measure": MEASURE,
            "unit": UNIT,
            "points": [{"at": point.at, "each": list(point.each)} for point in self.carried_out],
        }


def measure(
    question: dict[str, Any],
    *,
    pace: str,
    turns: int,
    seconds: float,
    tell: Callable[[int, int], None],
) -> Measured:
    """Run and measure the points of a scenario that this machine can run. Repetitions of different
    points alternate, so that noise affects all points equally.

    Args:
        question: text of the ``scenario``, its ``file`` name, and ``overrides``.
        pace: ``free``, with links as fast as memory, or ``described``, as fast as in the scenario.
        turns: number of repetitions of each point.
        seconds: minimum duration of a repetition.
        tell: called with the number of finished repetitions and of all.

    Raises:
        IsthmusError: the scenario is invalid, is of another kind, or has no point that can be
            measured here; or a measurement failed.

    """
    from isthmus import _core

    if not hasattr(_core, "live_points"):
        raise IsthmusError("streams are carried out on Linux alone; the simulation runs anywhere")
    listed = ask_json(_core.live_points, question)
    points = [Point(at=one["at"], missing=one["missing"]) for one in listed["points"]]
    possible = [index for index, point in enumerate(points) if point.missing is None]
    if not possible:
        why = "; ".join(dict.fromkeys(point.missing for point in points if point.missing))
        raise IsthmusError(f"{question['file']}: no point can be carried out here: {why}")
    total = len(possible) * (turns + 1)
    done = 0

    def once(index: int, least: int) -> dict[str, Any]:
        """Run one repetition of the measurement of point `index`, which moves at least `least`
        bytes. Return its results.
        """
        order = {"question": question, "point": index, "pace": pace, "least": f"{least} B"}
        return ask_json(_core.live_run, order)

    least = {}
    for index in possible:
        tell(done, total)
        least[index] = _bytes_for(lambda bytes_, at=index: once(at, bytes_), seconds)  # type: ignore[misc]
        done += 1
    each: dict[int, list[float]] = {index: [] for index in possible}
    for _ in range(turns):
        for index in possible:
            tell(done, total)
            took = once(index, least[index])
            each[index].append(took["bytes"] / took["ns"] * 1e9 / BYTES_PER_UNIT)
            done += 1
    tell(done, total)
    found = [
        Point(point.at, point.missing, tuple(each.get(index, ())))
        for index, point in enumerate(points)
    ]
    return Measured(listed["name"], tuple(found))


def _bytes_for(once: Callable[[int], dict[str, Any]], seconds: float) -> int:
    """Return how many bytes a repetition must move to take at least `seconds`, found by trials."""
    least = 1
    for _ in range(TRIALS):
        took = once(least)
        least = max(least, took["bytes"])
        short = seconds * 1e9 / took["ns"]
        if short <= 1:
            break
        least = round(took["bytes"] * min(short * 1.1, GROWTH))
    return least


def kept(path: Path) -> dict[str, Any]:
    """Read the stored measurements from a file, by scenario name; none if it does not exist.

    Raises:
        IsthmusError: it is another kind of file.

    """
    if not path.exists():
        return {}
    try:
        found = json.loads(read_text(path))["scenarios"]
        if isinstance(found, dict):
            return found
        raise TypeError(type(found).__name__)
    except (ValueError, TypeError, KeyError) as error:
        raise IsthmusError(
            f"{path}: not what `isthmus nic measure` writes ({error!r}); give another name"
        ) from error


def keep(path: Path, measured: Measured, command: str) -> None:
    """Store measurements in a file; replace those of the same scenario.

    Raises:
        IsthmusError: the file cannot be written, or is another kind of file.

    """
    from isthmus import __version__
    from isthmus.files import write_text

    scenarios = kept(path) | {measured.name: measured.as_json(command)}
    document = {"isthmus": __version__, "scenarios": dict(sorted(scenarios.items()))}
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")

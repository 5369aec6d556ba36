"""What was measured on a real machine, beside what a paper's scenarios simulate.

``live.json`` of a paper, written by ``isthmus nic measure``::

    {
      "isthmus": "0.1.0",
      "machine": "2 processors, Linux 6.1, ...",
      "measured": "2026-11-25",
      "command": "isthmus nic measure --turns 7",
      "scenarios": {
        "figure-10": {
          "measure": "accepted",
          "points": [{"at": {"striped": "1 link", "workload.tu": "1 KiB"}, "each": [812.5, 809.1]}]
        }
      }
    }

``each`` has the value of each turn, in the unit that the measure has in the scenario. A panel of
``figures.toml`` with ``live = true`` shows the points that were measured: the median of the turns,
with the least and the most of them.
"""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.papers.selectors import points

if TYPE_CHECKING:
    from pathlib import Path

    from isthmus.results.schema import PointResult, RunResult


def live(run: RunResult, file: Path) -> RunResult:
    """The run with those of its points alone that were measured live, and what was measured.

    Raises:
        IsthmusError: the file is not there, is not of this form, or names no point of the run.

    """
    told = _told(file, run.name)
    try:
        measure, listed = told["measure"], told["points"]
        measured = [(dict(one["at"]), _turns(one["each"])) for one in listed]
    except (KeyError, TypeError, ValueError) as error:
        raise IsthmusError(f"{file}: {run.name}: not points that were measured: {error}") from error
    found = []
    for at, each in measured:
        fitting = points(run, at)
        if not fitting:
            said = "; ".join(f"{key}={value}" for key, value in at.items())
            raise IsthmusError(f"{file}: {run.name}: {said}: the scenario has no such point")
        found += [_measured(point, measure, each, file) for point in fitting]
    return replace(run, points=sorted(found, key=lambda point: point.index))


def _told(file: Path, name: str) -> Any:
    if not file.is_file():
        raise IsthmusError(f"{file}: not there; `isthmus nic measure --out {file}` writes it")
    try:
        return json.loads(read_text(file))["scenarios"][name]
    except (ValueError, TypeError) as error:
        raise IsthmusError(f"{file}: not what `isthmus nic measure` writes: {error}") from error
    except KeyError as error:
        raise IsthmusError(f"{file}: nothing was measured of {error.args[0]}") from error


def _turns(each: list[float]) -> list[float]:
    turns = [float(value) for value in each]
    if not turns or not all(math.isfinite(value) and value > 0 for value in turns):
        raise ValueError(f"turns are numbers above 0, one at least, not {each}")
    return turns


def _measured(point: PointResult, name: str, each: list[float], file: Path) -> PointResult:
    simulated = point.measure(name)
    if simulated is None:
        raise IsthmusError(f"{file}: the scenario measures no {name!r}")
    measured = replace(
        simulated,
        mean=statistics.median(each),
        low=min(each),
        high=max(each),
        samples=len(each),
        percentiles=[],
        analytic=None,
        residual=None,
        each=each,
    )
    return replace(point, measures=[measured])

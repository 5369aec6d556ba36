"""Live measurements on a real machine, shown beside the simulations of a paper.

``live.json`` of a paper has the file format of `isthmus.live`, which ``isthmus nic measure``
writes.

A panel of ``figures.toml`` with ``live = true`` shows the measured points: the median of the
repetitions, with their minimum and maximum.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from isthmus.errors import IsthmusError
from isthmus.live import kept
from isthmus.papers.row_results import points

if TYPE_CHECKING:
    from pathlib import Path

    from isthmus.results.schema import PointResult, RunResult


def live(run: RunResult, file: Path) -> RunResult:
    """Return the measured points of a run, with values from `file` in place of simulated ones.

    Raises:
        IsthmusError: the file does not exist, has another format, or names no point of the run.

    """
    record = _record(file, run.name)
    try:
        measure, unit, listed = record["measure"], record["unit"], record["points"]
        measured = [(dict(one["at"]), _checked_repetitions(one["each"])) for one in listed]
    except (KeyError, TypeError, ValueError) as error:
        raise IsthmusError(f"{file}: {run.name}: not points that were measured: {error}") from error
    found = []
    for at, each in measured:
        fitting = points(run, at)
        if not fitting:
            said = "; ".join(f"{key}={value}" for key, value in at.items())
            raise IsthmusError(f"{file}: {run.name}: {said}: the scenario has no such point")
        found += [_measured(point, (measure, unit), each, file) for point in fitting]
    return replace(run, points=sorted(found, key=lambda point: point.index))


def _record(file: Path, name: str) -> Any:
    """Return the measurements of a scenario from a file."""
    if not file.is_file():
        raise IsthmusError(f"{file}: not there; `isthmus nic measure --out {file}` writes it")
    found = kept(file)
    if name not in found:
        raise IsthmusError(f"{file}: nothing was measured of {name!r}")
    return found[name]


def _checked_repetitions(each: list[float]) -> list[float]:
    """Return the values of all repetitions of a measurement as floats.

    Raises:
        ValueError: there is none, or one is not a finite number above 0.

    """
    turns = [float(value) for value in each]
    if not turns or not all(math.isfinite(value) and value > 0 for value in turns):
        raise ValueError(f"turns are numbers above 0, one at least, not {each}")
    return turns


def _measured(
    point: PointResult, quantity: tuple[str, str], each: list[float], file: Path
) -> PointResult:
    """Return a point with its measured values in place of the simulated ones."""
    name, unit = quantity
    simulated = point.measure(name)
    if simulated is None:
        raise IsthmusError(f"{file}: the scenario measures no {name!r}")
    if simulated.unit != unit:
        raise IsthmusError(f"{file}: {name} in {unit}; the scenario has it in {simulated.unit}")
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
    return msgspec.structs.replace(point, measures=[measured])

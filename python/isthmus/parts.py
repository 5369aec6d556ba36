"""A run in parts, each by whoever an executor gives it to: processes, threads, a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from isthmus import arguments
from isthmus.core import ask, parse_toml
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.results.schema import RunResult
from isthmus.results.settings import Sweep

TICK_S = 0.05
"""Seconds between two looks at what is done."""


@dataclass(frozen=True)
class Part:
    """Some points and searches of a run, by their positions in it."""

    overrides: list[str]
    """What leaves only these of the whole scenario."""
    points: list[int]
    searches: list[int]


@dataclass(frozen=True)
class Whole:
    """A run as the core is told of it."""

    text: str
    file: str
    overrides: list[str]
    canonical: str
    seed: int | None
    quick: bool
    memory: str | None
    jobs: int
    """Threads of each part."""


def check(executor: object) -> None:
    """Refuse what cannot be given work."""
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        right = "an executor, such as concurrent.futures.ProcessPoolExecutor() or a Dask Client"
        raise arguments.refuse("executor", executor, right)


def run(whole: Whole, executor: Any, tell: Callable[[int, int], None]) -> str:
    """Run every part by the executor; the result as JSON, the bytes that a run in one piece gives.

    `tell` is told how many points and searches are done, of how many.

    Raises:
        IsthmusError: the core refuses a part.
        RunFailedError: a worker ended without an answer.

    """
    from isthmus import _core

    skeleton = ask(_core.analyze, whole.text, whole.file, whole.overrides)
    parts = parts_of(RunResult.from_json(skeleton), whole)
    total = sum(len(part.points) + len(part.searches) for part in parts)
    futures: dict[int, Any] = {}
    found: dict[int, str] = {}
    try:
        for i, part in enumerate(parts):
            futures[i] = executor.submit(run_part, whole, part.overrides)
        tell(0, total)
        while len(found) < len(parts):
            ready = [i for i, each in futures.items() if i not in found and each.done()]
            for i in ready:
                found[i] = futures[i].result()
            if ready:
                done = (len(parts[i].points) + len(parts[i].searches) for i in found)
                tell(sum(done), total)
            else:
                time.sleep(TICK_S)
    except (IsthmusError, KeyboardInterrupt):
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or "no reason given"
        raise RunFailedError(
            f"{whole.file}: a worker of the executor ended without an answer "
            f"({type(error).__name__}: {reason}); start workers anew and run again"
        ) from error
    finally:
        for each in futures.values():
            each.cancel()
    told = [(found[i], part.points, part.searches) for i, part in enumerate(parts)]
    return ask(_core.gather, whole.text, whole.file, whole.overrides, whole.seed, whole.quick, told)


def run_part(whole: Whole, overrides: list[str]) -> str:
    """Run a part; its result as JSON. A worker of the executor does this."""
    from isthmus.execution import Job, Stopped

    job = Job(whole.canonical, whole.file, overrides, whole.seed, whole.jobs, whole.quick)
    job.memory = whole.memory
    try:
        return job.run().json
    except Stopped as stop:
        raise KeyboardInterrupt(str(stop)) from None


def parts_of(run: RunResult, whole: Whole) -> list[Part]:
    """The parts of a run: its points, or each search with the points that belong to it.

    In one part where a part by itself would be another run: where it has a field that has an
    effect at other points only, and where `quick` keeps the longest period of all points.
    """
    everything = Part([], list(range(len(run.points))), list(range(len(run.searches))))
    scenario = parse_toml(whole.canonical, whole.file)
    timed = "time" in scenario.get("stop", {})
    sweep = Sweep(run, whole.canonical)
    if not run.axes or (whole.quick and timed):
        return [everything]
    lengths = [len(values) for values in sweep.values.values()]
    if not run.searches:
        parts = [Part(sweep.pinned(p), [i], []) for i, p in enumerate(sweep.places)]
    else:
        # Axes that only set the load are left open by searches.
        open_ = [value is None for value in run.searches[0].values]
        ranges = [[None] if o else list(range(n)) for o, n in zip(open_, lengths, strict=True)]
        parts = []
        for number, place in enumerate(product(*ranges)):
            points = [i for i, at in enumerate(sweep.places) if _fits(at, place)]
            parts.append(Part(sweep.pinned(place), points, [number]))
    return parts if sweep.allows([part.overrides for part in parts]) else [everything]


def _fits(place: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return all(w is None or w == p for p, w in zip(place, wanted, strict=True))

"""Points of a run, each done by whoever an executor gives it to: processes, threads, a cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from isthmus import arguments
from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError

TICK_S = 0.05
"""Seconds between two looks at what is done."""
UNSHARED_S = 1.0
"""What the core asks for where claims of others are lost, with a journal in memory: not used."""


@dataclass(frozen=True)
class Whole:
    """A run as the core is told of it."""

    text: str
    file: str
    overrides: tuple[str, ...]
    seed: int | None
    quick: bool
    memory: str | None
    jobs: int
    """Threads of each worker."""


Entries = list[tuple[str, bytes]]
"""Files of a journal, by name."""


def check(executor: object) -> None:
    """Refuse what cannot be given work."""
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        right = "an executor, such as concurrent.futures.ProcessPoolExecutor() or a Dask Client"
        raise arguments.refuse("executor", executor, right)


def run(whole: Whole, executor: Any, experiment: Any, tell: Callable[[int, int], None]) -> None:
    """Have the executor do what the journal of `experiment` lacks, and put it there as it comes.

    `tell` is told how many points and searches are in the journal, of how many.

    Raises:
        IsthmusError: a worker has another isthmus, or what it sends cannot be kept.
        RunFailedError: a point cannot be done, or a worker ended without an answer.

    """
    points, searches = experiment.missing()
    parts = [([p], []) for p in points] + [([], [s]) for s in searches]
    total = sum(experiment.counts())
    left: dict[int, Any] = {}
    try:
        for i, part in enumerate(parts):
            left[i] = executor.submit(run_part, whole, part)
        tell(total - len(left), total)
        while left:
            ready = [i for i, each in left.items() if each.done()]
            for i in ready:
                entries, failed = left[i].result()
                for name, data in entries:
                    ask(experiment.admit, name, data)
                for _, reason in failed:
                    raise RunFailedError(f"{whole.file}: the run failed: {reason}")
                del left[i]
            if ready:
                tell(total - len(left), total)
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
        for each in left.values():
            each.cancel()


def run_part(
    whole: Whole, part: tuple[list[int], list[int]]
) -> tuple[Entries, list[tuple[str, str]]]:
    """Do some points and searches, by their positions; a worker of the executor does this.

    Returns the files of the journal that they come to, and what could not be done and why.
    """
    try:
        entries, told = _prepared(whole).compute(part)
    except BaseException:
        # It may have been stopped, and would do nothing any more.
        _prepared.cache_clear()
        raise
    return entries, [(name, reason) for name, reason in json.loads(told)["failed"]]


@lru_cache(maxsize=1)
def _prepared(whole: Whole) -> Any:
    """A run whose parts a worker does, one after another: read once."""
    from isthmus import _core

    return ask(
        _core.Experiment,
        whole.text,
        whole.file,
        list(whole.overrides),
        whole.seed,
        whole.jobs,
        whole.quick,
        None,
        whole.memory,
        UNSHARED_S,
    )

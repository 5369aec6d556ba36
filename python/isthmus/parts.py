"""Points of a run, each done by whoever an executor gives it to: processes, threads, a cluster."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from isthmus import arguments, dask
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
    version: str
    """Of isthmus, which workers must have as well."""


Entries = list[tuple[str, bytes]]
"""Files of a journal, by name."""


def check(executor: object) -> None:
    """Refuse what cannot be given work."""
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        right = "an executor, such as concurrent.futures.ProcessPoolExecutor() or a Dask Client"
        raise arguments.refuse("executor", executor, right)


class Pool:
    """An executor of `concurrent.futures`, or what is used like one."""

    def __init__(self, executor: Any) -> None:
        self.submit = executor.submit

    def answers(self, futures: Mapping[int, Any]) -> Mapping[int, Any]:
        """What futures that are done have come to; an exception for what is lost."""
        told: dict[int, Any] = {}
        for at, future in futures.items():
            try:
                told[at] = future.result()
            except Exception as error:
                told[at] = error
        return told

    def cancel(self, futures: Iterable[Any]) -> None:
        """Have nobody begin what is not begun."""
        for each in futures:
            each.cancel()

    def state(self, _left: int) -> str:
        """Nothing is known of the workers."""
        return ""


def run(
    whole: Whole, executor: Any, experiment: Any, tell: Callable[[int, int, str], None]
) -> None:
    """Have the executor do what the journal of `experiment` lacks, and put it there as it comes.

    `tell` is told how many points and searches are in the journal, of how many, and how the
    workers do.

    Raises:
        IsthmusError: a worker has another isthmus, or what it sends cannot be kept.
        RunFailedError: a point cannot be done, or a worker ended without an answer.

    """
    points, searches = experiment.missing()
    parts = [([p], []) for p in points] + [([], [s]) for s in searches]
    total = sum(experiment.counts())
    workers = _workers_of(executor)
    left: dict[int, Any] = {}
    try:
        for i, part in enumerate(parts):
            left[i] = workers.submit(run_part, whole, part)
        tell(total - len(left), total, workers.state(len(left)))
        while left:
            ready = {i: each for i, each in left.items() if each.done()}
            answers = workers.answers(ready) if ready else {}
            wrong = None
            # What is done is kept before anything is said of what is not.
            for i, answer in answers.items():
                if isinstance(answer, BaseException):
                    wrong = wrong or _told(whole, answer)
                    continue
                entries, failed = answer
                for name, data in entries:
                    ask(experiment.admit, name, data)
                for _, reason in failed:
                    wrong = wrong or RunFailedError(f"{whole.file}: the run failed: {reason}")
                del left[i]
            if wrong:
                raise wrong
            tell(total - len(left), total, workers.state(len(left)))
            if not answers:
                time.sleep(TICK_S)
    except (IsthmusError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise _told(whole, error) from error
    finally:
        workers.cancel(left.values())


def _workers_of(executor: Any) -> Any:
    if isinstance(executor, dask.Workers):
        return executor
    return dask.Workers(executor) if dask.is_client(executor) else Pool(executor)


def _told(whole: Whole, error: BaseException) -> IsthmusError:
    """The error of a worker in our words."""
    if isinstance(error, IsthmusError):
        return error
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "isthmus":
        told = IsthmusError(
            f"{whole.file}: a worker of the executor has no isthmus ({error}), and this run is of "
            f"isthmus {whole.version}; install that where the workers are"
        )
    else:
        reason = str(error).partition("\n")[0] or "no reason given"
        told = RunFailedError(
            f"{whole.file}: a worker of the executor ended without an answer "
            f"({type(error).__name__}: {reason}); start workers anew and run again"
        )
    told.__cause__ = error
    return told


def run_part(
    whole: Whole, part: tuple[list[int], list[int]]
) -> tuple[Entries, list[tuple[str, str]]]:
    """Do some points and searches, by their positions; a worker of the executor does this.

    Returns the files of the journal that they come to, and what could not be done and why.
    """
    from isthmus import __version__

    if whole.version != __version__:
        raise IsthmusError(
            f"{whole.file}: a worker on {platform.node()} has isthmus {__version__}, and this run "
            f"is of isthmus {whole.version}; install the same where the workers are"
        )
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

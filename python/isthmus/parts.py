"""Execution of a run's points by an executor: processes, threads or a cluster."""

from __future__ import annotations

import json
import platform
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from isthmus import arguments, dask
from isthmus.core import ask
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.wording import counted

TICK_S = 0.05
"""Seconds between polls for finished tasks."""
BUSY_TICK_S = 0.2
"""Seconds between polls while workers have enough queued tasks for two such intervals, as each poll
costs time.
"""
TASK_S = 1.0
"""Target duration of a task in processor seconds; shorter points are grouped. A task of Dask costs
about 5 ms of processor time, half of it on the worker.
"""
LEAST_S = 0.001
"""Minimum assumed duration of a point in seconds."""
RECENT = 16
"""Number of recent tasks from which the duration of a point is estimated."""
AHEAD = 4
"""Number of queued tasks for each worker thread."""
UNSHARED_S = 1.0
"""Lease time that the Rust core requires, although a journal in memory has no leases."""


@dataclass(frozen=True)
class RunSpec:
    """The description of a run that is sent to workers: the scenario and its options."""

    text: str
    file: str
    overrides: tuple[str, ...]
    seed: int | None
    quick: bool
    memory: str | None
    jobs: int
    """Number of threads of each worker."""
    version: str
    """Version of isthmus, which workers must match."""


Entries = list[tuple[str, bytes]]
"""Files of a journal, by name."""
Part = tuple[list[int], list[int]]
"""The work of a task: positions of points and positions of searches in the run."""


@dataclass(frozen=True)
class Done:
    """The result of a task: the files that a worker has written to its journal, and failures."""

    entries: Entries
    failed: list[str]
    """For each failed point or search, the reason."""
    took_s: float
    """Duration of the task: wall-clock seconds, or processor seconds if that is less; see
    `_now`.
    """


def check(executor: object) -> None:
    """Check that `executor` can run points.

    Raises:
        IsthmusError: it is not an executor, or a Dask client that is closed or asynchronous.

    """
    if dask.is_client(executor):
        dask.refuse_unfit(executor)
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        right = "an executor, such as concurrent.futures.ProcessPoolExecutor() or a Dask Client"
        raise arguments.refuse("executor", executor, right)


class Pool:
    """An executor with the interface of `concurrent.futures`."""

    threads: int | None = None
    """Number of threads of the executor, which is unknown."""

    def __init__(self, executor: Any) -> None:
        """Use an executor with the interface of `concurrent.futures`."""
        self.submit = executor.submit

    def answers(self, futures: Mapping[int, Any]) -> Mapping[int, Any]:
        """Return the results of finished futures, or an exception for each future that failed."""
        results: dict[int, Any] = {}
        for at, future in futures.items():
            try:
                results[at] = future.result()
            except Exception as error:
                results[at] = error
        return results

    def cancel(self, futures: Iterable[Any]) -> None:
        """Cancel tasks that have not started."""
        # A Python pool that processes cancellations only at shutdown may hang (3.11, for example).
        # One more task makes it process them now.
        if sum(each.cancel() for each in futures):
            with suppress(Exception):
                self.submit(int)

    def state(self, _left: str) -> str:
        """Return an empty text: the state of the workers of such an executor is unknown."""
        return ""


def run(
    spec: RunSpec, executor: Any, experiment: Any, tell: Callable[[int, int, str], None]
) -> None:
    """Run the missing entries of the journal of `experiment` and store them as they finish.

    `tell` receives the number of finished points and searches, the total, and the state of the
    workers.

    Raises:
        IsthmusError: a worker has another version of isthmus, or its result cannot be stored.
        RunFailedError: a point failed, or a worker ended without an answer.

    """
    waiting = Waiting(*experiment.missing())
    left = waiting.count
    total = sum(experiment.counts())
    what = ("point or search", "points and searches") if experiment.counts()[1] else ("point",)
    workers = _workers_of(executor)
    under_way: dict[int, tuple[Part, Any]] = {}
    numbers = count()
    try:
        while left:
            with _user_errors(spec):
                for part in waiting.handed_out(len(under_way), workers.threads):
                    under_way[next(numbers)] = part, workers.submit(run_part, spec, part)
                state = workers.state(counted(left, *what))
            tell(total - left, total, state)
            with _user_errors(spec):
                ready = {i: future for i, (_, future) in under_way.items() if future.done()}
                answers = workers.answers(ready) if ready else {}
            wrong = None
            # Store finished entries before errors are raised.
            for i, answer in answers.items():
                if isinstance(answer, BaseException):
                    wrong = wrong or _user_error(spec, answer)
                    continue
                for name, data in answer.entries:
                    ask(experiment.admit, name, data)
                for reason in answer.failed:
                    wrong = wrong or RunFailedError(f"{spec.file}: the run failed: {reason}")
                part, _ = under_way.pop(i)
                left -= sum(map(len, part))
                waiting.took(part, answer.took_s)
            if wrong:
                raise wrong
            if not answers:
                time.sleep(waiting.tick_s(workers.threads))
        tell(total, total, "")
    finally:
        workers.cancel(future for _, future in under_way.values())


class Waiting:
    """The queue of points and searches that no task contains yet; it chooses the size of tasks."""

    def __init__(self, points: list[int], searches: list[int]) -> None:
        """Queue points and searches, by their positions in the run."""
        self._points, self._searches = deque(points), deque(searches)
        self._recent: deque[float] = deque(maxlen=RECENT)
        """Mean duration of a point in each of the recent tasks, in seconds."""

    @property
    def count(self) -> int:
        """Number of queued points and searches."""
        return len(self._points) + len(self._searches)

    def tick_s(self, threads: int | None) -> float:
        """Return the seconds until the next poll, for workers with `threads` threads."""
        if not self._has_estimate or not self.count:
            return TICK_S
        # Estimate the duration of the shortest task with the current number of points.
        task_s = self._task_size(threads) * min(self._recent)
        return BUSY_TICK_S if AHEAD * task_s >= 2 * BUSY_TICK_S else TICK_S

    def handed_out(self, under_way: int, threads: int | None) -> Iterator[Part]:
        """Yield the tasks to submit now, with `under_way` tasks outstanding on `threads` threads.

        An unknown number of threads gets all points as single tasks.
        """
        room = self.count if threads is None else self._queue_limit(threads) - under_way
        while room > 0 and self.count:
            room -= 1
            if self._searches:
                # Searches take longest, so they start first.
                yield [], [self._searches.popleft()]
            else:
                together = min(self._task_size(threads), len(self._points))
                yield [self._points.popleft() for _ in range(together)], []

    def _queue_limit(self, threads: int) -> int:
        """Return the maximum number of points to assign to tasks at a time."""
        # Start with a few tasks of one point each, to estimate the duration of a point.
        least = AHEAD * RECENT if self._has_estimate or self._searches else RECENT
        return max(AHEAD * threads, least)

    @property
    def _has_estimate(self) -> bool:
        """Whether enough points have finished for an estimate of their duration."""
        return len(self._recent) >= RECENT // 2

    def _task_size(self, threads: int | None) -> int:
        """Return the number of points in the next task."""
        # Return single points until the duration of a point is known. Towards the end, return fewer
        # points, so that tasks for all threads remain.
        if threads is None or not self._has_estimate:
            return 1
        fits = TASK_S / max(*self._recent, LEAST_S)
        return max(1, min(int(fits), len(self._points) // (AHEAD * max(threads, 1))))

    def took(self, part: Part, seconds: float) -> None:
        """Record the duration of a finished task for the estimate."""
        points, searches = part
        if not searches:
            self._recent.append(seconds / len(points))


def _workers_of(executor: Any) -> Any:
    """Return an object with the interface of `Pool` for any executor."""
    if isinstance(executor, dask.Workers):
        return executor
    return dask.Workers(executor) if dask.is_client(executor) else Pool(executor)


@contextmanager
def _user_errors(spec: RunSpec) -> Iterator[None]:
    """Raise exceptions of the executor in the block as errors of isthmus."""
    try:
        yield
    except IsthmusError:
        raise
    except Exception as error:
        raise _user_error(spec, error) from error


def _user_error(spec: RunSpec, error: BaseException) -> IsthmusError:
    """Convert an error of a worker to an error of isthmus."""
    if isinstance(error, IsthmusError):
        return error
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "isthmus":
        raised = IsthmusError(
            f"{spec.file}: a worker of the executor has no isthmus ({error}), and this run is of "
            f"isthmus {spec.version}; install that where the workers are"
        )
    else:
        reason = str(error).partition("\n")[0] or "no reason given"
        raised = RunFailedError(
            f"{spec.file}: a worker of the executor ended without an answer "
            f"({type(error).__name__}: {reason}); start workers again and run again"
        )
    raised.__cause__ = error
    return raised


def run_part(spec: RunSpec, part: Part) -> Done:
    """Run some points and searches; called on a worker."""
    from isthmus import __version__

    if spec.version != __version__:
        raise IsthmusError(
            f"{spec.file}: a worker on {platform.node()} has isthmus {__version__}, and this run "
            f"is of isthmus {spec.version}; install the same where the workers are"
        )
    try:
        experiment = _cached_experiment(spec)
        # Start the clock only now: reading the scenario above does not count for the points.
        began = _now()
        entries, report = experiment.compute(part)
        took_s = min(now - then for now, then in zip(_now(), began, strict=True))
    except BaseException:
        # Remove the experiment from the cache, because a stopped one cannot be reused.
        _of_thread.prepared = None
        raise
    failed = [reason for _, reason in json.loads(report)["failed"]]
    return Done(entries, failed, took_s)


def _now() -> tuple[float, float]:
    """Return wall-clock and processor time. The first includes time in which the process is stopped
    or waits for a processor; the second exceeds it if several threads work.
    """
    return time.perf_counter(), time.process_time()


_of_thread = threading.local()


def _cached_experiment(spec: RunSpec) -> Any:
    """Return the experiment of a run; each worker thread keeps its last one for further tasks."""
    known, experiment = getattr(_of_thread, "prepared", None) or (None, None)
    if known == spec:
        return experiment
    experiment = _experiment(spec)
    _of_thread.prepared = spec, experiment
    return experiment


def _experiment(spec: RunSpec) -> Any:
    """Return a new experiment of the core for a run."""
    from isthmus import _core

    return ask(
        _core.Experiment,
        spec.text,
        spec.file,
        list(spec.overrides),
        spec.seed,
        spec.jobs,
        spec.quick,
        None,
        spec.memory or dask.worker_memory(),
        UNSHARED_S,
    )

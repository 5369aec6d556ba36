"""Points of a run, each done by whoever an executor gives it to: processes, threads, a cluster."""

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
"""Seconds between two looks at what is done."""
BUSY_TICK_S = 0.2
"""The same while workers have more before them than passes until what is done is known and more is
handed out, two looks later: each look costs something.
"""
TASK_S = 1.0
"""Seconds of points that are worth a task of their own, of processor where one thread does them;
shorter ones are handed out together. A task of Dask costs some 5 ms of processor, half of it the
worker's.
"""
LEAST_S = 0.001
"""What a point is taken to take at least."""
RECENT = 16
"""Tasks that tell how long points take."""
AHEAD = 4
"""Tasks for each thread of the workers that are handed out before those before them are done."""
UNSHARED_S = 1.0
"""What the core asks for where claims of others are lost, with a journal in memory: not used."""


@dataclass(frozen=True)
class RunSpec:
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
Part = tuple[list[int], list[int]]
"""Positions of points and of searches."""


@dataclass(frozen=True)
class Done:
    """What a worker has done."""

    entries: Entries
    failed: list[str]
    """Why points and searches could not be done."""
    took_s: float
    """Seconds by the clock, or of processor where that is less; see `_now`."""


def check(executor: object) -> None:
    """Refuse what cannot be given work.

    Raises:
        IsthmusError: it is no executor, or a client of Dask that is closed or asynchronous.

    """
    if dask.is_client(executor):
        dask.refuse_unfit(executor)
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        right = "an executor, such as concurrent.futures.ProcessPoolExecutor() or a Dask Client"
        raise arguments.refuse("executor", executor, right)


class Pool:
    """An executor of `concurrent.futures`, or what is used like one."""

    threads: int | None = None
    """It does not tell how many there are."""

    def __init__(self, executor: Any) -> None:
        self.submit = executor.submit

    def answers(self, futures: Mapping[int, Any]) -> Mapping[int, Any]:
        """What futures that are done have come to; an exception for what is lost."""
        results: dict[int, Any] = {}
        for at, future in futures.items():
            try:
                results[at] = future.result()
            except Exception as error:
                results[at] = error
        return results

    def cancel(self, futures: Iterable[Any]) -> None:
        """Have nobody begin what is not begun."""
        # A pool of Python that learns of them only as it ends waits for ever then (3.11, for one):
        # one more task has it look at once.
        if sum(each.cancel() for each in futures):
            with suppress(Exception):
                self.submit(int)

    def state(self, _left: str) -> str:
        """Nothing is known of the workers."""
        return ""


def run(
    spec: RunSpec, executor: Any, experiment: Any, tell: Callable[[int, int, str], None]
) -> None:
    """Have the executor do what the journal of `experiment` lacks, and put it there as it comes.

    `tell` is told how many points and searches are in the journal, of how many, and how the
    workers do.

    Raises:
        IsthmusError: a worker has another isthmus, or what it sends cannot be kept.
        RunFailedError: a point cannot be done, or a worker ended without an answer.

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
            # What is done is kept before anything is said of what is not.
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
    """Points and searches that nobody was given, and how many of them make a task."""

    def __init__(self, points: list[int], searches: list[int]) -> None:
        self._points, self._searches = deque(points), deque(searches)
        self._recent: deque[float] = deque(maxlen=RECENT)
        """Seconds that a point took, in the latest tasks."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._points) + len(self._searches)

    def tick_s(self, threads: int | None) -> float:
        """Seconds until the next look at what is done, of workers with so many threads."""
        if not self._known or not self.count:
            return TICK_S
        # Of the tasks that are handed out now the shortest.
        task_s = self._together(threads) * min(self._recent)
        return BUSY_TICK_S if AHEAD * task_s >= 2 * BUSY_TICK_S else TICK_S

    def handed_out(self, under_way: int, threads: int | None) -> Iterator[Part]:
        """What is handed out now, beside so many tasks, to workers with so many threads.

        None if nobody knows: then it is all, point by point.
        """
        room = self.count if threads is None else self._most(threads) - under_way
        while room > 0 and self.count:
            room -= 1
            if self._searches:
                # They take longest: at the end all would wait for one.
                yield [], [self._searches.popleft()]
            else:
                together = min(self._together(threads), len(self._points))
                yield [self._points.popleft() for _ in range(together)], []

    def _most(self, threads: int) -> int:
        # At first few points, enough to tell how long they take: each is a task of its own.
        least = AHEAD * RECENT if self._known or self._searches else RECENT
        return max(AHEAD * threads, least)

    @property
    def _known(self) -> bool:
        """Whether enough points are done to say how long they take."""
        return len(self._recent) >= RECENT // 2

    def _together(self, threads: int | None) -> int:
        # Nothing is known before some of the first are done. Towards the end there are tasks for
        # all threads.
        if threads is None or not self._known:
            return 1
        fits = TASK_S / max(*self._recent, LEAST_S)
        return max(1, min(int(fits), len(self._points) // (AHEAD * max(threads, 1))))

    def took(self, part: Part, seconds: float) -> None:
        """A task is done."""
        points, searches = part
        if not searches:
            self._recent.append(seconds / len(points))


def _workers_of(executor: Any) -> Any:
    if isinstance(executor, dask.Workers):
        return executor
    return dask.Workers(executor) if dask.is_client(executor) else Pool(executor)


@contextmanager
def _user_errors(spec: RunSpec) -> Iterator[None]:
    """Tell an error of the executor in our words."""
    try:
        yield
    except IsthmusError:
        raise
    except Exception as error:
        raise _user_error(spec, error) from error


def _user_error(spec: RunSpec, error: BaseException) -> IsthmusError:
    """The error of a worker in our words."""
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
    """Do some points and searches; a worker of the executor does this."""
    from isthmus import __version__

    if spec.version != __version__:
        raise IsthmusError(
            f"{spec.file}: a worker on {platform.node()} has isthmus {__version__}, and this run "
            f"is of isthmus {spec.version}; install the same where the workers are"
        )
    try:
        experiment = _prepared(spec)
        # What is read once says nothing of how long points take.
        began = _now()
        entries, report = experiment.compute(part)
        took_s = min(now - then for now, then in zip(_now(), began, strict=True))
    except BaseException:
        # It may have been stopped, and would do nothing any more.
        _of_thread.prepared = None
        raise
    failed = [reason for _, reason in json.loads(report)["failed"]]
    return Done(entries, failed, took_s)


def _now() -> tuple[float, float]:
    """Two clocks: one goes on while this process is stopped or waits for a processor that others
    have; the other counts all threads, and of several at work at once it is ahead.
    """
    return time.perf_counter(), time.process_time()


_of_thread = threading.local()


def _prepared(spec: RunSpec) -> Any:
    """A run whose parts a thread of a worker does, one after another: read once."""
    known, experiment = getattr(_of_thread, "prepared", None) or (None, None)
    if known == spec:
        return experiment
    experiment = _experiment(spec)
    _of_thread.prepared = spec, experiment
    return experiment


def _experiment(spec: RunSpec) -> Any:
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

"""Waiting for an array until Slurm's queue no longer has it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from isthmus.errors import RunFailedError
from isthmus.files import FileError
from isthmus.sweeps.slurm.control import Array, Queue, Slurm, SlurmError
from isthmus.sweeps.slurm.monitor import TICK_S, Monitor

LOOK_S, LOOK_MAX_S = 1.0, 15.0
"""Seconds between two queries of Slurm's queue: at first, and at most."""
SLOWER = 1.1
"""Factor by which the time between two queries of Slurm's queue grows."""
SLOW_S = 2.0
"""Seconds after which the user is shown that Slurm has not answered.

Slurm's commands take about 20 s to report that a controller is silent.
"""
ANSWER_S = 0.05
"""Seconds between two checks whether Slurm has answered."""
SILENT_S = 1800.0
"""Seconds after which waiting ends with an error, if the controller does not answer or does not
accept lost tasks again.
"""


class Detached(Exception):  # noqa: N818 - an interruption, not an error
    """Exception: the user pressed Ctrl-C during the wait for an array job, which continues."""

    def __init__(self, array: Array, done: int, total: int) -> None:
        """Record the array that continues, and the numbers of finished and of all points."""
        super().__init__(f"Slurm job {array} goes on")
        self.array, self.done, self.total = array, done, total


T = TypeVar("T")


class _Question(Generic[T]):
    """A query to Slurm that runs on a thread of its own, and its answer."""

    def __init__(self, ask: Callable[[], T]) -> None:
        """Start the query on a thread."""
        self.began = time.monotonic()
        self._answer: Future[T] = Future()
        self._question = ask
        # A daemon thread, so that the process can end before Slurm has answered.
        threading.Thread(target=self._ask, name="isthmus-slurm", daemon=True).start()

    def _ask(self) -> None:
        """Run the query and record its answer or error."""
        try:
            self._answer.set_result(self._question())
        except BaseException as error:
            self._answer.set_exception(error)

    @property
    def done(self) -> bool:
        """Return whether Slurm has answered."""
        return self._answer.done()

    @property
    def slow(self) -> bool:
        """Whether the answer takes so long that the user should know."""
        return time.monotonic() - self.began > SLOW_S

    def answer(self) -> T:
        """Return Slurm's answer to the query.

        Raises:
            SlurmError: Slurm has not answered.

        """
        return self._answer.result()


def answer_of(ask: Callable[[], T], monitor: Monitor, state: str) -> T:
    """Return Slurm's answer to a query; meanwhile show the progress of the run and handle
    Ctrl-C.

    Args:
        ask: function that runs the query.
        monitor: the monitor of the run, which shows its progress.
        state: text shown until the answer is late.

    Raises:
        SlurmError: Slurm does not answer.

    """
    question = _Question(ask)
    while not question.done:
        monitor.show(no_answer("") if question.slow else state)
        time.sleep(ANSWER_S)
    return question.answer()


def wait_until_ended(
    array: Array,
    slurm: Slurm,
    monitor: Monitor,
    note: Callable[[str], None] = lambda _: None,
    name: str = "",
) -> None:
    """Wait until Slurm's queue has no task of a job array.

    Args:
        array: the array.
        name: name of the job.
        slurm: the Slurm to ask.
        monitor: the monitor of the run, which shows its progress.
        note: called once for each period in which the controller does not answer.

    Raises:
        Detached: Ctrl-C; the array continues.
        RunFailedError: Slurm has not answered for `SILENT_S`, or the folder cannot be read for as
            long.

    """
    queue, trouble = Queue(), ""
    look_s, answer_of, next_look = LOOK_S, time.monotonic(), 0.0
    asked: _Question[Queue] | None = None
    try:
        while True:
            now = time.monotonic()
            if asked is None and now >= next_look:
                asked = _Question(lambda: slurm.queue(array, name))
            if asked is not None and asked.done:
                try:
                    queue, trouble, answer_of = asked.answer(), "", now
                    if not queue:
                        return
                except SlurmError as error:
                    if now - answer_of > SILENT_S:
                        raise _no_answer_error(array, str(error)) from error
                    if not trouble:
                        note(
                            f"Slurm does not answer ({error}); its job {array} is waited for all "
                            f"the same, {SILENT_S / 60:.0f} min"
                        )
                    trouble = str(error)
                look_s = min(look_s * SLOWER, LOOK_MAX_S)
                asked, next_look = None, now + look_s
            if monitor.done == monitor.total:
                # The array is about to end, so query the queue soon.
                next_look = min(next_look, now + LOOK_S)
            slow = asked is not None and asked.slow
            monitor.show(no_answer(trouble) if trouble or slow else queue_text(array, queue))
            time.sleep(TICK_S)
    except KeyboardInterrupt:
        raise Detached(array, monitor.done, monitor.total) from None
    except FileError as error:
        raise RunFailedError(
            f"{error}; Slurm job {array} may go on: run the same command again to wait for it"
        ) from error


def queue_text(array: Array, queue: Queue) -> str:
    """Return a text on the state of a job array in Slurm's queue.

    The most important part comes first, because narrow terminals cut the rest.
    """
    words = [f"{queue.running} running"] if queue.running else []
    if queue.waiting:
        reasons = ", ".join(queue.reasons[:2])
        words.append(f"{queue.waiting} waiting" + (f" ({reasons})" if reasons else ""))
    return f"Slurm: {', '.join([*words, f'job {array}'])}"


def no_answer(trouble: str) -> str:
    """Return the text that stands for the state of a job array if Slurm does not answer.

    `trouble` is the error that Slurm reported, or empty.
    """
    return "Slurm: no answer" + (f" ({trouble})" if trouble else " yet")


def _no_answer_error(array: Array, trouble: str) -> RunFailedError:
    """Return the error that Slurm has not answered for too long."""
    return RunFailedError(
        f"Slurm has not answered for {SILENT_S / 60:.0f} min ({trouble}); job {array} may go "
        "on: run the same command again to wait for it"
    )

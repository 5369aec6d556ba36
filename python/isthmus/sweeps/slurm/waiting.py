"""An array that is waited for until nothing of it is in Slurm's queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from isthmus.errors import RunFailedError
from isthmus.files import FileError
from isthmus.sweeps.slurm.control import Array, Queue, Slurm, SlurmError
from isthmus.sweeps.slurm.watched import TICK_S, Watched

LOOK_S, LOOK_MAX_S = 1.0, 15.0
"""Seconds between two looks at the queue: at first, and later."""
SLOWER = 1.1
"""How much later each look is than the one before."""
SLOW_S = 2.0
"""Seconds after which it is told that Slurm has not answered yet: its commands take some twenty to
say that a controller is silent.
"""
ANSWER_S = 0.05
"""Seconds between two looks whether a question is answered."""
SILENT_S = 1800.0
"""Seconds without an answer of Slurm's controller, or in which it takes no lost tasks again, after
which waiting is given up."""


class Detached(Exception):  # noqa: N818 - an interruption, not an error
    """Ctrl-C while an array is waited for: it goes on."""

    def __init__(self, array: Array, done: int, total: int) -> None:
        super().__init__(f"Slurm job {array} goes on")
        self.array, self.done, self.total = array, done, total


T = TypeVar("T")


class _Question(Generic[T]):
    """A question to Slurm, asked in the background."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self.began = time.monotonic()
        self._answer: Future[T] = Future()
        self._question = ask
        # Nobody waits for it at the end.
        threading.Thread(target=self._ask, name="isthmus-slurm", daemon=True).start()

    def _ask(self) -> None:
        try:
            self._answer.set_result(self._question())
        except BaseException as error:
            self._answer.set_exception(error)

    @property
    def done(self) -> bool:
        return self._answer.done()

    @property
    def slow(self) -> bool:
        """Whether it is to be told that there is no answer."""
        return time.monotonic() - self.began > SLOW_S

    def answer(self) -> T:
        """The answer.

        Raises:
            SlurmError: there is none.

        """
        return self._answer.result()


def answered(ask: Callable[[], T], watched: Watched, state: str) -> T:
    """What Slurm answers; meanwhile it is told how far the run is, and Ctrl-C is heard.

    Args:
        ask: the question.
        watched: the run.
        state: what is told at first.

    Raises:
        SlurmError: it does not answer.

    """
    question = _Question(ask)
    while not question.done:
        watched.tell(unheard("") if question.slow else state)
        time.sleep(ANSWER_S)
    return question.answer()


def until_over(
    array: Array,
    slurm: Slurm,
    watched: Watched,
    note: Callable[[str], None] = lambda _: None,
    name: str = "",
) -> None:
    """Wait until nothing of an array is in the queue.

    Args:
        array: the array.
        name: of the job.
        slurm: who is asked.
        watched: the run.
        note: told of a controller that is silent, once each time.

    Raises:
        Detached: Ctrl-C; the array goes on.
        RunFailedError: Slurm has not answered for `SILENT_S`, or the folder cannot be read for as
            long.

    """
    queue, trouble = Queue(), ""
    look_s, answered, next_look = LOOK_S, time.monotonic(), 0.0
    asked: _Question[Queue] | None = None
    try:
        while True:
            now = time.monotonic()
            if asked is None and now >= next_look:
                asked = _Question(lambda: slurm.queue(array, name))
            if asked is not None and asked.done:
                try:
                    queue, trouble, answered = asked.answer(), "", now
                    if not queue:
                        return
                except SlurmError as error:
                    if now - answered > SILENT_S:
                        raise _unheard(array, str(error)) from error
                    if not trouble:
                        note(
                            f"Slurm does not answer ({error}); its job {array} is waited for all "
                            f"the same, {SILENT_S / 60:.0f} min"
                        )
                    trouble = str(error)
                look_s = min(look_s * SLOWER, LOOK_MAX_S)
                asked, next_look = None, now + look_s
            if watched.done == watched.total:
                # It is about to be over.
                next_look = min(next_look, now + LOOK_S)
            slow = asked is not None and asked.slow
            watched.tell(unheard(trouble) if trouble or slow else told(array, queue))
            time.sleep(TICK_S)
    except KeyboardInterrupt:
        raise Detached(array, watched.done, watched.total) from None
    except FileError as error:
        raise RunFailedError(
            f"{error}; Slurm job {array} may go on: run the same command again to wait for it"
        ) from error


def told(array: Array, queue: Queue) -> str:
    """How an array does, in a few words: what matters most comes first, as a narrow terminal cuts
    the rest.
    """
    words = [f"{queue.running} running"] if queue.running else []
    if queue.waiting:
        reasons = ", ".join(queue.reasons[:2])
        words.append(f"{queue.waiting} waiting" + (f" ({reasons})" if reasons else ""))
    return f"Slurm: {', '.join([*words, f'job {array}'])}"


def unheard(trouble: str) -> str:
    """The same where Slurm does not answer, or says that something is wrong."""
    return "Slurm: no answer" + (f" ({trouble})" if trouble else " yet")


def _unheard(array: Array, trouble: str) -> RunFailedError:
    return RunFailedError(
        f"Slurm has not answered for {SILENT_S / 60:.0f} min ({trouble}); job {array} may go "
        "on: run the same command again to wait for it"
    )

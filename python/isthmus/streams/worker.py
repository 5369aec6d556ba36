"""Calls that do not block: one thread for each stream that has any."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isthmus.streams.amounts import seconds
from isthmus.streams.buffers import HOLDS
from isthmus.streams.errors import SessionOverError, StreamsError, TimedOutError

if TYPE_CHECKING:
    from isthmus.streams.buffers import Bytes

WAITING_MAX = 256
"""Calls of a stream that wait for those before them, at most."""


R = TypeVar("R")


class Handle(Generic[R]):
    """A call that is under way; its memory is the caller's again once it has ended."""

    def __init__(self, data: Any, flat: Bytes | None, held: object) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._held = held
        self._flat = flat
        if flat is not None:
            HOLDS.freeze(data, flat)
        self._asked: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.told = False
        """Whether somebody has heard how it ended."""

    def finish(self, value: R | None, error: BaseException | None) -> None:
        """Tell how it ended; the worker does."""
        with self._lock:
            self._value, self._error = value, error
            self._done.set()
            self.release()
            asked, self._asked = self._asked, []
        for tell in asked:
            # Who asked may be gone, as a loop of asyncio that was closed.
            with suppress(RuntimeError):
                tell()

    def when_done(self, tell: Callable[[], None]) -> None:
        """Call `tell` once it has ended, on whatever thread sees that."""
        with self._lock:
            if not self._done.is_set():
                self._asked.append(tell)
                return
        tell()

    def done(self) -> bool:
        """Whether it has ended: the links have all of it, or it failed."""
        return self._done.is_set()

    def wait(self, timeout: str | float | None = None) -> R:
        """Wait until it has ended: the links have all of what is sent.

        Args:
            timeout: how long, such as ``"10 s"``; as long as the call itself may take if not given.

        Returns:
            What the call returns: of a send the number of the ADU.

        Raises:
            TimedOutError: it has not ended; wait again.
            StreamsError: why it failed.

        """
        limit = None if timeout is None else seconds("timeout", timeout)
        if self._process != os.getpid():
            raise StreamsError(
                f"this call is of process {self._process}: only that one can wait for it"
            )
        if not self._done.wait(limit):
            raise TimedOutError(f"timeout: it has not ended after {timeout}; wait again")
        return self.result()

    def result(self) -> R:
        """What `wait` returns, of a call that has ended."""
        self.release()
        self.told = True
        if self._error is not None:
            raise self._error
        value: R = self._value
        return value

    def release(self) -> None:
        """Give the memory back, if it has ended."""
        if self._held is not None and self._done.is_set():
            HOLDS.release(self._held)
            self._held = None

    def __del__(self) -> None:
        self.release()


class Worker:
    """A thread that makes the calls that it is given, in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()
        self._jobs: deque[tuple[Handle[Any], Callable[[], Any]]] = deque()
        self._change = threading.Condition()
        self._busy = False
        self._over = False
        self._failed: Handle[Any] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, data: Any, flat: Bytes | None, held: object, call: Callable[[], R]) -> Handle[R]:
        """Call after all that was given before; `data` is read-only until it has ended.

        Raises:
            StreamsError: too many wait, or one before failed and nobody heard of it.

        """
        try:
            with self._change:
                self._hear()
                if self._over:
                    raise SessionOverError(f"{self._name}: the session was closed")
                if len(self._jobs) >= WAITING_MAX:
                    raise StreamsError(
                        f"{self._name}: {WAITING_MAX} calls wait; wait for some before the next"
                    )
                handle: Handle[R] = Handle(data, flat, held)
                self._jobs.append((handle, call))
                self._change.notify_all()
        except BaseException:
            HOLDS.release(held)
            raise
        return handle

    def drain(self) -> None:
        """Wait until all is done that was given.

        Raises:
            StreamsError: what nobody has heard of one that failed.

        """
        with self._change:
            while self._jobs or self._busy:
                self._change.wait(0.1)
            self._hear()

    def _hear(self) -> None:
        failed, self._failed = self._failed, None
        if failed is not None and not failed.told:
            failed.result()

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._jobs and not self._over:
                    self._change.wait()
                if self._over:
                    break
                handle, call = self._jobs.popleft()
                self._busy = True
            self._one(handle, call)
        while self._jobs:
            handle, _ = self._jobs.popleft()
            handle.finish(None, SessionOverError(f"{self._name}: the session was closed"))

    def _one(self, handle: Handle[Any], call: Callable[[], Any]) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = call()
        except Exception as why:  # it is told to who waits for it
            error = why
        # Before others hear that it is over: who finds it failed raises what it failed of.
        handle.finish(value, error)
        with self._change:
            if error is not None:
                self._failed = handle
            self._busy = False
            self._change.notify_all()

    def end(self, timeout_s: float) -> None:
        """End the thread, after the call that is under way."""
        if self._process != os.getpid():
            return  # the thread is another process's
        with self._change:
            self._over = True
            self._change.notify_all()
        self._thread.join(timeout_s)

"""Non-blocking calls: one thread for each stream that has any."""

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
"""Maximum number of calls of a stream that wait for its thread."""


R = TypeVar("R")


class Handle(Generic[R]):
    """A call that waits or runs on the worker thread, and later its result. The caller must not
    change the memory that the call uses until the call has ended.
    """

    def __init__(self, data: Any, flat: Bytes | None, held: object) -> None:
        """Create the handle of a call that uses the bytes `flat` of `data`, reserved by the key
        `held`.
        """
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
        self.told = False  # codespell:ignore told
        """Whether the caller has seen the result or the error of the call."""

    def finish(self, value: R | None, error: BaseException | None) -> None:
        """Record the result `value` or the error of the call, and wake those who wait for it."""
        with self._lock:
            self._value, self._error = value, error
            self._done.set()
            self.release()
            asked, self._asked = self._asked, []
        for notify in asked:
            # Ignore the error of a caller that is gone, such as a closed asyncio event loop.
            with suppress(RuntimeError):
                notify()

    def when_done(self, notify: Callable[[], None]) -> None:
        """Call `notify` once the call has ended, on any thread."""
        with self._lock:
            if not self._done.is_set():
                self._asked.append(notify)
                return
        notify()

    def done(self) -> bool:
        """Return whether the call has ended: the links have all of the data, or it failed."""
        return self._done.is_set()

    def wait(self, timeout: str | float | None = None) -> R:
        """Wait until the call has ended: the links have all of the data.

        Args:
            timeout: the maximum time, such as ``"10 s"``; by default the time limit of the call
                itself.

        Returns:
            The result of the call: for a send, the number of the application data unit (ADU).

        Raises:
            TimedOutError: the call has not ended; wait again.
            StreamsError: the call failed; the message explains why.

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
        """Return the result of a call that has ended, or raise its error."""
        self.release()
        self.told = True  # codespell:ignore told
        if self._error is not None:
            raise self._error
        value: R = self._value
        return value

    def release(self) -> None:
        """Release the memory, if the call has ended."""
        if self._held is not None and self._done.is_set():
            HOLDS.release(self._held)
            self._held = None

    def __del__(self) -> None:
        """Release the memory of a handle that its caller has discarded."""
        self.release()


class Worker:
    """A thread that makes the calls of one stream in order."""

    def __init__(self, name: str) -> None:
        """Start the thread under this name."""
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
        """Queue a function for the worker thread, after all earlier ones.

        Args:
            data: the object whose bytes the function uses; read-only until the function has ended.
            flat: the bytes of `data` as one contiguous buffer.
            held: the reservation that keeps `data` read-only.
            call: the function.

        Returns:
            the handle with which the caller waits for the result.

        Raises:
            StreamsError: too many calls wait, or an earlier call failed and its caller has not seen
                the error.

        """
        try:
            with self._change:
                self._raise_unseen()
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
        """Wait until all queued calls are done.

        Raises:
            StreamsError: a call failed and its caller has not seen the error.

        """
        with self._change:
            while self._jobs or self._busy:
                self._change.wait(0.1)
            self._raise_unseen()

    def _raise_unseen(self) -> None:
        """Raise the error of a failed call that no caller has seen."""
        failed, self._failed = self._failed, None
        if failed is not None and not failed.told:  # codespell:ignore told
            failed.result()

    def _run(self) -> None:
        """Make queued calls until the end; the thread's main function."""
        while True:
            with self._change:
                while not self._jobs and not self._over:
                    self._change.wait()
                if self._over:
                    break
                handle, call = self._jobs.popleft()
                self._busy = True
            self._call_one(handle, call)
        while self._jobs:
            handle, _ = self._jobs.popleft()
            handle.finish(None, SessionOverError(f"{self._name}: the session was closed"))

    def _call_one(self, handle: Handle[Any], call: Callable[[], Any]) -> None:
        """Call a queued function, and store its result or its exception in `handle`."""
        value: Any = None
        error: BaseException | None = None
        try:
            value = call()
        except Exception as why:  # reported to the caller that waits
            error = why
        # Record the error before the worker counts as idle, so that other calls find it.
        handle.finish(value, error)
        with self._change:
            if error is not None:
                self._failed = handle
            self._busy = False
            self._change.notify_all()

    def end(self, timeout_s: float) -> None:
        """End the thread after its present call. Wait at most `timeout_s` seconds for this."""
        if self._process != os.getpid():
            return  # a forked process does not have the thread of its parent
        with self._change:
            self._over = True
            self._change.notify_all()
        self._thread.join(timeout_s)

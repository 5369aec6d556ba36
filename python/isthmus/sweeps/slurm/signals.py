"""Signals that are deferred to the end of a block that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Deferred:
    """The state of a code block that defers signals to its end: the signal that has arrived."""

    received: signal.Signals | None = None
    """The first signal that arrived; it is handled at the end of the block."""


@contextmanager
def deferred() -> Iterator[Deferred]:
    """Defer the first signal (Ctrl-C) to the end of the block; handle a second one immediately."""
    state = Deferred()
    if threading.current_thread() is not threading.main_thread():
        # Defer nothing in other threads: Python handles signals only in the main thread.
        yield state
        return
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def on_signal(number: int, frame: FrameType | None) -> None:
        """Record the first signal; handle any further one at once."""
        if state.received is not None:
            before[number](number, frame)
        state.received = state.received or signal.Signals(number)

    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # Leave signals alone that end the process immediately or are ignored.
            if callable(handler):
                before[number] = handler
                signal.signal(number, on_signal)
        yield state
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if state.received is not None:
            before[state.received](state.received, None)

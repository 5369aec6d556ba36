"""Signals that are to interrupt: heard later, where something may not be cut in the middle."""

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
class Later:
    """What has come meanwhile."""

    heard: signal.Signals | None = None
    """The first one; it is raised at the end."""


@contextmanager
def later() -> Iterator[Later]:
    """Hear a first signal when the block has ended, however it has; a second one at once."""
    told = Later()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread hears any.
        yield told
        return
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def hear(number: int, frame: FrameType | None) -> None:
        if told.heard is not None:
            before[number](number, frame)
        told.heard = told.heard or signal.Signals(number)

    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # What ends the process at once, or is ignored, stays that.
            if callable(handler):
                before[number] = handler
                signal.signal(number, hear)
        yield told
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if told.heard is not None:
            before[told.heard](told.heard, None)

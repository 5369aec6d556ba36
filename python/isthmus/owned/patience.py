"""Waiting for who is alone in a folder that one is to share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from isthmus.owned.lock import COLLECTS, DOES_ALL, BusyError, Holder

JOIN_S, JOIN_TICK_S = 10.0, 0.1
"""Seconds for which a process tries to join others in a folder, and from try to try."""
JOIN_SAID_S = 1.0
"""Seconds after which it says for whom it waits."""


class Patience:
    """Waits for who is alone in a folder, while that is soon over."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say
        self._began = time.monotonic()
        self._said = False
        self._before: Holder | None = None

    def wait(self, busy: BusyError) -> None:
        """Wait a little.

        Raises:
            BusyError: it has taken too long, or is going to.

        """
        holder, waited_s = busy.holder, time.monotonic() - self._began
        # Seen twice: what a dead process has left stands there for a moment.
        if holder and holder.work == DOES_ALL and holder == self._before:
            raise BusyError(
                self._path,
                holder,
                f"{holder} {holder.work}, so that nothing is left for parts; wait until it has "
                "ended, or end it (what is finished is kept) and then start parts",
            )
        # Results are collected in the end, however many there are.
        if waited_s > JOIN_S and not (holder and holder.work == COLLECTS):
            raise busy
        if waited_s > JOIN_SAID_S and not self._said:
            self._said = True
            self._say(f"{self._path}: waiting for {holder or 'another process'} to leave it")
        self._before = holder
        time.sleep(JOIN_TICK_S)

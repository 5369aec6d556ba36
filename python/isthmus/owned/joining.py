"""Waiting for a process that holds a folder which other processes want to share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from isthmus.owned.lock import COLLECTS, DOES_ALL, BusyError, Holder

JOIN_S, JOIN_TICK_S = 10.0, 0.1
"""Seconds for which a process tries to join a folder, and seconds between two attempts."""
JOIN_SAID_S = 1.0
"""Seconds of waiting after which the process reports the holder that it waits for."""


class JoinTimeout:
    """Waits until this process can join the processes that share a folder, up to a time limit."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """Start the time limit for the folder `path`. `say` is called with a message that names the
        process which holds the folder.
        """
        self._path, self._say = path, say
        self._started = time.monotonic()
        self._said = False
        self._before: Holder | None = None

    def wait(self, busy: BusyError) -> None:
        """Sleep for a short interval before the next attempt to join the folder.

        Raises:
            BusyError: the time limit is reached, or the process that holds the folder does the
                whole run.

        """
        holder, waited_s = busy.holder, time.monotonic() - self._started
        # Raise an error only if the same process held the folder at the last attempt too: the name
        # of a process that has just ended stays for a moment.
        if holder and holder.work == DOES_ALL and holder == self._before:
            raise BusyError(
                self._path,
                holder,
                f"{holder} {holder.work}, so that nothing is left for parts; wait until it has "
                "ended, or end it (what is finished is kept) and then start parts",
            )
        # Wait without a timeout while another process collects results: collecting always ends.
        if waited_s > JOIN_S and not (holder and holder.work == COLLECTS):
            raise busy
        if waited_s > JOIN_SAID_S and not self._said:
            self._said = True
            self._say(f"{self._path}: waiting for {holder or 'another process'} to leave it")
        self._before = holder
        time.sleep(JOIN_TICK_S)

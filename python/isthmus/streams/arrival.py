"""Wait until the peer of a connection exists."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any

from isthmus.streams.errors import RefusedError, TimedOutError

PAUSES = (0.01, 0.5)
"""Between two attempts, and two looks at one, in seconds: at first, and at most."""
KINDS = ("raw:", "tcp:", "udp:")
"""Destinations that have a peer."""

Request = dict[str, object]


class Arrival:
    """What to ask of the daemon, and how long to pause, until a connection is open."""

    def __init__(self, request: Request, limit: float | None) -> None:
        self.number: int | None = None
        """The connection that is being made."""
        self._request = request
        self._limit = math.inf if limit is None else limit

    def steps(self) -> Generator[Request | float, Any, int]:
        """Yield requests, which are answered or refused, and pauses in seconds.

        Returns:
            The number of the connection, which is open.

        Raises:
            RefusedError: the daemon does not open it, now or later.
            TimedOutError: no peer connected in time; no connection is left.

        """
        until = time.monotonic() + self._limit
        destination = str(self._request["destination"])
        why, retry = "it has not connected", PAUSES[0]
        while True:
            try:
                reply = yield self._request
            except RefusedError as refused:
                # A socket or a host's name that does not exist yet.
                if refused.kind != "unknown" or not destination.startswith(KINDS):
                    raise
                why = str(refused)
            else:
                number = self.number = int(reply["connection"]["connection"])
                look = PAUSES[0]
                while True:
                    reply = yield {"ask": "connection", "connection": number}
                    status = reply["connection-status"]["connection"]
                    if status["open"]:
                        return number
                    left = until - time.monotonic()
                    if status.get("gone") is not None or left <= 0:
                        break
                    yield min(look, left)
                    look = min(2 * look, PAUSES[1])
                why = status.get("gone") or why
                yield self.close()
                self.number = None
            left = until - time.monotonic()
            if left <= 0:
                raise TimedOutError(
                    f"{destination}: no peer within {self._limit:g} s ({why}); start the peer, or "
                    "raise wait="
                )
            yield min(retry, left)
            retry = min(2 * retry, PAUSES[1])

    def close(self) -> Request:
        """Return the request that closes the connection that is being made."""
        return {"ask": "close", "connection": self.number}

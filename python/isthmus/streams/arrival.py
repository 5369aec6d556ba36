"""Waiting until the peer of a connection exists."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any

from isthmus.streams.errors import RefusedError, TimedOutError

PAUSES = (0.01, 0.5)
"""Seconds between two attempts, and between two status requests: at first, and at most."""
KINDS = ("raw:", "tcp:", "udp:")
"""Prefixes of destinations that have a peer."""

Request = dict[str, object]


class Arrival:
    """The requests and pauses that open a connection, as a generator without input or output."""

    def __init__(self, request: Request, limit: float | None) -> None:
        self.number: int | None = None
        """Number of the connection that is being opened."""
        self._request = request
        self._limit = math.inf if limit is None else limit

    def steps(self) -> Generator[Request | float, Any, int]:
        """Yield requests to the daemon, and pauses in seconds; the caller sends replies or throws
        refusals.

        Returns:
            The number of the open connection.

        Raises:
            RefusedError: the daemon refuses to open it.
            TimedOutError: no peer connected in time; the connection is closed.

        """
        until = time.monotonic() + self._limit
        destination = str(self._request["destination"])
        why, retry = "it has not connected", PAUSES[0]
        while True:
            try:
                reply = yield self._request
            except RefusedError as refused:
                # The socket or host name may not exist yet.
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
        """Return the request that closes the unfinished connection."""
        return {"ask": "close", "connection": self.number}

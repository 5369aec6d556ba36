"""Opening a connection and waiting until its peer exists."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from isthmus.streams.errors import RefusedError, StreamsError, TimedOutError

R = TypeVar("R")
PAUSES = (0.01, 0.5)
"""Seconds between attempts to connect, and between status requests: the first pause and the
longest one.
"""
KINDS = ("raw:", "tcp:", "udp:")
"""Prefixes of destinations to which a connection with a remote peer is made."""

Request = dict[str, object]


async def open_to_peer(
    ask: Callable[[Request], Awaitable[dict[str, Any]]],
    sleep: Callable[[float], Awaitable[object]],
    request: Request,
    limit: float | None,
) -> int:
    """Open a connection and wait for its peer; errors and cancellation close the connection.

    Args:
        ask: sends a request to the daemon and returns the reply.
        sleep: waits for some seconds.
        request: the request that opens the connection.
        limit: maximum time in seconds; None has no limit.

    Returns:
        The number of the open connection.

    Raises:
        RefusedError: the daemon refuses to open it.
        TimedOutError: no peer connected in time; the connection is closed.

    """
    limit = math.inf if limit is None else limit
    until = time.monotonic() + limit
    destination = str(request["destination"])
    why, retry = "it has not connected", PAUSES[0]
    number: int | None = None
    try:
        while True:
            try:
                reply = await ask(request)
            except RefusedError as refused:
                # Try again only if the daemon does not know the peer's socket or host name: either
                # may become known later.
                if refused.kind != "unknown" or not destination.startswith(KINDS):
                    raise
                why = str(refused)
            else:
                number = int(reply["connection"]["connection"])
                look = PAUSES[0]
                while True:
                    reply = await ask({"ask": "connection", "connection": number})
                    status = reply["connection-status"]["connection"]
                    if status["open"]:
                        return number
                    left = until - time.monotonic()
                    if status.get("gone") is not None or left <= 0:
                        break
                    await sleep(min(look, left))
                    look = min(2 * look, PAUSES[1])
                why = status.get("gone") or why
                await ask({"ask": "close", "connection": number})
                number = None
            left = until - time.monotonic()
            if left <= 0:
                raise TimedOutError(
                    f"{destination}: no peer within {limit:g} s ({why}); start the peer, or "
                    "raise wait="
                )
            await sleep(min(retry, left))
            retry = min(2 * retry, PAUSES[1])
    except BaseException:
        if number is not None:
            with suppress(StreamsError):
                await ask({"ask": "close", "connection": number})
        raise


def blocking(call: Callable[[Any], R]) -> Callable[[Any], Awaitable[R]]:
    """Wrap a blocking function in a coroutine function, which calls it and returns its result."""

    async def made(argument: Any) -> R:
        """Call the blocking function and return its result."""
        return call(argument)

    return made


def completed(steps: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine whose steps are blocking calls, without an event loop. Return its result."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: R = end.value
        return result
    raise AssertionError("the coroutine waits for an event loop")

"""Sessions for event loops: replies and events through one descriptor, without a thread per call.

A session's descriptor is readable while a reply or an event is waiting, and the loop watches it.
Each stream has one thread that sends and receives data, because descriptors alone cannot signal
free memory of links.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from isthmus.arguments import whole
from isthmus.arrays.elements import empty
from isthmus.streams.amounts import as_json, seconds
from isthmus.streams.arrival import open_to_peer
from isthmus.streams.buffers import to_fill
from isthmus.streams.connection import Connection
from isthmus.streams.errors import (
    IncompleteError,
    SessionOverError,
    StreamFailedError,
    StreamsError,
    TimedOutError,
    ask,
)
from isthmus.streams.session import Nic, connect, join, open_request
from isthmus.streams.specs import StreamSpec
from isthmus.streams.status import ConnectionStatus, Event, StreamStatus
from isthmus.streams.stream import COUNT_MAX, Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from isthmus import _core
    from isthmus.streams.stream import Timeout
    from isthmus.streams.worker import Handle

R = TypeVar("R")
EVENTS_MAX = 4096
"""The maximum number of queued events; beyond it the oldest are dropped, and counted."""


def aconnect(address: str, **settings: Any) -> _Entering:
    """Create an application at a daemon, by ``async with`` or ``await``.

    Arguments and errors are those of `connect`.
    """
    return _Entering(lambda: connect(address, **settings))


def ajoin(address: str, ticket: str, **settings: Any) -> _Entering:
    """Join an application by its ticket; arguments and errors are those of `join`."""
    return _Entering(lambda: join(address, ticket, **settings))


class _Entering:
    """A session that has not been opened yet; ``await`` or ``async with`` opens it."""

    def __init__(self, make: Callable[[], Nic]) -> None:
        """Store `make`, the function that opens the session later, on a thread."""
        self._make = make
        self._nic: AsyncNic | None = None

    async def _made(self) -> AsyncNic:
        """Open the session with the daemon in another thread, and return it."""
        return AsyncNic(await asyncio.to_thread(self._make))

    def __await__(self) -> Any:
        """Open the session and return it."""
        return self._made().__await__()

    async def __aenter__(self) -> AsyncNic:
        """Open the session for an ``async with`` block and return it."""
        self._nic = await self._made()
        return self._nic

    async def __aexit__(self, *_: object) -> None:
        """Close the session at the end of the block."""
        assert self._nic is not None
        await self._nic.close()


class AsyncNic:
    """A session in an event loop, created by `aconnect` or `ajoin`; only that loop may use it."""

    def __init__(self, nic: Nic) -> None:
        """Wrap an open session for use in the running event loop."""
        self.nic = nic
        """The wrapped synchronous session, for calls that do not wait."""
        self._core = nic._core
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._asked: dict[int, tuple[_core.NicPending, asyncio.Future[str | None]]] = {}
        self._events: deque[dict[str, Any]] = deque()
        self._missed = 0
        self._news = asyncio.Event()
        self._loop.add_reader(self._core.fileno(), self._notices)
        self._watched = True

    @property
    def application(self) -> int:
        """Number of the application at the daemon."""
        return self.nic.application

    @property
    def ticket(self) -> str:
        """Ticket with which further processes join the application."""
        return self.nic.ticket

    def _check_loop(self) -> None:
        """Refuse calls from another event loop, or from a forked process."""
        ask(self._core.check_process)
        if asyncio.get_running_loop() is not self._loop:
            raise StreamsError(
                "this session is of another event loop; in this one use aconnect(address), or "
                "ajoin(address, ticket)"
            )

    def _notices(self) -> None:
        """Handle waiting replies and events; the loop calls this when the session's descriptor is
        readable.
        """
        answered, events = self._core.notices()
        for number in answered:
            pending, future = self._asked.pop(number, (None, None))
            if pending is not None and future is not None and not future.done():
                try:
                    future.set_result(ask(pending.poll))
                except StreamsError as error:
                    future.set_exception(error)
        for event in events:
            if len(self._events) == EVENTS_MAX:
                self._events.popleft()
                self._missed += 1
            self._events.append(json.loads(event))
        over = self._core.gone()
        if over is not None:
            self._unwatch()
            for _, future in self._asked.values():
                if not future.done():
                    future.set_exception(SessionOverError(over))
            self._asked.clear()
        if events or over is not None:
            self._news.set()

    def _unwatch(self) -> None:
        """Stop the loop from watching the session's descriptor."""
        # Only the process that registered the descriptor removes it: a forked child shares the
        # loop's epoll set with its parent.
        if self._watched and self._process == os.getpid():
            self._watched = False
            self._loop.remove_reader(self._core.fileno())

    async def _ask(
        self, request: dict[str, object], timeout: float | None = math.nan
    ) -> dict[str, Any]:
        """Send a request and wait for the reply; NaN selects the session's timeout."""
        self._check_loop()
        limit = self.nic._patience
        pending = ask(self._core.ask_noticed, as_json(request), limit)
        future: asyncio.Future[str | None] = self._loop.create_future()
        self._asked[pending.id] = (pending, future)
        wait = limit if timeout is not None and math.isnan(timeout) else timeout
        try:
            found: str | None = await asyncio.wait_for(future, wait)
            answer = json.loads(found or "null")
        except asyncio.TimeoutError:
            if future.done() and not future.cancelled():
                raise
            asked = request["ask"]
            raise TimedOutError(
                f"{self.nic.address} has not answered `{asked}` for {wait} s"
            ) from None
        finally:
            # A cancelled caller no longer needs the reply.
            self._asked.pop(pending.id, None)
        return answer if isinstance(answer, dict) else {str(answer): {}}

    async def open(
        self,
        destination: str,
        *,
        channel: int = 0,
        protocol: str | None = None,
        checksum: str = "crc32c",
        share: int | str | None = None,
        window: int | str = 0,
        wait: Timeout = None,
    ) -> AsyncConnection:
        """Open a connection; arguments and errors are those of `Nic.open`."""
        request = open_request(destination, channel, protocol, checksum, share, window)
        if wait is None:
            number = int((await self._ask(request))["connection"]["connection"])
        else:
            limit = seconds("wait", wait)
            number = await open_to_peer(self._ask, asyncio.sleep, request, limit)
        made = Connection(self.nic._ask, number, destination, self.nic, checksum)
        return AsyncConnection(self, made)

    async def stream(
        self, connection: AsyncConnection, adu: int | str, **settings: Any
    ) -> AsyncStream:
        """Register a stream, and make its links; arguments and errors are those of `Nic.stream`."""
        self._check_loop()
        # Unwrap an asynchronous connection; `Nic.stream` refuses objects that are no connection.
        of = connection.connection if isinstance(connection, AsyncConnection) else connection
        stream = await asyncio.to_thread(self.nic.stream, of, adu, **settings)
        return AsyncStream(self, stream)

    async def submit(self, specs: list[StreamSpec]) -> list[AsyncStream]:
        """Register streams, all or none; arguments and errors are those of `Nic.submit`."""
        self._check_loop()
        streams = await asyncio.to_thread(self.nic.submit, specs)
        return [AsyncStream(self, stream) for stream in streams]

    async def overview(self) -> dict[str, Any]:
        """Return the connections, streams and links of this application."""
        answer = await self._ask({"ask": "overview", "all": False})
        found: dict[str, Any] = answer["overview"]["overview"]
        return found

    async def events(self) -> AsyncIterator[Event]:
        """Yield events until the session is over; the session must have been created with `watch`.

        Raises:
            StreamsError: the session was created without `watch`, so that no event would arrive.

        """
        self._check_loop()
        self.nic.needs_watch()
        while True:
            while self._missed or self._events:
                if self._missed:
                    missed, self._missed = self._missed, 0
                    yield Event({"what": "missed", "events": missed})
                else:
                    yield Event(self._events.popleft())
            if not self._watched:
                return
            self._news.clear()
            await self._news.wait()

    async def close(self) -> None:
        """End the session. Other calls of the session that are still waiting fail."""
        if not self._loop.is_closed() and self._process == os.getpid():
            self._check_loop()
        with suppress(RuntimeError):  # the loop is closed, and no call waits in it
            self._unwatch()
            self.nic.close()
            self._notices()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncConnection:
    """A connection used from an event loop. ``async with`` closes it at the end of the block."""

    def __init__(self, nic: AsyncNic, connection: Connection) -> None:
        """Wrap a connection of the session `nic` for use in its event loop."""
        self._nic = nic
        self.connection = connection
        """The wrapped synchronous connection; pass it to a `StreamSpec`."""
        self.number = connection.number
        """Number of the connection at the daemon."""

    async def status(self) -> ConnectionStatus:
        """Return the status of the connection."""
        answer = await self._nic._ask({"ask": "connection", "connection": self.number})
        found: Any = answer["connection-status"]["connection"]
        return msgspec.convert(found, ConnectionStatus)

    async def close(self) -> None:
        """Close the connection after its streams have ended; data that was sent is delivered first.

        A file is complete and has its final name when this returns.

        Raises:
            NotKeptError: the file was not kept; the message explains why.

        """
        await self._nic._ask({"ask": "close", "connection": self.number})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()


def _received_data(
    found: NDArray[Any] | None, out: Any, into: NDArray[np.uint8] | None
) -> NDArray[Any] | None:
    """Return received data in the caller's memory, if the caller passed any."""
    if found is None or into is None:
        return found
    into[:] = found
    filled: NDArray[Any] = out
    return filled


class AsyncStream:
    """A stream used from an event loop. A call that is cancelled still moves its data."""

    def __init__(self, nic: AsyncNic, stream: Stream) -> None:
        """Wrap a stream of the session `nic` for use in its event loop."""
        self._nic = nic
        self._cancelled: deque[Handle[NDArray[Any] | None]] = deque()
        """Cancelled receives; later receives return their data."""
        self.stream = stream
        """The wrapped synchronous stream, for calls that do not wait."""
        self.number = stream.number
        """Number of the stream at the daemon."""

    async def _result_of(self, handle: Handle[R]) -> R:
        """Wait for a call that runs in the stream's thread, and return its result."""
        loop = self._nic._loop
        self._nic._check_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            """Complete the future that waits for the call, in the loop."""
            if not future.done():
                future.set_result(None)

        def on_done() -> None:
            """Wake the event loop from the thread of the stream."""
            # Ignore the error of a closed event loop, in which no coroutine waits any more.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)

        handle.when_done(on_done)
        await future
        return handle.result()

    async def send(self, adu: Any, *, timeout: Timeout = None) -> int:
        """Send the next ADU; arguments and errors are those of `Stream.send`.

        The array is read-only until this returns.
        """
        self._nic._check_loop()
        return await self._result_of(self.stream.send(adu, block=False, timeout=timeout))

    async def recv(
        self, out: Any = None, *, adu: int | None = None, timeout: Timeout = None
    ) -> NDArray[Any] | None:
        """Receive the next ADU; arguments and errors are those of `Stream.recv`.

        If this call is cancelled, the ADU still arrives in memory of the stream, and the next call
        returns it.
        """
        self._nic._check_loop()
        stream = self.stream
        into = None if out is None else to_fill("out", out)
        while self._cancelled:
            try:
                found = await self._result_of(self._cancelled[0])
            except TimedOutError:
                # The cancelled receive got no data, so forget it.
                self._cancelled.popleft()
                continue
            except StreamsError:
                self._cancelled.popleft()
                raise
            if found is not None and into is not None and found.nbytes != into.nbytes:
                raise StreamsError(
                    f"out: {into.nbytes} bytes; the next ADU is that of a call that was cancelled, "
                    f"which asked for {found.nbytes}"
                )
            self._cancelled.popleft()
            return _received_data(found, out, into)
        # Receive into private memory, so that a cancelled caller gets its own memory back at once.
        size = stream._adu_bytes(adu) if into is None else into.nbytes
        own = empty("adu", (size,), np.dtype(np.uint8))
        call = stream._work().call
        handle = call(None, None, None, lambda: stream.recv(own, adu=adu, timeout=timeout))
        try:
            return _received_data(await self._result_of(handle), out, into)
        except IncompleteError as error:
            error.data = own if into is None else out
            if into is not None:
                into[:] = own
            raise
        except asyncio.CancelledError:
            self._cancelled.append(handle)
            raise

    async def __aiter__(self) -> AsyncIterator[NDArray[Any]]:
        """Receive ADU after ADU, each in new memory, until the stream ends."""
        while (adu := await self.recv()) is not None:
            yield adu

    async def wait(self, *, timeout: Timeout = math.inf) -> StreamStatus:
        """Wait until the stream is done.

        Args:
            timeout: the maximum total time, such as ``"10 s"``.

        Raises:
            StreamFailedError: the stream failed or was cancelled.
            TimedOutError: the stream is not done; the message explains what waits for what.
            StreamsError: the daemon is gone.

        """
        return await self._wait({}, timeout)

    async def wait_moved(self, adus: int, *, timeout: Timeout = math.inf) -> StreamStatus:
        """Wait until this number of ADUs has moved: to the daemon's network memory when sending,
        to the application's processes when receiving.
        """
        whole("adus", adus, 0, COUNT_MAX)
        return await self._wait({"adus": adus, "moved": True}, timeout)

    async def wait_done(self, adus: int, *, timeout: Timeout = math.inf) -> StreamStatus:
        """Wait until this number of ADUs is done, as the destination guarantees."""
        whole("adus", adus, 0, COUNT_MAX)
        return await self._wait({"adus": adus}, timeout)

    async def _wait(self, more: dict[str, object], timeout: Timeout) -> StreamStatus:
        """Wait for a state of the stream, and explain a timeout by what the stream waits for."""
        limit = self.stream._seconds(timeout)
        request: dict[str, object] = {"ask": "wait", "stream": self.number, **more}
        try:
            answer = await self._nic._ask(request, limit)
        except TimedOutError:
            status = await self.status()
            why = "; ".join(status.waits) or "it goes on"
            raise TimedOutError(
                f"stream {self.number}: waited {timeout}; it is {status.state}: {why}"
            ) from None
        status = msgspec.convert(answer["stream"]["stream"], StreamStatus)
        wanted = more.get("adus")
        there = status.moved if more.get("moved") else status.done
        if status.state == "done" or (isinstance(wanted, int) and there >= wanted):
            return status
        reason = f": {status.reason}" if status.reason else ""
        how = "was cancelled" if status.state == "cancelled" else f"has {status.state}"
        of = "" if status.adus is None else f" of {status.adus}"
        raise StreamFailedError(
            f"stream {self.number}: it {how}{reason}; {status.done}{of} ADUs are done"
        )

    async def finish(self, adus: int | None = None) -> None:
        """Set the number of ADUs, if it was left open; by default the number sent so far.

        ADUs of cancelled calls that are still being sent are awaited and counted.
        """
        self._nic._check_loop()
        if adus is not None:
            whole("adus", adus, 0, COUNT_MAX)
        worker = self.stream._worker
        if worker is not None:
            await self._result_of(worker.call(None, None, None, lambda: None))
            worker.drain()
        count = self.stream.sent if adus is None else adus
        await self._nic._ask({"ask": "finish", "stream": self.number, "adus": count})

    async def cancel(self) -> None:
        """Cancel the stream; ADUs that have not been moved are lost."""
        await self._nic._ask({"ask": "cancel", "stream": self.number})

    async def status(self) -> StreamStatus:
        """Return the status of the stream, with the resources that it waits for."""
        answer = await self._nic._ask({"ask": "stream", "stream": self.number})
        return msgspec.convert(answer["stream"]["stream"], StreamStatus)

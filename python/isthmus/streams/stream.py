"""Streams: application data units (ADUs) that are sent from and received in arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from isthmus.arguments import flag, whole
from isthmus.arrays.elements import empty
from isthmus.streams.amounts import seconds
from isthmus.streams.buffers import HOLDS, to_fill, to_send
from isthmus.streams.errors import IncompleteError, StreamsError, ask
from isthmus.streams.status import StreamStatus, stream_status
from isthmus.streams.worker import Handle, Worker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus import _core
    from isthmus.streams.buffers import Bytes
    from isthmus.streams.specs import StreamSpec

COUNT_MAX = (1 << 63) - 1

Timeout = str | float | None
"""A timeout: text with a unit such as ``"10 s"``, `math.inf`, or None for the session's timeout."""


class Stream:
    """A stream of data between this application and a peer; `Nic.stream` creates it.

    One call at a time sends or receives; others wait. If the links of a stream belong to several
    processes, each process moves the striping units (SUs) of its own links.
    """

    def __init__(self, core: _core.NicStream, spec: StreamSpec, patience: float | None) -> None:
        """Create the object for a stream that the daemon has registered."""
        self._core = core
        self._patience = patience
        self._worker: Worker | None = None
        self.spec = spec
        """The specification of the stream."""
        self.number = core.number
        """Number of the stream at the daemon."""
        self.sent = 0
        """Number of ADUs (application data units) that this process has sent."""
        self._sends = f"a send of stream {self.number}"

    def _seconds(self, timeout: Timeout) -> float | None:
        """Convert a timeout to seconds; None is the session's timeout. Return None for no limit."""
        return self._patience if timeout is None else seconds("timeout", timeout)

    @overload
    def send(self, adu: Any, *, block: Literal[True] = True, timeout: Timeout = None) -> int: ...
    @overload
    def send(self, adu: Any, *, block: Literal[False], timeout: Timeout = None) -> Handle[int]: ...

    def send(self, adu: Any, *, block: bool = True, timeout: Timeout = None) -> int | Handle[int]:
        """Send the next application data unit (ADU).

        Args:
            adu: a contiguous numpy array, bytes, or another object with a buffer: all bytes of the
                ADU. They are copied directly into the links.
            block: whether to return only after the copy, when the memory belongs to the caller
                again. Otherwise it belongs to the caller after `Handle.wait`; until then an array
                is read-only, and other calls that write to its bytes are refused.
            timeout: the maximum time for which the links accept nothing.

        Returns:
            The number of the ADU, or a handle.

        Raises:
            TimedOutError: the links accepted none of the ADU, and it can be sent again; if they
                accepted a part, the stream is cancelled.
            StreamsError: the size is wrong, the stream has failed, or the daemon is gone.

        """
        return self._send(adu, None, block, self._seconds(timeout))

    def send_own(
        self, own: Any, *, adu: int | None = None, block: bool = True, timeout: Timeout = None
    ) -> int | Handle[int]:
        """Send the part of the next application data unit (ADU) for this process's links.

        Args:
            own: the striping units (SUs) for links of this process, in the order of the ADU:
                `own_bytes` bytes.
            adu: bytes of the whole ADU, if sizes differ.
            block: as in `send`.
            timeout: as in `send`.

        """
        return self._send(own, self._adu_bytes(adu), block, self._seconds(timeout))

    def _adu_bytes(self, adu: int | None) -> int:
        """Return the size in bytes of an application data unit (ADU): `adu` or that of all ADUs."""
        of_all = self.spec.adu_bytes
        if adu is None and of_all is None:
            raise StreamsError("adu: it is missing; each ADU of this stream has its own bytes")
        if adu is not None:
            whole("adu", adu, 1, COUNT_MAX)
        found = of_all if adu is None else adu
        assert found is not None
        return found

    def _send(
        self, data: Any, adu_bytes: int | None, block: bool, timeout: float | None
    ) -> int | Handle[int]:
        """Send an application data unit (ADU), or the part of this process: in this thread if
        `block`, otherwise on the stream's thread.
        """
        flag("block", block)
        if not block or self._worker is not None:
            ask(self._core.check_process)
        flat = to_send("adu" if adu_bytes is None else "own", data)
        held = HOLDS.hold(flat, self._sends, writes=False)
        if not block:
            call = self._work().call
            return call(data, flat, held, lambda: self._now(flat, adu_bytes, timeout))
        try:
            if self._worker is not None:
                self._worker.drain()
            return self._now(flat, adu_bytes, timeout)
        finally:
            HOLDS.release(held)

    def send_run(self, own: Any, *, timeout: Timeout = None) -> None:
        """Send the next bytes for links of this process: whole transfer units (TUs).

        They may be some TUs of an application data unit (ADU), or several ADUs of equal length.

        Args:
            own: the bytes, in the order of the ADUs.
            timeout: as in `send`.

        """
        ask(self._core.check_process)
        flat = to_send("own", own)
        with self._hold_bytes(flat, "a send", writes=False):
            if self._worker is not None:
                self._worker.drain()
            ask(self._core.send_run, flat, self._seconds(timeout))

    def recv_run(self, out: Any, *, timeout: Timeout = None) -> None:
        """Receive the next bytes from links of this process: whole transfer units (TUs), as many as
        fill `out`. `send_run` sends such bytes.

        Raises:
            IncompleteError: bytes are permanently missing.

        """
        ask(self._core.check_process)
        flat = to_fill("out", out)
        with self._hold_bytes(flat, "a receive", writes=True):
            missing = ask(self._core.recv_run, flat, self._seconds(timeout))
        if missing:
            adu = missing[0][0]
            raise self._incomplete(adu, [each for at, each in missing if at == adu], out)

    @contextmanager
    def _hold_bytes(self, flat: Bytes, what: str, *, writes: bool) -> Iterator[None]:
        """Reserve bytes of the user during a ``with`` block, so that no other call uses them."""
        held = HOLDS.hold(flat, f"{what} of stream {self.number}", writes=writes)
        try:
            yield
        finally:
            HOLDS.release(held)

    def _incomplete(self, adu: int, missing: list[tuple[int, int]], data: Any) -> IncompleteError:
        """Return the error for an application data unit (ADU) that has arrived without some
        bytes.
        """
        ranges = ", ".join(f"{low} to {high}" for low, high in missing[:8])
        more = " and more" if len(missing) > 8 else ""
        return IncompleteError(
            f"stream {self.number}: ADU {adu} came without bytes {ranges}{more}, which will not "
            "come again; the next can be received",
            adu,
            missing,
            data,
        )

    def _now(self, flat: Bytes, adu_bytes: int | None, timeout: float | None) -> int:
        """Send an application data unit (ADU) now, on the calling thread, and return its number."""
        number = ask(self._core.send, flat, adu_bytes, timeout)
        self.sent = number + 1
        return number

    def _work(self) -> Worker:
        """Return the thread that makes non-blocking sends; start it at first use."""
        if self._worker is None:
            self._worker = Worker(f"stream {self.number}")
        return self._worker

    def own_bytes(self, adu: int | None = None) -> int:
        """Return how many bytes of an application data unit (ADU) go over links of this process.

        Args:
            adu: bytes of the ADU, if sizes differ.

        """
        return ask(self._core.own_bytes, self._adu_bytes(adu))

    def recv(
        self, out: Any = None, *, adu: int | None = None, timeout: Timeout = None
    ) -> NDArray[Any] | None:
        """Receive the next application data unit (ADU).

        Args:
            out: a contiguous numpy array with the size of the ADU; by default a new one.
            adu: bytes of the ADU, if sizes differ and `out` is not given.
            timeout: the maximum time for which no data arrives.

        Returns:
            `out`, or an array of bytes; None at the end of the stream.

        Raises:
            IncompleteError: bytes of the ADU are permanently missing; the next ADU can be received.
            TimedOutError: no data arrived, and the call can be repeated; if a part arrived, the
                stream is cancelled.
            StreamsError: the size is wrong, the stream has failed, or the daemon is gone.

        """
        if out is None:
            out = empty("adu", (self._adu_bytes(adu),), np.dtype(np.uint8))
        return self._recv(out, None, timeout)

    def recv_own(
        self, out: Any = None, *, adu: int | None = None, timeout: Timeout = None
    ) -> NDArray[Any] | None:
        """Receive the part of the next application data unit (ADU) from this process's links.

        Arguments and result are those of `recv`. The striping units (SUs) of the part are
        consecutive, in the order of the ADU.
        """
        adu_bytes = self._adu_bytes(adu)
        if out is None:
            out = empty("adu", (ask(self._core.own_bytes, adu_bytes),), np.dtype(np.uint8))
        return self._recv(out, adu_bytes, timeout)

    def _recv(self, out: Any, adu_bytes: int | None, timeout: Timeout) -> NDArray[Any] | None:
        """Receive an application data unit (ADU), or the part of this process, into `out`; return
        `out`, or None at the end of the stream.
        """
        ask(self._core.check_process)
        flat = to_fill("out", out)
        with self._hold_bytes(flat, "a receive", writes=True):
            came = ask(self._core.recv, flat, adu_bytes, self._seconds(timeout))
        if came is None:
            return None
        number, missing = came
        if missing:
            raise self._incomplete(number, missing, out)
        found: NDArray[Any] = out
        return found

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield each application data unit (ADU) that arrives, in new memory, until the stream
        ends.
        """
        while (adu := self.recv()) is not None:
            yield adu

    def wait(self, *, timeout: Timeout = None) -> StreamStatus:
        """Wait until the stream is done: all data is confirmed, as far as its destination confirms.

        Args:
            timeout: the maximum time without progress.

        Raises:
            StreamFailedError: the stream failed or was cancelled.
            TimedOutError: no progress in time; the message explains what waits for what.
            StreamsError: the daemon is gone.

        """
        return self._wait(None, False, timeout)

    def wait_moved(self, adus: int, *, timeout: Timeout = None) -> StreamStatus:
        """Wait until this number of application data units (ADUs) has moved: to the daemon's
        network memory when sending, to the application's processes when receiving.

        Raises: as `wait`.
        """
        whole("adus", adus, 0, COUNT_MAX)
        return self._wait(adus, True, timeout)

    def wait_done(self, adus: int, *, timeout: Timeout = None) -> StreamStatus:
        """Wait until this number of application data units (ADUs) is done: confirmed, as far as the
        destination confirms data.

        Raises: as `wait`.
        """
        whole("adus", adus, 0, COUNT_MAX)
        return self._wait(adus, False, timeout)

    def _wait(self, adus: int | None, moved: bool, timeout: Timeout) -> StreamStatus:
        """Finish all non-blocking sends, then wait until `adus` application data units (ADUs) are
        done, or moved if `moved`; None waits for the end of the stream.
        """
        ask(self._core.check_process)
        if self._worker is not None:
            self._worker.drain()
        return stream_status(ask(self._core.wait, adus, moved, self._seconds(timeout)))

    def finish(self, adus: int | None = None) -> None:
        """Set the number of application data units (ADUs) of the stream, if it was left open; by
        default the number sent so far.
        """
        ask(self._core.check_process)
        if self._worker is not None:
            self._worker.drain()
        if adus is not None:
            whole("adus", adus, 0, COUNT_MAX)
        ask(self._core.finish, self.sent if adus is None else adus, self._patience)

    def cancel(self) -> None:
        """Cancel the stream; the data that has not been moved is lost."""
        ask(self._core.cancel, self._patience)

    def status(self) -> StreamStatus:
        """Return the status of the stream, with the resources that it waits for."""
        return stream_status(ask(self._core.status, self._patience))

    def close(self, timeout_s: float = 1.0) -> None:
        """End the thread of non-blocking sends. Sends that still wait for it are dropped."""
        if self._worker is not None:
            self._worker.end(timeout_s)

    def __repr__(self) -> str:
        return f"<stream {self.number}, {self.spec.direction}>"

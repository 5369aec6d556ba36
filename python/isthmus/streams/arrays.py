"""Sending and receiving distributed arrays, which are redistributed piece by piece.

The pipeline of Steenkiste 1996, sections 6.1 and 6.2: an array lies on ranks in any layout. Each
piece is redistributed for an interface, in which each link has one block of every TU, while the
previous piece is on the links. The data on the wire is ``array.tobytes()`` of the whole array, in
row-major order; an ADU is a line of it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isthmus.arguments import one_of, refuse, whole
from isthmus.arrays import Layout, Plan
from isthmus.arrays.elements import array_of, empty
from isthmus.errors import IsthmusError
from isthmus.streams.amounts import parse_size
from isthmus.streams.connection import Connection
from isthmus.streams.errors import StreamsError
from isthmus.streams.movers import CancelOnError, Movers
from isthmus.streams.pieces import Cut, Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.streams.session import Nic
    from isthmus.streams.status import StreamStatus
    from isthmus.streams.stream import Stream, Timeout

R = TypeVar("R")
LINKS_MAX = 64


def send_array(
    array: Any,
    layout: Layout | None,
    connection: Connection,
    *,
    links: int = 4,
    tu: int | str = "1 MiB",
    piece: int | str = "8 MiB",
    line: int | None = None,
    threads: int | None = None,
    timeout: Timeout = None,
    **settings: Any,
) -> StreamStatus:
    """Send a distributed array; all ranks of a session with a communicator must call this.

    Args:
        array: in one process, a list of each rank's data, as `Plan.redistribute` takes it, or the
            whole array without a layout; on a rank of MPI, the data of that rank, as `exchange`
            takes it.
        layout: the data of each rank. Ranks are those of the session's communicator, or data of
            threads in this process.
        connection: the destination.
        links: number of links; they are assigned to ranks in turn.
        tu: the maximum size of a TU; each link has a block of it.
        piece: approximate number of bytes that are redistributed at a time while as many are sent.
        line: the dimension along which ADUs are lines: an ADU spans that dimension and all later
            ones. By default the first dimension of which an index fits into a block.
        threads: number of threads that redistribute, in one process; by default one per processor.
        timeout: the maximum time without progress.
        **settings: settings of the stream, as in `StreamSpec`: `packet`, `quantum`, `permanent`,
        `after`, `in_step_with`, `finished`.

    Returns:
        The status of the stream when it was done.

    Raises:
        StreamsError: an error on any rank, raised on all ranks; the stream is cancelled.
        IsthmusError: arrays that do not fit their layout, or invalid settings.

    """
    job = _Job(array, layout, connection, links, (tu, piece, line), threads, "array")
    stream = job.stream("transmit", settings)

    def start_send(buffer: NDArray[Any]) -> Future[None] | None:
        """Start to send a piece, which is in `buffer`, on the transfer thread. Return its future;
        None if the buffer is empty.
        """
        return job.submit(lambda: stream.send_run(buffer, timeout=timeout), buffer)

    with job.moving(stream):
        under_way: Future[None] | None = None
        for number, part in enumerate(job.cut.pieces()):
            buffer = job.buffer(number % 2, part)
            job.movers.gather(job.plan(part, out=True), job.given, job.parts(buffer, part))
            # Wait until the previous piece is sent before the next one: the piece after that reuses
            # its buffer.
            job.settle(under_way)
            under_way = start_send(buffer)
        job.settle(under_way)
    return stream.wait(timeout=timeout)


def recv_array(
    out: Any,
    layout: Layout | None,
    connection: Connection,
    *,
    links: int = 4,
    tu: int | str = "1 MiB",
    piece: int | str = "8 MiB",
    line: int | None = None,
    threads: int | None = None,
    timeout: Timeout = None,
    **settings: Any,
) -> StreamStatus:
    """Receive a distributed array, as `send_array` sends it, into the arrays `out`.

    The shape and type must be those of the sent array; layout and number of links may differ. Lines
    must have the same dimension on both sides: set `line` if `tu` or `links` differ.

    Arguments and errors are those of `send_array`; also `IncompleteError`, if bytes are missing.
    """
    job = _Job(out, layout, connection, links, (tu, piece, line), threads, "out")
    stream = job.stream("receive", settings)
    pieces = list(job.cut.pieces())

    def start_receive(number: int) -> tuple[Piece, NDArray[Any], Future[None] | None] | None:
        """Start to receive the piece with this number; return piece, buffer and future, None after
        the last piece.
        """
        if number == len(pieces):
            return None
        buffer = job.buffer(number % 2, pieces[number])
        got = job.submit(lambda: stream.recv_run(buffer, timeout=timeout), buffer)
        return pieces[number], buffer, got

    with job.moving(stream):
        next_ = start_receive(0)
        number = 0
        while next_ is not None:
            part, buffer, got = next_
            job.settle(got)
            number += 1
            # Start to receive the next piece now, so that it arrives while this one is moved to the
            # user's arrays.
            next_ = start_receive(number)
            job.movers.spread(job.plan(part, out=False), job.parts(buffer, part), job.given)
    return stream.wait(timeout=timeout)


class _Job:
    """The state of the transfer of an array over a stream: its layout, its division into pieces,
    and the object that redistributes them.
    """

    def __init__(
        self,
        array: Any,
        layout: Layout | None,
        connection: Connection,
        links: int,
        sizes: tuple[int | str, int | str, int | None],
        threads: int | None,
        what: str,
    ) -> None:
        """Check the arguments of a transfer, and cut the array into pieces."""
        one_of("connection", connection, (Connection,), "a connection that a session has opened")
        if layout is not None:
            one_of("layout", layout, (Layout,), "a Layout: who holds what")
        whole("links", links, 1, LINKS_MAX)
        self.nic: Nic = connection.session
        self.connection = connection
        self.links = links
        self.movers: Movers = self.nic.movers(threads)
        if layout is None:
            if not isinstance(array, np.ndarray):
                raise refuse(what, array, "a numpy array, or a layout that says who holds what")
            array = [array_of(what, array)]
            layout = Layout.whole(array[0].shape)
        self.layout = layout
        self.given = array
        self.dtype = self.movers.dtype(layout, array, what)
        tu, piece, line = sizes
        self.cut = Cut.of(
            layout.shape,
            links,
            self.dtype.itemsize,
            parse_size("tu", tu),
            parse_size("piece", piece),
            line,
        )
        self.own = self.movers.own(links)
        self.owners = self.movers.owners(links)
        self._memory: list[NDArray[Any] | None] = [None, None]
        self._thread = ThreadPoolExecutor(1, f"{what} of {self.nic!r}")

    def stream(self, direction: str, settings: dict[str, Any]) -> Stream:
        """Register the stream of the transfer and return it. Refuse those settings that follow
        from the array.
        """
        for name in ("adu", "adus", "granule", "su_order", "direction"):
            if name in settings:
                raise IsthmusError(f"{name}: it follows from the array; leave it out")
        return self.nic.stream(
            self.connection,
            self.cut.adu,
            tu=self.cut.tu,
            links=self.links,
            granule=self.cut.granule,
            adus=self.cut.adus,
            direction=direction,
            **settings,
        )

    def buffer(self, number: int, piece: Piece) -> NDArray[Any]:
        """Return memory for the data of a piece that crosses the links of this process.
        `number` selects one of two memories, which are reused.
        """
        shape = self.cut.held(piece, self.own) if self.own else (0,)
        bytes_ = self.dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        memory_ = self._memory[number]
        if memory_ is None or memory_.nbytes < bytes_:
            memory_ = empty("piece", (bytes_,), np.dtype(np.uint8))
            self._memory[number] = memory_
        found: NDArray[Any] = memory_[:bytes_].view(self.dtype).reshape(shape)
        return found

    def parts(self, buffer: NDArray[Any], piece: Piece) -> list[NDArray[Any]]:
        """Return views of the buffer, one for each range of the array on this process's links."""
        if not self.own:
            return []
        return [buffer[view] for view in self.cut.views(piece, self.own)]

    def plan(self, piece: Piece, *, out: bool) -> Plan:
        """Return the plan that moves the elements of a piece between the user's arrays and the
        buffers of the links: from the arrays if `out` is true, else to them.
        """
        there = self.cut.layout(piece, self.owners)
        return Plan(self.layout, there) if out else Plan(there, self.layout)

    def submit(self, call: Callable[[], R], buffer: NDArray[Any]) -> Future[R] | None:
        """Call `call`, which sends or receives the piece in `buffer`, on the transfer thread.
        Return the future of its result; None, without a call, if the buffer is empty.
        """
        return self._thread.submit(call) if buffer.size else None

    def settle(self, future: Future[None] | None) -> None:
        """Wait until the piece of `future` is moved. Raise an error that occurred on this or on
        another rank.
        """
        problem: BaseException | None = None
        try:
            if future is not None:
                future.result()
        except StreamsError as error:
            problem = error
        self.movers.agree(problem)

    def moving(self, stream: Stream) -> CancelOnError:
        """Return a context manager for the transfer: if an error ends the transfer, it cancels the
        stream.
        """
        return CancelOnError(stream, self._thread)

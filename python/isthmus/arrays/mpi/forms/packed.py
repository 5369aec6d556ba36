"""Packed exchanges with MPI messages: collective or pairwise."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from mpi4py import MPI

from isthmus.arrays.mpi.forms.transport import OVERLAPS, Transfer, Transport
from isthmus.arrays.mpi.share import Pieces, aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Operands, PieceOf, Share

BUFFER_BYTES = 32 << 20
SLICE_BYTES = 1 << 30
"""Maximum bytes of one MPI message, as many MPI libraries keep counts in 31 bits."""


class _Packed(Transport):
    """Base of the forms that pack messages into private buffers. Half of the memory for buffers is
    for outgoing data.
    """

    kind: ClassVar[type[_PackedTransfer]]
    halves: ClassVar[int] = 1
    """Number of send buffers that a rank uses alternately."""

    def __init__(self, ranks: Ranks) -> None:
        """Create the transport without buffers; `grow` allocates them."""
        super().__init__(ranks)
        self.half = min((ranks.buffer_bytes or BUFFER_BYTES) // 2, SLICE_BYTES)
        self.out = np.empty(0, np.uint8)
        self.back = np.empty(0, np.uint8)

    def grow(self, out: int, back: int) -> None:
        """Grow the buffers to at least these sizes."""
        if len(self.out) < out:
            self.out = np.empty(out, np.uint8)
        if len(self.back) < back:
            self.back = np.empty(back, np.uint8)

    def transfer(self, share: Share) -> Transfer:
        """Prepare the transfer of the messages of this rank (`share`)."""
        return self.kind(self, share)


class _PackedTransfer(Transfer):
    """A transfer that packs messages piece by piece into private buffers."""

    transport: _Packed

    def __init__(self, transport: _Packed, share: Share) -> None:
        """Cut the messages into pieces, and grow the buffers for them; a collective call."""
        super().__init__(transport, share)
        self.transport = transport
        item = share.dtype.itemsize
        largest = max((size for _, size in (*share.sends, *share.receives)), default=0) * item
        # All ranks use the same maximum, so each knows the sizes of the others in a step.
        most, largest = self.ranks.most(max(len(share.sends), len(share.receives), 1), largest)
        self.whole = aligned(largest)
        slot = min(self.whole, max(transport.half // transport.halves // most, item))
        self.pieces = Pieces(share, slot)
        (self.steps,) = self.ranks.most(self.pieces.count)

    def move(self, operands: Operands) -> None:
        """Move all messages; pack everything first if target arrays overlap source arrays."""
        agreed = self.ranks.agree(OVERLAPS * operands.overlaps, operands.problem)
        if agreed & OVERLAPS:
            self._move_in_place(operands)
        else:
            self._move_pieces(operands)

    def _move_pieces(self, operands: Operands) -> None:
        """Move all messages piece by piece; data that stay on the rank are not packed."""
        transport, rank, pieces = self.transport, self.share.rank, self.pieces
        half = pieces.memory(pieces.sends)
        transport.grow(half * transport.halves, pieces.memory(pieces.receives))
        for step in range(self.steps):
            begin = step % transport.halves * half
            sends = _assign_memory(transport.out[begin : begin + half], pieces.sent(step))
            recvs = _assign_memory(transport.back, pieces.received(step))
            local = [(piece, operands.read) for peer, piece, _ in recvs if peer == rank]
            sends = [one for one in sends if one[0] != rank]
            recvs = [one for one in recvs if one[0] != rank]
            self._move_step(operands, sends, recvs, local)
        self._wait_sends()

    def _move_in_place(self, operands: Operands) -> None:
        """Pack all data before any are written, as target arrays overlap source arrays."""
        share, comm = self.share, self.ranks.comm
        pieces = Pieces(share, self.whole)
        # These buffers may be as large as the arrays, so they are released after the exchange.
        out, back = self._room(*map(pieces.memory, (pieces.sends, pieces.receives)))
        sends = _assign_memory(out, pieces.sent(0))
        recvs = _assign_memory(back, pieces.received(0))
        share.pack([(piece, memory) for _, piece, memory in sends], operands)
        requests = [
            *(comm.Irecv(slice_, peer) for peer, _, memory in recvs for slice_ in _slices(memory)),
            *(comm.Isend(slice_, peer) for peer, _, memory in sends for slice_ in _slices(memory)),
        ]
        MPI.Request.Waitall(requests)
        share.unpack([(piece, memory) for _, piece, memory in recvs], operands)

    def _room(self, *sizes: int) -> list[NDArray[np.uint8]]:
        """Allocate buffers of these sizes; a failure is raised on all ranks."""
        problem, made = "", []
        try:
            made = [np.empty(size, np.uint8) for size in sizes]
        except MemoryError:
            problem = f"{sum(sizes):,} bytes to exchange in place: no memory"
        self.ranks.agree(0, problem)
        return made

    @abstractmethod
    def _move_step(self, operands: Operands, sends: _Mail, recvs: _Mail, local: list[Any]) -> None:
        """Move one piece of each message."""

    def _wait_sends(self) -> None:
        """Wait until all sends have completed, so that no buffer is in use."""


_Mail = list[tuple[int, "PieceOf", "NDArray[np.uint8]"]]
"""Messages of a step: rank of the peer, piece, and the memory of the piece."""


def _assign_memory(buffer: NDArray[np.uint8], mail: list[tuple[int, int, PieceOf]]) -> _Mail:
    """Assign consecutive parts of a buffer to the pieces of messages."""
    placed: _Mail = []
    begin = 0
    for peer, size, piece in mail:
        placed.append((peer, piece, buffer[begin : begin + size]))
        begin += aligned(size)
    return placed


def _slices(memory: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield consecutive parts of memory that fit into one MPI message."""
    for begin in range(0, len(memory), SLICE_BYTES):
        yield memory[begin : begin + SLICE_BYTES]


class _CollectiveTransfer(_PackedTransfer):
    """A transfer that packs all messages, calls ``Alltoallv`` once, and unpacks all messages."""

    def _move_step(self, operands: Operands, sends: _Mail, recvs: _Mail, local: list[Any]) -> None:
        """Move one piece of each message with one call of `Alltoallv`."""
        share, transport, comm = self.share, self.transport, self.ranks.comm
        share.pack([(piece, memory) for _, piece, memory in sends], operands)
        comm.Alltoallv(
            [transport.out, *_places(comm.size, transport.out, sends), MPI.BYTE],
            [transport.back, *_places(comm.size, transport.back, recvs), MPI.BYTE],
        )
        share.unpack([*local, *((piece, memory) for _, piece, memory in recvs)], operands)


def _places(ranks: int, buffer: Any, mail: _Mail) -> tuple[Any, Any]:
    """Return counts and offsets for ``Alltoallv``: bytes and buffer offset for each rank."""
    sizes, starts = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64)
    base = buffer.ctypes.data
    for peer, _, memory in mail:
        sizes[peer], starts[peer] = len(memory), memory.ctypes.data - base
    return sizes, starts


class _PairwiseTransfer(_PackedTransfer):
    """A transfer that packs and sends to one rank after another, then unpacks messages as they
    arrive.
    """

    def __init__(self, transport: _Packed, share: Share) -> None:
        """Prepare the transfer without outstanding sends."""
        super().__init__(transport, share)
        self.posted_by_turn: list[list[Any]] = [[] for _ in range(transport.halves)]

    def _move_step(self, operands: Operands, sends: _Mail, recvs: _Mail, local: list[Any]) -> None:
        """Move one piece of each message, each as an MPI message to one rank."""
        share, comm = self.share, self.ranks.comm
        requests = [comm.Irecv(memory, peer) for peer, _, memory in recvs]
        # The send buffer is free once its previous sends have completed.
        MPI.Request.Waitall(self.posted_by_turn.pop(0))
        posted = []
        # Each rank starts with its neighbour, so that not all send to the same rank.
        for peer, piece, memory in sorted(sends, key=lambda one: (one[0] - comm.rank) % comm.size):
            share.pack([(piece, memory)], operands)
            posted.append(comm.Isend(memory, peer))
        self.posted_by_turn.append(posted)
        share.unpack(local, operands)
        for _ in recvs:
            _, piece, memory = recvs[MPI.Request.Waitany(requests)]
            share.unpack([(piece, memory)], operands)

    def _wait_sends(self) -> None:
        """Wait for the outstanding sends of all buffers."""
        for posted in self.posted_by_turn:
            MPI.Request.Waitall(posted)
            posted.clear()


class Collective(_Packed):
    """The form that calls one MPI collective for each piece of all messages."""

    form: ClassVar[Form] = "alltoall"
    kind = _CollectiveTransfer


class Pairwise(_Packed):
    """The form that sends pairwise messages; it packs the next while earlier ones are in flight."""

    form: ClassVar[Form] = "pairwise"
    kind = _PairwiseTransfer
    halves = 2

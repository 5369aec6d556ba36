"""Packed, as messages of MPI: collectives, or from pair to pair while others are packed."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isthmus.arrays.mpi.forms.way import OVERLAPS, Course, Way
from isthmus.arrays.mpi.share import Pieces, aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Brought, PieceOf, Share

BUFFER_BYTES = 32 << 20
SLICE_BYTES = 1 << 30
"""Most of a message that MPI is given at once, whose counts many MPIs keep in 31 bits."""


class _Packed(Way):
    """Through memory of each rank's own, half of it for what it sends."""

    kind: ClassVar[type[_Course]]
    halves: ClassVar[int] = 1
    """How often what is sent has memory, in turns."""

    def __init__(self, ranks: Ranks) -> None:
        super().__init__(ranks)
        self.half = min((ranks.buffer_bytes or BUFFER_BYTES) // 2, SLICE_BYTES)
        self.out = np.empty(0, np.uint8)
        self.back = np.empty(0, np.uint8)

    def reach(self, out: int, back: int) -> None:
        """Have at least so much memory."""
        if len(self.out) < out:
            self.out = np.empty(out, np.uint8)
        if len(self.back) < back:
            self.back = np.empty(back, np.uint8)

    def course(self, share: Share) -> Course:
        return self.kind(self, share)


class _Course(Course):
    way: _Packed

    def __init__(self, way: _Packed, share: Share) -> None:
        super().__init__(way, share)
        self.way = way
        item = share.dtype.itemsize
        largest = max((size for _, size in (*share.sends, *share.receives)), default=0) * item
        # The same for all, so that each knows how much the others send in a step.
        most, largest = self.ranks.most(max(len(share.sends), len(share.receives), 1), largest)
        self.whole = aligned(largest)
        slot = min(self.whole, max(way.half // way.halves // most, item))
        self.pieces = Pieces(share, slot)
        (self.steps,) = self.ranks.most(self.pieces.count)

    def move(self, brought: Brought) -> None:
        told = self.ranks.agree(OVERLAPS * brought.overlaps, brought.problem)
        if told & OVERLAPS:
            self._at_once(brought)
        else:
            self._carry(brought)

    def _carry(self, brought: Brought) -> None:
        """Carry all, piece by piece; what stays here is not packed."""
        way, rank, pieces = self.way, self.share.rank, self.pieces
        half = pieces.memory(pieces.sends)
        way.reach(half * way.halves, pieces.memory(pieces.receives))
        for step in range(self.steps):
            begin = step % way.halves * half
            leave = _placed(way.out[begin : begin + half], pieces.sent(step))
            arrive = _placed(way.back, pieces.received(step))
            stay = [(piece, brought.read) for peer, piece, _ in arrive if peer == rank]
            leave = [one for one in leave if one[0] != rank]
            arrive = [one for one in arrive if one[0] != rank]
            self._step(brought, leave, arrive, stay)
        self._end()

    def _at_once(self, brought: Brought) -> None:
        """All is packed before anything is written: arrays overlap what they come from."""
        from mpi4py import MPI

        share, comm = self.share, self.ranks.comm
        pieces = Pieces(share, self.whole)
        # Of this exchange only: what may be as much as the arrays is not kept.
        out, back = self._room(*map(pieces.memory, (pieces.sends, pieces.receives)))
        leave = _placed(out, pieces.sent(0))
        arrive = _placed(back, pieces.received(0))
        share.pack([(piece, memory) for _, piece, memory in leave], brought)
        requests = [
            *(comm.Irecv(slice_, peer) for peer, _, memory in arrive for slice_ in _slices(memory)),
            *(comm.Isend(slice_, peer) for peer, _, memory in leave for slice_ in _slices(memory)),
        ]
        MPI.Request.Waitall(requests)
        share.unpack([(piece, memory) for _, piece, memory in arrive], brought)

    def _room(self, *sizes: int) -> list[NDArray[np.uint8]]:
        """Memory of so many bytes each, or an error of all ranks."""
        problem, made = "", []
        try:
            made = [np.empty(size, np.uint8) for size in sizes]
        except MemoryError:
            problem = f"{sum(sizes):,} bytes to exchange in place: no memory"
        self.ranks.agree(0, problem)
        return made

    @abstractmethod
    def _step(self, brought: Brought, leave: _Mail, arrive: _Mail, stay: list[Any]) -> None:
        """Carry one piece of each message."""

    def _end(self) -> None:
        """Wait for what is still on its way."""


_Mail = list[tuple[int, "PieceOf", "NDArray[np.uint8]"]]
"""Peer, piece, and its memory."""


def _placed(buffer: NDArray[np.uint8], mail: list[tuple[int, int, PieceOf]]) -> _Mail:
    """Give each piece its memory, one behind the other."""
    placed: _Mail = []
    begin = 0
    for peer, size, piece in mail:
        placed.append((peer, piece, buffer[begin : begin + size]))
        begin += aligned(size)
    return placed


def _slices(memory: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    for begin in range(0, len(memory), SLICE_BYTES):
        yield memory[begin : begin + SLICE_BYTES]


class _Together(_Course):
    """Pack all, one ``Alltoallv``, unpack all."""

    def _step(self, brought: Brought, leave: _Mail, arrive: _Mail, stay: list[Any]) -> None:
        from mpi4py import MPI

        share, way, comm = self.share, self.way, self.ranks.comm
        share.pack([(piece, memory) for _, piece, memory in leave], brought)
        comm.Alltoallv(
            [way.out, *_places(comm.size, way.out, leave), MPI.BYTE],
            [way.back, *_places(comm.size, way.back, arrive), MPI.BYTE],
        )
        share.unpack([*stay, *((piece, memory) for _, piece, memory in arrive)], brought)


def _places(ranks: int, buffer: Any, mail: _Mail) -> tuple[Any, Any]:
    """By rank bytes, and where in a buffer they begin."""
    sizes, starts = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64)
    base = buffer.ctypes.data
    for peer, _, memory in mail:
        sizes[peer], starts[peer] = len(memory), memory.ctypes.data - base
    return sizes, starts


class _Pairs(_Course):
    """Pack for one rank after another, and unpack what has arrived meanwhile."""

    def __init__(self, way: _Packed, share: Share) -> None:
        super().__init__(way, share)
        self.leaving: list[list[Any]] = [[] for _ in range(way.halves)]

    def _step(self, brought: Brought, leave: _Mail, arrive: _Mail, stay: list[Any]) -> None:
        from mpi4py import MPI

        share, comm = self.share, self.ranks.comm
        arriving = [comm.Irecv(memory, peer) for peer, _, memory in arrive]
        # What has left memory that is written again now has arrived.
        MPI.Request.Waitall(self.leaving.pop(0))
        left = []
        # Each begins with its neighbour, so that not all send to one.
        for peer, piece, memory in sorted(leave, key=lambda one: (one[0] - comm.rank) % comm.size):
            share.pack([(piece, memory)], brought)
            left.append(comm.Isend(memory, peer))
        self.leaving.append(left)
        share.unpack(stay, brought)
        for _ in arrive:
            _, piece, memory = arrive[MPI.Request.Waitany(arriving)]
            share.unpack([(piece, memory)], brought)

    def _end(self) -> None:
        from mpi4py import MPI

        for left in self.leaving:
            MPI.Request.Waitall(left)
            left.clear()


class Collective(_Packed):
    """One collective for each piece of all messages."""

    form: ClassVar[Form] = "alltoall"
    kind = _Together


class Pairwise(_Packed):
    """Messages from pair to pair, the next packed while one is on its way."""

    form: ClassVar[Form] = "pairwise"
    kind = _Pairs
    halves = 2

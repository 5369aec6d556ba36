"""Exchanges through memory that the ranks of a node share; receivers read packed data in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.mpi.forms.transport import OVERLAPS, PACKED, SHARED, Transfer, Transport
from isthmus.arrays.mpi.share import Pieces, aligned
from isthmus.arrays.mpi.shared import Shared
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Operands, PieceOf, Share

    Bytes = NDArray[np.uint8]
    Part = NDArray[Any]

BUFFER_BYTES = 8 << 20
"""Size of a message buffer, small enough that packed data are still in the CPU caches when they are
read.
"""


class Window(Transport):
    """Two alternating outboxes for each rank: shared buffers for outgoing messages. A rank packs
    into one only after all ranks have read its previous contents.
    """

    form: ClassVar[Form] = "window"

    def __init__(self, ranks: Ranks) -> None:
        """Allocate the outboxes of this rank in memory that the ranks of a node share."""
        super().__init__(ranks)
        self.half = aligned((ranks.buffer_bytes or BUFFER_BYTES) // 2)
        self.memory = Shared(ranks.node, 2 * self.half)
        self.turn = 0

    def transfer(self, share: Share) -> Transfer:
        """Return a transfer of the messages in `share`: those that this rank sends and receives."""
        return _WindowTransfer(self, share)

    def grow(self, half: int) -> None:
        """Enlarge the two outboxes of each rank to at least `half` bytes each; `half` must be the
        same on all ranks.
        """
        if half > self.half:
            self.half = aligned(half)
            self.memory = Shared(self.ranks.node, 2 * self.half)


class _WindowTransfer(Transfer):
    """A transfer of messages through buffers in shared memory (outboxes), or directly from source
    arrays that are in shared memory.
    """

    transport: Window

    def __init__(self, transport: Window, share: Share) -> None:
        """Cut the messages into pieces that fit into the outboxes (send buffers in shared memory),
        and enlarge these if necessary. All ranks must call this together.
        """
        super().__init__(transport, share)
        self.transport = transport
        self.node = transport.ranks.node
        item, rank = share.dtype.itemsize, share.rank
        largest = max((aligned(size * item) for _, size in share.sends), default=0)
        number, largest = self.ranks.most(max(len(share.sends), 1), largest)
        # Find the position of this rank's message in the outbox of each sender, where messages are
        # ordered by receiver.
        self.place: dict[int, int] = {}
        for peer, _ in share.receives:
            to = [message.to_rank for message in share.plan.sends(peer)]
            self.place[peer] = to.index(rank)
        transport.grow(number * aligned(item))
        self.slot = min(largest, transport.half // number // 64 * 64)
        self.pieces = Pieces(share, self.slot)
        (self.steps,) = self.ranks.most(self.pieces.count)
        self.shared: Shared | None = None
        self.views: dict[tuple[str, int, int], list[Any]] = {}
        self.views_for: tuple[Operands, Shared] | None = None

    def allocate(self) -> list[Part]:
        """Allocate source arrays of this rank in shared memory."""
        if self.shared is not None:
            raise IsthmusError("an exchange allocates once; close it and make another")
        share = self.share
        parts = self._parts_of(share.rank) if share.is_sender else []
        size = sum(aligned(part[2]) for part in parts)
        self.shared = Shared(self.node, size)
        return self._arrays(share.rank) if share.is_sender else []

    def _parts_of(self, rank: int) -> list[tuple[int, tuple[int, ...], int]]:
        """Return the offset in shared memory, the shape and the size in bytes of each rectangular
        part of the source array that a rank has.
        """
        laid, begin = [], 0
        for shape in self.share.plan.from_.extents(rank):
            size = int(np.prod(shape, dtype=np.int64)) * self.share.dtype.itemsize
            laid.append((begin, shape, size))
            begin += aligned(size)
        return laid

    def _arrays(self, rank: int) -> list[Part]:
        """Return views of the arrays of a rank in shared memory, one for each rectangular part."""
        assert self.shared is not None
        own, share = self.shared.of[rank], self.share
        return [
            own[begin : begin + size].view(share.dtype).reshape(shape, order=share.order)
            for begin, shape, size in self._parts_of(rank)
        ]

    def move(self, operands: Operands) -> None:
        """Move the data of all messages. Receivers copy it from the senders' arrays if these are in
        shared memory, otherwise from buffers (outboxes) to which the senders copy it.
        """
        transport, steps = self.transport, self.steps
        flags = OVERLAPS * operands.overlaps | (SHARED if operands.shared else PACKED)
        if not (operands.problem or operands.shared):
            self._pack(0, operands)
        agreed = self.ranks.agree(
            flags if self.share.is_sender else OVERLAPS & flags, operands.problem
        )
        if agreed & SHARED and not agreed & (PACKED | OVERLAPS):
            return self._read_shared(operands)
        if agreed & OVERLAPS and steps > 1:
            return self._move_in_place(operands)
        if agreed & SHARED:
            if operands.shared:
                self._pack(0, operands)
            self.ranks.board.meet()
        for step in range(steps):
            self._unpack(step, operands)
            transport.turn = 1 - transport.turn
            if step + 1 < steps:
                self._pack(step + 1, operands)
                self.ranks.board.meet()
        return None

    def _slot(self, rank: int, place: int, size: int) -> Bytes:
        """Return the `size` bytes for the message at position `place` in the current outbox (send
        buffer in shared memory) of a rank.
        """
        begin = self.transport.turn * self.transport.half + self.slot * place
        return self.transport.memory.of[rank][begin : begin + size]

    def _pack(self, step: int, operands: Operands) -> None:
        """Copy the message pieces that this rank sends in a step to its outbox in shared memory."""
        key = ("pack", step, self.transport.turn)
        if key not in self._cached_views(operands):
            rank = self.share.rank
            self.views[key] = [
                (piece, self._slot(rank, piece[0], size))
                for peer, size, piece in self.pieces.sent(step)
                if peer != rank or operands.overlaps
            ]
        self.share.pack(self.views[key], operands)

    def _unpack(self, step: int, operands: Operands) -> None:
        """Copy the message pieces for this rank in a step from the senders' outboxes (send buffers
        in shared memory) to its target arrays.
        """
        key = ("unpack", step, self.transport.turn)
        if key not in self._cached_views(operands):
            rank = self.share.rank
            self.views[key] = [
                (piece, operands.read)
                if peer == rank and not operands.overlaps
                else (piece, self._slot(peer, self.place[peer], size))
                for peer, size, piece in self.pieces.received(step)
            ]
        self.share.unpack(self.views[key], operands)

    def _cached_views(self, operands: Operands) -> dict[tuple[str, int, int], list[Any]]:
        """Return the cache of views of the shared memory where messages lie. The cache is emptied
        if the arrays or the shared memory are not those of the last call.
        """
        now = (operands, self.transport.memory)
        if self.views_for is None or any(
            a is not b for a, b in zip(now, self.views_for, strict=True)
        ):
            self.views_for, self.views = now, {}
        return self.views

    def _read_shared(self, operands: Operands) -> None:
        """Copy the messages for this rank directly from the senders' arrays in shared memory."""
        self.share.unpack(
            [
                (
                    (number, 0, size),
                    [memory.given(part) for part in self._arrays(peer)]
                    if peer != self.share.rank
                    else operands.read,
                )
                for number, (peer, size) in enumerate(self.share.receives)
            ],
            operands,
        )
        # No rank may overwrite its arrays before all ranks have read them.
        self.ranks.board.meet()

    def _move_in_place(self, operands: Operands) -> None:
        """Exchange messages whose target arrays overlap the source arrays: copy all outgoing data
        to buffers before any data are written.
        """
        share, plan = self.share, self.share.plan
        item, rank = share.dtype.itemsize, share.rank
        size = sum(aligned(size * item) for _, size in share.sends)
        outboxes = Shared(self.node, size)
        begin = 0
        sends: list[tuple[PieceOf, Bytes]] = []
        for number, (_, size) in enumerate(share.sends):
            sends.append(((number, 0, size), outboxes.of[rank][begin : begin + size * item]))
            begin += aligned(size * item)
        share.pack(sends, operands)
        self.ranks.board.meet()
        recvs: list[tuple[PieceOf, Bytes]] = []
        for number, (peer, size) in enumerate(share.receives):
            before = plan.sends(peer)[: self.place[peer]]
            begin = sum(aligned(message.elements * item) for message in before)
            recvs.append(((number, 0, size), outboxes.of[peer][begin : begin + size * item]))
        share.unpack(recvs, operands)

    def forget(self) -> None:
        """Discard the cached views of messages in the arrays of the last exchange."""
        self.views, self.views_for = {}, None

    def close(self) -> None:
        """Release the shared memory that holds the source arrays."""
        self.forget()
        self.shared = None

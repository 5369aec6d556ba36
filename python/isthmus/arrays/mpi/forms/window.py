"""Packed where the receiver reads it: memory that the ranks of a node share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isthmus.arrays import memory
from isthmus.arrays.mpi.forms.way import OVERLAPS, PACKED, SHARED, Course, Way
from isthmus.arrays.mpi.share import Pieces, aligned
from isthmus.arrays.mpi.shared import Shared
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Brought, PieceOf, Share

    Bytes = NDArray[np.uint8]
    Part = NDArray[Any]

BUFFER_BYTES = 8 << 20
"""What all ranks pack at a time stays in the caches until it is read."""


class Window(Way):
    """Two outboxes for each rank, in turns: who packs into one has heard from all since they read
    what was there.
    """

    form: ClassVar[Form] = "window"

    def __init__(self, ranks: Ranks) -> None:
        super().__init__(ranks)
        self.half = aligned((ranks.buffer_bytes or BUFFER_BYTES) // 2)
        self.memory = Shared(ranks.node, 2 * self.half)
        self.turn = 0

    def course(self, share: Share) -> Course:
        """Get ready to carry a share."""
        return _Through(self, share)

    def reach(self, half: int) -> None:
        """Have outboxes of at least so many bytes; all ranks ask for the same."""
        if half > self.half:
            self.half = aligned(half)
            self.memory = Shared(self.ranks.node, 2 * self.half)


class _Through(Course):
    way: Window

    def __init__(self, way: Window, share: Share) -> None:
        super().__init__(way, share)
        self.way = way
        self.node = way.ranks.node
        item, rank = share.dtype.itemsize, share.rank
        largest = max((aligned(size * item) for _, size in share.sends), default=0)
        number, largest = self.ranks.most(max(len(share.sends), 1), largest)
        # A sender's messages lie in the order of its receivers.
        self.place: dict[int, int] = {}
        for peer, _ in share.receives:
            to = [message.to_rank for message in share.plan.sends(peer)]
            self.place[peer] = to.index(rank)
        way.reach(number * aligned(item))
        self.slot = min(largest, way.half // number // 64 * 64)
        self.pieces = Pieces(share, self.slot)
        (self.steps,) = self.ranks.most(self.pieces.count)
        self.shared: Shared | None = None
        self.known: dict[tuple[str, int, int], list[Any]] = {}
        self.known_for: tuple[Brought, Shared] | None = None

    def allocate(self) -> list[Part]:
        if self.shared is not None:
            raise IsthmusError("an exchange allocates once; close it and make another")
        share = self.share
        parts = self._laid(share.rank) if share.gives else []
        size = sum(aligned(part[2]) for part in parts)
        self.shared = Shared(self.node, size)
        return self._arrays(share.rank) if share.gives else []

    def _laid(self, rank: int) -> list[tuple[int, tuple[int, ...], int]]:
        """By part of a rank where it begins, its shape and its bytes."""
        laid, begin = [], 0
        for shape in self.share.plan.from_.extents(rank):
            size = int(np.prod(shape, dtype=np.int64)) * self.share.dtype.itemsize
            laid.append((begin, shape, size))
            begin += aligned(size)
        return laid

    def _arrays(self, rank: int) -> list[Part]:
        """What a rank holds in shared memory."""
        assert self.shared is not None
        own, share = self.shared.of[rank], self.share
        return [
            own[begin : begin + size].view(share.dtype).reshape(shape, order=share.order)
            for begin, shape, size in self._laid(rank)
        ]

    def move(self, brought: Brought) -> None:
        way, steps = self.way, self.steps
        flags = OVERLAPS * brought.overlaps | (SHARED if brought.shared else PACKED)
        if not (brought.problem or brought.shared):
            self._pack(0, brought)
        told = self.ranks.agree(flags if self.share.gives else OVERLAPS & flags, brought.problem)
        if told & SHARED and not told & (PACKED | OVERLAPS):
            return self._read(brought)
        if told & OVERLAPS and steps > 1:
            return self._at_once(brought)
        if told & SHARED:
            if brought.shared:
                self._pack(0, brought)
            self.ranks.board.meet()
        for step in range(steps):
            self._unpack(step, brought)
            way.turn = 1 - way.turn
            if step + 1 < steps:
                self._pack(step + 1, brought)
                self.ranks.board.meet()
        return None

    def _slot(self, rank: int, place: int, size: int) -> Bytes:
        begin = self.way.turn * self.way.half + self.slot * place
        return self.way.memory.of[rank][begin : begin + size]

    def _pack(self, step: int, brought: Brought) -> None:
        key = ("pack", step, self.way.turn)
        if key not in self._known(brought):
            rank = self.share.rank
            self.known[key] = [
                (piece, self._slot(rank, piece[0], size))
                for peer, size, piece in self.pieces.sent(step)
                if peer != rank or brought.overlaps
            ]
        self.share.pack(self.known[key], brought)

    def _unpack(self, step: int, brought: Brought) -> None:
        key = ("unpack", step, self.way.turn)
        if key not in self._known(brought):
            rank = self.share.rank
            self.known[key] = [
                (piece, brought.read)
                if peer == rank and not brought.overlaps
                else (piece, self._slot(peer, self.place[peer], size))
                for peer, size, piece in self.pieces.received(step)
            ]
        self.share.unpack(self.known[key], brought)

    def _known(self, brought: Brought) -> dict[tuple[str, int, int], list[Any]]:
        """What is packed where in steps of these arrays through this memory, as far as known."""
        now = (brought, self.way.memory)
        if self.known_for is None or any(
            a is not b for a, b in zip(now, self.known_for, strict=True)
        ):
            self.known_for, self.known = now, {}
        return self.known

    def _read(self, brought: Brought) -> None:
        """Read what others hold where it lies."""
        self.share.unpack(
            [
                (
                    (number, 0, size),
                    [memory.given(part) for part in self._arrays(peer)]
                    if peer != self.share.rank
                    else brought.read,
                )
                for number, (peer, size) in enumerate(self.share.receives)
            ],
            brought,
        )
        # Nobody writes there again before all have read.
        self.ranks.board.meet()

    def _at_once(self, brought: Brought) -> None:
        """All is packed before anything is written: arrays overlap what they come from."""
        share, plan = self.share, self.share.plan
        item, rank = share.dtype.itemsize, share.rank
        size = sum(aligned(size * item) for _, size in share.sends)
        outboxes = Shared(self.node, size)
        begin = 0
        leave: list[tuple[PieceOf, Bytes]] = []
        for number, (_, size) in enumerate(share.sends):
            leave.append(((number, 0, size), outboxes.of[rank][begin : begin + size * item]))
            begin += aligned(size * item)
        share.pack(leave, brought)
        self.ranks.board.meet()
        arrive: list[tuple[PieceOf, Bytes]] = []
        for number, (peer, size) in enumerate(share.receives):
            before = plan.sends(peer)[: self.place[peer]]
            begin = sum(aligned(message.elements * item) for message in before)
            arrive.append(((number, 0, size), outboxes.of[peer][begin : begin + size * item]))
        share.unpack(arrive, brought)

    def forget(self) -> None:
        self.known, self.known_for = {}, None

    def close(self) -> None:
        self.forget()
        self.shared = None

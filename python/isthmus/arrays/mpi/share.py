"""What a rank has to do with a plan, and the arrays that it brings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arguments import refuse
from isthmus.arrays import memory
from isthmus.arrays.agreed import words_of
from isthmus.arrays.elements import refuse_order
from isthmus.arrays.layouts import _told
from isthmus.arrays.plans import Plan
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Part = NDArray[Any]
    PieceOf = tuple[int, int, int]
    """Which message, and its elements from one to before another."""


@dataclass
class Brought:
    """What a rank brings to an exchange."""

    problem: str = ""
    """Why it cannot go on."""
    parts: list[Part] = field(default_factory=list)
    """What it will hold."""
    read: list[memory.Given] = field(default_factory=list)
    write: list[memory.Given] = field(default_factory=list)
    overlaps: bool = False
    """Whether what it will hold lies where what it holds is."""
    shared: bool = False
    """Whether others can read what it holds where it lies."""


class Share:
    """What one rank sends and receives, worked out once."""

    def __init__(
        self, plan: Plan, rank: int, dtype: np.dtype[Any], order: Literal["C", "F"] | None
    ) -> None:
        from isthmus import _core

        if not isinstance(plan, Plan):
            raise refuse("plan", plan, "a Plan: from one layout to another")
        refuse_order("order", order)
        self.plan = plan
        self.rank = rank
        self.dtype = dtype
        self.order: Literal["C", "F"] = order or plan.to.order or "C"
        self.core = _told(_core.Share, plan._core, rank, dtype.itemsize, self.order == "F")
        self.gives = rank in plan.from_.ranks
        self.takes = rank in plan.to.ranks
        self.sends: list[tuple[int, int]] = self.core.sends()
        """By message the rank that it goes to, and its elements."""
        self.receives: list[tuple[int, int]] = self.core.receives()
        """By message the rank that it comes from, and its elements."""
        self._known: memory.Known | None = None
        self._brought = Brought()

    def bring(self, held: Any, out: Any) -> Brought:
        """Look at the arrays of this rank; what does not fit is told, not raised."""
        try:
            return self._bring(held, out)
        except Exception as error:
            return Brought(words_of(error))

    def keeps(self, brought: Brought) -> bool:
        """Whether these arrays are known again when they come the next time."""
        return self._known is not None and brought is self._brought

    def _bring(self, held: Any, out: Any) -> Brought:
        # The same arrays as the last time are not looked at again: steps move the same ones.
        if out is not None and self._known is not None and self._known.are(held, out):
            return self._brought
        given = [] if held is None else memory.parts_of(held, "held")
        parts = [] if out is None else memory.parts_of(out, "out")
        self._known = None
        if self.gives:
            memory.check(self.plan.from_, self.rank, given, "held")
        elif given:
            raise IsthmusError("held: the layout that data come from does not have this rank")
        if out is None and self.takes:
            # What no rank holds would be whatever was in memory before.
            self.plan.from_.refuse_missing("out: left out, but of the layout that data come from")
            parts = self.plan.to.empty(self.rank, self.dtype, order=self.order)
        elif self.takes:
            memory.check(self.plan.to, self.rank, parts, "out")
        elif parts:
            raise IsthmusError("out: the layout that data go to does not have this rank")
        memory.distinct(parts, "out")
        for part in (*given, *parts):
            if part.dtype != self.dtype:
                raise IsthmusError(
                    f"elements of type {part.dtype}; the exchange is of {self.dtype}"
                )
        brought = Brought(
            parts=parts,
            read=[memory.to_read(part) for part in given],
            write=[memory.to_write(part, "out") for part in parts],
            overlaps=any(np.may_share_memory(here, there) for here in given for there in parts),
        )
        forwards = all(stride >= 0 for part in given for stride in part.strides)
        if out is not None and forwards and memory.Known.can_be(held, out):
            self._known, self._brought = memory.Known(held, out), brought
        return brought

    def pack(self, pieces: Sequence[tuple[PieceOf, NDArray[np.uint8]]], brought: Brought) -> None:
        """Write pieces of what this rank sends to where they are told."""
        if pieces:
            _told(self.core.pack, brought.read, pieces)

    def unpack(self, sources: Sequence[tuple[PieceOf, Any]], brought: Brought) -> None:
        """Read pieces of what this rank receives, each from bytes or from arrays of the sender."""
        if sources:
            _told(self.core.unpack, sources, brought.write)


class Pieces:
    """The messages of a rank in pieces that fit into slots of memory."""

    def __init__(self, share: Share, slot_bytes: int) -> None:
        most = slot_bytes // share.dtype.itemsize
        self.item = share.dtype.itemsize
        self.sends = [
            (peer, number, share.core.piece(True, number, most), size)
            for number, (peer, size) in enumerate(share.sends)
        ]
        self.receives = [
            (peer, number, share.core.piece(False, number, most), size)
            for number, (peer, size) in enumerate(share.receives)
        ]
        self.count = max(
            (-(-size // piece) for _, _, piece, size in (*self.sends, *self.receives)), default=0
        )

    def sent(self, step: int) -> list[tuple[int, int, PieceOf]]:
        """Receiver, bytes and piece of each message that has one in this step."""
        return self._of(self.sends, step)

    def received(self, step: int) -> list[tuple[int, int, PieceOf]]:
        """Sender, bytes and piece of each message that has one in this step."""
        return self._of(self.receives, step)

    def memory(self, messages: list[tuple[int, int, int, int]]) -> int:
        """Bytes for a piece of each of these messages."""
        return sum(aligned(min(piece, size) * self.item) for _, _, piece, size in messages)

    def _of(
        self, messages: list[tuple[int, int, int, int]], step: int
    ) -> list[tuple[int, int, PieceOf]]:
        found = []
        for peer, number, piece, size in messages:
            low = step * piece
            if low < size:
                high = min(low + piece, size)
                found.append((peer, (high - low) * self.item, (number, low, high)))
        return found


def aligned(size: int) -> int:
    """So many bytes, and those up to the end of a line of the cache."""
    return -(-size // 64) * 64

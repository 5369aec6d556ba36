"""The share of a rank in a plan, and the arrays that it passes to an exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arguments import refuse
from isthmus.arrays import memory
from isthmus.arrays.agreed import error_text
from isthmus.arrays.elements import refuse_order
from isthmus.arrays.layouts import _call
from isthmus.arrays.plans import Plan
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Part = NDArray[Any]
    PieceOf = tuple[int, int, int]
    """Number of the message, first element of the piece, and first element after the piece."""


@dataclass
class Operands:
    """The checked arrays of a rank for one exchange."""

    problem: str = ""
    """Reason why the exchange must fail, or an empty text."""
    parts: list[Part] = field(default_factory=list)
    """Target arrays of the exchange."""
    read: list[memory.Given] = field(default_factory=list)
    write: list[memory.Given] = field(default_factory=list)
    overlaps: bool = False
    """Whether target arrays overlap source arrays."""
    shared: bool = False
    """Whether other ranks can read the source arrays in shared memory."""


class Share:
    """The share of one rank in a plan: the messages that it sends and receives."""

    def __init__(
        self, plan: Plan, rank: int, dtype: np.dtype[Any], order: Literal["C", "F"] | None
    ) -> None:
        """List the messages of a rank in a plan; refuse an invalid plan, type or order."""
        from isthmus import _core

        if not isinstance(plan, Plan):
            raise refuse("plan", plan, "a Plan: from one layout to another")
        refuse_order("order", order)
        self.plan = plan
        self.rank = rank
        self.dtype = dtype
        self.order: Literal["C", "F"] = order or plan.to.order or "C"
        self.core = _call(_core.Share, plan._core, rank, dtype.itemsize, self.order == "F")
        self.is_sender = rank in plan.from_.ranks
        self.is_receiver = rank in plan.to.ranks
        self.sends: list[tuple[int, int]] = self.core.sends()
        """Number of the receiving rank and number of elements, for each message that this rank
        sends.
        """
        self.receives: list[tuple[int, int]] = self.core.receives()
        """Number of the sending rank and number of elements, for each message that this rank
        receives.
        """
        self._checked: memory.CheckedArrays | None = None
        self._operands = Operands()

    def prepare(self, held: Any, out: Any) -> Operands:
        """Check the arrays of this rank. If they are invalid, do not raise: the result contains the
        error text.
        """
        try:
            return self._prepare(held, out)
        except Exception as error:
            return Operands(error_text(error))

    def is_cached(self, operands: Operands) -> bool:
        """Return whether the check of these arrays is reused in the next exchange."""
        return self._checked is not None and operands is self._operands

    def _prepare(self, held: Any, out: Any) -> Operands:
        """Check the arrays of this rank; raise an error if they do not fit."""
        # Repeated exchanges usually move the same arrays; their check is reused.
        if out is not None and self._checked is not None and self._checked.match(held, out):
            return self._operands
        given = [] if held is None else memory.parts_of(held, "held")
        parts = [] if out is None else memory.parts_of(out, "out")
        self._checked = None
        if self.is_sender:
            memory.check(self.plan.from_, self.rank, given, "held")
        elif given:
            raise IsthmusError("held: the layout that data come from does not have this rank")
        if out is None and self.is_receiver:
            # Without `out` the target arrays are new. Refuse a source layout that lacks elements:
            # these would stay uninitialised.
            self.plan.from_.refuse_missing("out: left out, but of the layout that data come from")
            parts = self.plan.to.empty(self.rank, self.dtype, order=self.order)
        elif self.is_receiver:
            memory.check(self.plan.to, self.rank, parts, "out")
        elif parts:
            raise IsthmusError("out: the layout that data go to does not have this rank")
        memory.distinct(parts, "out")
        for part in (*given, *parts):
            if part.dtype != self.dtype:
                raise IsthmusError(
                    f"elements of type {part.dtype}; the exchange is of {self.dtype}"
                )
        operands = Operands(
            parts=parts,
            read=[memory.to_read(part) for part in given],
            write=[memory.to_write(part, "out") for part in parts],
            overlaps=any(np.may_share_memory(here, there) for here in given for there in parts),
        )
        forwards = all(stride >= 0 for part in given for stride in part.strides)
        if out is not None and forwards and memory.CheckedArrays.can_check(held, out):
            self._checked, self._operands = memory.CheckedArrays(held, out), operands
        return operands

    def pack(self, pieces: Sequence[tuple[PieceOf, NDArray[np.uint8]]], operands: Operands) -> None:
        """Copy pieces of outgoing messages to the given memory."""
        if pieces:
            _call(self.core.pack, operands.read, pieces)

    def unpack(self, sources: Sequence[tuple[PieceOf, Any]], operands: Operands) -> None:
        """Copy pieces of incoming messages from packed bytes or from arrays of the sender."""
        if sources:
            _call(self.core.unpack, sources, operands.write)


class Pieces:
    """The messages of a rank, cut into pieces that fit into buffer slots."""

    def __init__(self, share: Share, slot_bytes: int) -> None:
        """Cut each message into pieces of at most `slot_bytes`."""
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
        """Return the receiver, number of bytes and piece of each message sent in this step."""
        return self._of(self.sends, step)

    def received(self, step: int) -> list[tuple[int, int, PieceOf]]:
        """Return the sender, number of bytes and piece of each message received in this step."""
        return self._of(self.receives, step)

    def memory(self, messages: list[tuple[int, int, int, int]]) -> int:
        """Return the size of a buffer for one piece of each message, in bytes."""
        return sum(aligned(min(piece, size) * self.item) for _, _, piece, size in messages)

    def _of(
        self, messages: list[tuple[int, int, int, int]], step: int
    ) -> list[tuple[int, int, PieceOf]]:
        """Return the other rank, the number of bytes and the piece, for each message with data in
        this step.
        """
        found = []
        for peer, number, piece, size in messages:
            low = step * piece
            if low < size:
                high = min(low + piece, size)
                found.append((peer, (high - low) * self.item, (number, low, high)))
        return found


def aligned(size: int) -> int:
    """Round a size up to whole cache lines."""
    return -(-size // 64) * 64

"""Plans: the messages that redistribute an array from one layout to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isthmus.arguments import choice, refuse
from isthmus.arrays import elements, memory
from isthmus.arrays.layouts import Layout, _call
from isthmus.core import processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.costs import Orders, Rates

    Part = NDArray[Any]

THREADS_MAX = 4096
"""Maximum number of threads that move data."""
LISTED_MAX = 16
"""If a plan has at most this number of ranks, its text lists their messages one by one."""


@dataclass(frozen=True)
class Message:
    """A message of a plan: elements that one rank sends to another, or keeps if both are the
    same.
    """

    from_rank: int
    to_rank: int
    elements: int


class Plan:
    """The redistribution of an array from one layout to another.

    A plan stores no lists: each rank computes its own messages. The time depends on the number of
    ranks and not on the number of elements.
    """

    def __init__(self, from_: Layout, to: Layout) -> None:
        """Compute the plan of the messages that turn one layout into the other.

        Raises:
            IsthmusError: the layouts have different shapes.

        """
        from isthmus import _core

        for what, layout in (("from_", from_), ("to", to)):
            if not isinstance(layout, Layout):
                raise refuse(what, layout, "a Layout: who holds what")
        self.from_ = from_
        self.to = to
        self._core = _call(_core.Plan, from_._core, to._core)

    def sends(self, rank: int) -> list[Message]:
        """Return the messages that a rank sends, by receiver, including the one to itself."""
        return [Message(rank, to, elements) for to, elements in _call(self._core.sends, rank)]

    def receives(self, rank: int) -> list[Message]:
        """Return the messages that a rank receives, by sender, including the one from itself."""
        found = _call(self._core.receives, rank)
        return [Message(sender, rank, elements) for sender, elements in found]

    def messages(self) -> list[Message]:
        """Return the messages between all pairs of ranks, including those to themselves."""
        return [message for rank in self.from_.ranks for message in self.sends(rank)]

    def runs(
        self,
        from_rank: int,
        to_rank: int,
        *,
        element: int = 8,
        orders: tuple[str, str] = ("C", "C"),
    ) -> dict[int, int]:
        """Return the number of contiguous runs of elements in a message, by the length of a run in
        bytes.

        A run is contiguous in the memory of both ranks.

        Args:
            from_rank: the sender.
            to_rank: the receiver.
            element: size of an element in bytes.
            orders: memory orders of the sender's and of the receiver's arrays.

        """
        if not isinstance(orders, (list, tuple)) or len(orders) != 2:
            raise refuse("orders", orders, 'two orders, such as ("C", "F")')
        for order in orders:
            choice("orders", order, ("C", "F"))
        columns = (orders[0] == "F", orders[1] == "F")
        return dict(_call(self._core.runs, (from_rank, to_rank), element, columns))

    def redistribute(
        self,
        arrays: Sequence[Any],
        out: Sequence[Any] | None = None,
        *,
        order: Literal["C", "F"] | None = None,
        threads: int | None = None,
    ) -> list[list[Part]]:
        """Move the arrays of all ranks within this process, with threads.

        Args:
            arrays: an array, or a list of arrays if it has several parts, for each rank of the
                source layout in order. Elements may have any type except Python objects; arrays
                may have any strides but no mask. Subclasses of `ndarray` are viewed as `ndarray`.
            out: the same for the target layout; allocated by default. It may overlap `arrays`,
                which are overwritten then; overlapping arrays are copied first.
            order: memory order of new arrays; the default is that of the target layout
                (`Layout.order`), else that of `arrays`.
            threads: number of threads; the default is one for each processor.

        Returns:
            The parts of each rank of the target layout, in order.

        Raises:
            IsthmusError: arrays do not fit their layouts, or have a mask; no data were moved.

        """
        if threads is not None and (
            not isinstance(threads, int) or not 1 <= threads <= THREADS_MAX
        ):
            raise IsthmusError(f"threads: {threads!r}; it is a number from 1 to {THREADS_MAX}")
        elements.refuse_order("order", order)
        for what, of_ranks in (("arrays", arrays), ("out", [] if out is None else out)):
            if not isinstance(of_ranks, Sequence):
                raise IsthmusError(
                    f"{what}: {type(of_ranks).__name__}; it is a list, one item a rank"
                )
        given = _checked_parts(self.from_, arrays, "arrays")
        flat = [part for parts in given for part in parts]
        kind = memory.one_type(flat, "arrays")
        if kind is None:
            raise IsthmusError("arrays: no rank holds any")
        if out is None:
            # Refuse a layout with elements that no rank holds: they would stay uninitialised in new
            # target arrays.
            self.from_.refuse_missing("out: left out, but of the layout that data come from")
            made = order or self.to.order or ("F" if memory.columns(flat) else "C")
            taken = [self.to.empty(rank, kind, order=made) for rank in self.to.ranks]
        else:
            taken = _checked_parts(self.to, out, "out")
            into = [part for parts in taken for part in parts]
            memory.one_type([*flat, *into], "arrays and out")
            memory.distinct(into, "out")
        read = [[memory.to_read(part) for part in parts] for parts in given]
        write = [[memory.to_write(part, "out") for part in parts] for parts in taken]
        if out is not None:
            _copy_overlapping(read, write)
        count = processors() if threads is None else threads
        _call(self._core.redistribute, kind.itemsize, read, write, count)
        return taken

    def plot(self, **keywords: Any) -> Any:
        """Draw the sizes of messages: see `isthmus.arrays.drawing.draw_plan`."""
        from isthmus.arrays.drawing import draw_plan

        return draw_plan(self, **keywords)

    def describe(self, rates: Rates, dtype: Any, *, orders: Orders = ("C", "C")) -> str:
        """Return a text of the plan's messages and of its predicted time on a machine.

        Args:
            rates: measured rates of the machine.
            dtype: type of the elements.
            orders: memory orders of source and target arrays.

        """
        seconds = rates.all(self, dtype, orders=orders)
        listed = ", ".join(f"{form} {took * 1e3:.3g} ms" for form, took in seconds.items())
        return f"{self}\npredicted: {listed}"

    def __str__(self) -> str:
        """Return a text that describes the messages of the plan."""
        shape = " x ".join(map(str, self.from_.shape))
        senders, receivers = self.from_.ranks, self.to.ranks
        head = f"{shape} elements from {len(senders)} to {len(receivers)} ranks"
        if len(senders) > LISTED_MAX or len(receivers) > LISTED_MAX:
            first = self.sends(senders[0])
            return (
                f"{head}\n"
                f"rank {senders[0]} sends {len(first)} messages of "
                f"{min(m.elements for m in first):,} to {max(m.elements for m in first):,} elements"
                if first
                else head
            )
        messages = self.messages()
        moved = [m for m in messages if m.from_rank != m.to_rank]
        sent = sum(m.elements for m in moved)
        kept = sum(m.elements for m in messages) - sent
        lengths: Counter[int] = Counter()
        for message in messages:
            lengths.update(self.runs(message.from_rank, message.to_rank, element=1))
        table = {(m.from_rank, m.to_rank): f"{m.elements:,}" for m in messages}
        width = max([6, *(len(cell) + 1 for cell in table.values())])
        rows = [
            f"  {rank:>6} " + "".join(f"{table.get((rank, to), '-'):>{width}}" for to in receivers)
            for rank in senders
        ]
        total = sum(lengths.values())
        listed = ", ".join(
            f"{count:,} of {length:,}" for length, count in sorted(lengths.items())[:4]
        )
        return "\n".join(
            [
                head,
                f"{len(moved)} messages of {sent:,} elements between ranks, {kept:,} elements stay",
                f"{total:,} runs in one piece on both sides (rows in memory), by elements: {listed}"
                f"{', ...' if len(lengths) > 4 else ''}",
                "  from\\to" + "".join(f"{to:>{width}}" for to in receivers),
                *rows,
            ]
        )


def _copy_overlapping(read: list[list[memory.Given]], write: list[list[memory.Given]]) -> None:
    """Replace each source array that overlaps a target array by a copy, because it would be
    overwritten.
    """
    places = [(rank, part) for rank, parts in enumerate(read) for part in range(len(parts))]
    flat = [read[rank][part] for rank, part in places]
    for number in memory.overlapped(flat, [given for parts in write for given in parts]):
        rank, part = places[number]
        span, strides = read[rank][part]
        read[rank][part] = span.copy(), strides


def _checked_parts(layout: Layout, held: Sequence[Any], what: str) -> list[list[Part]]:
    """Return the array parts of each rank, after a check that their shapes fit the layout.
    `what` is the name of the argument in an error.
    """
    ranks = layout.ranks
    if len(held) != len(ranks):
        raise IsthmusError(f"{what}: of {len(held)} ranks; the layout has {len(ranks)}")
    found = []
    for rank, one in zip(ranks, held, strict=True):
        found.append(memory.parts_of(one, f"{what} of rank {rank}"))
        memory.check(layout, rank, found[-1], what)
    return found

"""Plans: who sends what to whom when an array of one layout becomes one of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isthmus.arguments import choice, refuse
from isthmus.arrays.layouts import Layout, _told
from isthmus.core import processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays import memory
    from isthmus.arrays.costs import Orders, Rates

    Part = NDArray[Any]

THREADS_MAX = 4096
"""Most threads that move data."""
LISTED_MAX = 16
"""Most ranks whose messages a plan prints one by one."""


@dataclass(frozen=True)
class Message:
    """What a rank sends to another, or keeps."""

    from_rank: int
    to_rank: int
    elements: int


class Plan:
    """How an array of one layout becomes one of another.

    Plans hold no lists: each rank works out its messages alone, in a time that depends on the
    numbers of ranks and not on the number of elements.
    """

    def __init__(self, from_: Layout, to: Layout) -> None:
        """Plan from one layout to another.

        Raises:
            IsthmusError: they are of arrays of different shapes.

        """
        from isthmus import _core

        for what, layout in (("from_", from_), ("to", to)):
            if not isinstance(layout, Layout):
                raise refuse(what, layout, "a Layout: who holds what")
        self.from_ = from_
        self.to = to
        self._core = _told(_core.Plan, from_._core, to._core)

    def sends(self, rank: int) -> list[Message]:
        """What a rank sends, what it keeps for itself among it, by receiver."""
        return [Message(rank, to, elements) for to, elements in _told(self._core.sends, rank)]

    def receives(self, rank: int) -> list[Message]:
        """What a rank receives, what it keeps among it, by sender."""
        found = _told(self._core.receives, rank)
        return [Message(sender, rank, elements) for sender, elements in found]

    def messages(self) -> list[Message]:
        """What each rank sends to each other, or keeps."""
        return [message for rank in self.from_.ranks for message in self.sends(rank)]

    def runs(
        self,
        from_rank: int,
        to_rank: int,
        *,
        element: int = 8,
        orders: tuple[str, str] = ("C", "C"),
    ) -> dict[int, int]:
        """By length, in bytes, how many pieces of what a rank sends to another lie in one piece in
        the memory of both.

        Args:
            from_rank: who sends.
            to_rank: who receives.
            element: bytes of an element.
            orders: in memory, of the sender's arrays and of the receiver's.

        """
        if not isinstance(orders, (list, tuple)) or len(orders) != 2:
            raise refuse("orders", orders, 'two orders, such as ("C", "F")')
        for order in orders:
            choice("orders", order, ("C", "F"))
        columns = (orders[0] == "F", orders[1] == "F")
        return dict(_told(self._core.runs, (from_rank, to_rank), element, columns))

    def redistribute(
        self,
        arrays: Sequence[Any],
        out: Sequence[Any] | None = None,
        *,
        order: Literal["C", "F"] | None = None,
        threads: int | None = None,
    ) -> list[list[Part]]:
        """Move what all ranks hold, in the memory of this process, by threads.

        Args:
            arrays: in order of the ranks of the layout that data come from what each holds: an
                array, or a list of arrays where it has several parts. Any type of elements but
                Python objects, any strides, no mask. Subclasses of `ndarray` are viewed as it.
            out: the same for the layout that data go to; made if not given. They may lie in the
                memory of `arrays`, which are lost then: those of them that do are copied first.
            order: in memory, of what is made; without it that of the layout that data go to
                (`Layout.order`), else that of the arrays.
            threads: how many; without it one for each processor.

        Returns:
            In order of the ranks of the layout that data go to the parts of each.

        Raises:
            IsthmusError: arrays do not fit their layouts, or have a mask; nothing has been moved.

        """
        from isthmus.arrays import elements, memory

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
        given = _fit(self.from_, arrays, "arrays")
        flat = [part for parts in given for part in parts]
        kind = memory.one_type(flat, "arrays")
        if kind is None:
            raise IsthmusError("arrays: no rank holds any")
        if out is None:
            # What no rank holds would be whatever was in memory before.
            self.from_.refuse_missing("out: left out, but of the layout that data come from")
            made = order or self.to.order or ("F" if memory.columns(flat) else "C")
            taken = [self.to.empty(rank, kind, order=made) for rank in self.to.ranks]
        else:
            taken = _fit(self.to, out, "out")
            into = [part for parts in taken for part in parts]
            memory.one_type([*flat, *into], "arrays and out")
            memory.distinct(into, "out")
        read = [[memory.to_read(part) for part in parts] for parts in given]
        write = [[memory.to_write(part, "out") for part in parts] for parts in taken]
        if out is not None:
            _set_apart(read, write)
        count = processors() if threads is None else threads
        _told(self._core.redistribute, kind.itemsize, read, write, count)
        return taken

    def plot(self, **keywords: Any) -> Any:
        """Draw who sends how much to whom: see `isthmus.arrays.drawing.draw_plan`."""
        from isthmus.arrays.drawing import draw_plan

        return draw_plan(self, **keywords)

    def describe(self, rates: Rates, dtype: Any, *, orders: Orders = ("C", "C")) -> str:
        """Tell what goes from whom to whom, for people, and how long it takes on a machine.

        Args:
            rates: of the machine.
            dtype: of the elements.
            orders: in memory, of arrays before and after.

        """
        seconds = rates.all(self, dtype, orders=orders)
        listed = ", ".join(f"{form} {took * 1e3:.3g} ms" for form, took in seconds.items())
        return f"{self}\npredicted: {listed}"

    def __str__(self) -> str:
        """What goes from whom to whom, for people."""
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


def _set_apart(read: list[list[memory.Given]], write: list[list[memory.Given]]) -> None:
    """Copy what is read where it would be written over."""
    from isthmus.arrays import memory

    places = [(rank, part) for rank, parts in enumerate(read) for part in range(len(parts))]
    flat = [read[rank][part] for rank, part in places]
    for number in memory.overlapped(flat, [given for parts in write for given in parts]):
        rank, part = places[number]
        span, strides = read[rank][part]
        read[rank][part] = span.copy(), strides


def _fit(layout: Layout, held: Sequence[Any], what: str) -> list[list[Part]]:
    """The parts of each rank, which have the shapes that the layout gives it."""
    from isthmus.arrays import memory

    ranks = layout.ranks
    if len(held) != len(ranks):
        raise IsthmusError(f"{what}: of {len(held)} ranks; the layout has {len(ranks)}")
    found = []
    for rank, one in zip(ranks, held, strict=True):
        found.append(memory.parts_of(one, f"{what} of rank {rank}"))
        memory.check(layout, rank, found[-1], what)
    return found

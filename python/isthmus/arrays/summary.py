"""What a plan comes to in bytes: messages, pairs, lengths of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.arrays.descriptions import Description
from isthmus.wording import counted, quantity

if TYPE_CHECKING:
    from isthmus.arrays.plans import Message

COUNTED_MAX = 1 << 20
"""Most pairs of ranks whose messages are counted."""
PAIRS_MAX = 4096
"""Most messages whose runs are counted, and that a table in JSON lists."""


@dataclass(frozen=True)
class Summary:
    """A plan in bytes."""

    messages: list[Message] | None
    """All of them, what stays included; `None` where there are too many to list."""
    count: int
    """Messages between ranks."""
    sent: int
    """Bytes between ranks."""
    kept: int
    """Bytes that stay where they are."""
    smallest: int
    """Bytes of the smallest message between ranks; 0 if there is none."""
    largest: int
    runs: dict[int, int] | None
    """By bytes, how many pieces lie in one piece in the memory of sender and receiver."""


def summary(told: Description) -> Summary | None:
    """Count what a plan moves; nothing where that would take long."""
    plan, element = told.plan, told.dtype.itemsize
    if len(plan.from_.ranks) * len(plan.to.ranks) > COUNTED_MAX:
        return None
    kept = sent = count = largest = 0
    smallest = 2**63
    messages: list[Message] | None = []
    for rank in plan.from_.ranks:
        for message in plan.sends(rank):
            size = message.elements * element
            if message.from_rank == message.to_rank:
                kept += size
            else:
                count, sent = count + 1, sent + size
                smallest, largest = min(smallest, size), max(largest, size)
            if messages is not None:
                messages.append(message)
                messages = messages if len(messages) <= PAIRS_MAX else None
    runs: Counter[int] | None = None
    if messages is not None:
        runs = Counter()
        orders = (told.order, told.order)
        for message in messages:
            pair = (message.from_rank, message.to_rank)
            runs.update(plan.runs(*pair, element=element, orders=orders))
    found = None if runs is None else dict(sorted(runs.items()))
    return Summary(messages, count, sent, kept, smallest if count else 0, largest, found)


def facts(told: Description, of: Summary | None) -> list[tuple[str, str]]:
    """The same for people: names and values."""
    shape = " x ".join(f"{extent:,}" for extent in told.from_.shape)
    rows = [
        ("array", f"{shape} of {told.dtype}, {quantity(told.bytes, 'B')}"),
        ("ranks", f"{len(told.from_.ranks):,} to {len(told.to.ranks):,}"),
    ]
    if of is None:
        return [*rows, ("between ranks", "not counted: too many pairs of ranks")]
    sizes = quantity(of.largest, "B")
    if of.smallest != of.largest:
        sizes = f"{quantity(of.smallest, 'B')} to {sizes}"
    moved = f"{counted(of.count, 'message')} of {sizes}, {quantity(of.sent, 'B')}"
    rows += [
        ("between ranks", moved if of.count else "nothing"),
        ("stays", quantity(of.kept, "B")),
    ]
    if of.runs is not None:
        listed = [f"{count:,} of {length:,} B" for length, count in list(of.runs.items())[:4]]
        more = ", …" if len(of.runs) > 4 else ""
        rows.append(("runs in memory", ", ".join(listed) + more))
    return rows


def as_json(told: Description, of: Summary | None) -> dict[str, Any]:
    """The same for programs."""
    element = told.dtype.itemsize
    array = {
        "title": told.title,
        "shape": list(told.from_.shape),
        "dtype": str(told.dtype),
        "order": told.order,
        "bytes": told.bytes,
        "from_ranks": len(told.from_.ranks),
        "to_ranks": len(told.to.ranks),
    }
    if of is None:
        return array
    return {
        **array,
        "messages": of.count,
        "bytes_sent": of.sent,
        "bytes_kept": of.kept,
        "smallest_bytes": of.smallest,
        "largest_bytes": of.largest,
        "pairs": None
        if of.messages is None
        else [[m.from_rank, m.to_rank, m.elements * element] for m in of.messages],
        "runs": None if of.runs is None else [[size, count] for size, count in of.runs.items()],
    }


def times(predicted: dict[str, float]) -> list[tuple[str, str]]:
    """Predicted seconds by form, for people."""
    if not predicted:
        return []
    told = (f"{form} {seconds * 1e3:.3g} ms" for form, seconds in predicted.items())
    return [("predicted", ", ".join(told))]

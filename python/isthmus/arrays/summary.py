"""Totals of a plan in bytes: messages, pairs of ranks, lengths of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.arrays.descriptions import Description
from isthmus.wording import counted, quantity

if TYPE_CHECKING:
    from isthmus.arrays.plans import Message

COUNTED_MAX = 1 << 20
"""Maximum number of pairs of ranks whose messages are counted."""
PAIRS_MAX = 4096
"""Maximum number of messages whose runs are counted, and that a table in JSON lists."""


@dataclass(frozen=True)
class Summary:
    """Totals of the messages of a redistribution plan: their number, bytes and contiguous runs."""

    messages: list[Message] | None
    """All messages, including those of a rank to itself; `None` if there are too many to list."""
    count: int
    """Number of messages between different ranks."""
    sent: int
    """Bytes that are moved between ranks."""
    kept: int
    """Bytes of the array that stay on their rank."""
    smallest: int
    """Bytes of the smallest message between ranks; 0 if no messages are sent."""
    largest: int
    runs: dict[int, int] | None
    """Number of runs by length in bytes; a run is contiguous at sender and receiver."""


def summary(task: Description) -> Summary | None:
    """Count the messages of a plan; return None if it has too many pairs of ranks."""
    plan, element = task.plan, task.dtype.itemsize
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
        orders = (task.order, task.order)
        for message in messages:
            pair = (message.from_rank, message.to_rank)
            runs.update(plan.runs(*pair, element=element, orders=orders))
    found = None if runs is None else dict(sorted(runs.items()))
    return Summary(messages, count, sent, kept, smallest if count else 0, largest, found)


def facts(task: Description, of: Summary | None) -> list[tuple[str, str]]:
    """Return the summary as names and values to print."""
    shape = " x ".join(f"{extent:,}" for extent in task.from_.shape)
    rows = [
        ("array", f"{shape} of {task.dtype}, {quantity(task.bytes, 'B')}"),
        ("ranks", f"{len(task.from_.ranks):,} to {len(task.to.ranks):,}"),
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


def as_json(task: Description, of: Summary | None) -> dict[str, Any]:
    """Return the summary as a JSON document."""
    element = task.dtype.itemsize
    array = {
        "title": task.title,
        "shape": list(task.from_.shape),
        "dtype": str(task.dtype),
        "order": task.order,
        "bytes": task.bytes,
        "from_ranks": len(task.from_.ranks),
        "to_ranks": len(task.to.ranks),
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
    """Return the predicted seconds of each method of exchange as names and values to print."""
    if not predicted:
        return []
    listed = (f"{form} {seconds * 1e3:.3g} ms" for form, seconds in predicted.items())
    return [("predicted", ", ".join(listed))]

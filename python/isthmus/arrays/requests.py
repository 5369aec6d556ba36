"""The requests that the ranks of a layout send to the I/O servers of a file.

The file holds the array in the order of `array.order`; its stripes are distributed over the servers
round-robin. A rank sends each contiguous piece of the file as one request. Requests are cut at the
ends of stripes and at the maximum size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isthmus.arrays.descriptions import Description, Io
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

INDICES_MAX = 1 << 26
"""Largest extent of a dimension of an array whose requests are listed."""

Row = tuple[int, int, int, int]
"""Machine node of the rank, server, bytes of a request, and number of consecutive repetitions."""


def count(task: Description, layout: Layout, io: Io) -> int:
    """Return the number of I/O requests of all ranks, before stripe ends split some of them."""
    whole = Plan(layout, Layout.whole(layout.shape))
    element, orders = task.dtype.itemsize, (task.order, task.order)
    pieces = (whole.runs(rank, 0, element=element, orders=orders).items() for rank in layout.ranks)
    longest = min(io.request, io.stripe)
    return sum(-(-size // longest) * times for runs in pieces for size, times in runs)


def rows(
    task: Description, layout: Layout, io: Io, places: dict[int, int], servers: int, share: float
) -> list[Row]:
    """Return the requests for the first `share` of each rank's data, in file order.

    Args:
        task: the redistribution.
        layout: mapping of elements to ranks.
        io: striping of the file over the servers.
        places: machine node of each rank.
        servers: number of servers.
        share: fraction of each rank's data, above 0 and at most 1.

    Raises:
        IsthmusError: several ranks hold the same element, so the sender is ambiguous.

    """
    if layout.replicas > 1:
        raise IsthmusError(
            f"{task.file}: io: each element is on {layout.replicas} ranks; give layouts without "
            "replicas"
        )
    if max(layout.shape) > INDICES_MAX:
        raise IsthmusError(
            f"{task.file}: io: a dimension of {max(layout.shape):,} indices; requests of up to "
            f"{INDICES_MAX:,} are reported"
        )
    found: list[Row] = []
    for rank in layout.ranks:
        held = task.dtype.itemsize * sum(math.prod(part) for part in layout.extents(rank))
        left = math.ceil(held * share)
        last: Row | None = None
        for offset, size in _pieces(task, layout, rank):
            for server, each in _cut(offset, min(size, left), io, servers):
                row = (places[rank], server, each, 1)
                if last is not None and last[:3] == row[:3]:
                    last = (*last[:3], last[3] + 1)
                else:
                    found += [] if last is None else [last]
                    last = row
            left -= size
            if left <= 0:
                break
        found += [] if last is None else [last]
    return found


def _cut(offset: int, size: int, io: Io, servers: int) -> Iterator[tuple[int, int]]:
    """Cut a contiguous piece of the file into requests: yield server and size of each."""
    end = offset + size
    while offset < end:
        stripe = offset // io.stripe
        each = min(end, offset + io.request, (stripe + 1) * io.stripe) - offset
        yield stripe % servers, each
        offset += each


def _pieces(task: Description, layout: Layout, rank: int) -> Iterator[tuple[int, int]]:
    """Yield file offset and size of each contiguous piece of a rank, in bytes."""
    size = task.dtype.itemsize
    for indices in layout.indices(rank):
        # The last dimension varies fastest in the file.
        along = indices if task.order == "C" else indices[::-1]
        shape = layout.shape if task.order == "C" else layout.shape[::-1]
        if any(len(each) == 0 for each in along):
            continue
        strides = [math.prod(shape[dim + 1 :]) * size for dim in range(len(shape))]
        cut = len(shape) - 1
        while cut > 0 and len(along[cut]) == shape[cut]:
            cut -= 1
        starts, lengths = _runs(along[cut])
        if cut == 0:
            # The caller may stop early, so pieces are yielded one by one.
            for start, length in zip(starts, lengths, strict=True):
                yield int(start) * strides[0], int(length) * strides[0]
            continue
        pairs = [
            (int(start) * strides[cut], int(length) * strides[cut])
            for start, length in zip(starts, lengths, strict=True)
        ]
        for outer in np.ndindex(*(len(each) for each in along[:cut])):
            base = sum(int(along[dim][at]) * strides[dim] for dim, at in enumerate(outer))
            for start, length in pairs:
                yield base + start, length


def _runs(indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and the length of each run of consecutive indices."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    firsts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([firsts, [len(indices)]]))
    return indices[firsts], lengths

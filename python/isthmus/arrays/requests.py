"""What the ranks of a layout send to the I/O servers behind a file, request by request.

The file holds the array in the order of `array.order`, and lies in stripes on the servers in turn.
A rank sends what lies in one piece in the file as one request, cut where a stripe ends and where
the longest request does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isthmus.arrays.descriptions import Description, Io
from isthmus.arrays.layouts import Layout
from isthmus.arrays.plans import Plan
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INDICES_MAX = 1 << 26
"""Most indices of a dimension of an array whose requests are told one by one."""

Row = tuple[int, int, int, int]
"""Place of the rank, server, bytes of a request, and how many follow one another."""


def count(told: Description, layout: Layout, io: Io) -> int:
    """How many requests there are, cuts at the ends of stripes not counted."""
    whole = Plan(layout, Layout.whole(layout.shape))
    element, orders = told.dtype.itemsize, (told.order, told.order)
    pieces = (whole.runs(rank, 0, element=element, orders=orders).items() for rank in layout.ranks)
    longest = min(io.request, io.stripe)
    return sum(-(-size // longest) * times for runs in pieces for size, times in runs)


def rows(
    told: Description, layout: Layout, io: Io, places: dict[int, int], servers: int, share: float
) -> list[Row]:
    """The requests of the first part of what each rank holds, in the order of the file.

    Args:
        told: the array.
        layout: who holds what.
        io: how the file lies on the servers.
        places: by rank its place on the machine.
        servers: how many there are.
        share: of what each rank holds, above 0 to 1.

    Raises:
        IsthmusError: elements are on several ranks, so that nobody knows who sends them.

    """
    if layout.replicas > 1:
        raise IsthmusError(
            f"{told.file}: io: each element is on {layout.replicas} ranks; give layouts without "
            "replicas"
        )
    if max(layout.shape) > INDICES_MAX:
        raise IsthmusError(
            f"{told.file}: io: a dimension of {max(layout.shape):,} indices; requests of up to "
            f"{INDICES_MAX:,} are told"
        )
    found: list[Row] = []
    for rank in layout.ranks:
        held = told.dtype.itemsize * sum(math.prod(part) for part in layout.extents(rank))
        left = math.ceil(held * share)
        last: Row | None = None
        for offset, size in _pieces(told, layout, rank):
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
    end = offset + size
    while offset < end:
        stripe = offset // io.stripe
        each = min(end, offset + io.request, (stripe + 1) * io.stripe) - offset
        yield stripe % servers, each
        offset += each


def _pieces(told: Description, layout: Layout, rank: int) -> Iterator[tuple[int, int]]:
    """Where in the file what a rank holds begins, and its bytes, piece by piece."""
    import numpy as np

    size = told.dtype.itemsize
    for indices in layout.indices(rank):
        # The last dimension counts fastest in the file.
        along = indices if told.order == "C" else indices[::-1]
        shape = layout.shape if told.order == "C" else layout.shape[::-1]
        if any(len(each) == 0 for each in along):
            continue
        strides = [math.prod(shape[dim + 1 :]) * size for dim in range(len(shape))]
        cut = len(shape) - 1
        while cut > 0 and len(along[cut]) == shape[cut]:
            cut -= 1
        starts, lengths = _runs(along[cut])
        pairs = [
            (int(start) * strides[cut], int(length) * strides[cut])
            for start, length in zip(starts, lengths, strict=True)
        ]
        for outer in np.ndindex(*(len(each) for each in along[:cut])):
            base = sum(int(along[dim][at]) * strides[dim] for dim, at in enumerate(outer))
            for start, length in pairs:
                yield base + start, length


def _runs(indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Runs of indices that follow one another: the first of each, and how many."""
    import numpy as np

    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    firsts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([firsts, [len(indices)]]))
    return indices[firsts], lengths

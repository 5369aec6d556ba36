"""Packed parts of results, and unpacking them by the core for many points at once.

Bins of distributions and channels stay packed as JSON. As Python objects they would take most of
the time and memory of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from isthmus import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
BATCH = 256
"""Number of lists that are unpacked at a time: this limits the memory for them to some
megabytes.
"""


class Bins(msgspec.Struct, frozen=True):
    """Bins of a distribution in ascending order; bins without observations are left out."""

    lower: list[int]
    """Inclusive lower bound of each bin, as a multiple of the distribution's step."""
    upper: list[int]
    """Exclusive upper bound of each bin, as a multiple of the distribution's step."""
    count: list[int]
    """Number of observations in each bin."""


class ChannelUse(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """Utilisation of a channel or another machine part, or the mean over a kind of part, 0 to 1."""

    kind: str
    from_: int | None
    """Number of the node at the start of the channel, or at which the part is; ``None`` for the
    mean of a kind.
    """
    to: int | None
    """Number of the node at the end of the channel; None for a part at a single place."""
    utilisation: float
    """Share of the capacity that was used: flits or symbols per cycle and lane. For a part that
    serves one request at a time, the share of time.
    """
    highest: float | None
    """Utilisation of the busiest channel of a kind; None for a single channel."""
    busy: float
    """Share of time for which the lanes of the channel were occupied, whether data moved or not."""
    busiest: float | None
    """Largest value of `busy` of any channel of a kind; None for a single channel."""
    held_us: float | None
    """Mean time for which one message, packet or request occupied a lane."""
    analytic: float | None

    @property
    def is_link(self) -> bool:
        """Whether the channel is a link with two ends, and not a place: a disk, device,
        interface or server.
        """
        return self.kind not in PLACES


PLACES = ("disk", "device", "interface", "server")
"""Kinds of machine parts that are at a single place rather than between two ends."""


def bin_columns(
    packed: Sequence[msgspec.Raw], steps: Sequence[float]
) -> dict[str, NDArray[np.generic]]:
    """Return the bins of many distributions, one after another.

    Columns: ``lower`` and ``upper`` in the unit of each distribution's step, ``count``, and
    ``lengths``, the number of bins of each distribution.
    """
    columns = _core.BinColumns()
    unpack(columns, packed)
    return columns.take(steps)


def channel_columns(packed: Sequence[msgspec.Raw]) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the names of all kinds of channels, and the channels of many points in columns, one
    point after another.

    The columns are the fields of `ChannelUse`: ``kind`` is a position among the kinds; ``from`` and
    ``to`` are -1, and numbers NaN, instead of None. ``lengths`` is the number of channels of each
    point.
    """
    columns = _core.ChannelColumns()
    unpack(columns, packed)
    return columns.kinds(), columns.take()


def batches(items: Sequence[T]) -> Iterator[tuple[int, Sequence[T]]]:
    """Yield successive batches of the items, each after the index of its first item."""
    for begin in range(0, len(items), BATCH):
        yield begin, items[begin : begin + BATCH]


def unpack(columns: Any, packed: Sequence[msgspec.Raw]) -> None:
    """Unpack JSON lists and append their fields to `columns`, an object of the Rust core.

    Raises:
        ValueError: with the position of the first invalid list, and the problem.

    """
    for begin, some in batches(packed):
        half = len(some) // 2
        lists = [b"[%b]" % b",".join(each) for each in (some[:half], some[half:])]
        try:
            columns.add(lists)
        except ValueError as error:
            at, problem = error.args
            raise ValueError(begin + at, problem) from error

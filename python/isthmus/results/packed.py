"""What results leave packed as JSON, and how the core unpacks it for many points at once: bins of
distributions, and channels.

As objects of Python they would take most of the time and of the memory that a result takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
TOGETHER = 256
"""Lists that are unpacked together: some megabytes."""


class Bins(msgspec.Struct, frozen=True):
    """Bins of a distribution in rising order, those that are empty left out."""

    lower: list[int]
    """Lower bounds in steps; observations are not below them."""
    upper: list[int]
    """Upper bounds in steps; observations are below them."""
    count: list[int]
    """Observations in each."""


class ChannelUse(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """How busy a channel or another part, or the mean one of a kind, was, 0 to 1."""

    kind: str
    from_: int | None
    """Where it begins, or is; ``None`` for the mean of a kind."""
    to: int | None
    """Where it ends, if it leads anywhere."""
    utilisation: float
    """Flits or symbols per cycle and lane, or the share of the time of what does one thing at a
    time."""
    highest: float | None
    """For the mean of a kind: that of its busiest channel."""
    busy: float
    """Share of the time for which its lanes were taken, whether anything moved or not."""
    busiest: float | None
    """For the mean of a kind: that of the channel that was taken for longest."""
    held_us: float | None
    """For how long one message, packet or request took a lane of it on average."""
    analytic: float | None

    @property
    def is_link(self) -> bool:
        """Whether it is a channel between two places, not a disk, device, interface or server."""
        return self.kind not in PLACES


PLACES = ("disk", "device", "interface", "server")
"""Kinds of use that are in one place."""


def bin_columns(
    packed: Sequence[msgspec.Raw], steps: Sequence[float]
) -> dict[str, NDArray[np.generic]]:
    """The bins of many distributions, one after another: ``lower`` and ``upper`` in the unit of the
    steps of each, ``count``, and how many bins each distribution has (``lengths``).
    """
    from isthmus import _core

    columns = _core.BinColumns()
    unpack(columns, packed)
    return columns.take(steps)


def channel_columns(packed: Sequence[msgspec.Raw]) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The kinds of channels there are, and the channels of many points, one after another.

    The columns are the fields of `ChannelUse`: ``kind`` is a position among the kinds, ``from``
    and ``to`` are -1 and numbers NaN where they are None. ``lengths`` says how many channels each
    point has.
    """
    from isthmus import _core

    columns = _core.ChannelColumns()
    unpack(columns, packed)
    return columns.kinds(), columns.take()


def batches(items: Sequence[T]) -> Iterator[tuple[int, Sequence[T]]]:
    """Some at a time, and how many were before them."""
    for begin in range(0, len(items), TOGETHER):
        yield begin, items[begin : begin + TOGETHER]


def unpack(columns: Any, packed: Sequence[msgspec.Raw]) -> None:
    """Add to columns of the core.

    Raises:
        ValueError: with the position of what does not fit, and what is wrong.

    """
    for begin, some in batches(packed):
        half = len(some) // 2
        lists = [b"[%b]" % b",".join(each) for each in (some[:half], some[half:])]
        try:
            columns.add(lists)
        except ValueError as error:
            at, problem = error.args
            raise ValueError(begin + at, problem) from error

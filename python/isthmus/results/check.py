"""Checks of a result beyond the types of its fields, such as indices and intervals.

Each error names the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isthmus.results.packed import Bins, ChannelUse, batches, unpack

if TYPE_CHECKING:
    import msgspec

    from isthmus.results.schema import PointResult, RunResult


def check_result(run: RunResult) -> None:
    """Refuse an inconsistent result.

    Raises:
        ValueError: the message names the field, its value and the expected value.

    """
    if run.load_axis is not None:
        _index("load_axis", run.load_axis, len(run.axes), "axes")
    for number, point in enumerate(run.points):
        place = f"points[{number}]"
        _index(f"{place}.machine", point.machine, len(run.machines), "machines")
        if point.index != number:
            raise ValueError(f"{place}.index: {point.index}; expected {number}, its place")
        _check_length(f"{place}.values", point.values, run)
        for position, measure in enumerate(point.measures):
            inner = f"{place}.measures[{position}]"
            _check_interval(inner, measure.low, measure.mean, measure.high)
    for _, some in batches(run.points):
        _check_packed(some)
    for number, search in enumerate(run.searches):
        place = f"searches[{number}]"
        _index(f"{place}.machine", search.machine, len(run.machines), "machines")
        _check_length(f"{place}.values", search.values, run)


def _check_packed(points: Sequence[PointResult]) -> None:
    """Refuse points whose lists of channels or histogram bins the Rust core cannot unpack."""
    from isthmus import _core

    channels = [point.packed for point in points]
    try:
        unpack(_core.ChannelColumns(), channels)
    except ValueError as error:
        at, problem = error.args
        place = f"points[{points[at].index}].channels"
        raise _refusal(place, list[ChannelUse], channels[at], problem) from error
    histograms = [
        (f"points[{point.index}].histograms[{position}].bins", histogram.packed)
        for point in points
        for position, histogram in enumerate(point.histograms)
    ]
    try:
        unpack(_core.BinColumns(), [packed for _, packed in histograms])
    except ValueError as error:
        at, problem = error.args
        raise _refusal(histograms[at][0], Bins, histograms[at][1], problem) from error


def _refusal(place: str, kind: Any, packed: msgspec.Raw, problem: str) -> ValueError:
    """Return the error for a list of channels or bins that cannot be unpacked: the position where
    its JSON does not fit the type `kind`, or else the text `problem` of the Rust core.
    """
    from isthmus.results.misfit import misfit

    return ValueError(misfit(kind, bytes(packed), place) or f"{place}: {problem}")


def _index(place: str, index: int, length: int, what: str) -> None:
    """Refuse an index that is outside a list of `length` items; `what` names the items."""
    if not 0 <= index < length:
        raise ValueError(f"{place}: {index}; there are {length} {what}, numbered from 0")


def _check_length(place: str, values: Sequence[object], run: RunResult) -> None:
    """Refuse a list of axis values that does not have one value for each axis of the run."""
    if len(values) != len(run.axes):
        raise ValueError(f"{place}: {len(values)} values; there are {len(run.axes)} axes")


def _check_interval(place: str, low: float | None, mean: float | None, high: float | None) -> None:
    """Refuse an interval whose ends are in the wrong order or exclude the mean."""
    if low is not None and high is not None and low > high:
        raise ValueError(f"{place}: low {low!r} is above high {high!r}")
    if mean is None:
        return
    if (low is not None and mean < low) or (high is not None and mean > high):
        raise ValueError(f"{place}: mean {mean!r} is outside its interval, {low!r} to {high!r}")

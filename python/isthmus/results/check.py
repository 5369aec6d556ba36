"""What a result must hold beyond its types: indices that lead somewhere, intervals around means.
Each refusal names the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isthmus.results.schema import Histogram, RunResult


def check_result(run: RunResult) -> None:
    """Refuse a result that does not hang together.

    Raises:
        ValueError: which field, what it is, and what would be right.

    """
    if run.load_axis is not None:
        _index("load_axis", run.load_axis, len(run.axes), "axes")
    for number, point in enumerate(run.points):
        place = f"points[{number}]"
        _index(f"{place}.machine", point.machine, len(run.machines), "machines")
        if point.index != number:
            raise ValueError(f"{place}.index: {point.index}; expected {number}, its place")
        _as_many(f"{place}.values", point.values, run)
        for position, measure in enumerate(point.measures):
            inner = f"{place}.measures[{position}]"
            _ordered(inner, measure.low, measure.mean, measure.high)
        for position, h in enumerate(point.histograms):
            _bins(f"{place}.histograms[{position}].bins", h)
    for number, search in enumerate(run.searches):
        place = f"searches[{number}]"
        _index(f"{place}.machine", search.machine, len(run.machines), "machines")
        _as_many(f"{place}.values", search.values, run)


def _bins(place: str, histogram: Histogram) -> None:
    try:
        bins = histogram.bins
    except ValueError as error:
        raise ValueError(f"{place}.{error}") from error
    lower, upper, count = len(bins.lower), len(bins.upper), len(bins.count)
    if not 0 < lower == upper == count:
        raise ValueError(
            f"{place}: {lower} lower bounds, {upper} upper bounds, {count} counts; expected as "
            "many of each, and one or more"
        )


def _index(place: str, index: int, length: int, what: str) -> None:
    if not 0 <= index < length:
        raise ValueError(f"{place}: {index}; there are {length} {what}, numbered from 0")


def _as_many(place: str, values: Sequence[object], run: RunResult) -> None:
    if len(values) != len(run.axes):
        raise ValueError(f"{place}: {len(values)} values; there are {len(run.axes)} axes")


def _ordered(place: str, low: float | None, mean: float | None, high: float | None) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"{place}: low {low!r} is above high {high!r}")
    if mean is None:
        return
    if (low is not None and mean < low) or (high is not None and mean > high):
        raise ValueError(f"{place}: mean {mean!r} is outside its interval, {low!r} to {high!r}")

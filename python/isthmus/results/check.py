"""What a result must hold beyond its types: words that are known, indices that lead somewhere,
counts that can be. Each refusal names the field. JSON has no numbers that are not finite, and the
reader takes none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from unicodedata import category

from isthmus.columns import cut

if TYPE_CHECKING:
    from isthmus.results.schema import RunResult

VERDICTS = ("stable", "saturated", "undecided", "collapsed")
ORIGINS = ("simulation", "model")
COLLAPSES = ("livelock", "deadlock")
COUNT_MAX = 2**63
TEXT_MAX = 20_000
"""Most characters of a title or description; scenarios have fewer."""


def check_result(run: RunResult) -> None:
    """Refuse a result that does not hang together.

    Raises:
        ValueError: which field, what it is, and what would be right.

    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", run.name):
        raise ValueError(f"name: {cut(repr(run.name))}; expected 1 to 80 letters, digits, - and _")
    for name in ("title", "description"):
        _text(name, getattr(run, name))
    for number, axis in enumerate(run.axes):
        for name in ("key", "label", "unit"):
            _text(f"axes[{number}].{name}", getattr(axis, name) or "")
    _text("load.label", run.load.label)
    _text("load.unit", run.load.unit)
    if not 0 < run.confidence < 1:
        raise ValueError(f"confidence: {run.confidence!r}; expected a share between 0 and 1")
    if run.load_axis is not None:
        _index("load_axis", run.load_axis, len(run.axes), "axes")
    for number, point in enumerate(run.points):
        place = f"points[{number}]"
        _index(f"{place}.machine", point.machine, len(run.machines), "machines")
        if point.index != number:
            raise ValueError(f"{place}.index: {point.index}; expected {number}, its place")
        _as_many(f"{place}.values", point.values, run)
        _word(f"{place}.verdict.verdict", point.verdict.verdict, VERDICTS)
        _word(f"{place}.verdict.origin", point.verdict.origin, ORIGINS)
        _share(f"{place}.verdict.error_rate", point.verdict.error_rate)
        if point.collapse is not None:
            _word(f"{place}.collapse.kind", point.collapse.kind, COLLAPSES)
        _counts(place, point, ("replications", "messages", "simulated_ms"))
        for position, measure in enumerate(point.measures):
            inner = f"{place}.measures[{position}]"
            _ordered(inner, measure.low, measure.mean, measure.high)
            _counts(inner, measure, ("samples",))
            _share(f"{inner}.warmup_share", measure.warmup_share)
            _text(f"{inner}.unit", measure.unit)
    for number, search in enumerate(run.searches):
        place = f"searches[{number}]"
        _index(f"{place}.machine", search.machine, len(run.machines), "machines")
        _as_many(f"{place}.values", search.values, run)
        _share(f"{place}.error_rate", search.error_rate)
        for position, trial in enumerate(search.trials):
            _word(f"{place}.trials[{position}].verdict", trial.verdict, VERDICTS)


def _index(place: str, index: int, length: int, what: str) -> None:
    if not 0 <= index < length:
        raise ValueError(f"{place}: {index}; there are {length} {what}, numbered from 0")


def _as_many(place: str, values: Sequence[object], run: RunResult) -> None:
    if len(values) != len(run.axes):
        raise ValueError(f"{place}: {len(values)} values; there are {len(run.axes)} axes")


def _word(place: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise ValueError(f"{place}: {cut(repr(word))}; there are {', '.join(known)}")


def _counts(place: str, holder: object, names: Sequence[str]) -> None:
    for name in names:
        count = getattr(holder, name)
        if not 0 <= count < COUNT_MAX:
            raise ValueError(f"{place}.{name}: {cut(repr(count))}; expected 0 or more, below 2^63")


def _share(place: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{place}: {share!r}; expected a share between 0 and 1")


def _ordered(place: str, low: float | None, mean: float | None, high: float | None) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"{place}: low {low!r} is above high {high!r}")
    if mean is None:
        return
    if (low is not None and mean < low) or (high is not None and mean > high):
        raise ValueError(f"{place}: mean {mean!r} is outside its interval, {low!r} to {high!r}")


def _text(place: str, words: str) -> None:
    if len(words) > TEXT_MAX:
        raise ValueError(f"{place}: {len(words)} characters; expected at most {TEXT_MAX}")
    if any(category(letter) == "Cc" and letter not in "\n\r\t" for letter in words):
        raise ValueError(f"{place}: {cut(repr(words))}; expected no control characters")

"""Two results against one another, point by point: what differs, and whether that is certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isthmus.errors import IsthmusError
from isthmus.results.schema import FieldChange, Measure, PointResult, RunResult, SearchResult
from isthmus.results.settings import Column, Settings, columns
from isthmus.value import CONFIDENCE, Compared, Value, differences
from isthmus.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from isthmus.results.collection import Results

LOST = ("saturated", "collapsed")
"""Verdicts of points whose times tell how long the run was."""
SATURATION = "saturation"
"""What the table calls the load at which a machine saturates."""


@dataclass(frozen=True)
class Row:
    """One quantity of two points, or of two searches."""

    texts: tuple[str | None, ...]
    """What both have in common, by `Comparison.keys`."""
    points: tuple[PointResult, PointResult] | None = field(repr=False)
    """None for searches."""
    measure: str
    statistic: str
    unit: str
    values: tuple[Value, Value]
    found: Compared | None
    """None where the two are not judged."""


@dataclass(frozen=True)
class Comparison:
    """How a second result differs from a first, as `Results.compare` and `isthmus.compare` give it.

    Points are compared that have the same settings but for those in `changes`. Where both were
    simulated with the same seed they have drawn the same random numbers, and are compared
    replication by replication.
    """

    first: RunResult = field(repr=False)
    second: RunResult = field(repr=False)
    changes: list[FieldChange]
    """Settings that are one thing all over the first result and another all over the second."""
    keys: list[str] = field(repr=False)
    """The settings by which points are paired."""
    pairs: list[tuple[PointResult, PointResult]] = field(repr=False)
    unpaired: tuple[int, int]
    """Points of the first and of the second without a partner."""
    rows: list[Row] = field(repr=False)
    confidence: float
    """Of every interval; also that none of `differing` is there by chance."""

    @property
    def differing(self) -> list[Row]:
        """What differs with the confidence asked for, the largest change first."""
        rows = [row for row in self.rows if row.found and row.found.differs]
        return sorted(rows, key=_size, reverse=True)

    @property
    def judged(self) -> int:
        """How many quantities were compared."""
        return sum(row.found is not None for row in self.rows)

    @property
    def verdicts(self) -> list[tuple[PointResult, PointResult]]:
        """Points whose verdict on saturation differs."""
        return [(a, b) for a, b in self.pairs if a.verdict.verdict != b.verdict.verdict]

    @property
    def conclusion(self) -> str:
        """In one sentence."""
        sure = f"{100 * self.confidence:g}% confidence for all together"
        number = len(self.differing)
        told = f"{number:,} of {counted(self.judged, 'quantity', 'quantities')}"
        text = f"{told} {'differs' if number == 1 else 'differ'} ({sure})"
        if self.verdicts:
            points = counted(len(self.verdicts), "point")
            text += f"; the verdict differs at {points}"
        return text

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per pair of points, measure and statistic, with every number that was compared.

        Columns: the settings by which points are paired (``key [unit]``), ``point_a``, ``point_b``,
        ``verdict_a``, ``verdict_b``, ``measure``, ``statistic``, ``unit`` (of the next five),
        ``a``, ``b``, ``difference`` (b - a) with its interval ``difference_low``,
        ``difference_high``, ``ratio`` (b / a) with ``ratio_low``, ``ratio_high``, and ``differs``:
        whether the two differ, with the confidence asked for in all rows together. It is empty, as
        difference and ratio are, where the two are not judged: times at points that are saturated,
        anything where nothing arrives any more. Rows of the measure ``saturation`` compare the
        brackets of searches by their ends; a and b are their middles.
        """
        import polars as pl

        read = columns([[row.texts[i] for row in self.rows] for i in range(len(self.keys))])
        schema: dict[str, Any] = {}
        cells: list[list[Any]] = []
        for i, (key, column) in enumerate(zip(self.keys, read, strict=True)):
            schema[named(key, column)] = pl.String if column.numbers is None else pl.Float64
            cells.append(column.numbers or [row.texts[i] for row in self.rows])
        rows = [_cells(row) for row in self.rows]
        for i, (name, kind) in enumerate(_COLUMNS.items()):
            schema[name] = getattr(pl, kind)
            cells.append([row[i] for row in rows])
        return pl.DataFrame(dict(zip(schema, cells, strict=True)), schema=schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table, for anything that reads Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        changes = ", ".join(change.words for change in self.changes) or "nothing"
        return f"<Comparison, changed {changes}: {self.conclusion}>"


_COLUMNS = {
    "point_a": "Int64",
    "point_b": "Int64",
    "verdict_a": "String",
    "verdict_b": "String",
    "measure": "String",
    "statistic": "String",
    "unit": "String",
    "a": "Float64",
    "b": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "ratio": "Float64",
    "ratio_low": "Float64",
    "ratio_high": "Float64",
    "differs": "Boolean",
}


def named(key: str, column: Column) -> str:
    """Name of a column: ``key`` or ``key [unit]``."""
    return f"{key} [{column.unit}]" if column.unit else key


def _cells(row: Row) -> tuple[Any, ...]:
    left: tuple[Any, ...] = (None,) * 4
    if row.points:
        a, b = row.points
        left = (a.index, b.index, a.verdict.verdict, b.verdict.verdict)
    numbers: tuple[Any, ...] = (None,) * 6
    if row.found:
        each = (row.found.difference, row.found.ratio)
        numbers = tuple(end for value in each for end in (value.value, value.low, value.high))
    differs = row.found.differs if row.found else None
    a_value, b_value = (value.value for value in row.values)
    return (*left, row.measure, row.statistic, row.unit, a_value, b_value, *numbers, differs)


def _size(row: Row) -> float:
    """How large a change is, as a factor."""
    ratio = row.found.ratio.value if row.found else None
    return max(ratio, 1 / ratio) if ratio else float("inf")


def compare(first: Results, second: Results, *, paired: bool = True) -> Comparison:
    """How the second result differs from the first; see `Comparison`.

    Points are paired that have the same settings, but for those that are one thing all over the
    first result and another all over the second.

    Args:
        first: what is compared with.
        second: what is compared.
        paired: whether replications are compared in pairs, which makes intervals narrow where both
            have drawn the same random numbers; otherwise as if each erred as far as its own
            interval allows.

    Raises:
        IsthmusError: no point of one has a partner in the other, or they have no measure in common.

    >>> from isthmus import Hypercube, Workload, analyze
    >>> cube, work = Hypercube(dimension=3), Workload(rate="5 /ms")
    >>> results = analyze(cube, work, sweep={"io_link_lanes": [1, 2]})
    >>> both = compare(results.sel(io_link_lanes=1), results.sel(io_link_lanes=2))
    >>> [change.words for change in both.changes]
    ['lanes.io_link 1 → 2']

    """
    from isthmus import arguments

    for name, given in (("first", first), ("second", second)):
        if not hasattr(given, "run"):
            raise arguments.refuse(name, given, "Results, such as Results.load('out/mine')")
    arguments.flag("paired", paired)
    a, b = first.run, second.run
    if a.load.unit != b.load.unit:
        raise IsthmusError(
            f"compare: loads are in {a.load.words} in the first result and in {b.load.words} in "
            "the second; compare results of one kind of machine"
        )
    confidence = max(a.confidence, b.confidence)
    ours, theirs = first.every_setting, second.every_setting
    keys = _keys(ours, theirs, (a, b))
    pairs = _pairs(keys, ours, theirs, (a, b))
    changes = [
        FieldChange(key, ours[key].texts[0], theirs[key].texts[0])
        for key in ours
        if key in theirs and _changed(ours, theirs, key)
    ]
    rows: list[Row] = []
    for i, j in pairs:
        texts = tuple(ours[key].texts[i] for key in keys)
        wanted = first.wants, second.wants
        rows += _rows(texts, a.points[i], b.points[j], confidence if paired else None, wanted)
    if pairs and not rows:
        raise IsthmusError("compare: the two results have no measure in common")
    rows = _judged(rows, confidence)
    searches = _judged(list(_searches(a, b, keys)), confidence)
    left = (len({i for i, _ in pairs}), len({j for _, j in pairs}))
    unpaired = (len(a.points) - left[0], len(b.points) - left[1])
    points = [(a.points[i], b.points[j]) for i, j in pairs]
    return Comparison(a, b, changes, keys, points, unpaired, [*rows, *searches], confidence)


def _changed(ours: Settings, theirs: Settings, key: str) -> bool:
    """Whether a setting is one thing all over one result and another all over the other."""
    one, other = ours[key], theirs[key]
    if not (one.given or other.given) or not (one.constant and other.constant):
        return False
    if not one.texts or not other.texts or one.texts[0] == other.texts[0]:
        return False
    left, right = _comparable([one.texts[0]], [other.texts[0]])
    return left != right


def _keys(ours: Settings, theirs: Settings, runs: tuple[RunResult, RunResult]) -> list[str]:
    """The settings by which points are paired: the axes of both, or else the fields they set."""

    def varies(key: str) -> bool:
        return not (ours[key].constant and theirs[key].constant)

    axes = dict.fromkeys(axis.key for run in runs for axis in run.axes)
    differ = [
        key
        for key in axes
        if (key in ours and not ours[key].constant) or (key in theirs and not theirs[key].constant)
    ]
    if all(key in ours and key in theirs for key in differ):
        return differ
    common = [key for key in ours if key in theirs and ours[key].given and varies(key)]
    if not common:
        missing = next(key for key in differ if not (key in ours and key in theirs))
        whose = "second" if missing in ours else "first"
        raise IsthmusError(
            f"compare: the {whose} result says nothing of {missing}, in which the other varies; "
            "compare results that have it, or choose one value by sel"
        )
    return common


def _pairs(
    keys: Sequence[str], ours: Settings, theirs: Settings, runs: tuple[RunResult, RunResult]
) -> list[tuple[int, int]]:
    """Positions of the points that have the same settings, in the order of the first result."""
    counts = [len(run.points) for run in runs]
    left: list[list[object]] = [[] for _ in range(counts[0])]
    right: list[list[object]] = [[] for _ in range(counts[1])]
    for key in keys:
        for places, values in zip(
            (left, right), _comparable(ours[key].texts, theirs[key].texts), strict=True
        ):
            for place, value in zip(places, values, strict=True):
                place.append(value)
    partners = {tuple(place): j for j, place in enumerate(right)}
    found = [
        (i, partners[tuple(place)]) for i, place in enumerate(left) if tuple(place) in partners
    ]
    if not found and all(counts):
        told = "; ".join(
            f"{key} is {_listed(ours[key].texts)} in the first and {_listed(theirs[key].texts)} in "
            "the second"
            for key in keys
            if not set(ours[key].texts) & set(theirs[key].texts)
        )
        raise IsthmusError(
            "compare: no point of one result has the settings of one of the other"
            f"{f' ({told})' if told else ''}; compare results that have "
            "settings in common (in Python, sel chooses points of them)"
        )
    return found


def _comparable(
    ours: Sequence[str | None], theirs: Sequence[str | None]
) -> tuple[list[object], list[object]]:
    """Values of two results that are equal where they mean the same: 1 ms and 1000 us."""
    (column,) = columns([[*ours, *theirs]])
    values: list[object] = [*ours, *theirs]
    if column.numbers is not None:
        values = [None if n is None else f"{n:.9g}" for n in column.numbers]
    return values[: len(ours)], values[len(ours) :]


def _listed(texts: Sequence[str | None]) -> str:
    told = [text or "none" for text in dict.fromkeys(texts)]
    return ", ".join(told[:3]) + (", …" if len(told) > 3 else "")


Wanted = tuple[frozenset[str] | None, frozenset[str] | None]
"""The statistics that were chosen of each result; all where none were."""


def _rows(
    texts: tuple[str | None, ...],
    one: PointResult,
    other: PointResult,
    confidence: float | None,
    wanted: Wanted,
) -> Iterator[Row]:
    """What two points have in common; without a confidence replications are not paired."""
    for measure in one.measures:
        partner = other.measure(measure.name)
        if partner is None or partner.unit != measure.unit:
            continue
        theirs = dict(_statistics(partner, confidence))
        for name, value in _statistics(measure, confidence):
            chosen = all(of is None or name in of for of in wanted)
            if chosen and name in theirs:
                values = (value, theirs[name])
                yield Row(texts, (one, other), measure.name, name, measure.unit, values, None)


def _statistics(measure: Measure, confidence: float | None) -> Iterator[tuple[str, Value]]:
    """Mean and resolved percentiles that have a value; the model's mean where there is no other."""
    if measure.mean is not None:
        yield "mean", _value_of(measure, confidence)
    elif measure.analytic is not None:
        yield "mean", Value(measure.analytic)
    for each in measure.percentiles:
        if each.resolved:
            yield f"p{each.percent:g}", _value_of(each, confidence)


def _value_of(found: Any, confidence: float | None) -> Value:
    if confidence is not None:
        return Value.of(found, confidence)
    whole = Value.of(found, CONFIDENCE)
    # Of which nothing is known but the value is not exact.
    unknown = whole.low is None and whole.high is None
    return replace(whole, each=whole.each[:1] if unknown else ())


def _is_judged(row: Row) -> bool:
    if row.points is None:
        return True
    verdicts = {point.verdict.verdict for point in row.points}
    return "collapsed" not in verdicts and not (row.unit == "us" and verdicts & set(LOST))


def _judged(rows: list[Row], confidence: float) -> list[Row]:
    """The rows with what the core says of those that can be judged, all of them together."""
    asked = [row for row in rows if _is_judged(row)]
    told = iter(differences([row.values for row in asked], confidence))
    return [replace(row, found=next(told)) if _is_judged(row) else row for row in rows]


def _searches(a: RunResult, b: RunResult, keys: Sequence[str]) -> Iterator[Row]:
    """Brackets of searches with the same values of all axes that both vary."""

    def place(run: RunResult, search: SearchResult) -> tuple[str | None, ...]:
        own = {x.key: v.text for x, v in zip(run.axes, search.values, strict=True) if v}
        return tuple(own.get(key) for key in keys)

    if not all(set(keys) <= {axis.key for axis in run.axes} for run in (a, b)):
        return
    partners = {place(b, search): search for search in b.searches}
    for search in a.searches:
        partner = partners.get(place(a, search))
        if partner is None:
            continue
        values = _bracket(search), _bracket(partner)
        if all(value.value is not None for value in values):
            where = place(a, search)
            yield Row(where, None, SATURATION, "bracket", a.load.plain, values, None)


def _bracket(search: SearchResult) -> Value:
    low, high = search.highest_stable, search.lowest_saturated
    if low is None or high is None:
        return Value(None)
    return Value((low + high) / 2, low, high, bracket=True)

"""Comparison of two results, point by point, with the certainty of each difference."""

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

UNSTEADY = ("saturated", "collapsed")
"""Verdicts on points that reach no steady state, so that their times depend on the length of
the run.
"""
SATURATION = "saturation"
"""Name of the measure in the comparison table for the load at which a machine saturates."""


@dataclass(frozen=True)
class Row:
    """A row of a comparison: one quantity, at two points or of two searches."""

    texts: tuple[str | None, ...]
    """Values of the settings in `Comparison.keys`, which the two points have in common."""
    points: tuple[PointResult, PointResult] | None = field(repr=False)
    """The two points that the row compares; None in a row that compares searches."""
    measure: str
    statistic: str
    unit: str
    values: tuple[Value, Value]
    found: Compared | None
    """The comparison of the two values of the row; None if they cannot be compared."""


@dataclass(frozen=True)
class Comparison:
    """The differences between two results, as `Results.compare` and `isthmus.compare` return it.

    Two points are compared if they have the same settings, except those in `changes`. If both were
    simulated with the same seed, they share their random numbers and are compared replication by
    replication.
    """

    first: RunResult = field(repr=False)
    second: RunResult = field(repr=False)
    changes: list[FieldChange]
    """Settings with one value in each result, whose values in the two results differ."""
    keys: list[str] = field(repr=False)
    """The keys of the settings that are equal at the two points of a pair."""
    pairs: list[tuple[PointResult, PointResult]] = field(repr=False)
    unpaired: tuple[int, int]
    """Number of points of the first and of the second result without a partner."""
    rows: list[Row] = field(repr=False)
    confidence: float
    """The confidence of every interval. It is also the confidence that no row is in `differing`
    by chance.
    """

    @property
    def differing(self) -> list[Row]:
        """Rows whose two values differ with the requested confidence, those with the largest
        change first.
        """
        rows = [row for row in self.rows if row.found and row.found.differs]
        return sorted(rows, key=_size, reverse=True)

    @property
    def judged(self) -> int:
        """Number of rows with quantities of both results, which were compared."""
        return sum(row.found is not None for row in self.rows)

    @property
    def verdicts(self) -> list[tuple[PointResult, PointResult]]:
        """Pairs of compared points, one of each result, whose verdicts on saturation differ."""
        return [(a, b) for a, b in self.pairs if a.verdict.verdict != b.verdict.verdict]

    @property
    def conclusion(self) -> str:
        """One sentence that says how the two results differ."""
        sure = f"{100 * self.confidence:g}% confidence for all together"
        number = len(self.differing)
        part = f"{number:,} of {counted(self.judged, 'quantity', 'quantities')}"
        text = f"{part} {'differs' if number == 1 else 'differ'} ({sure})"
        if self.verdicts:
            points = counted(len(self.verdicts), "point")
            text += f"; the verdict differs at {points}"
        return text

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per pair of points, measure and statistic, with every number that was compared.

        Columns: the settings that pair the points (``key [unit]``), ``point_a``, ``point_b``,
        ``verdict_a``, ``verdict_b``, ``measure``, ``statistic``, ``unit`` (of the next five),
        ``a``, ``b``, ``difference`` (b - a) with its interval ``difference_low``,
        ``difference_high``, ``ratio`` (b / a) with ``ratio_low``, ``ratio_high``, and ``differs``:
        whether the two differ, with the requested confidence for all rows together. It is empty,
        like difference and ratio, if the two are not judged: times at saturated points, and
        everything at collapsed points. Rows of the measure ``saturation`` compare the brackets of
        searches by their ends; a and b are their middles.
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
        """Export the table of the comparison to readers of the Arrow format."""
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
    """Return the name of a column in the comparison table: ``key``, or ``key [unit]`` if it has
    a unit.
    """
    return f"{key} [{column.unit}]" if column.unit else key


def _cells(row: Row) -> tuple[Any, ...]:
    """Return the cells of a row of `Comparison.table`, in the order of its columns."""
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
    """Return the ratio of the two values of a row or its inverse, the larger of both; infinity if
    there is no ratio.
    """
    ratio = row.found.ratio.value if row.found else None
    return max(ratio, 1 / ratio) if ratio else float("inf")


def compare(first: Results, second: Results, *, paired: bool = True) -> Comparison:
    """Compare two results; see `Comparison`.

    Two points are paired if they have the same settings, except those that are constant in each
    result and differ between the two.

    Args:
        first: the reference.
        second: the result to compare with it.
        paired: whether replications are compared in pairs, which narrows intervals if both results
            share their random numbers; otherwise errors count as independent.

    Raises:
        IsthmusError: no point has a partner, or the results have no measure in common.

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
    base, other = first.every_setting, second.every_setting
    keys = _keys(base, other, (a, b))
    pairs = _pairs(keys, base, other, (a, b))
    changes = [
        FieldChange(key, base[key].texts[0], other[key].texts[0])
        for key in base
        if key in other and _changed(base, other, key)
    ]
    rows: list[Row] = []
    for i, j in pairs:
        texts = tuple(base[key].texts[i] for key in keys)
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


def _changed(base: Settings, other: Settings, key: str) -> bool:
    """Return whether a setting is constant in each result and differs between the two."""
    left, right = base[key], other[key]
    if not (left.given or right.given) or not (left.constant and right.constant):
        return False
    if not left.texts or not right.texts or left.texts[0] == right.texts[0]:
        return False
    a, b = _comparable([left.texts[0]], [right.texts[0]])
    return a != b


def _keys(base: Settings, other: Settings, runs: tuple[RunResult, RunResult]) -> list[str]:
    """Return the keys of the settings whose values decide which points of two results are paired:
    the axes of both results. If there are none, these are the settings that vary in both.
    """

    def varies(key: str) -> bool:
        """Return whether the setting differs between the points of either result."""
        return not (base[key].constant and other[key].constant)

    axes = dict.fromkeys(axis.key for run in runs for axis in run.axes)
    differ = [
        key
        for key in axes
        if (key in base and not base[key].constant) or (key in other and not other[key].constant)
    ]
    if all(key in base and key in other for key in differ):
        return differ
    common = [key for key in base if key in other and base[key].given and varies(key)]
    if not common:
        missing = next(key for key in differ if not (key in base and key in other))
        whose = "second" if missing in base else "first"
        raise IsthmusError(
            f"compare: the {whose} result says nothing of {missing}, in which the other varies; "
            "compare results that have it, or choose one value by sel"
        )
    return common


def _pairs(
    keys: Sequence[str], base: Settings, other: Settings, runs: tuple[RunResult, RunResult]
) -> list[tuple[int, int]]:
    """Return the pairs of points with equal settings, as positions in the first and in the second
    result, in the order of the first.
    """
    counts = [len(run.points) for run in runs]
    left: list[list[object]] = [[] for _ in range(counts[0])]
    right: list[list[object]] = [[] for _ in range(counts[1])]
    for key in keys:
        for places, values in zip(
            (left, right), _comparable(base[key].texts, other[key].texts), strict=True
        ):
            for place, value in zip(places, values, strict=True):
                place.append(value)
    partners = {tuple(place): j for j, place in enumerate(right)}
    found = [
        (i, partners[tuple(place)]) for i, place in enumerate(left) if tuple(place) in partners
    ]
    if not found and all(counts):
        known = "; ".join(
            f"{key} is {_listed(base[key].texts)} in the first and {_listed(other[key].texts)} in "
            "the second"
            for key in keys
            if not set(base[key].texts) & set(other[key].texts)
        )
        raise IsthmusError(
            "compare: no point of one result has the settings of one of the other"
            f"{f' ({known})' if known else ''}; compare results that have "
            "settings in common (in Python, sel chooses points of them)"
        )
    return found


def _comparable(
    base: Sequence[str | None], other: Sequence[str | None]
) -> tuple[list[object], list[object]]:
    """Return the values of a setting in two results so that equal quantities compare as equal, such
    as 1 ms and 1000 us.
    """
    (column,) = columns([[*base, *other]])
    values: list[object] = [*base, *other]
    if column.numbers is not None:
        values = [None if n is None else f"{n:.9g}" for n in column.numbers]
    return values[: len(base)], values[len(base) :]


def _listed(texts: Sequence[str | None]) -> str:
    """Return the different texts as a list in words; only the first three are named."""
    values = [text or "none" for text in dict.fromkeys(texts)]
    return ", ".join(values[:3]) + (", …" if len(values) > 3 else "")


Wanted = tuple[frozenset[str] | None, frozenset[str] | None]
"""The statistics selected in the first and in the second result of a comparison; None for all."""


def _rows(
    texts: tuple[str | None, ...],
    one: PointResult,
    other: PointResult,
    confidence: float | None,
    wanted: Wanted,
) -> Iterator[Row]:
    """Yield a row for each quantity that both points have. Replications are compared in pairs only
    if `confidence` is given.
    """
    for measure in one.measures:
        partner = other.measure(measure.name)
        if partner is None or partner.unit != measure.unit:
            continue
        partners = dict(_statistics(partner, confidence))
        for name, value in _statistics(measure, confidence):
            chosen = all(of is None or name in of for of in wanted)
            if chosen and name in partners:
                values = (value, partners[name])
                yield Row(texts, (one, other), measure.name, name, measure.unit, values, None)


def _statistics(measure: Measure, confidence: float | None) -> Iterator[tuple[str, Value]]:
    """Yield the names and values of the mean and of the percentiles that the data resolve. If
    nothing was simulated, yield the model's mean.
    """
    if measure.mean is not None:
        yield "mean", _value_of(measure, confidence)
    elif measure.analytic is not None:
        yield "mean", Value(measure.analytic)
    for each in measure.percentiles:
        if each.resolved:
            yield f"p{each.percent:g}", _value_of(each, confidence)


def _value_of(found: Any, confidence: float | None) -> Value:
    """Return a measured value. If `confidence` is set, it includes the values of the
    replications, which are then compared in pairs.
    """
    if confidence is not None:
        return Value.of(found, confidence)
    whole = Value.of(found, CONFIDENCE)
    # A measured value without an interval has an unknown error: keep a replication, so that the
    # value does not count as exact.
    unknown = whole.low is None and whole.high is None
    return replace(whole, each=whole.each[:1] if unknown else ())


def _is_judged(row: Row) -> bool:
    """Return whether the two values of a row may be compared. No value can be compared at a
    collapsed point, where messages no longer arrive, and no time at a saturated point.
    """
    if row.points is None:
        return True
    verdicts = {point.verdict.verdict for point in row.points}
    return "collapsed" not in verdicts and not (row.unit == "us" and verdicts & set(UNSTEADY))


def _judged(rows: list[Row], confidence: float) -> list[Row]:
    """Return the rows; those that can be judged have the result of the statistical comparison."""
    asked = [row for row in rows if _is_judged(row)]
    found = iter(differences([row.values for row in asked], confidence))
    return [replace(row, found=next(found)) if _is_judged(row) else row for row in rows]


def _searches(a: RunResult, b: RunResult, keys: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each search of both results that has equal values on all axes that both
    vary. The row compares the saturation brackets.
    """

    def place(run: RunResult, search: SearchResult) -> tuple[str | None, ...]:
        """Return the values that a search has on the axes that both results vary; they identify
        it in either result.
        """
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
    """Return the saturation bracket of a search as a value: its middle and its ends. The value
    is unknown if an end is unknown.
    """
    low, high = search.highest_stable, search.lowest_saturated
    if low is None or high is None:
        return Value(None)
    return Value((low + high) / 2, low, high, bracket=True)

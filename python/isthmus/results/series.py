"""Layout of a run as curves: the x axis, and one series per combination of the other axes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from isthmus.results.schema import AxisValue, PointResult, RunResult, SearchResult
from isthmus.wording import measure_label, measure_subject

VARIANTS = 12
"""Maximum number of points that a run with searches shows as single variants; more points form
a curve.
"""
MOST = 200
"""The maximum number of points drawn in a curve: more cannot be distinguished, and slow browsers.
"""


@dataclass(frozen=True)
class Series:
    """A curve: points of a run that differ only in their value on the x axis, in the order of
    this value.
    """

    position: int
    """Index of the series in the run; it decides the colour and the marker of the series."""
    label: str
    """Name of the series, for example ``b = 2`` or ``no I/O network``."""
    machine: int
    points: list[PointResult] = field(repr=False)
    search: SearchResult | None = None
    """The saturation search that belongs to this series; None if there is none."""
    searches: list[SearchResult] = field(default_factory=list, repr=False)
    """All saturation searches that belong to points of the series. There are several if the x
    axis is not the load.
    """

    def values(self, view: View, measure: str) -> list[tuple[float, PointResult]]:
        """Return the pairs (x, point) of the series whose points have a simulated mean or a
        model value of this measure.
        """
        found = []
        for point in self.points:
            at = point.measure(measure)
            x = view.x(point)
            if x is not None and at is not None and (at.mean, at.analytic) != (None, None):
                found.append((x, point))
        return found

    def thinned(self) -> Series:
        """Return this series with about `MOST` points, evenly spread, and also the points at
        which the verdict changes.
        """
        points = self.points
        if len(points) <= MOST:
            return self
        verdicts = [point.verdict.verdict for point in points]
        kept = [
            point
            for at, point in enumerate(points)
            if is_drawn(at, len(points))
            or verdicts[at] != verdicts[at - 1]
            or verdicts[at] != verdicts[at + 1]
        ]
        return replace(self, points=kept)


def is_drawn(at: int, count: int) -> bool:
    """Return whether the point number `at` of `count` is among the `MOST` evenly spaced points to
    draw.
    """
    return count <= MOST or at * (MOST - 1) // (count - 1) != (at - 1) * (MOST - 1) // (count - 1)


@dataclass(frozen=True)
class View:
    """The curves into which the points of a run are arranged, one series each, with their common x
    axis.
    """

    run: RunResult = field(repr=False)
    x_axis: int | None
    """Index of the axis that is x; `None` if the run has a single point or axes of words only."""
    by_load: bool
    """Whether the x axis is the offered load. If so, x has the unit of the run's load."""
    x_label: str
    x_unit: str | None
    series: list[Series] = field(default_factory=list)
    x_measure: str | None = None
    """The measure whose values are x instead of those of an axis; `None` if x is an axis."""

    def x(self, point: PointResult) -> float | None:
        """Return the position of a point on the x axis; None if it has none."""
        if self.x_measure is not None:
            measure = point.measure(self.x_measure)
            return measure.mean if measure else None
        if self.by_load:
            return point.load
        if self.x_axis is None:
            return 0.0
        return point.values[self.x_axis].number

    @cached_property
    def thinned(self) -> View:
        """The same view with fewer points in long curves, for drawing."""
        return replace(self, series=[each.thinned() for each in self.series])

    @cached_property
    def measures(self) -> list[str]:
        """Names of all measures that occur at any point of the run, in the order of the results."""
        names: dict[str, None] = {}
        for point in self.run.points:
            names.update(dict.fromkeys(m.name for m in point.measures))
        return list(names)

    @cached_property
    def asked(self) -> list[str]:
        """Names of the measures that the run requested; names of all latencies if it requested
        none.
        """
        asked: dict[str, None] = {}
        for point in self.run.points:
            asked.update(dict.fromkeys(m.name for m in point.measures if m.target is not None))
        if asked:
            return list(asked)
        timed = [m for m in self.measures if self.unit(m) == "us"]
        if not self.of_jobs:
            return timed
        # For jobs, return only the times that their users notice: those of phases and of whole
        # messages.
        return [m for m in timed if m.endswith((".phase", ".response"))]

    @cached_property
    def of_jobs(self) -> bool:
        """Whether the run consists of jobs. If so, the names of its measures begin with the
        name of a job.
        """
        return any(point.jobs for point in self.run.points)

    def label(self, measure: str) -> str:
        """Return the name of a measure for an axis or a heading, without its unit."""
        return measure_label(measure, of_jobs=self.of_jobs)

    def subject(self, measure: str) -> str:
        """Return the items that a measure counts or times, in the plural, such as ``messages``."""
        return measure_subject(measure, of_jobs=self.of_jobs)

    @cached_property
    def _units(self) -> dict[str, str]:
        """Return the unit of each measure of the run, by the name of the measure."""
        units: dict[str, str] = {}
        for point in self.run.points:
            for measure in point.measures:
                units.setdefault(measure.name, measure.unit)
        return units

    def unit(self, measure: str) -> str:
        """Return the unit of a measure."""
        return self._units.get(measure, "")


def view(run: RunResult) -> View:
    """Return the curves of a run. `_x_axis` chooses the axis that becomes x; values of the
    other axes distinguish the series.
    """
    count = len(run.axes)
    values: list[dict[str, AxisValue]] = [{} for _ in range(count)]
    for point in run.points:
        for seen, value in zip(values, point.values, strict=True):
            seen.setdefault(value.text, value)
    x_axis = _x_axis(run, values)
    by_load = (
        x_axis is not None
        and x_axis == run.load_axis
        and all(p.load is not None for p in run.points)
    )
    unit: str | None
    if by_load:
        label, unit = run.load.label, run.load.unit
    elif x_axis is not None:
        label, unit = run.axes[x_axis].label, run.axes[x_axis].unit
    else:
        label, unit = "point", None
    layout = View(run, x_axis, by_load, label, unit)
    constant = {i for i in range(count) if len(values[i]) < 2}
    layout.series.extend(_series(layout, constant))
    return layout


def _x_axis(run: RunResult, values: list[dict[str, AxisValue]]) -> int | None:
    """Return the index of the axis to use as x: the load axis if it is swept, since two loads
    of a machine are no variants of it. Else return None if searches distinguish a few variants,
    or else the numeric axis with the most values.
    """
    counts = [len(seen) for seen in values]
    numeric = [
        i
        for i, seen in enumerate(values)
        if len(seen) > 1 and all(v.number is not None for v in seen.values())
    ]
    if run.load_axis in numeric:
        return run.load_axis
    if run.searches and len(run.points) <= VARIANTS:
        return None
    return max(numeric, key=lambda i: (counts[i], i), default=None)


def _series(layout: View, constant: set[int]) -> list[Series]:
    """Return the series into which the points of a run are divided by their values on the axes
    other than x. `constant` are the axes with a single value.
    """
    run, x_axis = layout.run, layout.x_axis
    groups: dict[tuple[str, ...], list[PointResult]] = {}
    for point in run.points:
        key = tuple(v.text for i, v in enumerate(point.values) if i != x_axis)
        groups.setdefault(key, []).append(point)
    found = []
    for position, points in enumerate(groups.values()):
        first = points[0]
        belonging = [s for s in run.searches if any(run.belongs(s, p) for p in points)]
        search = belonging[0] if len(belonging) == 1 else None
        label = series_label(run, first, {x_axis, *constant})
        in_order = sorted(points, key=lambda p: (layout.x(p) is None, layout.x(p) or 0.0))
        found.append(Series(position, label, first.machine, in_order, search, belonging))
    if not found:
        for position, search in enumerate(run.searches):
            found.append(Series(position, search_label(run, search), search.machine, [], search))
    return found


def series_label(run: RunResult, point: PointResult, left_out: set[int | None]) -> str:
    """Return the name of a series from the values of its axes: ``b = 2, locality = 0.2``."""
    parts = [
        axis_text(run, i, value, point.machine)
        for i, value in enumerate(point.values)
        if i not in left_out
    ]
    return ", ".join(parts) or run.title or run.name


def search_label(run: RunResult, search: SearchResult) -> str:
    """Return the name of a search: the values of its axes, or the title or name of the run if it
    has none.
    """
    parts = [
        axis_text(run, i, value, search.machine)
        for i, value in enumerate(search.values)
        if value is not None
    ]
    return ", ".join(parts) or run.title or run.name


def axis_text(run: RunResult, axis: int, value: AxisValue, machine: int) -> str:
    """Return the value of an axis as text: ``b = 2`` if the label of the axis ends in the
    letter ``b``; the words of the machine instead if it has any for the value.
    """
    field_ = run.axes[axis]
    own = run.machines[machine].axis_words(field_.key)
    return value_text(field_.label, value) if own is None else own


def value_text(label: str, value: AxisValue) -> str:
    """Return a value of an axis as text that does not depend on the machine: ``b = 2``."""
    if value.number is None:
        return value.text
    words = label.split()
    name = words[-1] if words and len(words[-1].strip("().")) == 1 else label
    return f"{name.strip('().')} = {value.text}"

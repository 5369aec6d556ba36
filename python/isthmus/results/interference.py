"""Interference between jobs: each job alone compared with the same job beside others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isthmus.results.schema import AxisValue, Measure, Percentile, PointResult, RunResult
from isthmus.value import Value, compare

if TYPE_CHECKING:
    import polars as pl

ACTIVE = "workload.active"
"""Key of the axis whose values are sets of running jobs."""
MARGIN = 0.05
"""A quotient that differs from 1 by at most this counts as no change; see `Change.direction`."""


@dataclass(frozen=True, slots=True)
class Change:
    """The quotient of a value beside other jobs and the value alone, with its interval; 1 means no
    change.
    """

    value: float
    low: float | None = None
    high: float | None = None
    whole: Value | None = field(default=None, repr=False, compare=False)
    """The same quotient as a `Value`, which also has the values of the single replications."""

    @classmethod
    def of(cls, value: Value) -> Change | None:
        """Return the change for a quotient that the Rust core computed; None if the quotient is
        zero or unknown.
        """
        return cls(value.value, value.low, value.high, value) if value.value else None

    @property
    def half(self) -> float | None:
        """Return half the width of the interval of the quotient; None if an end is unknown."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2

    @property
    def direction(self) -> str:
        """The conclusion that the interval allows, by one rule for all texts about jobs.

        ``more`` or ``less``: the whole interval lies beyond 1 by more than `MARGIN`. ``same``: the
        whole interval lies within `MARGIN` of 1. ``slightly more``, ``slightly less``: the interval
        excludes 1, overlaps the margin and reaches at most twice the margin. ``unknown``:
        otherwise.
        """
        if self.low is None or self.high is None:
            return "unknown"
        if self.low > 1 + MARGIN:
            return "more"
        if self.high < 1 - MARGIN:
            return "less"
        if self.low >= 1 - MARGIN and self.high <= 1 + MARGIN:
            return "same"
        if self.low > 1 and self.high <= 1 + 2 * MARGIN:
            return "slightly more"
        slightly_less = self.high < 1 and self.low >= 1 - 2 * MARGIN
        return "slightly less" if slightly_less else "unknown"

    @property
    def less(self) -> bool:
        """Whether the value is clearly smaller than that of the job alone."""
        return self.direction == "less"

    @property
    def more(self) -> bool:
        """Whether the value is clearly greater than that of the job alone."""
        return self.direction == "more"


@dataclass(frozen=True)
class Variant:
    """One combination of values of all axes except that of the running jobs."""

    values: tuple[AxisValue | None, ...] = field(repr=False)
    """The value of each axis of the run; None for the axis of the running jobs."""
    words: str
    """The values in words, for example ``shared mapping, clustered servers``; empty if no axis
    varies.
    """

    def at(self, axis: int) -> str:
        """Return the value of an axis, as written in the scenario."""
        value = self.values[axis]
        return value.text if value else ""


@dataclass(frozen=True, slots=True)
class JobSlowdown:
    """The slowdown of a job by jobs that run beside it: of its phases, its messages or its data."""

    of: str
    """The units of work that are compared: ``phases`` (rounds of a collective operation,
    checkpoints), ``messages``, or ``data`` if the backlog grows, because times then depend on the
    length of the run.
    """
    mean: Change
    """The mean time beside other jobs divided by the mean time alone; above 1 the job is slower."""
    tail: Change | None
    """The percentile `percent` of the time beside other jobs, divided by the same percentile alone;
    None if unknown.
    """
    percent: float | None
    tail_of: str
    """The observations of which `percent` is a percentile: ``phases``, ``messages``, or ``packets``
    if there are too few messages; empty if there is no percentile.
    """
    piles_up: bool
    """Whether the job's backlog grows without limit beside other jobs, but not when the job runs
    alone.
    """


@dataclass(frozen=True)
class Cell:
    """The slowdown of one job beside other jobs, in one variant of the machine and workload."""

    variant: Variant
    job: str
    """The job whose slowdown the cell shows."""
    beside: tuple[str, ...]
    """The jobs that run at the same time as the job."""
    alone: PointResult = field(repr=False)
    together: PointResult = field(repr=False)
    accepted: Change | None
    """Accepted bandwidth of the job beside other jobs, divided by that of the job alone."""
    mean: Change | None
    """Mean response time of the job's messages beside other jobs, divided by that alone."""
    tail: Change | None
    """The percentile `percent` of response times beside other jobs, divided by that alone."""
    percent: float | None
    """The highest percentile with enough observations both alone and together: of the job's
    messages, or else of its packets.
    """
    tail_of: str
    """The observations of which `percent` is a percentile: ``messages`` or ``packets``."""
    felt: JobSlowdown | None
    """The slowdown of the job's phases or messages by the jobs beside it, which decides whether the
    job counts as slowed; None if unknown.
    """


@dataclass(frozen=True)
class Interference:
    """The interference matrix of a run: a cell per variant, job and set of jobs beside it."""

    run: RunResult = field(repr=False)
    axis: int
    """Position of the axis whose values are sets of running jobs, among the axes of the run."""
    jobs: list[str]
    variants: list[Variant]
    cells: list[Cell] = field(repr=False)

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """Return the sets of jobs that run beside a job, smaller sets first."""
        return sorted(dict.fromkeys(c.beside for c in self.cells), key=len)

    def cell(self, variant: Variant, job: str, beside: tuple[str, ...]) -> Cell | None:
        """Return the cell of a job and the jobs beside it; None if the job was not run both beside
        them and alone.
        """
        of = (c for c in self.cells if c.variant is variant)
        return next((c for c in of if c.job == job and c.beside == beside), None)

    def alone(self, variant: Variant, job: str) -> Measure | None:
        """Return the accepted bandwidth of a job that runs alone; None if it is unknown."""
        of = (c for c in self.cells if c.variant is variant and c.job == job)
        return next((c.alone.measure(f"{job}.accepted") for c in of), None)


def interference(run: RunResult) -> Interference | None:
    """Return the interference matrix of a run. Return None if the run has no axis
    ``workload.active`` on which jobs run both alone and together.
    """
    axis = next((i for i, each in enumerate(run.axes) if each.key == ACTIVE), None)
    if axis is None:
        return None
    groups: dict[tuple[str, ...], list[PointResult]] = {}
    for point in run.points:
        others = tuple(v.text for i, v in enumerate(point.values) if i != axis)
        groups.setdefault(others, []).append(point)
    varying = _varying(run, axis)
    variants, cells = [], []
    for points in groups.values():
        values = tuple(None if i == axis else v for i, v in enumerate(points[0].values))
        variant = Variant(values, variant_words(run, values, varying))
        variants.append(variant)
        alone = {p.active[0]: p for p in points if len(p.active) == 1}
        for together in points:
            if len(together.active) > 1:
                mine = [job for job in together.active if job in alone]
                level = run.confidence
                cells += [_cell(variant, job, alone[job], together, level) for job in mine]
    jobs = list(dict.fromkeys(j.name for p in run.points for j in p.jobs))
    found = [job for job in jobs if any(c.job == job for c in cells)]
    return Interference(run, axis, found, variants, cells) if cells else None


def _varying(run: RunResult, left_out: int) -> list[int]:
    """Return the axes along which the points of a run differ, except `left_out`."""
    axes = [i for i in range(len(run.axes)) if i != left_out]
    return [i for i in axes if len({p.values[i].text for p in run.points}) > 1]


def variant_words(run: RunResult, values: tuple[AxisValue | None, ...], axes: list[int]) -> str:
    """Return the values of a variant on some axes as text:
    ``shared mapping, clustered servers``.
    """
    words = [value_words(run, i, value) for i in axes if (value := values[i]) is not None]
    return ", ".join(words)


def value_words(run: RunResult, axis: int, value: AxisValue) -> str:
    """Return the value of an axis as text: ``shared mapping``, ``offered load of io 0.3``."""
    label = run.axes[axis].label
    return f"{value.text} {label}" if value.number is None else f"{label} {value.text}"


def felt(
    job: str, together: PointResult, alone: PointResult, confidence: float
) -> JobSlowdown | None:
    """Return the slowdown of a job from the point `alone` to the point `together`. It is that of
    the job's phases or, without phases, of its messages; that of its data if its backlog grows.
    Return None if it is unknown.
    """
    piled, before = (_piles_up(job, p) for p in (together, alone))
    if piled or before:
        longer = _of(f"{job}.accepted", alone, together, confidence)
        began = piled and alone.verdict.verdict == "stable"
        return JobSlowdown("data", longer, None, None, "", began) if longer else None
    for quantity, name in (("phase", "phases"), ("response", "messages")):
        mean = _of(f"{job}.{quantity}", together, alone, confidence)
        if mean is not None:
            kinds = [(quantity, name)]
            if name == "messages":
                kinds.append(("packet", "packets"))
            return JobSlowdown(name, mean, *_tail(job, kinds, together, alone, confidence), False)
    return None


def _piles_up(job: str, point: PointResult) -> bool:
    """Return whether the backlog of a job grows without limit at a point."""
    verdict = point.verdict
    return verdict.verdict == "saturated" and verdict.flow == job


def _tail(
    job: str,
    kinds: list[tuple[str, str]],
    together: PointResult,
    alone: PointResult,
    confidence: float,
) -> tuple[Change | None, float | None, str]:
    """Return the slowdown of the job's highest percentile that has enough observations at both
    points, the percentile in percent, and its unit (``messages``, ...). Return None, None and an
    empty text if there is no such percentile.
    """
    for quantity, name in kinds:
        own, base = (p.measure(f"{job}.{quantity}") for p in (together, alone))
        if own and base and (shared := _highest(own, base)):
            return quotient(*shared, confidence), shared[0].percent, name
    return None, None, ""


def _cell(
    variant: Variant, job: str, alone: PointResult, together: PointResult, confidence: float
) -> Cell:
    """Return the matrix cell with the slowdown of a job: it runs alone at the point `alone` and
    beside other jobs at the point `together`.
    """
    beside = tuple(other for other in together.active if other != job)
    kinds = [("response", "messages"), ("packet", "packets")]
    tail, percent, tail_of = _tail(job, kinds, together, alone, confidence)
    return Cell(
        variant,
        job,
        beside,
        alone,
        together,
        _of(f"{job}.accepted", together, alone, confidence),
        _of(f"{job}.response", together, alone, confidence),
        tail,
        percent,
        tail_of,
        felt(job, together, alone, confidence),
    )


def _highest(own: Measure, base: Measure) -> tuple[Percentile, Percentile] | None:
    """Return the highest common percentile above the median for which both measures have enough
    observations, once of each measure; None if there is none.
    """
    resolved = {p.percent: p for p in base.percentiles if p.resolved}
    both = [p for p in own.percentiles if p.resolved and p.percent in resolved and p.percent > 50]
    if not both:
        return None
    most = max(both, key=lambda p: p.percent)
    return most, resolved[most.percent]


def _of(name: str, together: PointResult, alone: PointResult, confidence: float) -> Change | None:
    """Return the measure `name` in `together` divided by that in `alone`; None if it is unknown."""
    own, base = together.measure(name), alone.measure(name)
    return quotient(own, base, confidence) if own and base else None


def quotient(
    own: Measure | Percentile, base: Measure | Percentile, confidence: float
) -> Change | None:
    """Return `own` divided by `base`, with its confidence interval; None unless both are above
    zero.
    """
    return Change.of(Value.of(own, confidence).over(Value.of(base, confidence)))


def combined(changes: list[Change]) -> Change | None:
    """Return the geometric mean of some changes, with its interval; None without changes."""
    values = [c.whole or Value(c.value, c.low, c.high) for c in changes]
    return Change.of(compare("geometric_mean", values)) if values else None


def interference_table(found: Interference) -> pl.DataFrame:
    """Return a table with one row per variant, job and set of jobs beside it.

    Columns: one per axis except that of the jobs (named ``key`` or ``key [unit]``, as text),
    ``job``, ``beside``, ``alone [UNIT]`` and ``together [UNIT]`` (accepted bandwidth per node of
    the job, in the unit of the run's load), ``slower`` and ``slower_tail`` (duration of the job
    together divided by its duration alone, for the mean and for the percentile in
    ``slower_percent``, of the unit in ``slower_of``: phases, messages, or data if the backlog
    grows; ``says``: conclusion from the interval of the mean), ``accepted``, ``response`` and
    ``tail`` (together divided by alone, each with ``_low`` and ``_high``; ``response`` of the mean
    response time of a message, ``tail`` of the percentile in ``percent``), ``percent_of`` (messages
    or packets).
    """
    import polars as pl

    run = found.run
    axes = [i for i in range(len(run.axes)) if i != found.axis]
    unit = run.load.plain
    schema: dict[str, Any] = {
        "job": pl.String,
        "beside": pl.String,
        f"alone [{unit}]": pl.Float64,
        f"together [{unit}]": pl.Float64,
    }
    for name in ("slower", "slower_tail", "accepted", "response", "tail"):
        schema.update({f"{name}{end}": pl.Float64 for end in ("", "_low", "_high")})
        if name == "slower_tail":
            schema.update({"slower_percent": pl.Float64, "slower_of": pl.String, "says": pl.String})
    schema.update({"percent": pl.Float64, "percent_of": pl.String})
    schema = {**dict.fromkeys(run.columns(schema, axes), pl.String), **schema}
    rows = []
    for c in found.cells:
        both = (p.measure(f"{c.job}.accepted") for p in (c.alone, c.together))
        means = [m.mean if m else None for m in both]
        ends = [_ends(each) for each in (c.accepted, c.mean, c.tail)]
        loss = c.felt
        slower = (*_ends(loss.mean if loss else None), *_ends(loss.tail if loss else None))
        words = (loss.percent, loss.of, loss.mean.direction) if loss else (None, None, None)
        left = [c.variant.at(i) for i in axes]
        right = [end for each in ends for end in each]
        beside = " + ".join(c.beside)
        tail = (c.percent, c.tail_of or None)
        rows.append((*left, c.job, beside, *means, *slower, *words, *right, *tail))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _ends(change: Change | None) -> tuple[float | None, float | None, float | None]:
    """Return the quotient of a change and the ends of its interval; None for unknown ones."""
    return (change.value, change.low, change.high) if change else (None, None, None)

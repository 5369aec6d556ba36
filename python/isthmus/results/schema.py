"""The result schema: the content of ``result.json``, as typed objects.

Field names end in their unit. Absent numbers are ``None``, never NaN. The core
(``crates/experiment``) owns this schema; this file only reads it. msgspec parses the JSON into
these types and rejects invalid documents.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from isthmus.columns import cut
from isthmus.errors import IsthmusError
from isthmus.machines import MachineSummary
from isthmus.results.check import check_result
from isthmus.results.packed import Bins, ChannelUse
from isthmus.wording import unit_label

if TYPE_CHECKING:
    from isthmus.files import Bytes

Verdict = Literal["stable", "saturated", "undecided", "collapsed", "completed", "incomplete"]
"""Whether a point carries its load; `collapsed` if messages no longer arrive."""
Origin = Literal["simulation", "model"]
"""Whether the simulation or the queueing model gave a verdict on saturation."""
EndedBy = Literal["backlog", "memory"]
"""The cause of an early end of a point."""
Standstill = Literal["livelock", "deadlock"]
"""The way in which a machine stopped delivering: messages still move, or none does."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1, description="0 or more, below 2^63")]
Share = Annotated[float, Meta(ge=0, le=1, description="a share between 0 and 1")]
Confidence = Annotated[float, Meta(gt=0, lt=1, description="a share between 0 and 1")]
Span = Annotated[float, Meta(ge=0, description="0 or more")]
Step = Annotated[float, Meta(ge=1e-100, le=1e100, description="1e-100 to 1e100")]
"""Resolution of a histogram: bounds of bins are whole multiples of it. The limits keep 2^63 steps a
finite number.
"""
Name = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9_-]{1,80}$", description="1 to 80 letters, digits, - and _")
]
Text = Annotated[
    str,
    Meta(
        max_length=20_000,
        pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
        description="no control characters, at most 20,000 in all",
    ),
]

STEADY = ("stable", "completed")
"""Verdicts of points whose latencies describe the machine; at others they grow with the run."""

SCHEMA = 6
"""Version of the result schema that this package reads."""

CHANGES = 4
"""Maximum number of changed scenario fields that are shown beside a title."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A field of the scenario that the run sweeps."""

    key: Text
    """Key of the field, for example ``machine.lanes.io_link``."""
    label: Text
    """A short name for plots, for example ``I/O link lanes b``."""
    unit: Text | None
    """Unit of the numbers; ``None`` for counts, ratios and words."""

    @property
    def column(self) -> str:
        """Name of the table column: ``key`` or ``key [unit]``."""
        return f"{self.key} [{self.unit}]" if self.unit else self.key


@dataclass(frozen=True, slots=True)
class AxisValue:
    """The value of one axis of the sweep at one point."""

    text: str
    """The value as the scenario writes it, for example ``0.156 ms``."""
    number: float | None
    """The value as a number in the axis' unit; None if it is not a number."""


@dataclass(frozen=True, slots=True)
class LoadQuantity:
    """The quantity and unit of loads for this kind of machine."""

    key: str
    """The field that sets the load, such as ``workload.rate``."""
    label: Text
    """Name of the load in words: ``offered load per PE``."""
    unit: Text
    """Unit of the load, such as ``/ms`` or ``GB/s``."""

    @property
    def column(self) -> str:
        """Name of the table column: ``offered [GB/s]``, ``offered [1/ms]``."""
        return f"offered [{self.plain}]"

    @property
    def plain(self) -> str:
        """The unit as it stands without a number: ``/ms`` becomes ``1/ms``, others stay."""
        return f"1{self.unit}" if self.unit.startswith("/") else self.unit

    @property
    def words(self) -> str:
        """The unit in words: ``messages/ms``."""
        return unit_label(self.unit)

    @property
    def whole_words(self) -> str:
        """The unit in words with its subject: ``messages/ms per PE``."""
        return f"{self.words} {self.label.removeprefix('offered load').strip()}".strip()

    @property
    def accepted(self) -> str:
        """The label of the load that the machine carries, such as ``accepted load per PE``."""
        return self.label.replace("offered", "accepted")


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdict on the saturation of the machine at one point, with its evidence."""

    origin: Origin
    verdict: Verdict
    flow: str
    growth: float
    """Growth of the backlog of waiting demands, divided by the number of offered demands."""
    growth_low: float
    growth_high: float
    threshold: float
    error_rate: Share


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile of a measured quantity, with an interval from replications."""

    percent: float
    value: float
    low: float | None
    high: float | None
    resolved: bool
    """Whether each replication has at least ten observations above the percentile."""
    each: list[float] = field(default_factory=list, repr=False)
    """The value of each replication, for comparisons by the core."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The value of a model for inputs for which the model is not valid, with the reason."""

    value: float
    reason: str
    """The reason why the model is not valid, in one phrase that names the limit."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured quantity at one point: mean, interval, percentiles and model value."""

    name: str
    unit: Text
    """Unit of the quantity: ``us``, ``1/ms``, ``1/us``, ``GB/s`` or ``MB/s``."""
    mean: float | None
    low: float | None
    high: float | None
    samples: Count
    unended: Count
    """Observations cut off by the end of the run, such as unfinished phases. The mean leaves them
    out; percentiles count them as longer than their duration so far.
    """
    percentiles: list[Percentile]
    analytic: float | None
    """The analytic model's value; ``None`` if it has none, is saturated or is outside its domain.
    """
    residual: float | None
    """The deviation from the model: mean / analytic - 1."""
    target: float | None
    """Requested relative half-width of the interval, if the user requested this measure."""
    warmup_share: Share
    each: list[float] = field(default_factory=list, repr=False)
    """The mean of each replication. Replication i of every point uses the same random numbers, so
    that points can be compared pair by pair.
    """
    outside: Outside | None = None
    """The analytic model's value if the machine or its load is outside the model's domain."""

    @property
    def best(self) -> tuple[float | None, float | None, float | None]:
        """The mean of the measure with its interval; the model's value if nothing was simulated."""
        if self.mean is None and self.analytic is not None:
            return self.analytic, None, None
        return self.mean, self.low, self.high

    @property
    def model_anywhere(self) -> float | None:
        """The analytic model's value, even if the point is outside of the model's domain; None
        without one.
        """
        return self.outside.value if self.outside else self.analytic

    @property
    def ended_words(self) -> str:
        """Finished observations out of all, if some were cut off: ``90 of 104``."""
        return f"{self.samples:,} of {self.samples + self.unended:,}" if self.unended else ""


class Histogram(msgspec.Struct, frozen=True, rename={"packed": "bins"}):
    """The distribution of a measured quantity, as bins."""

    measure: str
    unit: str
    """Unit of `step`, such as ``us``."""
    step: Step
    """Unit of the bounds of bins: each bound is a whole multiple of this step."""
    packed: msgspec.Raw
    """The bins as unparsed JSON text, which takes a tenth of the memory of Python numbers."""

    @property
    def bins(self) -> Bins:
        """The occupied bins; parsed at each access."""
        return msgspec.json.decode(self.packed, type=Bins)


class Bottleneck(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """The part of a machine that fills first.

    Among the parts that were occupied for about the longest time, it carried the most. Messages
    that waited for it occupied the others.
    """

    kind: str
    from_: int
    to: int | None
    busy: float
    """Share of time for which the part was occupied, 0 to 1."""
    held_us: float | None
    """Mean time for which one message, packet or request occupied the part."""
    holder: str
    """The item that occupies the part: ``message``, ``packet`` or ``request``."""
    server: int | None
    """The I/O server of jobs to which the part belongs, if any."""
    let_through: float | None = None
    """Share of the part's bandwidth that the buffer behind it can accept; None if it accepts all.
    """


class FieldChange(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A field of the scenario that an override has changed."""

    key: str
    from_: str | None
    """The value in the scenario file, or else the default."""
    to: str | None

    @property
    def words(self) -> str:
        """The change in words, for example ``dimension 7 → 5``."""
        name = self.key.partition(".")[2] or self.key
        return f"{name} {self.from_ or 'none'} → {self.to or 'none'}"


@dataclass(frozen=True, slots=True)
class NodeUse:
    """The load of one node, in the unit of the run's load."""

    node: int
    offered: float | None
    """Offered load of this node; ``None`` if it depends on the accepted load."""
    accepted: float
    """Accepted load of this node."""


@dataclass(frozen=True, slots=True)
class Collapse:
    """How a machine stopped delivering messages."""

    kind: Standstill
    since_us: float
    """Time of the last arrival of a message, or of the detection of a cycle of blocked queues."""
    waiting: int
    """Number of messages that waited when the machine stopped."""
    nodes: list[int]
    """Nodes whose full queues wait for each other, ascending."""
    replications: int
    """Number of collapsed replications; the other fields describe the first one."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """The state of a job at one point of the sweep."""

    name: str
    active: bool
    """Whether the job ran at this point."""
    io: bool
    """Whether the job moves data to or from the I/O servers."""
    nodes: list[int]
    """Numbers of the nodes on which the job runs."""


class PointResult(msgspec.Struct, frozen=True, rename={"packed": "channels"}):
    """The results of one point of the sweep."""

    index: int
    values: list[AxisValue]
    machine: int
    load: float | None
    """Offered load, in the unit of the run's load; ``None`` in a closed loop."""
    verdict: VerdictSummary
    converged: bool
    ended_by: EndedBy | None
    replications: Count
    messages: Count
    simulated_ms: Span
    measures: list[Measure]
    histograms: list[Histogram]
    packed: msgspec.Raw
    """The channels as unparsed JSON text, because a run of many points has millions of them."""
    bottleneck: Bottleneck | None
    """The part of the machine that limits it at this point, if known."""
    nodes: list[NodeUse]
    """The load of each node; empty for kinds of machine that do not record it."""
    jobs: list[JobSummary]
    """The jobs of the scenario, if it has any."""
    servers: list[int]
    """Numbers of the I/O servers that the jobs use."""
    collapse: Collapse | None
    """The reason why messages no longer arrive, if the point collapsed."""
    unmodelled: str | None = None
    """The reason why the model has no value for a point that was not simulated, in one phrase."""

    @property
    def channels(self) -> list[ChannelUse]:
        """Utilisation of channels and kinds of channels; parsed at each access."""
        return msgspec.json.decode(self.packed, type=list[ChannelUse])

    def __repr__(self) -> str:
        """Return a short form without the long fields."""
        shown = ("index", "values", "load", "verdict", "converged", "replications", "messages")
        return f"PointResult({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)}, ...)"

    @property
    def collapsed(self) -> bool:
        """Whether messages no longer arrive at this point, so that its rates are meaningless."""
        return self.verdict.verdict == "collapsed"

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the jobs that ran, in the scenario's order."""
        return tuple(job.name for job in self.jobs if job.active)

    def measure(self, name: str) -> Measure | None:
        """Return the measure of this name, if the point has it."""
        # A loop is faster than a generator here; plots call this method 100,000 times.
        for measure in self.measures:
            if measure.name == name:
                return measure
        return None

    @property
    def statistics(self) -> list[str]:
        """Names of the statistics of its measures: ``mean``, ``p50``, ..."""
        percents = dict.fromkeys(p.percent for m in self.measures for p in m.percentiles)
        return ["mean", *(f"p{percent:g}" for percent in percents)]

    def only(self, names: Collection[str]) -> PointResult:
        """Return the point with only these measures."""
        measures = [m for m in self.measures if m.name in names]
        histograms = [h for h in self.histograms if h.measure in names]
        return msgspec.structs.replace(self, measures=measures, histograms=histograms)


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a saturation search at one load."""

    load: float
    verdict: Verdict
    growth: float
    messages: Count
    ended_by: EndedBy | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The saturation point for one combination of other axes, in the unit of the run's load."""

    values: list[AxisValue | None]
    machine: int
    highest_stable: float | None
    lowest_saturated: float | None
    undecided: tuple[float, float] | None
    """Lowest and highest load in the bracket whose verdict is ``undecided``; None if there is
    none.
    """
    resolution: float
    """Requested width of the saturation bracket, relative to its middle."""
    reached: bool
    """Whether both ends of the bracket are known and the bracket has the requested width."""
    trials: list[Trial]
    analytic: float | None
    """The analytic model's saturation load."""
    analytic_bottleneck: str | None
    """The channel, or kind of channel, that fills first in the model."""
    error_rate: Share


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run: its scenario and its results."""

    schema: int
    version: str
    name: Name
    title: Text
    description: Text
    changes: list[FieldChange]
    """Fields of the scenario that overrides have changed, so that its title or description may be
    wrong about them.
    """
    digest: str
    seed: int
    quick: bool
    confidence: Confidence
    load: LoadQuantity
    """The quantity and unit of all loads."""
    axes: list[Axis]
    load_axis: int | None
    machines: list[MachineSummary] = field(repr=False)
    points: list[PointResult] = field(repr=False)
    searches: list[SearchResult] = field(repr=False)

    @property
    def changed(self) -> str:
        """Changes by overrides, as text beside the title: ``changed: dimension 7 → 5``."""
        if not self.changes:
            return ""
        words = [change.words for change in self.changes[:CHANGES]]
        if len(self.changes) > CHANGES:
            words.append(f"and {len(self.changes) - CHANGES} more")
        return f"changed: {', '.join(words)}"

    def columns(self, own: Collection[str], axes: Iterable[int] | None = None) -> list[str]:
        """Return the names of table columns for the axes (or for those with the indices `axes`).

        The table also has the columns `own`: an axis with such a name becomes ``sweep.NAME``.
        """
        names = [self.axes[i].column for i in (range(len(self.axes)) if axes is None else axes)]
        return [f"sweep.{name}" if name in own else name for name in names]

    def at(self, points: Sequence[int]) -> RunResult:
        """Return the run with some of its points, numbered again, and the searches that belong to
        it.
        """
        kept = [msgspec.structs.replace(self.points[i], index=n) for n, i in enumerate(points)]
        if not self.points:
            return self
        searches = [s for s in self.searches if any(self.belongs(s, point) for point in kept)]
        return replace(self, points=kept, searches=searches)

    def belongs(self, search: SearchResult, point: PointResult) -> bool:
        """Return whether a point belongs to a search: both have equal values on all axes but the
        load.
        """
        pairs = zip(search.values, point.values, strict=True)
        return all(
            i == self.load_axis or wanted is None or wanted.text == own.text
            for i, (wanted, own) in enumerate(pairs)
        )

    def to_json(self) -> bytes:
        """Return the result as JSON text in UTF-8, in the format of the result schema."""
        return msgspec.json.encode(self)

    @property
    def ended_by_memory(self) -> bool:
        """Whether any point or trial of the run ended early for lack of memory."""
        return bool(self.short_of_memory)

    @property
    def short_of_memory(self) -> str:
        """The points and searches that ended early for lack of memory, in words."""
        points = [str(p.index) for p in self.points if p.ended_by == "memory"]
        searches = [
            str(at)
            for at, search in enumerate(self.searches)
            if any(trial.ended_by == "memory" for trial in search.trials)
        ]
        kinds = ((points, "point", "points"), (searches, "search", "searches"))
        return " and ".join(
            f"{one if len(of) == 1 else many} {', '.join(of)}" for of, one, many in kinds if of
        )

    @property
    def exact(self) -> bool:
        """Whether the simulation used no random numbers, so that intervals have no width."""
        found = [m for p in self.points for m in p.measures if m.mean is not None]
        return self.simulated and bool(found) and all(m.low == m.mean == m.high for m in found)

    @property
    def simulated(self) -> bool:
        """Whether anything was simulated; otherwise only the model has values."""
        return any(m.mean is not None for p in self.points for m in p.measures)

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "result") -> RunResult:
        """Read the schema's JSON; error messages name `source`.

        Raises:
            IsthmusError: the text is not JSON or has another version of the schema, or a field is
                invalid.

        """
        run = cls.of_core(text.encode() if isinstance(text, str) else text, source)
        try:
            check_result(run)
        except ValueError as error:
            raise IsthmusError(f"{source}: damaged result: {error}") from error
        return run

    @classmethod
    def of_core(cls, data: Bytes, source: str = "result") -> RunResult:
        """Read a result from the Rust core without checks, as it cannot have changed since."""
        try:
            with _uncollected():
                run = msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            whole = bytes(data)
            _refuse_other(source, whole)
            from isthmus.results.misfit import misfit

            found = misfit(cls, whole) or _place_first(str(error))
            raise IsthmusError(f"{source}: damaged result: {found}") from error
        if run.schema != SCHEMA:
            _refuse_other(source, bytes(data))
        return run


@contextmanager
def _uncollected() -> Iterator[None]:
    """In a ``with`` block, disable garbage collection: parsed data has no cycles, and repeated
    scans of millions of objects take longer than parsing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _refuse_other(source: str, data: bytes) -> None:
    """Refuse data that is not JSON or has another version of the schema."""
    try:
        version = msgspec.json.decode(data, type=_Head).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        line, reason = _malformed(data, error)
        raise IsthmusError(
            f"{source}:{line}: not a whole result file ({reason}); run the scenario again"
        ) from error
    if version != SCHEMA:
        raise IsthmusError(
            f"{source}: result schema {cut(repr(version))}; this isthmus reads schema {SCHEMA}"
        )


class _Head(msgspec.Struct):
    """The field of a result that identifies the version of its schema."""

    schema: Any = None


def _place_first(reason: str) -> str:
    """Return an error message of msgspec, reordered so that the position comes first."""
    problem, _, place = reason.partition(" - at `$.")
    return f"{place.rstrip('`')}: {problem}" if place else problem


def _malformed(data: bytes, error: Exception) -> tuple[int, str]:
    """Return the line at which a text stops being valid JSON, and the reason."""
    reason = str(error)
    _, _, place = reason.rpartition("(byte ")
    at = int(place.rstrip(")")) if place.rstrip(")").isdigit() else len(data)
    return data[:at].count(b"\n") + 1, reason

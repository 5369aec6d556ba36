"""The result schema, version 2: what ``result.json`` holds, as typed objects.

Field names end in their unit. Absent numbers are ``None``, never NaN. The core
(``crates/experiment``) owns this schema; this file only reads it.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from isthmus.errors import IsthmusError
from isthmus.results.machines import (
    FatTreeSummary,
    HypercubeSummary,
    MachineSummary,
    SciSummary,
)
from isthmus.wording import unit_label

__all__ = [
    "SCHEMA",
    "Axis",
    "AxisValue",
    "ChannelUse",
    "Collapse",
    "FatTreeSummary",
    "Histogram",
    "HypercubeSummary",
    "JobSummary",
    "Load",
    "MachineSummary",
    "Measure",
    "NodeUse",
    "Percentile",
    "PointResult",
    "RunResult",
    "SciSummary",
    "SearchResult",
    "Trial",
    "VerdictSummary",
    "read_fabric",
    "read_machines",
]

SCHEMA = 2
"""Version of the result schema that this package reads."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Axis:
    """A swept field."""

    key: str
    """Its key, for example ``machine.lanes.io_link``."""
    label: str
    """A short name for plots, for example ``I/O link lanes b``."""
    unit: str | None
    """Unit of the numbers; ``None`` for counts, ratios and words."""

    @property
    def column(self) -> str:
        """Name of its column in tables: ``key`` or ``key [unit]``."""
        return f"{self.key} [{self.unit}]" if self.unit else self.key


@dataclass(frozen=True, slots=True)
class AxisValue:
    """The value of one axis at one point."""

    text: str
    """As written, for example ``0.156 ms``."""
    number: float | None
    """As a number in the axis' unit, where it is one."""


@dataclass(frozen=True, slots=True)
class Load:
    """What loads are on this kind of machine."""

    key: str
    """The field that sets it, such as ``workload.rate``."""
    label: str
    """In words: ``offered load per PE``."""
    unit: str
    """``/ms`` or ``GB/s``."""

    @property
    def column(self) -> str:
        """Name of its column in tables: ``offered [GB/s]``, ``offered [1/ms]``."""
        return f"offered [{self.plain}]"

    @property
    def plain(self) -> str:
        """The unit with a number before a stroke: ``1/ms``."""
        return f"1{self.unit}" if self.unit.startswith("/") else self.unit

    @property
    def words(self) -> str:
        """The unit as people write it: ``messages/ms``."""
        return unit_label(self.unit)

    @property
    def whole_words(self) -> str:
        """The unit with what it is counted for: ``messages/ms per PE``."""
        return f"{self.words} {self.label.removeprefix('offered load').strip()}".strip()

    @property
    def accepted(self) -> str:
        """What of it is completed, in words: ``accepted load per PE``."""
        return self.label.replace("offered", "accepted")


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdict on saturation, with its grounds."""

    origin: str
    """``simulation`` or ``model``: a verdict of the queueing model has no growth."""
    verdict: str
    """``stable``, ``saturated`` or ``undecided``; ``collapsed`` where no message arrives any
    more."""
    flow: str
    growth: float
    """Growth of the backlog per demand offered."""
    growth_low: float
    growth_high: float
    threshold: float
    error_rate: float


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile, with an interval from replications."""

    percent: float
    value: float
    low: float | None
    high: float | None
    resolved: bool
    """False where a replication had fewer than ten observations above it: biased low."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured quantity at one point."""

    name: str
    unit: str
    """``us``, ``1/ms``, ``1/us``, ``GB/s`` or ``MB/s``."""
    mean: float | None
    low: float | None
    high: float | None
    samples: int
    percentiles: list[Percentile]
    analytic: float | None
    """The analytic model's value; ``None`` where it has none or is saturated."""
    residual: float | None
    """mean / analytic - 1."""
    target: float | None
    """Relative half-width asked for, if this measure was asked for."""
    warmup_share: float

    @property
    def best(self) -> tuple[float | None, float | None, float | None]:
        """The mean with its interval; the model's value where nothing was simulated."""
        if self.mean is None:
            return self.analytic, None, None
        return self.mean, self.low, self.high


@dataclass(frozen=True, slots=True)
class Histogram:
    """A distribution: lower bound, upper bound, observations; empty bins left out."""

    measure: str
    unit: str
    bins: list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class ChannelUse:
    """How busy a channel, or the mean channel of a kind, was: flits or symbols per cycle and lane,
    or the share of the time, 0 to 1.
    """

    kind: str
    from_: int | None
    to: int | None
    utilisation: float
    highest: float | None
    analytic: float | None


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What one node sent; both in the unit of the run's load."""

    node: int
    offered: float | None
    """Offered load of this node alone; ``None`` where it depends on what is accepted."""
    accepted: float
    """What of it arrived."""


@dataclass(frozen=True, slots=True)
class Collapse:
    """How a machine came to deliver nothing any more."""

    kind: str
    """``livelock`` if messages still move, ``deadlock`` if none does."""
    since_us: float
    """When the last message arrived, or a circle of queues was found that can never move again."""
    waiting: int
    """Messages that wait."""
    nodes: list[int]
    """Nodes whose full queues wait for one another, ascending."""
    replications: int
    """Replications that have collapsed; the other fields are those of the first."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job at one point."""

    name: str
    active: bool
    """Whether it ran."""
    io: bool
    """Whether it moves data to or from the I/O servers."""
    nodes: list[int]
    """Its nodes."""


@dataclass(frozen=True, slots=True)
class PointResult:
    """One point of the sweep."""

    index: int
    values: list[AxisValue]
    machine: int
    load: float | None
    """Offered load, in the unit of the run's load; ``None`` in a closed loop."""
    verdict: VerdictSummary
    converged: bool
    ended_by: str | None
    """`backlog` or `memory` where that ended the point before its rules did."""
    replications: int
    messages: int
    simulated_ms: float
    measures: list[Measure] = field(repr=False)
    histograms: list[Histogram] = field(repr=False)
    channels: list[ChannelUse] = field(repr=False)
    nodes: list[NodeUse] = field(repr=False)
    """What each node sent; empty for kinds of machine that do not count it."""
    jobs: list[JobSummary] = field(repr=False)
    """The jobs, where there are any."""
    servers: list[int] = field(repr=False)
    """The I/O servers of the jobs."""
    collapse: Collapse | None
    """Why no message arrives any more, if it came to that."""

    @property
    def collapsed(self) -> bool:
        """Whether no message arrives any more; its rates are no results then."""
        return self.verdict.verdict == "collapsed"

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the jobs that ran, in the scenario's order."""
        return tuple(job.name for job in self.jobs if job.active)

    def measure(self, name: str) -> Measure | None:
        """Return the measure of this name, if the point has it."""
        return next((m for m in self.measures if m.name == name), None)


@dataclass(frozen=True, slots=True)
class Trial:
    """One load tried by a search."""

    load: float
    verdict: str
    growth: float
    messages: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The knee for one combination of the other axes; loads are in the unit of the run's load."""

    values: list[AxisValue | None]
    machine: int
    highest_stable: float | None
    lowest_saturated: float | None
    undecided: tuple[float, float] | None
    """Lowest and highest load in the bracket that stayed undecided, where any did."""
    trials: list[Trial]
    analytic: float | None
    """The analytic model's saturation load."""
    analytic_bottleneck: str | None
    """The channel, or kind of channel, that is full first in the model."""
    error_rate: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run: what was asked and what came out."""

    schema: int
    version: str
    name: str
    title: str
    description: str
    digest: str
    seed: int
    quick: bool
    confidence: float
    load: Load
    """What all loads here are."""
    axes: list[Axis]
    load_axis: int | None
    machines: list[MachineSummary] = field(repr=False)
    points: list[PointResult] = field(repr=False)
    searches: list[SearchResult] = field(repr=False)

    @property
    def simulated(self) -> bool:
        """Whether anything was simulated; otherwise there are the model's values only."""
        return any(m.mean is not None for p in self.points for m in p.measures)

    @classmethod
    def from_json(cls, text: str, source: str = "result") -> RunResult:
        """Read the schema's JSON; `source` names it in an error.

        Raises:
            IsthmusError: not JSON, another version of the schema, or a field amiss.

        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise IsthmusError(
                f"{source}:{error.lineno}: not a whole result file ({error.msg}); "
                "run the scenario again"
            ) from error
        version = data.get("schema") if isinstance(data, dict) else None
        if version != SCHEMA:
            raise IsthmusError(
                f"{source}: result schema {version!r}; this isthmus reads schema {SCHEMA}"
            )
        try:
            return typing.cast(RunResult, _read(cls, data))
        except (KeyError, TypeError, ValueError) as error:
            raise IsthmusError(f"{source}: damaged result: {error}") from error


def read_machines(described: list[dict[str, Any]]) -> list[MachineSummary]:
    """Read machines as the core describes them."""
    return [typing.cast(MachineSummary, _read(MachineSummary, each)) for each in described]


def read_fabric(described: dict[str, Any]) -> SciSummary:
    """Read a fabric as the core describes it without the kind of machine that it is."""
    return typing.cast(SciSummary, _read(SciSummary, described))


def _of_kind(kinds: list[Any], value: Any) -> Any:
    """The class whose ``kind`` the value names."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {value!r}")
    known = {kind.kind: kind for kind in kinds}
    if value.get("kind") not in known:
        raise ValueError(f"kind {value.get('kind')!r}; there are {', '.join(known)}")
    return known[value["kind"]]


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, value: Any) -> Any:
    """Turn JSON into `kind`, a dataclass or a type built of lists, tuples, unions and scalars."""
    if is_dataclass(kind):
        hints = _hints(typing.cast(type, kind))
        if not isinstance(value, dict):
            raise TypeError(f"expected an object for {kind}")
        given = {}
        for each in fields(kind):
            name = each.name.rstrip("_")
            if name in value:
                given[each.name] = _read(hints[each.name], value[name])
            else:
                raise KeyError(f"no field {name!r}")
        return typing.cast(type, kind)(**given)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        inner = [a for a in arguments if a is not type(None)]
        return _read(inner[0] if len(inner) == 1 else _of_kind(inner, value), value)
    if origin is list:
        return [_read(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_read(a, item) for a, item in zip(arguments, value, strict=True))
    if kind is float:
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {value!r}")
    return value

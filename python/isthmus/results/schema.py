"""The result schema, version 1: what ``result.json`` holds, as typed objects.

Field names end in their unit. Absent numbers are ``None``, never NaN. The core
(``crates/experiment``) owns this schema; this file only reads it. Fields with a default are younger
than the version: results written before them load with the default.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from isthmus.errors import IsthmusError

SCHEMA = 1
"""Version of the result schema that this package reads."""
LOAD_UNIT = "/ms"
"""The one unit of the loads of a search: messages per millisecond and PE."""

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
class MachineSummary:
    """A machine in figures, for tables and the picture."""

    kind: str
    dimension: int
    pes: int
    io_nodes: list[int]
    """PEs with an I/O node, ascending; the position is the I/O node's number."""
    servers: list[int]
    """Number of the I/O node that serves each PE; empty above 4096 PEs."""
    lanes: list[tuple[str, int]]
    """Lanes of each kind of link: pe (k), link, io_node (m), io_source (r), io_link (b),
    io_to_pe (n)."""
    cycle_us: float
    deadlock: str
    """Whether routing was proven free of deadlock, and how."""
    faults: list[str]

    @property
    def has_io_network(self) -> bool:
        """Whether the I/O nodes have a network of their own (b > 0)."""
        return dict(self.lanes).get("io_link", 0) > 0


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdict on saturation, with its grounds."""

    verdict: str
    """``stable``, ``saturated`` or ``undecided``."""
    flow: str
    growth: float
    """Growth of the backlog per demand offered."""
    growth_low: float
    growth_high: float
    threshold: float
    error_rate: float
    origin: str = "simulation"
    """``simulation`` or ``model``: a verdict of the queueing model has no growth."""


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile, with an interval from replications."""

    percent: float
    value: float
    low: float | None
    high: float | None
    resolved: bool = True
    """False where a replication had fewer than ten observations above it: biased low."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured quantity at one point."""

    name: str
    unit: str
    """``us``, ``1/ms`` or ``1``."""
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
    """How busy a channel, or the mean channel of a kind, was (flits per cycle and lane, 0 to 1)."""

    kind: str
    from_: int | None
    to: int | None
    utilisation: float
    highest: float | None
    analytic: float | None


@dataclass(frozen=True, slots=True)
class PointResult:
    """One point of the sweep."""

    index: int
    values: list[AxisValue]
    machine: int
    offered_per_ms: float | None
    """Mean messages that one PE generates per millisecond; ``None`` in a closed loop."""
    verdict: VerdictSummary
    converged: bool
    replications: int
    messages: int
    simulated_ms: float
    measures: list[Measure] = field(repr=False)
    histograms: list[Histogram] = field(repr=False)
    channels: list[ChannelUse] = field(repr=False)

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
    """The knee for one combination of the other axes; loads are messages per millisecond and PE."""

    values: list[AxisValue | None]
    machine: int
    over: str
    unit: str
    """Always `LOAD_UNIT`."""
    highest_stable: float | None
    lowest_saturated: float | None
    trials: list[Trial]
    analytic: float | None
    analytic_bottleneck: str | None
    error_rate: float
    undecided: tuple[float, float] | None = None
    """Lowest and highest load in the bracket that stayed undecided, where any did."""

    def __post_init__(self) -> None:
        if self.unit != LOAD_UNIT:
            raise ValueError(f"a search in {self.unit!r}; searches are in {LOAD_UNIT!r}")


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
            elif each.default is MISSING:
                raise KeyError(f"no field {name!r}")
        return typing.cast(type, kind)(**given)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        (inner,) = (a for a in arguments if a is not type(None))
        return _read(inner, value)
    if origin is list:
        return [_read(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_read(a, item) for a, item in zip(arguments, value, strict=True))
    if kind is float:
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {value!r}")
    return value

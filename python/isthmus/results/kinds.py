"""The kinds of picture of a run: caption, and the condition under which each has data.

Each kind is drawn twice: by the browser (`isthmus.charts`) and for paper (`isthmus.plots`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.results.curves import with_percentiles, with_residuals
from isthmus.results.interference import interference
from isthmus.results.series import View
from isthmus.results.shown import (
    has_bandwidth,
    has_bracket_curves,
    has_brackets,
    has_channels,
    has_nodes,
    with_histograms,
)


@dataclass(frozen=True)
class Kind:
    """One kind of picture of a run: its title, its caption, and the condition under which it has
    data.
    """

    name: str
    heading: str
    caption: str
    """Text that explains the picture to the reader."""
    applies: Callable[[View], bool]
    terms: tuple[str, ...] = ()
    """Terms of the glossary that the report explains beside the picture."""


def has_latency(view: View) -> bool:
    """Return whether any measure that the user requested, such as a latency, has values."""
    return any(s.values(view, m) for s in view.series for m in view.asked)


def others(view: View) -> list[str]:
    """Return the measures that are response times or network times and that were not requested."""
    asked = view.asked
    return [
        m
        for m in view.measures
        if m not in asked
        and view.unit(m) == "us"
        and m.rpartition(".")[2] in ("response", "network")
    ]


_ALL = [
    Kind(
        "interference",
        "Interference between jobs",
        "How much longer the phases of each job, or else its messages, take beside others than "
        "alone, per variant; below, the same of the highest percentile that both resolve. Bold "
        "where it is clear: the whole interval lies beyond 5%.",
        lambda v: interference(v.run) is not None,
    ),
    Kind(
        "bandwidth",
        "Accepted bandwidth",
        "What each job, and each I/O server, gets through.",
        has_bandwidth,
        ("accepted load",),
    ),
    Kind(
        "latency",
        "Latency",
        "Means of what was asked for. A curve that turns upwards earlier saturates earlier.",
        has_latency,
        ("header latency", "offered load"),
    ),
    Kind(
        "saturation",
        "Where it saturates",
        "The load at which the backlog begins to grow without end.",
        lambda v: has_brackets(v) or has_bracket_curves(v),
        ("saturation", "knee", "backlog"),
    ),
    Kind(
        "accepted",
        "Accepted against offered load",
        "Where a curve leaves the diagonal, messages pile up or are dropped; a dashed line is the "
        "load at which the analysis sees the first link full.",
        lambda v: v.by_load and any(s.values(v, "accepted") for s in v.series),
        ("accepted load", "offered load"),
    ),
    Kind(
        "response",
        "Response times",
        "Whole response times, software and devices included.",
        lambda v: v.x_axis is not None and bool(others(v)),
        ("start-up",),
    ),
    Kind(
        "machine",
        "The machine",
        "The machine; the busier a link, the stronger its colour.",
        has_channels,
        ("channel", "lane"),
    ),
    Kind(
        "nodes",
        "Node by node",
        "What of each node's traffic arrives: the flatter, the fairer.",
        has_nodes,
        ("accepted load",),
    ),
    Kind(
        "channels",
        "Channels",
        "Which channels limit: the ones nearest to 100%.",
        has_channels,
        ("channel", "lane", "flit"),
    ),
    Kind(
        "residuals",
        "Against the queueing model",
        "How far the simulation lies above (+) or below (−) the queueing model.",
        lambda v: v.x_axis is not None and bool(with_residuals(v)),
        ("residual", "reading"),
    ),
    Kind(
        "percentiles",
        "Percentiles",
        "Not only means: what the median and the unlucky see.",
        lambda v: v.x_axis is not None and bool(with_percentiles(v)),
    ),
    Kind(
        "distribution",
        "Distributions",
        "The share of messages that take longer than a time; lower and further left is better.",
        lambda v: bool(with_histograms(v)),
    ),
]

MAP = Kind(
    "map",
    "Over both fields",
    "A cell for a point of the sweep; darker is more.",
    lambda _view: False,
    ("saturation",),
)
"""Kind of figure: heat maps of a sweep over two numeric fields. Only the browser draws them."""
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
"""Kinds of figures by name, in the order of the report."""

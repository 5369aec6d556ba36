"""Plots of a run. `KINDS` lists them; each is drawn where the run has material for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.plots import (
    bandwidth,
    channels,
    curves,
    distribution,
    interference,
    machine,
    nodes,
    saturation,
)
from isthmus.plots.style import Plot, image, styled
from isthmus.progress import Tell, untold
from isthmus.results.schema import RunResult
from isthmus.results.series import View, view

__all__ = ["KINDS", "Kind", "Picture", "draw", "draw_all", "image", "pictures"]


@dataclass(frozen=True)
class Kind:
    """One kind of plot."""

    name: str
    caption: str
    """What a reader should see in it."""
    draw: Callable[..., Plot]
    applies: Callable[[View], bool]


def _has_latency(layout: View) -> bool:
    return any(s.values(layout, m) for s in layout.series for m in layout.asked)


def _others(layout: View) -> list[str]:
    asked = layout.asked
    return [
        m
        for m in layout.measures
        if m not in asked
        and layout.unit(m) == "us"
        and m.rpartition(".")[2] in ("response", "network")
    ]


def _response(layout: View, **options: Any) -> Plot:
    return curves.latency(layout, _others(layout), **options)


_ALL = [
    Kind(
        "interference",
        "What is left of each job's accepted bandwidth when others run beside it, per variant, and "
        "how much longer its messages take (mean and the highest percentile with enough "
        "observations). Bold where the interval holds no zero.",
        interference.matrix,
        interference.has_matrix,
    ),
    Kind(
        "bandwidth",
        "What each job, and each I/O server, gets through.",
        bandwidth.bandwidth,
        bandwidth.has_bandwidth,
    ),
    Kind(
        "latency",
        "Means of what was asked for. A curve that turns upwards earlier saturates earlier.",
        curves.latency,
        _has_latency,
    ),
    Kind(
        "saturation",
        "The load at which the backlog begins to grow without end.",
        saturation.saturation,
        lambda v: saturation.has_rows(v) or saturation.has_curves(v),
    ),
    Kind(
        "accepted",
        "Where a curve leaves the diagonal, messages pile up or are dropped; a dashed line is the "
        "load at which the analysis sees the first link full.",
        curves.accepted,
        lambda v: v.by_load and any(s.values(v, "accepted") for s in v.series),
    ),
    Kind(
        "response",
        "Whole response times, software and devices included.",
        _response,
        lambda v: v.x_axis is not None and bool(_others(v)),
    ),
    Kind(
        "machine",
        "The machine; the busier a link, the darker.",
        machine.machine,
        channels.has_channels,
    ),
    Kind(
        "nodes",
        "What of each node's traffic arrives: the flatter, the fairer.",
        nodes.nodes,
        nodes.has_nodes,
    ),
    Kind(
        "channels",
        "Which channels limit: the ones nearest to 100%.",
        channels.channels,
        channels.has_channels,
    ),
    Kind(
        "residuals",
        "How far the simulation lies above (+) or below (−) the queueing model.",
        curves.residuals,
        lambda v: v.x_axis is not None and bool(curves.with_residuals(v)),
    ),
    Kind(
        "percentiles",
        "Not only means: what the median and the unlucky see.",
        curves.percentiles,
        lambda v: v.x_axis is not None and bool(curves.with_percentiles(v)),
    ),
    Kind(
        "distribution",
        "The share of messages that take longer than a time; lower and further left is better.",
        distribution.distribution,
        lambda v: bool(distribution.with_histograms(v)),
    ),
]

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}


def draw(run: RunResult, kind: str = "latency", **options: Any) -> Plot:
    """Draw one plot of a run.

    Raises:
        IsthmusError: there is no such plot, or the run has no material for it.

    """
    layout = view(run)
    if kind not in KINDS:
        raise IsthmusError(f"no plot {kind!r}; there are {', '.join(KINDS)}")
    if not KINDS[kind].applies(layout):
        have = ", ".join(k.name for k in _ALL if k.applies(layout)) or "none"
        raise IsthmusError(f"this run has nothing to draw for {kind!r}; it has {have}")
    with styled():
        return KINDS[kind].draw(layout, **options)


def draw_all(run: RunResult) -> Iterator[tuple[str, Plot]]:
    """Draw every plot that the run has material for, in the order of the report."""
    layout = view(run)
    for kind in _ALL:
        if kind.applies(layout):
            with styled():
                figure = kind.draw(layout)
            yield kind.name, figure


@dataclass(frozen=True)
class Picture:
    """A plot of a run, drawn and kept in both forms."""

    name: str
    png: bytes
    svg: bytes
    width: float
    """Width in inches."""


def pictures(run: RunResult, tell: Tell = untold) -> list[Picture]:
    """Every plot that the run has material for; `tell` hears of each that is drawn."""
    drawn: list[Picture] = []
    layout = view(run)
    number = sum(kind.applies(layout) for kind in _ALL)
    tell("drawing", 0, number)
    for name, figure in draw_all(run):
        png, svg = image(figure, "png"), image(figure, "svg")
        drawn.append(Picture(name, png, svg, float(figure.get_figwidth())))
        figure.clear()
        tell("drawing", len(drawn), number)
    return drawn

"""Plots of a run. `KINDS` lists them; each is drawn where the run has material for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from isthmus.arguments import FORMS
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
from isthmus.results.kinds import KINDS, others
from isthmus.results.schema import RunResult
from isthmus.results.series import View, view

__all__ = ["KINDS", "Picture", "draw", "draw_all", "image", "pictures"]


def _response(layout: View, **options: Any) -> Plot:
    return curves.latency(layout, others(layout), **options)


_DRAWN: dict[str, Callable[..., Plot]] = {
    "interference": interference.matrix,
    "bandwidth": bandwidth.bandwidth,
    "latency": curves.latency,
    "saturation": saturation.saturation,
    "accepted": curves.accepted,
    "response": _response,
    "machine": machine.machine,
    "nodes": nodes.nodes,
    "channels": channels.channels,
    "residuals": curves.residuals,
    "percentiles": curves.percentiles,
    "distribution": distribution.distribution,
}


def draw(run: RunResult, kind: str = "latency", **options: Any) -> Plot:
    """Draw one plot of a run.

    Raises:
        IsthmusError: there is no such plot, or the run has no material for it.

    """
    layout = view(run)
    if kind not in KINDS:
        raise IsthmusError(f"no plot {kind!r}; there are {', '.join(KINDS)}")
    if not KINDS[kind].applies(layout):
        have = ", ".join(k.name for k in KINDS.values() if k.applies(layout)) or "none"
        raise IsthmusError(f"this run has nothing to draw for {kind!r}; it has {have}")
    with styled():
        return _DRAWN[kind](layout, **options)


def draw_all(run: RunResult) -> Iterator[tuple[str, Plot]]:
    """Draw every plot that the run has material for, in the order of the report."""
    layout = view(run)
    for kind in KINDS.values():
        if kind.applies(layout):
            with styled():
                figure = _DRAWN[kind.name](layout)
            yield kind.name, figure


@dataclass(frozen=True)
class Picture:
    """A plot of a run, drawn."""

    name: str
    images: dict[str, bytes]
    """By ``png`` and ``svg``, those asked for."""


def pictures(
    run: RunResult, suffixes: tuple[str, ...] = FORMS, tell: Tell = untold
) -> list[Picture]:
    """Every plot that the run has material for; `tell` hears of each that is drawn."""
    drawn: list[Picture] = []
    layout = view(run)
    number = sum(kind.applies(layout) for kind in KINDS.values())
    tell("drawing", 0, number)
    for name, figure in draw_all(run):
        drawn.append(Picture(name, {suffix: image(figure, suffix) for suffix in suffixes}))
        figure.clear()
        tell("drawing", len(drawn), number)
    return drawn

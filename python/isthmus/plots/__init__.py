"""Plots of a run. `KINDS` lists them; each is drawn if the run has data for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from isthmus.answer.sentences import unmodelled
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
from isthmus.plots.style import image, on_axes, styled
from isthmus.progress import StepCallback, ignore_steps
from isthmus.results.kinds import KINDS, others
from isthmus.results.schema import RunResult
from isthmus.results.selection import check_known, several
from isthmus.results.series import view

__all__ = ["KINDS", "Picture", "draw", "draw_all", "image", "pictures"]


_DRAWN: dict[str, Callable[..., Figure]] = {
    "interference": interference.matrix,
    "bandwidth": bandwidth.bandwidth,
    "latency": curves.latency,
    "saturation": saturation.saturation,
    "accepted": curves.accepted,
    "response": lambda layout, **options: curves.latency(layout, others(layout), **options),
    "machine": machine.machine,
    "nodes": nodes.nodes,
    "channels": channels.channels,
    "residuals": curves.residuals,
    "percentiles": curves.percentiles,
    "distribution": distribution.distribution,
}


ALONE = ("interference", "machine")
"""Names of the plots that need a whole figure for themselves: each has a colour scale beside its
panels.
"""


def draw(
    run: RunResult,
    kind: str = "latency",
    *,
    measure: str | Iterable[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw one plot of a run, of some measures or on given axes.

    Raises:
        IsthmusError: the plot or measure does not exist, the run has no data for it, or the number
            of axes is not the number of panels.

    """
    check_known("plot", kind, KINDS)
    options: dict[str, Any] = {}
    if measure is not None:
        there = list(dict.fromkeys(m.name for p in run.points for m in p.measures))
        names = [check_known("measure", name, there) for name in several(measure)]
        run = replace(run, points=[point.only(names) for point in run.points])
        if kind == "latency":
            options["measures"] = names
    layout = view(run)
    of_measure = kind == "latency" and measure is not None
    if not (of_measure or KINDS[kind].applies(layout)):
        have = ", ".join(k.name for k in KINDS.values() if k.applies(layout)) or "none"
        of = "these measures have" if measure is not None else "this run has"
        why = unmodelled(layout)
        why = f". {why.removesuffix('.')}" if why else ""
        raise IsthmusError(f"{of} nothing to draw for {kind!r}; there is {have}{why}")
    if axes is None:
        with styled():
            return _DRAWN[kind](layout, **options)
    if kind in ALONE:
        raise IsthmusError(f"ax: {kind!r} makes a figure of its own, with a scale; leave ax out")
    with on_axes(axes):
        return _DRAWN[kind](layout, **options)


def draw_all(run: RunResult) -> Iterator[tuple[str, Figure]]:
    """Draw every plot for which the run has data, in the order of the report. Yield the name
    and the figure of each.
    """
    layout = view(run)
    for kind in KINDS.values():
        if kind.applies(layout):
            with styled():
                figure = _DRAWN[kind.name](layout)
            yield kind.name, figure


@dataclass(frozen=True)
class Picture:
    """A plot of a run as images in one or more formats, with the name of the plot."""

    name: str
    images: dict[str, bytes]
    """Images by format, ``png`` or ``svg``."""


def pictures(
    run: RunResult, suffixes: tuple[str, ...] = FORMS, tell: StepCallback = ignore_steps
) -> list[Picture]:
    """Draw every plot for which the run has data, as images in all formats of `suffixes`.
    `tell` is called with the progress after each plot.
    """
    drawn: list[Picture] = []
    layout = view(run)
    number = sum(kind.applies(layout) for kind in KINDS.values())
    tell("drawing", 0, number)
    for name, figure in draw_all(run):
        drawn.append(Picture(name, {suffix: image(figure, suffix) for suffix in suffixes}))
        figure.clear()
        tell("drawing", len(drawn), number)
    return drawn

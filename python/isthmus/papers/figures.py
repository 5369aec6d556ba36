"""A paper's figures, drawn from the results of its scenarios.

``figures.toml`` of a paper holds a list of figures::

    [[figure]]
    name = "figure-4"                    # name of the file
    caption = "What to see in it."
    scenario = "figure-4"

    [[figure.panel]]
    title = "(a) PE-PE messages"
    measure = "pe_pe.router"
    at = "dimension=3"                   # fixes axes, as in a row; may be absent
    model = true                         # draw the queueing model, even where it is not valid
    bound = true                         # draw the analytic bound
    log = true                           # force the scale; decided by the values if absent
    live = true                          # show what was measured live (`isthmus.papers.live`)

In place of panels a figure may name a plot of reports: ``plot = "nodes"``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from isthmus.core import read_toml
from isthmus.errors import IsthmusError
from isthmus.papers.cells import conditions
from isthmus.papers.folder import Paper
from isthmus.papers.live import live
from isthmus.papers.row_results import points
from isthmus.results.curves import load_bound, mean_of, model_of
from isthmus.results.schema import PointResult, RunResult
from isthmus.results.series import View, view
from isthmus.scenes.curves import Curves
from isthmus.wording import measure_label, with_unit

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure as Drawn

    from isthmus.charts import Chart

BOUND: dict[str, Any] = {"ls": (0, (6, 3)), "lw": 1.2}
"""Line style of the analytic bound."""
LIVE_ENDS = "least to most"
"""Text that says what the ends of an interval of live measurements are: the least and the most."""
LIVE = f"live: median of turns, {LIVE_ENDS}"
"""Text of the legend that says what a mark of a live measurement shows."""


@dataclass(frozen=True)
class Panel:
    """A panel of a figure, as ``figures.toml`` defines it: a measure with its axes."""

    title: str
    measure: str
    at: str = ""
    model: bool = False
    bound: bool = False
    log: bool | None = None
    live: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, as ``figures.toml`` defines it."""

    name: str
    caption: str
    scenario: str
    panels: tuple[Panel, ...] = ()
    plot: str | None = None
    """Name of a plot of reports, in place of panels."""
    live: Path | None = None
    """File with the live measurements of the paper, if it has any."""

    @property
    def has_live(self) -> bool:
        """Whether a panel shows live measurements."""
        return any(panel.live for panel in self.panels)

    def __post_init__(self) -> None:
        """Refuse a figure with both panels and a plot, or with neither."""
        if bool(self.panels) == (self.plot is not None):
            raise TypeError("give either panels or the name of a plot")


def figures(paper: Paper) -> list[Figure]:
    """Return the figures of a paper; none if it has no ``figures.toml``.

    Raises:
        IsthmusError: the file is invalid.

    """
    path = paper.folder / "figures.toml"
    if not path.is_file():
        return []
    found = []
    for entry in read_toml(path).get("figure", []):
        try:
            panels = tuple(Panel(**each) for each in entry.pop("panel", ()))
            found.append(Figure(**entry, panels=panels, live=paper.folder / "live.json"))
        except (KeyError, TypeError) as error:
            name = entry.get("name", len(found) + 1)
            raise IsthmusError(f"{path}: figure {name}: {error}") from error
    return found


def draw(figure: Figure, run: RunResult) -> Drawn:
    """Draw a figure from the result of its scenario.

    Raises:
        IsthmusError: a condition of a panel matches no point.

    """
    from isthmus import plots
    from isthmus.plots import curves
    from isthmus.plots.style import key, legend_above, look, panels, styled

    if figure.plot is not None:
        return plots.draw(run, figure.plot)
    views = [_view(figure, panel, run) for panel in figure.panels]
    columns = 2 if len(views) in (2, 4) else 3
    with styled():
        plot, axes = panels(len(views), columns=columns)
        for ax, panel, layout in zip(axes, figure.panels, views, strict=True):
            drawn = _curves(panel, layout)
            for series in layout.series if drawn.bound else ():
                if (limit := load_bound(layout, series)) is not None:
                    ax.axhline(limit, color=look(layout, series).colour, **BOUND)
            curves.curve_panel(ax, layout, drawn)
            curves.finish(ax, layout)
        entries = curves.marks(_modelled(figure, run), anywhere=True)
        if any(panel.bound for panel in figure.panels):
            entries.append(key("analytic bound", **BOUND))
        if figure.has_live:
            entries.append(key(LIVE, marker="o", ls="-"))
        legend_above(plot, views[0], entries)
    return plot


def chart_of(figure: Figure, run: RunResult) -> Chart:
    """Return a figure as a chart of the paper's HTML page.

    Raises:
        IsthmusError: a condition of a panel matches no point.

    """
    from isthmus import charts
    from isthmus.charts import curves
    from isthmus.charts.chart import Symbol

    if figure.plot is not None:
        return replace(charts.chart(view(run), figure.plot), name=figure.name)
    drawn, last = [], None
    for panel in figure.panels:
        last = _view(figure, panel, run)
        drawn.append(curves.curve_panel(last, _curves(panel, last)))
    assert last is not None
    entries = curves.marks(_modelled(figure, run), anywhere=True)
    if any(panel.bound for panel in figure.panels):
        entries.append(Symbol("analytic bound", "bound"))
    if figure.has_live:
        entries.append(Symbol(LIVE, "simulated"))
    return curves.assembled(figure.name, last, drawn, entries)


def _modelled(figure: Figure, run: RunResult) -> View:
    """Return a view of the run in which a measure has model values only if a panel of the figure
    shows its model.
    """
    shown = {panel.measure for panel in figure.panels if panel.model}

    def of(point: PointResult) -> PointResult:
        """Return a point without the model values of other measures."""
        measures = [
            m if m.name in shown else replace(m, analytic=None, outside=None)
            for m in point.measures
        ]
        return structs.replace(point, measures=measures)

    return view(replace(run, points=[of(point) for point in run.points]))


def _curves(panel: Panel, layout: View) -> Curves:
    """Return the curves of a panel, for the HTML page and for printed figures."""
    unit = layout.unit(panel.measure)
    is_rate = unit != "us"
    log = False if is_rate and panel.log is None else panel.log
    return Curves(
        panel.title,
        mean_of(panel.measure),
        unit,
        with_unit(measure_label(panel.measure) if is_rate else "mean latency", unit),
        model_of(panel.measure, anywhere=True) if panel.model else None,
        log=log,
        zero=True if is_rate and not log else None,
        capped=not is_rate,
        bound=panel.bound,
        interval=LIVE_ENDS if panel.live else None,
    )


def _view(figure: Figure, panel: Panel, run: RunResult) -> View:
    """Return the view of the points that a panel shows, simulated or measured."""
    found = points(run, conditions(panel.at))
    if not found:
        raise IsthmusError(f"figure {figure.name}: {panel.at!r} fits no point")
    layout = view(replace(run, points=found))
    if panel.live and figure.live is not None:
        return _measured(layout, live(run, figure.live))
    return layout


def _measured(layout: View, run: RunResult) -> View:
    """Return a view of the live measurements at the points of `layout`, in the same series and
    colours.
    """
    shown = {point.index: point for point in run.points}

    def of(points: list[PointResult]) -> list[PointResult]:
        """Return the live measurements at those of these points that were measured."""
        return [shown[point.index] for point in points if point.index in shown]

    series = [replace(one, points=of(one.points)) for one in layout.series]
    return replace(
        layout,
        run=replace(layout.run, points=of(layout.run.points)),
        series=[one for one in series if one.points],
    )

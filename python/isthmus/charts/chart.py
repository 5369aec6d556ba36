"""A chart as data: panels with specifications, a legend, and a table of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from isthmus.looks import look
from isthmus.results.series import Series, View

Spec = dict[str, Any]
"""A Vega-Lite specification."""


@dataclass(frozen=True)
class Key:
    """An entry of a chart's legend: a series that the reader of the report can switch on and
    off.
    """

    label: str
    number: int
    """Index of the colour of the series in the style sheet of the page."""
    marker: str
    dash: str
    """Dashes of the line in the notation of SVG's ``stroke-dasharray``; empty for a solid line."""


@dataclass(frozen=True)
class Symbol:
    """A mark in the legend of a chart and its meaning. The template of the report's page draws
    ``glyph``.
    """

    label: str
    glyph: str
    colour: str = "var(--muted)"


@dataclass(frozen=True)
class Table:
    """The numbers that a chart shows, as a table; a cell is text, a number or None."""

    columns: list[str]
    rows: list[list[Any]] = field(repr=False)
    points: Sequence[int] = field(default=(), repr=False)
    """For each row of the table, the index of the simulated point that the row shows."""


@dataclass(frozen=True)
class Panel:
    """A panel of a chart in a report: one diagram with its title and remarks."""

    title: str
    spec: Spec | None = field(repr=False)
    """Vega-Lite specification of the diagram, which the browser draws."""
    svg: str = field(default="", repr=False)
    """Drawing of the network as SVG text; if it is not empty, the panel shows it instead of
    `spec`.
    """
    note: str = ""
    """Text that the report shows below the panel."""
    width: int = 300
    """Minimum width of the panel in pixels."""
    most: int = 0
    """Maximum width of the panel in pixels; 0 for no limit."""


@dataclass(frozen=True)
class Chart:
    """A chart in a report: its panels, its legend, and a table of the numbers that it shows."""

    name: str
    panels: list[Panel]
    keys: list[Key] = field(default_factory=list)
    marks: list[Symbol] = field(default_factory=list)
    table: Table | None = None
    note: str = ""
    """Remarks below the chart, for example on data that are left out."""


def key_of(view: View, series: Series) -> Key:
    """Return the legend entry for a series."""
    style = look(view, series)
    return Key(series.label, style.number, style.marker, dash_text(style.dash))


def keys_of(view: View, shown: Sequence[Series] | None = None) -> list[Key]:
    """Return the entries of the legend of a run; none if the run has a single series."""
    of = view.series if shown is None else shown
    return [key_of(view, s) for s in of] if len(of) > 1 else []


def dash_text(dash: Any) -> str:
    """Convert a line style of Matplotlib to the text of SVG's ``stroke-dasharray`` for lines of 1.7
    pixels.
    """
    return "" if dash == "-" else " ".join(f"{1.7 * part:g}" for part in dash[1])


def brief(value: float | None, digits: int = 6) -> float | None:
    """Round a number to `digits` significant digits, so that the report is small; None stays
    None.
    """
    return None if value is None else float(f"{value:.{digits}g}")

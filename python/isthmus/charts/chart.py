"""A picture as data: panels with a specification each, their legend, and the same as a table."""

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
    """An entry of the legend: a series that a reader can switch off and on."""

    label: str
    number: int
    """Number of its colour."""
    marker: str
    dash: str
    """As in ``stroke-dasharray``; empty for a whole line."""


@dataclass(frozen=True)
class Symbol:
    """What a mark means: ``glyph`` is drawn by the page's template."""

    label: str
    glyph: str
    colour: str = "var(--muted)"


@dataclass(frozen=True)
class Table:
    """The numbers of a picture; a cell is text, a number or nothing."""

    columns: list[str]
    rows: list[list[Any]] = field(repr=False)
    points: Sequence[int] = field(default=(), repr=False)
    """The point of the run that each row is of."""


@dataclass(frozen=True)
class Panel:
    """One of the diagrams of a picture."""

    title: str
    spec: Spec | None = field(repr=False)
    """Drawn by the reader's browser."""
    svg: str = field(default="", repr=False)
    """Or drawn already: a picture of a network."""
    note: str = ""
    """What stands below it."""
    width: int = 300
    """Least width in pixels."""
    most: int = 0
    """Most width in pixels; none if 0."""


@dataclass(frozen=True)
class Chart:
    """A picture."""

    name: str
    panels: list[Panel]
    keys: list[Key] = field(default_factory=list)
    marks: list[Symbol] = field(default_factory=list)
    table: Table | None = None
    note: str = ""
    """What else must be said, for example how much is left out."""


def key_of(view: View, series: Series) -> Key:
    """The entry of a series in the legend."""
    style = look(view, series)
    return Key(series.label, style.number, style.marker, dash_text(style.dash))


def keys_of(view: View, shown: Sequence[Series] | None = None) -> list[Key]:
    """The legend of a run, empty where there is nothing to tell apart."""
    of = view.series if shown is None else shown
    return [key_of(view, s) for s in of] if len(of) > 1 else []


def dash_text(dash: Any) -> str:
    """Matplotlib's dash as SVG has it, in widths of 1.7 pixels."""
    return "" if dash == "-" else " ".join(f"{1.7 * part:g}" for part in dash[1])


def brief(value: float | None, digits: int = 6) -> float | None:
    """A number to so many significant digits: the page need not hold more."""
    return None if value is None else float(f"{value:.{digits}g}")

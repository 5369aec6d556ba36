"""The style of all matplotlib plots: colours, panels, legends and axes. The colours and markers of
series are those of `isthmus.looks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from isthmus import looks
from isthmus.errors import IsthmusError
from isthmus.looks import Look
from isthmus.results.series import Series, View

INK = "#1b1f24"
MUTED = "#5c6570"
GRID = "#dfe3e8"
PAPER = "#ffffff"
BUSY = LinearSegmentedColormap.from_list("busy", ["#c3ccd6", "#f0b429", "#d1495b", "#6a0f3a"])
"""Colour scale for the utilisation of links, from idle to busy."""

_RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.7,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "isthmus",
    "figure.dpi": 110,
    "savefig.dpi": 160,
}


class Plot(Figure):
    """A matplotlib figure that a notebook shows by itself."""

    def _repr_png_(self) -> bytes:
        """Return the figure as PNG for a notebook."""
        return image(self, "png")


@contextmanager
def styled() -> Iterator[None]:
    """Draw in isthmus' own style, whatever the user's matplotlibrc sets."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)  # type: ignore[arg-type, unused-ignore]
        yield


def image(figure: Figure, suffix: str) -> bytes:
    """Return the figure as ``png`` or ``svg``; equal figures give equal bytes."""
    buffer = BytesIO()
    metadata: dict[str, Any] = {"Software": None} if suffix == "png" else {"Date": None}
    with styled():
        figure.savefig(buffer, format=suffix, metadata=metadata)
    return buffer.getvalue()


_GIVEN: ContextVar[Sequence[Axes] | None] = ContextVar("given", default=None)
"""The user's axes to draw on in place of a new figure, if any."""


@contextmanager
def on_axes(axes: Sequence[Axes]) -> Iterator[None]:
    """Make functions of this module draw on these axes instead of in a new figure, as long as the
    context is open.
    """
    before = _GIVEN.set(axes)
    try:
        yield
    finally:
        _GIVEN.reset(before)


def look(view: View, series: Series) -> Look:
    """Return the style of a series. On axes that the user passed, the colours are those of the
    user's matplotlib style.
    """
    own = looks.look(view, series)
    return own if _GIVEN.get() is None else _Cycled(own.number, own.marker, own.dash)


class _Cycled(Look):
    """A series style with a colour of the user's matplotlib style."""

    @property
    def colour(self) -> str:
        """Return the colour at position `number` of matplotlib's colour cycle, as a hexadecimal
        code.
        """
        colours = mpl.rcParams["axes.prop_cycle"].by_key().get("color") or [INK]
        return to_hex(colours[self.number % len(colours)])


def panels(
    count: int, width: float = 4.6, height: float = 3.5, columns: int = 3
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels in rows of at most `columns`; if the user passed axes,
    return these with their figure.

    Raises:
        IsthmusError: the number of the user's axes is not `count`.

    """
    if (given := _GIVEN.get()) is not None:
        if len(given) != count:
            raise IsthmusError(
                f"ax: {len(given)} axes were given and there are {count} panels to draw; give as "
                "many axes, or one measure"
            )
        figure = given[0].get_figure(root=True)
        assert isinstance(figure, Figure)
        return figure, list(given)
    across = min(count, columns)
    down = -(-count // across)
    wide = max(width * across, 6.4) if count == 1 else width * across
    figure = Plot(figsize=(wide, height * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def legend_above(figure: Figure, view: View, extra: Sequence[Line2D] = ()) -> None:
    """Draw the legend of series above the panels, and the legend of marks below.

    On axes of the user, both are in the legend of the first of them.
    """
    handles = [
        Line2D([], [], color=k.colour, marker=k.marker, ls=k.dash, label=s.label)
        for s in view.series
        for k in [look(view, s)]
    ]
    if given := _GIVEN.get():
        given[0].legend(handles=[*(handles if len(handles) > 1 else ()), *extra])
        return
    if len(handles) > 1:
        figure.legend(
            handles=handles,
            loc="outside upper left",
            ncols=_columns(figure, view),
            fontsize=10.5,
            handlelength=1.8,
            columnspacing=1.6,
        )
    if extra:
        figure.legend(
            handles=list(extra),
            loc="outside lower left",
            ncols=_mark_columns(figure, [str(mark.get_label()) for mark in extra]),
            fontsize=8.5,
            labelcolor=MUTED,
            handlelength=2.0,
        )


def _columns(figure: Figure, view: View) -> int:
    """Return how many names of series fit in a row of the legend, at about 0.07 inches per letter
    and 0.6 per mark.
    """
    longest = max(len(s.label) for s in view.series)
    fit = int(figure.get_figwidth() / max(1.5, 0.6 + 0.07 * longest))
    return min(len(view.series), max(1, fit))


def _mark_columns(figure: Figure, labels: list[str]) -> int:
    """Return how many legend texts of marks fit in a row, even if these are the longest ones."""
    widths = sorted((0.65 + 0.06 * len(label) for label in labels), reverse=True)
    fits = [n for n in range(1, len(labels) + 1) if sum(widths[:n]) <= figure.get_figwidth()]
    return max(fits, default=1)


def key(label: str, **style: Any) -> Line2D:
    """Return a legend entry for a point mark or a line of this style."""
    return Line2D([], [], label=label, **{"color": MUTED, **style})


def log_axis(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers, densely enough for its span."""
    from isthmus.wording import number

    decades = high / low if low > 0 else 1.0
    subs = (1.0, 2.0, 5.0) if decades < 2000 else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(number(value, 2), value)))
    axis.set_minor_formatter(NullFormatter())


def _tick(text: str, value: float) -> str:
    """Return the number text of an axis tick without needless decimals."""
    return f"{value:,.0f}" if value >= 10 else text.rstrip("0").rstrip(".") if "." in text else text


def dots(ax: Axes, places: Iterable[tuple[float, float]], **style: Any) -> None:
    """Draw a marker at each of these positions."""
    placed = list(places)
    ax.scatter([x for x, _ in placed], [y for _, y in placed], **style)


def label(
    ax: Axes, text: str, place: tuple[float, float], size: float, colour: str, zorder: float = 3
) -> None:
    """Write a text centred at a position."""
    ax.annotate(text, place, ha="center", va="center", fontsize=size, color=colour, zorder=zorder)


def bare(ax: Axes, caption: str) -> None:
    """Format axes as a picture instead of a diagram: hide the axes and put the caption below."""
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(False)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlabel(caption, fontsize=9)

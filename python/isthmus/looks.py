"""The style of series in all plots: colour, marker and dash, the same for page and paper.

The first colours are those of Okabe and Ito (2008) for colour-blind readers, without the yellow
that is invisible on white; the baseline is grey. Markers differ as well, for prints in black and
white. Dashes differ if there are more series than colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isthmus.results.schema import PointResult
from isthmus.results.series import Series, View

BASELINE = "#737b86"
COLOURS = [
    "#d55e00",
    "#0072b2",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#8a5a2b",
    "#7b3fa0",
    "#87920a",
    "#c2185b",
    "#26323f",
]
MARKERS = ["s", "o", "^", "D", "v", "P", "X", "p"]
DASHES = ["-", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (8, 2))]


@dataclass(frozen=True)
class Look:
    """The style of one series in plots: colour, marker and dash."""

    number: int
    """Number of the colour: ``--sN`` in the style sheet of the report; the baseline has 0."""
    marker: str
    dash: Any

    @property
    def colour(self) -> str:
        """Colour of the series on white paper."""
        return BASELINE if self.number == 0 else COLOURS[self.number - 1]


def look(view: View, series: Series) -> Look:
    """Return the style of a series. If several axes distinguish series, the first sets the colour
    and the others marker and dash.
    """
    first, rest = series.label.partition(", ")[::2]
    if rest:
        heads = list(dict.fromkeys(s.label.partition(", ")[0] for s in view.series))
        tails = list(dict.fromkeys(s.label.partition(", ")[2] for s in view.series))
        colour, shape = heads.index(first), tails.index(rest)
        return Look(
            colour_number(colour), MARKERS[shape % len(MARKERS)], DASHES[shape % len(DASHES)]
        )
    turn = series.position // (1 + len(COLOURS))
    marker = MARKERS[series.position % len(MARKERS)]
    return Look(colour_number(series.position), marker, DASHES[turn % len(DASHES)])


def colour_number(position: int) -> int:
    """Return the colour number of the series or job at a position; the first is the baseline."""
    return 0 if position == 0 else (position - 1) % len(COLOURS) + 1


def job_colours(point: PointResult) -> dict[str, str]:
    """Return a colour for each job by name, whether it is active or not."""
    return {job.name: COLOURS[n % len(COLOURS)] for n, job in enumerate(point.jobs)}

"""How series are told apart in every picture: colour, marker, dash, the same for page and paper.

The first colours are those of Okabe and Ito (2008), which the colour-blind can tell apart, without
the yellow that is lost on white; the baseline is grey. Markers differ too, so that a print in black
and white can be read, and dashes where there are more series than colours.
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
    """How one series is drawn."""

    number: int
    """Number of its colour, the baseline's 0: ``--sN`` of the report."""
    marker: str
    dash: Any

    @property
    def colour(self) -> str:
        """Its colour on white paper."""
        return BASELINE if self.number == 0 else COLOURS[self.number - 1]


def look(view: View, series: Series) -> Look:
    """Colour by the first of several series axes, marker and dash by the others; one axis: both."""
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
    """Number of the colour of what comes at a position, the baseline first."""
    return 0 if position == 0 else (position - 1) % len(COLOURS) + 1


def job_colours(point: PointResult) -> dict[str, str]:
    """A colour for each job, whether it ran or not."""
    return {job.name: COLOURS[n % len(COLOURS)] for n, job in enumerate(point.jobs)}

"""Layout of the variants of a picture of the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from isthmus.results.schema import PointResult
from isthmus.scenes.machine import SHOWN, Variant


@dataclass(frozen=True)
class Picture:
    """The functions that draw a kind of machine, and the sizes of its axes."""

    draw: Callable[[Sequence[Axes], Any, PointResult, Normalize], None]
    """Function that draws a machine on its axes, which are ordered from the top."""
    size: Callable[[int], tuple[float, float]]
    """Function that returns width and height of one of the axes in inches, for the number of axes
    in a row.
    """
    margin: tuple[float, float]
    """Additional width and height of the whole figure, in inches."""
    across: int = SHOWN
    """The maximum number of variants side by side in a row of the figure."""
    rows: Callable[[Sequence[Variant]], int] = lambda _: 1
    """Function that returns the number of axes of each variant, one below the other."""


def square(across: int) -> tuple[float, float]:
    """Return width and height of square axes in inches, for `across` axes in a row."""
    return (3.1, 3.1) if across > 2 else (4.0, 4.0)


def wide(_across: int) -> tuple[float, float]:
    """Return width and height in inches of axes wider than high, for networks of switches."""
    return (5.6, 3.7)

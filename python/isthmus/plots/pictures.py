"""How the variants of a picture of the machine are laid out."""

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
    """How machines of a kind are drawn."""

    draw: Callable[[Sequence[Axes], Any, PointResult, Normalize], None]
    """Draws a machine on its axes, from the top."""
    size: Callable[[int], tuple[float, float]]
    """Width and height of one of the axes in inches, where so many stand beside one another."""
    margin: tuple[float, float]
    """What the whole is wider and higher than its axes, in inches."""
    across: int = SHOWN
    """Most variants beside one another."""
    rows: Callable[[Sequence[Variant]], int] = lambda _: 1
    """Axes of each variant, one below the other."""


def square(across: int) -> tuple[float, float]:
    """As large as so many leave room for."""
    return (3.1, 3.1) if across > 2 else (4.0, 4.0)


def wide(_across: int) -> tuple[float, float]:
    """Of networks of switches, which are wide."""
    return (5.6, 3.7)

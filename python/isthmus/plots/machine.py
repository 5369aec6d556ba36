"""A picture of the machine, with links coloured by utilisation.

It shows PEs, I/O nodes and both networks of a hypercube, the rings of a fabric, or the levels of a
fat tree.
"""

from __future__ import annotations

from typing import Any

from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import PercentFormatter

from isthmus.answer import answer
from isthmus.plots.cube import CUBES
from isthmus.plots.fabric import FABRICS
from isthmus.plots.links import LINKS
from isthmus.plots.pictures import Picture
from isthmus.plots.style import BUSY, Plot
from isthmus.plots.tree import TREES
from isthmus.results.series import View
from isthmus.scenes.machine import ceiling, variants

PICTURES: dict[str, Picture] = {"hypercube": CUBES, "sci": FABRICS, "fat-tree": TREES}
"""Drawing methods by kind of machine. For other kinds, the links are drawn kind by kind."""


def machine(view: View) -> Plot:
    """Draw the machine of up to four variants beside each other."""
    shown = variants(view)
    picture = PICTURES.get(shown[0][2].kind, LINKS) if shown else LINKS
    across = min(max(len(shown), 1), picture.across)
    rows = picture.rows(shown)
    down = rows * max(1, -(-len(shown) // across))
    (width, height), (beside, below) = picture.size(across), picture.margin
    size = (width * across + beside, height * down + below)
    figure = Plot(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    norm = Normalize(0, ceiling(shown))
    used = set()
    for number, (label, point, described) in enumerate(shown):
        first, column = rows * (number // across), number % across
        axes = [grid[first + row][column] for row in range(rows)]
        axes[0].set_title(label, fontsize=11)
        picture.draw(axes, described, point, norm)
        used.update(axes)
    for ax in grid.flat:
        ax.set_visible(ax in used)
    _scale(figure, grid, norm, view)
    return figure


def _scale(figure: Plot, grid: Any, norm: Normalize, view: View) -> None:
    """Draw the colour scale of the utilisation beside the pictures of machines."""
    bar = figure.colorbar(
        ScalarMappable(norm, BUSY), ax=grid, shrink=0.6, aspect=28, pad=0.015, location="right"
    )
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    place = answer(view.run).busy_place
    bar.set_label(f"utilisation of a link {place}".rstrip(), fontsize=9)

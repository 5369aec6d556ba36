"""The interference matrix as a picture: the slowdown of each job by others."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from isthmus.answer.lessons import percent
from isthmus.plots.style import MUTED, Plot
from isthmus.results.grid import SLOWDOWN_MAX, grid_of, slowdown_range
from isthmus.results.interference import (
    Cell,
    Change,
    Interference,
    Variant,
    interference,
)
from isthmus.results.series import View
from isthmus.scenes.matrix import PALE, QUICKER, SLOWER, below, headline, is_clear
from isthmus.wording import number

CHANGE = LinearSegmentedColormap.from_list(
    "change", [colour for _, colour in [*QUICKER, *SLOWER[1:]]]
)
"""Colour scale for the change of a job beside others: faster, unchanged, slower."""


def matrix(view: View) -> Plot:
    """Draw the interference matrix of each variant: rows are slowed jobs, columns their peers."""
    found = interference(view.run)
    assert found is not None
    grid = grid_of(found)
    jobs, sets = found.jobs, found.sets
    across, down = max(len(grid.columns), 1), max(len(grid.rows), 1)
    cell_w, cell_h = 1.28, 0.78
    longest = max(len(job) for job in jobs)
    width = across * (cell_w * len(sets) + 0.3) + 0.085 * longest + 1.3
    height = down * (cell_h * len(jobs) + 0.75) + 0.5
    figure = Plot(figsize=(max(width, 5.4), height), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    norm = TwoSlopeNorm(1.0, *slowdown_range(found))
    for row in range(down):
        for column in range(across):
            ax = axes[row][column]
            variant = grid.at.get((row, column))
            if variant is None:
                ax.set_visible(False)
                continue
            _panel(ax, found, variant, norm)
            # Show the text of a row once, over its first panel, with room to the right.
            row_words = grid.rows[row] if not column else " " if grid.rows[row] else ""
            title = [t for t in (row_words, grid.columns[column]) if t]
            ax.set_title("\n".join(title), fontsize=9.5)
            if column:
                ax.set_yticklabels([])
            else:
                ax.set_ylabel("suffers", color=MUTED, fontsize=9)
            if row == down - 1:
                ax.set_xlabel("runs beside it", color=MUTED, fontsize=9)
    bar = figure.colorbar(
        ScalarMappable(norm, CHANGE), ax=axes, shrink=min(0.8, 2.6 / height), aspect=22, pad=0.015
    )
    bar.outline.set_visible(False)
    low, high = slowdown_range(found)
    bar.set_ticks([low, (low + 1) / 2, 1.0, high])
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: times(v)))
    bar.set_label("time of phases or messages\nagainst alone", fontsize=9)
    return figure


def times(value: float) -> str:
    """Return a factor of slowdown as text for the scale: ``+30%``, ``× 2.5``."""
    return f"× {value:.1f}" if value >= 2 else percent(Change(value))


def _panel(ax: Axes, found: Interference, variant: Variant, norm: TwoSlopeNorm) -> None:
    """Draw the interference matrix of one variant."""
    jobs, sets = found.jobs, found.sets
    for y, job in enumerate(jobs):
        for x, beside in enumerate(sets):
            cell = found.cell(variant, job, beside)
            if beside == (job,):
                _alone(ax, x, y, found, variant, job)
            elif cell is not None:
                _cell(ax, x, y, cell, norm)
    ax.set_xlim(-0.5, len(sets) - 0.5)
    ax.set_ylim(len(jobs) - 0.5, -0.5)
    ax.set_xticks(range(len(sets)), [" +\n".join(names) for names in sets])
    ax.set_yticks(range(len(jobs)), jobs)
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _box(ax: Axes, x: int, y: int, colour: object) -> None:
    """Draw the coloured box of a cell of the interference matrix."""
    ax.add_patch(
        Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, facecolor=colour, edgecolor="none", zorder=1)  # type: ignore[arg-type, unused-ignore]
    )


def _alone(ax: Axes, x: int, y: int, found: Interference, variant: Variant, job: str) -> None:
    """Draw the cell in which a job meets itself: the accepted bandwidth of the job alone."""
    measure = found.alone(variant, job)
    _box(ax, x, y, "#eef1f4")
    if measure is None or measure.mean is None:
        return
    ax.text(
        x, y - 0.14, number(measure.mean), ha="center", va="center", fontsize=9, color="#1c2024"
    )
    ax.text(
        x, y + 0.2, f"{measure.unit} alone", ha="center", va="center", fontsize=7.5, color="#5b646f"
    )


def _cell(ax: Axes, x: int, y: int, cell: Cell, norm: TwoSlopeNorm) -> None:
    """Draw a cell of the matrix: the slowdown of a job beside others, in colour and text."""
    loss = cell.felt
    if loss is None:
        return
    clear = is_clear(loss)
    share = 1.0 if clear else PALE
    value = min(loss.mean.value, norm.vmax or SLOWDOWN_MAX)
    colour = tuple(1 - share * (1 - part) for part in CHANGE(norm(value))[:3])
    _box(ax, x, y, colour)
    dark = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.55
    # Use fixed text colours, since these boxes do not change with the theme of the page.
    ink = "#fefefe" if dark else "#1c2024"
    ax.text(
        x,
        y - 0.16,
        headline(loss),
        ha="center",
        va="center",
        fontsize=9.5,
        fontweight="bold" if clear else "normal",
        color=ink,
    )
    ax.text(x, y + 0.2, below(loss), ha="center", va="center", fontsize=6.8, color=ink)


__all__ = ["matrix"]

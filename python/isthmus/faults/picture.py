"""The study as a picture: remaining nodes, throughput and latency after each kind of failure."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from isthmus.faults.outcome import CaseOutcome, Summary
from isthmus.faults.plan import Study
from isthmus.faults.shown import (
    GROUP,
    SPREAD,
    Mean,
    colour,
    group_at,
    kind_label,
    kinds_of,
    levels,
    quantities,
    worst_cases,
    worst_words,
)
from isthmus.plots.fabric import panel
from isthmus.plots.style import INK, MUTED, PAPER, bare, key, panels
from isthmus.results.schema import RunResult


def draw(study: Study, found: Sequence[CaseOutcome], rows: Sequence[Summary], light: str) -> Figure:
    """Draw a dot for each case and the mean of each kind of failure. The panels show remaining
    nodes, throughput, and added latency at the load `light` (in words).
    """
    figure, axes = panels(3, width=4.4, height=3.7)
    kinds = kinds_of(rows)
    for ax, (title, pick, mean) in zip(axes, quantities(), strict=True):
        for position in range(len(study.sites)):
            for place, kind in enumerate(kinds):
                group = [o for o in found if (o.case.site, o.case.kind) == (position, kind)]
                (summary,) = (s for s in rows if (s.site, s.kind) == (position, kind))
                x = group_at(place, position, len(study.sites))
                _dots(ax, x, [v for o in group if (v := pick(o)) is not None], position, study)
                _mark(ax, x, mean(summary), position)
        ax.set_xticks(range(len(kinds)), [kind_label(kind, study) for kind in kinds])
        ax.set_xlim(-0.6, len(kinds) - 0.4)
        ax.grid(axis="x", visible=False)
        ax.set_title(title)
        if "latency" in title:
            ax.set_xlabel(f"at {light}")
            ax.axhline(0, color=MUTED, lw=0.9, zorder=1)
        else:
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
            ax.axhline(1, color=MUTED, lw=0.9, ls=(0, (2, 2)), zorder=1)
            ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.05)
    handles = [
        key(site.label, color=colour(position), marker="o", ls="")
        for position, site in enumerate(study.sites)
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=10.5)
    marks = [
        key("one case", marker="o", ls="", ms=3.5, alpha=0.6),
        key("mean over all parts that may fail, with its interval", marker="D", ls="-"),
    ]
    figure.legend(handles=marks, loc="outside lower left", ncols=2, fontsize=8.5, labelcolor=MUTED)
    return figure


def draw_worst(study: Study, found: Sequence[CaseOutcome], run: RunResult) -> Figure | None:
    """Draw each fabric after its worst single failure; None if all are too large."""
    shown = worst_cases(study, found, run)
    if not shown:
        return None
    figure, axes = panels(len(shown), width=4.6, height=4.9)
    for ax, (label, machine, outcome) in zip(axes, shown, strict=True):
        panel(ax, machine, [INK] * len(machine.links()))
        ax.set_title(label)
        bare(ax, "\n".join(worst_words(outcome)))
    return figure


def _dots(ax: Axes, x: float, values: list[float], position: int, study: Study) -> None:
    """Draw dots to the left of the mean; dots of equal values are side by side."""
    width = GROUP / max(len(study.sites), 1) * 0.6
    ys = sorted(values)
    xs = [x - width / 2 + width * (count % SPREAD) / SPREAD for count in levels(ys)]
    ax.scatter(xs, ys, s=7, color=colour(position), alpha=0.5, linewidth=0, zorder=2)


def _mark(ax: Axes, x: float, mean: Mean, position: int) -> None:
    """Draw the mean of a kind of failure with its interval."""
    value, low, high = mean
    if value is None:
        return
    place = x + 0.02
    if low is not None and high is not None:
        error = [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        ax.errorbar(place, value, error, color=INK, lw=1.1, capsize=3, zorder=4)
    ax.plot(
        place,
        value,
        marker="D",
        ms=6.5,
        color=colour(position),
        markeredgecolor=PAPER,
        markeredgewidth=0.8,
        zorder=5,
    )

"""Saturation of each series: from the highest stable to the lowest saturated load."""

from __future__ import annotations

from matplotlib.figure import Figure

from isthmus.answer.grounds import bracket
from isthmus.plots.curves import finish
from isthmus.plots.style import INK, MUTED, PAPER, key, legend_above, look, panels
from isthmus.results.curves import model_label
from isthmus.results.series import View
from isthmus.results.shown import has_brackets
from isthmus.wording import with_unit


def saturation(view: View) -> Figure:
    """Draw the interval that contains the saturation load of each series: as a row for each series,
    or as curves over the x axis if each series has several searches.
    """
    return _rows(view) if has_brackets(view) else _curves(view)


def _curves(view: View) -> Figure:
    """Draw the intervals that contain the saturation loads over the x axis, a curve per series."""
    figure, (ax,) = panels(1, width=5.4, height=4.0)
    for series in view.series:
        style = look(view, series)
        drawn = []
        for search in series.searches:
            low, high = search.highest_stable, search.lowest_saturated
            points = (p for p in series.points if view.run.belongs(search, p))
            x = next((view.x(p) for p in points), None)
            if x is None or low is None or high is None:
                continue
            middle = (low + high) / 2
            drawn.append((x, middle))
            error = [[middle - low], [high - middle]]
            ax.errorbar(x, middle, error, color=style.colour, marker=style.marker, capsize=3)
            if (model := search.analytic) is not None:
                ax.plot(x, model, marker="d", ls="", color=style.colour, mfc="none", ms=7)
        ax.plot([x for x, _ in drawn], [y for _, y in drawn], color=style.colour, ls=style.dash)
    ax.set_title("Saturates between")
    ax.set_ylabel(with_unit(view.run.load.label, view.run.load.unit))
    ax.set_ylim(bottom=0)
    finish(ax, view)
    entries = [
        key("highest stable to lowest saturated load", marker="o", ls="-"),
        key(model_label(view), marker="d", ls="", mfc="none"),
    ]
    legend_above(figure, view, entries)
    return figure


def _rows(view: View) -> Figure:
    """Draw a row for each series: the interval that contains its saturation load, and the load that
    the queueing model predicts.
    """
    rows = [(s, bracket(view, s)) for s in view.series]
    rows = [(s, b) for s, b in rows if b]
    figure, (ax,) = panels(1, width=7.2, height=1.5 + 0.48 * len(rows))
    ends = [(b.low, b.high, b.analytic, *(b.undecided or ())) for _, b in rows if b]
    loads = [end for each in ends for end in each if end is not None]
    top = max(loads) * 1.22
    for y, (series, own) in enumerate(rows):
        assert own is not None
        style = look(view, series)
        low, high = own.low or 0.0, own.high if own.high is not None else top
        width = max(high - low, top * 0.006)
        fade = 0.35 if own.high is None or own.low is None else 1.0
        ax.barh(y, width, left=low, height=0.5, color=style.colour, alpha=fade, zorder=3)
        ax.plot([0, low], [y, y], color=style.colour, lw=2.2, alpha=0.45, zorder=2)
        if own.undecided is not None:
            start, end = own.undecided
            wide = min(max(end - start, top * 0.006), width)
            middle = (start + end) / 2
            ax.barh(y, wide, left=middle - wide / 2, height=0.5, color=PAPER, alpha=0.75, zorder=4)
        if own.analytic is not None:
            ax.plot(own.analytic, y, marker="d", color=INK, ms=7, mfc="none", mew=1.3, zorder=5)
        right = max(high, own.analytic or 0.0)
        ax.annotate(
            own.text,
            (min(right, top), y),
            (7, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=10,
            fontweight="bold",
            annotation_clip=False,
        )
    ax.set_yticks(range(len(rows)), [s.label for s, _ in rows], fontsize=10.5)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlim(0, top)
    ax.set_xlabel(with_unit(view.run.load.label, view.run.load.unit))
    ax.set_title("Saturates between")
    entries = [
        key("stable up to here", lw=2.2, alpha=0.6),
        key("the knee lies in here", lw=8, solid_capstyle="butt"),
    ]
    if any(b and b.undecided for _, b in rows):
        entries.append(key("of that: tried and still undecided", lw=8, alpha=0.25))
    if any(b and b.analytic is not None for _, b in rows):
        entries.append(key(model_label(view), marker="d", ls="", mfc="none", color=MUTED))
    legend_above(figure, View(view.run, None, False, "", None), entries)
    return figure

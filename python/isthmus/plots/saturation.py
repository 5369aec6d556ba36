"""Where each series saturates: a bar from the highest stable to the lowest saturated load."""

from __future__ import annotations

from isthmus.answer import LOAD_UNIT, bracket
from isthmus.plots.style import INK, MUTED, Plot, key, legend_above, look
from isthmus.results.series import View
from isthmus.wording import with_unit


def saturation(view: View) -> Plot:
    """Draw a row per series: every load tried, the bracket, the model's value."""
    rows = [(s, bracket(view, s)) for s in view.series]
    rows = [(s, b) for s, b in rows if b]
    figure = Plot(figsize=(7.2, 1.5 + 0.48 * len(rows)), layout="constrained")
    ax = figure.subplots()
    loads = [end for _, b in rows if b for end in (b.low, b.high, b.analytic) if end is not None]
    top = max(loads) * 1.22
    for y, (series, own) in enumerate(rows):
        assert own is not None
        style = look(view, series)
        low, high = own.low or 0.0, own.high if own.high is not None else top
        width = max(high - low, top * 0.006)
        fade = 0.35 if own.high is None or own.low is None else 1.0
        ax.barh(y, width, left=low, height=0.5, color=style.colour, alpha=fade, zorder=3)
        ax.plot([0, low], [y, y], color=style.colour, lw=2.2, alpha=0.45, zorder=2)
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
    ax.set_xlabel(with_unit("load per PE", LOAD_UNIT))
    ax.set_title("Saturates between")
    entries = [
        key("stable up to here", lw=2.2, alpha=0.6),
        key("the knee lies in here", lw=8, solid_capstyle="butt"),
    ]
    if any(b and b.analytic is not None for _, b in rows):
        entries.append(key("queueing model", marker="d", ls="", mfc="none", color=MUTED))
    legend_above(figure, View(view.run, None, False, "", None), entries)
    return figure

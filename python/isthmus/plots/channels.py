"""Utilisation of channels, disks, interfaces and servers: a row per kind, a mark per series."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from isthmus.answer import answer
from isthmus.answer.reason import reason
from isthmus.plots.style import INK, key, legend_above, look, panels
from isthmus.results.curves import model_label
from isthmus.results.series import View
from isthmus.results.shown import compared_point


def channels(view: View) -> Figure:
    """Draw the mean utilisation per kind of channel and series, with a line to the busiest channel.

    An open circle marks the bottleneck, the kind that saturates first. Its position is the share of
    time for which the busiest channel of that kind is occupied.
    """
    points = [(s, compared_point(view, s)) for s in view.series]
    kinds = list(
        dict.fromkeys(c.kind for _, p in points if p for c in p.channels if c.from_ is None)
    )
    described = view.run.machines[0]
    height = 1.6 + (0.3 + 0.1 * len(points)) * len(kinds)
    figure, (ax,) = panels(1, width=7.2, height=height)
    modelled = limits = False
    for position, (series, point) in enumerate(points):
        style = look(view, series)
        why = reason(view, series)
        offset = (position - (len(points) - 1) / 2) * 0.7 / max(len(points), 2)
        for use in point.channels if point else []:
            if use.from_ is not None:
                continue
            y = kinds.index(use.kind) + offset
            if use.highest is not None:
                ax.plot(
                    [use.utilisation, use.highest], [y, y], color=style.colour, lw=1.3, alpha=0.7
                )
            ax.plot(use.utilisation, y, color=style.colour, marker=style.marker, ls="", ms=6)
            if why is not None and (limit := why.limit).kind == use.kind:
                limits = True
                ax.plot(
                    limit.busy, y, color=style.colour, marker="o", ls="", ms=10, mfc="none", mew=1.6
                )
            if use.analytic is not None:
                modelled = True
                ax.plot(use.analytic, y, color=INK, marker="|", ls="", ms=9, mew=1.3)
    ax.set_yticks(range(len(kinds)), [described.channel_label(k) for k in kinds])
    for line in range(1, len(kinds)):
        ax.axhline(line - 0.5, color="#dfe3e8", lw=0.7)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlim(0, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlabel(described.utilisation)
    place = answer(view.run).busy_place
    ax.set_title(f"What is busy {place}".rstrip())
    entries = [
        key("mean of the kind", marker="o", ls=""),
        key("to the busiest of the kind", lw=1.3),
    ]
    if limits:
        ring = key("what fills first, where it saturates", marker="o", ls="", ms=9, mfc="none")
        entries.append(ring)
    if modelled:
        entries.append(key(model_label(view), marker="|", ls="", color=INK, ms=9))
    legend_above(figure, view, entries)
    return figure

"""What each node got through: whether a busy fabric is shared fairly."""

from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from isthmus.looks import job_colours
from isthmus.plots.style import INK, MUTED, Plot, key, legend_above, look, panels
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.results.shown import loaded_point
from isthmus.wording import number, unit_label, with_unit

SHOWN = 6
"""Most series in one picture."""


def nodes(view: View) -> Plot:
    """Draw per series the accepted load of each node at the highest load that has not collapsed."""
    drawn = [(s, p) for s in view.series if (p := loaded_point(s))]
    most = max((len(p.active) for _, p in drawn), default=0)
    shown = [(s, p) for s, p in drawn if len(p.active) == most][:SHOWN]
    figure, axes = panels(len(shown), width=4.2, height=2.9)
    unit = view.run.load.unit
    top = max(max(n.accepted, n.offered or 0.0) for _, p in shown for n in p.nodes)
    for column, (ax, (series, point)) in enumerate(zip(axes, shown, strict=True)):
        style = look(view, series)
        numbers = [n.node for n in point.nodes]
        accepted = [n.accepted for n in point.nodes]
        colours = [_job_colour(point, n) or style.colour for n in numbers]
        ax.bar(numbers, accepted, width=0.8, color=colours, alpha=0.85, zorder=2)
        offered = [n.offered for n in point.nodes if n.offered is not None]
        if len(offered) == len(numbers):
            ax.step(numbers, offered, where="mid", color=MUTED, lw=1.0, ls=(0, (2, 2)), zorder=3)
        if point.servers:
            foot = ax.get_xaxis_transform()
            ax.plot(
                point.servers,
                [0.025] * len(point.servers),
                transform=foot,
                ls="",
                marker="D",
                color=INK,
                ms=3.5,
                zorder=4,
            )
        title = [series.label] if len(view.series) > 1 else []
        if point.load is not None and not point.jobs:
            title.append(f"offered {number(point.load)} {unit_label(unit)}")
        ax.set_title(", ".join(title), fontsize=9.5)
        ax.set_xlabel(
            f"number of the node\n{number(min(accepted))} to {number(max(accepted))} "
            f"{unit_label(unit)} a node"
        )
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="x", visible=False)
        ax.set_ylim(0, 1.08 * top or 1.0)
        if column % 3 == 0:
            ax.set_ylabel(with_unit("accepted load of a node", unit))
    entries = [key("accepted", lw=7)]
    jobs = job_colours(shown[0][1])
    if any(p.jobs for _, p in shown):
        ran = [job for job in jobs if any(job in p.active for _, p in shown)]
        entries = [key(f"accepted, {job}", lw=7, color=jobs[job]) for job in ran]
    if any(n.offered is not None for _, p in shown for n in p.nodes):
        entries.append(key("offered", ls=(0, (2, 2)), lw=1.0))
    if any(p.servers for _, p in shown):
        entries.append(key("I/O server", ls="", marker="D", ms=4, color=INK))
    legend_above(figure, View(view.run, None, False, "", None), entries)
    return figure


def _job_colour(point: PointResult, node: int) -> str | None:
    """The colour of the job that ran on a node, where just one did."""
    ran = [job.name for job in point.jobs if job.active and node in job.nodes]
    return job_colours(point)[ran[0]] if len(ran) == 1 else None

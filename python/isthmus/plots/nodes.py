"""Plot of the accepted load of each node, which shows whether nodes share a busy fabric fairly."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from isthmus.looks import job_colours
from isthmus.plots.style import INK, MUTED, key, legend_above, look, panels
from isthmus.results.schema import PointResult
from isthmus.results.series import View
from isthmus.scenes import nodes as scene
from isthmus.wording import with_unit


def nodes(view: View) -> Figure:
    """Draw each node's accepted load at the highest load that has not collapsed, per series."""
    shown = scene.shown_of(view)
    figure, axes = panels(len(shown), width=4.2, height=2.9)
    unit = view.run.load.unit
    top = scene.top(shown)
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
        ax.set_title(scene.title(view, series, point), fontsize=9.5)
        ax.set_xlabel(f"number of the node\n{scene.span(view, point)}")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="x", visible=False)
        ax.set_ylim(0, top)
        if column % 3 == 0:
            ax.set_ylabel(with_unit("accepted load of a node", unit))
    entries = [key("accepted", lw=7)]
    paints = job_colours(shown[0][1])
    if ran := scene.jobs_that_ran(shown):
        entries = [key(f"accepted, {job}", lw=7, color=paints[job]) for job in ran]
    if scene.any_offered(shown):
        entries.append(key("offered", ls=(0, (2, 2)), lw=1.0))
    if any(p.servers for _, p in shown):
        entries.append(key("I/O server", ls="", marker="D", ms=4, color=INK))
    legend_above(figure, View(view.run, None, False, "", None), entries)
    return figure


def _job_colour(point: PointResult, node: int) -> str | None:
    """Return the colour of the job that ran on a node, if exactly one did."""
    job = scene.job_of(point, node)
    return None if job is None else job_colours(point)[job]

"""Charts of distributions: of latencies over messages, and of the accepted load over nodes."""

from __future__ import annotations

from isthmus.answer import answer
from isthmus.charts.chart import Chart, Panel, Spec, Symbol, Table, brief, keys_of
from isthmus.charts.spec import (
    INK,
    LIT,
    MUTED,
    ZOOMED,
    Scales,
    axis,
    colour,
    layered,
    nominal,
    tip,
)
from isthmus.looks import colour_number, look
from isthmus.results.curves import LOG_SPAN
from isthmus.results.schema import PointResult
from isthmus.results.series import Series, View
from isthmus.results.shown import (
    distributions,
    histogram_of,
    histogram_unit,
    survival,
)
from isthmus.scenes import nodes as scene
from isthmus.wording import number, unit_label, with_unit

EDGES = 110
"""Maximum number of steps of a drawn survival curve; more are not visible."""


def distribution(view: View) -> Chart:
    """Return a chart of distributions: the survival curve of each series at the compared load, a
    panel for each measure.
    """
    names = distributions(view)
    place = answer(view.run).busy_place
    panels, rows = [], []
    for name in names:
        unit = histogram_unit(view, name)
        values: list[Spec] = []
        for series in view.series:
            found = histogram_of(view, series, name)
            if not found:
                continue
            for edge, share in thinned(*survival(found)):
                if share <= 0:
                    continue
                values.append(
                    {
                        "variant": series.label,
                        "x": brief(edge, 4),
                        "y": brief(share, 4),
                    }
                )
                rows.append([view.label(name), series.label, brief(edge, 4), brief(share, 4)])
        title = with_unit("takes longer than", unit)
        panels.append(Panel(view.label(name), _survival_spec(view, values, title, place)))
    table = Table(["panel", "variant", "takes longer than", "share"], rows)
    return Chart("distribution", panels, keys_of(view), [], table)


def thinned(edges: list[float], shares: list[float]) -> list[tuple[float, float]]:
    """Reduce a falling step curve to the steps with the largest falls."""
    pairs = list(zip(edges, shares, strict=True))
    if len(pairs) <= EDGES:
        return pairs
    kept = [pairs[0]]
    # Keep a step if the share has fallen enough since the last kept step: by a fixed amount, or by
    # this factor. Each of the two rules keeps at most half of `EDGES` steps.
    factor = (max(shares[-1], min(s for s in shares if s > 0)) / shares[0]) ** (2 / EDGES)
    for pair in pairs[1:-1]:
        last = kept[-1][1]
        if last - pair[1] >= 2 * shares[0] / EDGES or pair[1] <= last * factor:
            kept.append(pair)
    return [*kept, pairs[-1]]


def _survival_spec(view: View, values: list[Spec], title: str, place: str) -> Spec:
    """Return the specification of the survival curves of one measure."""
    scales = Scales(view)
    xs = [v["x"] for v in values if v["x"] > 0]
    log = bool(xs) and max(xs) / min(xs) > LOG_SPAN
    if log:
        values = [v for v in values if v["x"] > 0]
    x = axis("x", title, "x", log=log)
    y_title = f"share, {place}" if place else "share"
    y = axis("y", y_title, "y", log=True, percent=True)
    paint = scales.paint()
    tooltip = tip([("variant", "variant"), ("x", title), ("y", "share that takes longer")])
    layers: list[Spec] = [
        {
            "mark": {
                "type": "line",
                "interpolate": "step-after",
                "strokeWidth": 1.9,
                "clip": ZOOMED,
            },
            "encoding": {"x": x, "y": y, **paint, **scales.line(), "opacity": LIT},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0, "clip": ZOOMED},
            "encoding": {"x": x, "y": y, **paint, **tooltip},
        },
    ]
    return layered(layers, values, 270, title)


def nodes(view: View) -> Chart:
    """Return a chart of the accepted load of each node, at the highest load without collapse."""
    shown = scene.shown_of(view)
    unit = view.run.load.unit
    top = scene.top(shown)
    panels, rows, points = [], [], []
    for series, point in shown:
        spec = _node_spec(view, series, point, top)
        title = scene.title(view, series, point)
        panels.append(Panel(title, spec, note=scene.span(view, point)))
        for n in point.nodes:
            rows.append(
                [series.label, n.node, scene.job_of(point, n.node) or "", n.offered, n.accepted]
            )
            points.append(point.index)
    entries = [Symbol("accepted", "block")]
    jobs = _job_numbers(shown[0][1])
    if ran := scene.jobs_that_ran(shown):
        entries = [Symbol(f"accepted, {job}", "block", colour(jobs[job])) for job in ran]
    if scene.any_offered(shown):
        entries.append(Symbol("offered", "diagonal"))
    if any(p.servers for _, p in shown):
        entries.append(Symbol("I/O server", "diamond", INK))
    columns = ["variant", "node", "job", with_unit("offered", unit), with_unit("accepted", unit)]
    return Chart("nodes", panels, [], entries, Table(columns, rows, points))


def _node_spec(view: View, series: Series, point: PointResult, top: float) -> Spec:
    """Return the Vega-Lite specification of bars: the accepted load of each node."""
    unit = unit_label(view.run.load.unit)
    jobs = _job_numbers(point)
    servers = set(point.servers)
    values: list[Spec] = []
    for n in point.nodes:
        job = scene.job_of(point, n.node)
        text = f"{number(n.accepted, 4)} {unit}"
        row: Spec = {"x": n.node, "y": brief(n.accepted), "value": text, "variant": job or ""}
        row["of"] = job or series.label
        row["from"], row["to"] = n.node - 0.42, n.node + 0.42
        if n.offered is not None:
            row |= {"o": brief(n.offered), "offered": f"{number(n.offered, 4)} {unit}"}
        if n.node in servers:
            row["server"] = True
        values.append(row)
    domain = [*jobs, series.label]
    paint = [*(colour(jobs[j]) for j in jobs), colour(look(view, series).number)]
    x = axis("x", "number of the node", "x", tickMinStep=1, grid=False)
    x["scale"] |= {"padding": 6}
    y = axis("y", with_unit("accepted load of a node", view.run.load.unit), "y", domain=[0, top])
    fields = [("x", "node"), ("variant", "job"), ("value", "accepted"), ("offered", "offered")]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "clip": True},
            "encoding": {
                "x": {**x, "field": "from"},
                "x2": {"field": "to"},
                "y": y,
                "y2": {"datum": 0},
                "color": nominal("of", {"domain": domain, "range": paint}),
                **tip(fields),
            },
        },
        {
            "transform": [{"filter": "isValid(datum.o)"}],
            "mark": {
                "type": "line",
                "interpolate": "step",
                "color": MUTED,
                "strokeDash": [2, 2],
                "strokeWidth": 1.2,
                "clip": ZOOMED,
            },
            "encoding": {"x": x, "y": {**y, "field": "o"}},
        },
        {
            "transform": [{"filter": "datum.server"}],
            "mark": {
                "type": "point",
                "filled": True,
                "shape": "diamond",
                "size": 34,
                "color": INK,
                "opacity": 1,
            },
            "encoding": {"x": x, "y": {"value": 186}},
        },
    ]
    spec = layered(layers, values, 190, "Accepted load of each node")
    spec["transform"] = []
    return spec


def _job_numbers(point: PointResult) -> dict[str, int]:
    """Return the number of each job, by name, which selects its colour; inactive jobs have one."""
    return {job.name: colour_number(n + 1) for n, job in enumerate(point.jobs)}

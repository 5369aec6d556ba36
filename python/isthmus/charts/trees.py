"""A fat tree: nodes in a row below the switches of each level, links by how busy they are."""

from __future__ import annotations

from isthmus.charts.chart import Panel, Spec, brief
from isthmus.charts.spec import INK, axis, layered, rows_axis, tip
from isthmus.charts.svg import Drawing, busy_colour
from isthmus.looks import colour_number
from isthmus.results.machines import FatTreeSummary
from isthmus.results.schema import ChannelUse, PointResult
from isthmus.wording import channel_label

DRAWN_NODES = 128
"""Most nodes of a tree that is drawn link by link."""
ORDER = {"inject": 0, "up": 1, "down": 2, "eject": 3}


def tree_panels(
    label: str, described: FatTreeSummary, point: PointResult, top: float
) -> list[Panel]:
    """A tree with its links coloured by how busy they were; by level if it is large."""
    single = [c for c in point.channels if c.from_ is not None and c.to is not None]
    if described.nodes > DRAWN_NODES or not single:
        return [_strips(label, described, point, top)]
    places = tree_places(described)
    used: dict[tuple[int, int], float] = {}
    for each in single:
        assert each.from_ is not None
        assert each.to is not None
        ends = (min(each.from_, each.to), max(each.from_, each.to))
        used[ends] = max(used.get(ends, 0.0), each.utilisation)
    drawing = Drawing(size=460.0, wide=1.0)
    for a, b in sorted(used, key=lambda ends: (used[ends], ends)):
        told = f"{_name(described, a)} – {_name(described, b)}: {used[a, b]:.0%} busy"
        drawing.line([places[a], places[b]], busy_colour(used[a, b], top), 1.2, told)
    for vertex in range(described.nodes, len(places)):
        drawing.dot(places[vertex], 3.4, "square", "pe", _name(described, vertex))
    note = _rows(drawing, described, point, places)
    mean = sum(c.utilisation for c in single) / len(single)
    told = f"{described.title}; mean link {mean:.0%} busy{note}"
    return [Panel(label, None, drawing.svg(label), told, width=340, most=640)]


def _name(described: FatTreeSummary, vertex: int) -> str:
    level = described.level(vertex)
    return f"node {vertex}" if level == 0 else f"switch {vertex} (level {level})"


def tree_places(described: FatTreeSummary) -> list[tuple[float, float]]:
    """Nodes below, switches of each level spread over the same width."""
    width, height = float(described.nodes), described.nodes / 5
    places = [(n + 0.5, 0.0) for n in range(described.nodes)]
    for level, count in enumerate(described.switches, 1):
        places += [((s + 0.5) * width / count, level * height) for s in range(count)]
    return places


def _rows(
    drawing: Drawing,
    described: FatTreeSummary,
    point: PointResult,
    places: list[tuple[float, float]],
) -> str:
    """Nodes, and a row of marks below the tree for each job that ran and for the I/O servers."""
    step = described.nodes / 26
    for node in range(described.nodes):
        drawing.dot(places[node], 1.9, "circle", "pe", f"node {node}")
    rows: list[tuple[str, list[int], str]] = [
        (job.name, job.nodes, f"job s{colour_number(n + 1)}")
        for n, job in enumerate(point.jobs)
        if job.active
    ]
    if point.servers:
        rows.append(("I/O servers", point.servers, "io"))
    for row, (name, nodes, css) in enumerate(rows, 1):
        for n in nodes:
            drawing.dot((places[n][0], -row * step), 2.4, "square", css, f"node {n}: {name}")
    if not rows:
        return ""
    return ". Rows below, from the top: " + ", ".join(f"{n} ({len(at)})" for n, at, _ in rows)


def _strips(label: str, described: FatTreeSummary, point: PointResult, top: float) -> Panel:
    """For trees too large to draw: of each level and direction the mean and the busiest link."""
    means = sorted((c for c in point.channels if c.from_ is None and c.is_link), key=crossed)
    values: list[Spec] = [
        {
            "variant": channel_label(c.kind, described.kind),
            "x": brief(c.utilisation, 4),
            "high": brief(c.highest, 4),
            "fill": busy_colour(c.utilisation, top),
            "value": f"{c.utilisation:.1%}",
            "most": "" if c.highest is None else f"{c.highest:.1%}",
        }
        for c in means
    ]
    x = axis("x", "mean of a kind of link, and to the busiest", "x", percent=True, domain=[0, 1])
    y = rows_axis("variant")
    fields = [("variant", "links"), ("value", "mean"), ("most", "busiest")]
    paint = {"fill": {"field": "fill", "type": "nominal", "scale": None}}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.7}, "clip": True},
            "encoding": {"x": x, "y": y, **paint, **tip(fields)},
        },
        {
            "transform": [{"filter": "isValid(datum.high)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.4, "clip": True},
            "encoding": {"x": x, "x2": {"field": "high"}, "y": y},
        },
    ]
    spec = layered(layers, values, {"step": 24}, f"How busy the links of {label} are")
    return Panel(label, spec, note=described.title, width=360)


def crossed(use: ChannelUse) -> tuple[int, int]:
    """The order in which packets cross links: up through the levels, then down."""
    way, _, level = use.kind.partition(" ")
    number = int(level or 0)
    return ORDER.get(way, len(ORDER)), -number if way == "down" else number

"""The machine with its links coloured by utilisation, in up to four variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isthmus.answer import answer
from isthmus.charts.chart import Chart, Panel, Symbol, Table, brief
from isthmus.charts.cubes import cube_panels
from isthmus.charts.fabrics import fabric_panels
from isthmus.charts.links import link_panels
from isthmus.charts.trees import tree_panels
from isthmus.results.series import View
from isthmus.scenes.machine import Variant, ceiling, variants

PANELS: dict[str, Callable[[Sequence[Variant], float], list[Panel]]] = {
    "hypercube": cube_panels,
    "sci": fabric_panels,
    "fat-tree": tree_panels,
}
"""For each kind of machine, the function that draws its variants; its second argument is the
utilisation with the strongest colour. Other kinds of machines get bars for each kind of link.
"""


def machine(view: View) -> Chart:
    """Draw the machine of up to four variants, with its links coloured by utilisation."""
    shown = variants(view)
    top = ceiling(shown)
    panels = PANELS.get(shown[0][2].kind, link_panels)(shown, top) if shown else []
    place = answer(view.run).busy_place
    ramp = Symbol(f"links 0% to {top:.0%} busy {place}".rstrip(), "ramp")
    return Chart("machine", panels, marks=[ramp], table=_table(shown))


def _table(shown: Sequence[Variant]) -> Table:
    """Return a table of the busiest links; the file `channels.parquet` lists all links."""
    rows, points = [], []
    for label, point, described in shown:
        links = [c for c in point.channels if c.is_link]
        single = [c for c in links if c.from_ is not None] or links
        for c in sorted(single, key=lambda c: -c.utilisation)[:20]:
            ends = (end if end is None else described.end(end) for end in (c.from_, c.to))
            rows.append([label, c.kind, *ends, brief(c.utilisation, 4)])
            points.append(point.index)
    return Table(["variant", "channel", "from", "to", "utilisation"], rows, points)

"""Common parts of all pages: templates, the drawing library, specifications and terms."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from isthmus.charts.chart import Chart, Panel, Table
from isthmus.charts.spec import SHAPES

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LIBRARY = ("vega.min.js", "vega-lite.min.js", "vega-interpreter.js")
"""Files of the drawing library, in the order in which they are loaded."""
WIDTH, GAP = 1176, 22
"""Width of a page on a wide screen, and gap between its panels, in pixels."""
NARROW = 300
"""The maximum panel width for three or more panels in a row on paper, in pixels."""

_STROKE = 'stroke="currentColor" stroke-width="2" fill="none"'
GLYPHS = {
    "simulated": f'<path d="M1,7H25M13,2V12" {_STROKE}/><circle cx="13" cy="7" r="3.4" '
    'fill="currentColor"/>',
    "model": f'<path d="M1,7H25" {_STROKE} stroke-dasharray="6 3"/>',
    "bound": f'<path d="M1,7H25" {_STROKE} stroke-dasharray="10 4"/>',
    "diagonal": f'<path d="M1,7H25" {_STROKE} stroke-dasharray="2 2"/>',
    "line": f'<path d="M1,7H25" {_STROKE}/>',
    "saturated": f'<circle cx="13" cy="7" r="4" {_STROKE}/>',
    "undecided": f'<circle cx="13" cy="7" r="4.4" {_STROKE}/><circle cx="13" cy="7" r="1.8" '
    'fill="currentColor"/>',
    "incomplete": f'<circle cx="13" cy="7" r="4" {_STROKE}/>',
    "collapsed": f'<path d="M9,3L17,11M17,3L9,11" {_STROKE}/>',
    "bar": '<path d="M1,3H18V11H1Z" fill="currentColor" opacity=".45"/>'
    f'<path d="M14,7H23" {_STROKE}/>',
    "block": '<path d="M3,2H23V12H3Z" fill="currentColor"/>',
    "pale": '<path d="M3,2H23V12H3Z" fill="currentColor" opacity=".35"/>',
    "dot": '<circle cx="13" cy="7" r="4" fill="currentColor"/>',
    "small": '<circle cx="13" cy="7" r="2.2" fill="currentColor"/>',
    "tick": f'<path d="M13,2V12" {_STROKE}/>',
    "above": f'<path d="M8,3H18L13,11Z" {_STROKE}/>',
    "ramp": "".join(
        f'<path d="M{2.4 * n + 1:g},2h2.5V12h-2.5Z" fill="var(--u{n})"/>' for n in range(10)
    ),
    "diamond": '<path d="M13,1L19,7L13,13L7,7Z" fill="currentColor"/>',
}
"""Shapes of marks as SVG, in a box of 26 by 14."""


def render_page(name: str, drawn: Iterable[Chart], inputs: str = "", **values: Any) -> str:
    """Return a page, filled from a template; `drawn` are its charts, `inputs` the digest of its
    inputs.

    The page loads nothing and runs only its own scripts: the content security policy lists their
    digests.
    """
    specs = {c.name: [p.spec or {} for p in c.panels] for c in drawn}
    scripts = library()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        "style-src 'unsafe-inline'; script-src " + " ".join(digests())
    )
    return template(name).render(
        specs=embedded(specs),
        scripts=scripts,
        policy=policy,
        inputs=inputs,
        glossary=glossary(),
        **values,
    )


def embedded(value: Any) -> str:
    """Encode JSON for use inside a ``script`` element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def library() -> list[str]:
    """Return the texts of the scripts in a report page: those of the drawing library, and the one
    that makes the page interactive.
    """
    here = files("isthmus.report")
    parts = [here / "vendor" / name for name in LIBRARY] + [here / "templates" / "report.js"]
    return [part.read_text(encoding="utf-8") for part in parts]


@cache
def digests() -> list[str]:
    """Return the scripts' digests in the form of a content security policy."""
    found = (hashlib.sha256(script.encode()).digest() for script in library())
    return [f"'sha256-{base64.b64encode(each).decode()}'" for each in found]


@cache
def glossary() -> dict[str, str]:
    """Return terms with their definitions, from the guide's glossary."""
    text = (files("isthmus.report") / "glossary.md").read_text(encoding="utf-8")
    found = {}
    for block in re.split(r"\n\s*\n", text):
        head, _, body = block.strip().partition("\n:")
        if body:
            words = " ".join(body.split()).replace("*", "")
            found.update(dict.fromkeys((part.strip() for part in head.split(", ")), words))
    return found


def panel_row_attributes(panels: Sequence[Panel]) -> Markup:
    """Return HTML attributes that set the number of panels per row, so that all rows have about
    the same number. A class sets the number on paper.
    """
    count = len(panels)
    widest = max(p.width for p in panels)
    fit = max(1, (WIDTH + GAP) // (widest + GAP))
    columns = -(-count // -(-count // fit))
    paper = ""
    if widest <= NARROW:
        paper = " by3" if count % 3 == 0 or count == 5 else " by4" if count > 6 else ""
    return Markup(f'class="panels{paper}" style="--columns: {columns}"')


def slug(term: str) -> str:
    """Return a term in the form that is used in an HTML id."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def data_rows(table: Table) -> Markup:
    """Return the HTML rows of a chart's table; the last cell links to the row of the point."""
    lines = []
    points: Sequence[int | None] = table.points or [None] * len(table.rows)
    for row, point in zip(table.rows, points, strict=True):
        cells = "</td><td>".join([_cell(value) for value in row])
        lead = "" if point is None else f'</td><td><a href="#point-{point}">{point}</a>'
        lines.append(f"<tr><td>{cells}{lead}</td></tr>")
    return Markup("\n".join(lines))


def _cell(value: Any) -> str:
    """Return the HTML text of a table cell."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else _escaped(str(value))


# Cache the escaped texts, since most words in a table repeat from row to row.
_escaped = lru_cache(maxsize=4096)(html.escape)


def point_lines(rows: Sequence[Mapping[str, Any]], x_title: str) -> Markup:
    """Return the HTML rows of the table of points, each a target of links.

    The rows are built without a template, which would take ten times as long for 10,000 rows.
    """
    lines = []
    for row in rows:
        values = {name: escape(value) for name, value in row.items() if isinstance(value, str)}
        x = f'<td class="n">{values["x"]}</td>' if x_title else ""
        cells = "".join([f'<td class="n">{escape(cell)}</td>' for cell in row["cells"]])
        index, verdict = row["index"], values["verdict"]
        lines.append(
            f'<tr id="point-{index}" tabindex="-1"><td class="n">{index}</td>'
            f"<td>{values['label']}</td>{x}"
            f'<td><span class="badge {verdict}">{verdict}</span></td>'
            f'<td class="n">{values["growth"]}</td><td class="n">{values["interval"]}</td>'
            f'<td>{values["flow"]}</td>{cells}<td class="n">{row["replications"]}</td>'
            f'<td class="n">{values["messages"]}</td></tr>'
        )
    return Markup("\n".join(lines))


@cache
def _environment() -> Environment:
    """Return the Jinja environment that renders the HTML templates of reports."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("isthmus.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    environment.globals.update(
        glyphs={name: Markup(glyph) for name, glyph in GLYPHS.items()},
        shapes=_glyph_shapes(),
        data_rows=data_rows,
        point_lines=point_lines,
        panel_row_attributes=panel_row_attributes,
        glossary=glossary(),
    )
    return environment


def _glyph_shapes() -> Mapping[str, str]:
    """Return the markers as SVG paths with coordinates from -1 to 1."""
    words = {
        "square": "M-.9-.9H.9V.9H-.9Z",
        "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1-1,0Z",
        "triangle-up": "M0-1L1,.8H-1Z",
        "triangle-down": "M0,1L1-.8H-1Z",
        "ramp": "".join(
            f'<path d="M{2.4 * n + 1:g},2h2.5V12h-2.5Z" fill="var(--u{n})"/>' for n in range(10)
        ),
        "diamond": "M0-1.15L.9,0L0,1.15L-.9,0Z",
        "cross": "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    }
    return {marker: words.get(shape, shape) for marker, shape in SHAPES.items()}


def template(name: str) -> Template:
    """Return the Jinja template of an HTML page, by the file name of the template."""
    return _environment().get_template(name)

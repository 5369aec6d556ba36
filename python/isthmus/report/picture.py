"""Matplotlib's SVG made fit to stand inside a page that may be light or dark."""

from __future__ import annotations

import html
import re

from markupsafe import Markup

from isthmus.plots.style import GRID, INK, MUTED, PAPER

_INKS = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--grid)", PAPER: "var(--paper)"}


def inline_svg(svg: str, name: str, label: str) -> Markup:
    """Return the `svg` element alone: ids made the figure's own, ink in the page's colours,
    width left to the page, `label` for those who cannot see it.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = body.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, system-ui, sans-serif")
    for colour, variable in _INKS.items():
        body = body.replace(colour, variable)
    size = re.match(r"<svg[^>]*?>", body)
    assert size is not None
    head = re.sub(r'\s(width|height)="([\d.]+)pt"', "", size.group())
    width = re.search(r'\bwidth="([\d.]+)pt"', size.group())
    limit = f"max-width:{float(width.group(1)) * 4 / 3:.0f}px" if width else ""
    head = head.replace(
        "<svg", f'<svg role="img" aria-label="{html.escape(label)}" style="{limit}"', 1
    )
    return Markup(re.sub(r"\n\s*\n", "\n", head + body[size.end() :]))

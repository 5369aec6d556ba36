"""SVG drawings of networks in the page's colours; each link shows its utilisation."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

STEPS = 10
"""Number of colours of a utilisation, from idle to busy: CSS variables ``--u0`` to ``--u9``."""
Place = tuple[float, float]


def busy_colour(share: float, top: float) -> str:
    """Return the colour for a link utilisation; `top` is the highest in the chart."""
    return f"var(--u{min(STEPS - 1, int(STEPS * share / top)) if top > 0 else 0})"


@dataclass
class Drawing:
    """An SVG drawing of a network, in coordinates with y upwards that `svg` fits into a box."""

    size: float = 300.0
    """Width and height of the drawing in pixels."""
    wide: float = 1.0
    """Ratio of horizontal to vertical scale."""
    lines: list[tuple[list[Place], str, float, str, str]] = field(default_factory=list)
    heads: list[tuple[list[Place], str]] = field(default_factory=list)
    dots: list[tuple[Place, float, str, str, str]] = field(default_factory=list)
    words: list[tuple[Place, str, float, str]] = field(default_factory=list)

    def line(
        self, points: Sequence[Place], colour: str, width: float, tooltip: str = "", css: str = ""
    ) -> None:
        """Add a line through points, with a tooltip."""
        self.lines.append((list(points), colour, width, tooltip, css))

    def head(self, points: Sequence[Place], colour: str) -> None:
        """Add an arrow head: a filled polygon through points of the network."""
        self.heads.append((list(points), colour))

    def dot(self, at: Place, radius: float, shape: str, css: str, tooltip: str = "") -> None:
        """Add a node as a ``circle``, ``square`` or ``cross``, with a radius in pixels."""
        self.dots.append((at, radius, shape, css, tooltip))

    def word(self, at: Place, text: str, size: float, css: str = "") -> None:
        """Add a short text centred at a point."""
        self.words.append((at, text, size, css))

    def svg(self, label: str) -> str:
        """Return the drawing as SVG text, which a browser scales with the page."""
        places = [p for points, *_ in self.lines for p in points] + [at for at, *_ in self.dots]
        left, right = min(x for x, _ in places), max(x for x, _ in places)
        low, high = min(y for _, y in places), max(y for _, y in places)
        margin = 12.0
        across = max((right - left) * self.wide, 1e-9)
        scale = (self.size - 2 * margin) / max(across, (high - low) if self.wide == 1 else 0, 1e-9)
        width = self.size
        height = (high - low) * scale + 2 * margin
        shift = (width - 2 * margin - across * scale) / 2

        def at(place: Place) -> tuple[str, str]:
            """Return the SVG coordinates x and y, as text, of a point of the network."""
            x = margin + shift + (place[0] - left) * scale * self.wide
            return _short(x), _short(margin + (high - place[1]) * scale)

        parts = [
            f'<svg role="img" aria-label="{html.escape(label)}" class="network" '
            f'viewBox="0 0 {_short(width)} {_short(height)}">'
        ]
        for points, colour, thick, tooltip, css in self.lines:
            path = "M" + "L".join(",".join(at(p)) for p in points)
            title = f"<title>{html.escape(tooltip)}</title>" if tooltip else ""
            style = f' class="{css}"' if css else ""
            end = f">{title}</path>" if title else "/>"
            parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{thick:g}"{style}{end}')
        for points, colour in self.heads:
            parts.append(
                f'<polygon points="{" ".join(",".join(at(p)) for p in points)}" fill="{colour}"/>'
            )
        for place, radius, shape, css, tooltip in self.dots:
            parts.append(_dot(at(place), radius, shape, css, tooltip))
        for place, text, size, css in self.words:
            x, y = at(place)
            style = f' class="{css}"' if css else ""
            parts.append(
                f'<text x="{x}" y="{y}" font-size="{size:g}"{style}>{html.escape(text)}</text>'
            )
        return "".join(parts) + "</svg>"


def _dot(at: tuple[str, str], radius: float, shape: str, css: str, tooltip: str) -> str:
    """Return the SVG element of a dot, which shows a node of a machine."""
    x, y = at
    title = f"<title>{html.escape(tooltip)}</title>" if tooltip else ""
    if shape == "circle":
        return f'<circle cx="{x}" cy="{y}" r="{radius:g}" class="{css}">{title}</circle>'
    if shape == "cross":
        r = _short(radius)
        d = f"m-{r},-{r}l{_short(2 * radius)},{_short(2 * radius)}m0,-{_short(2 * radius)}"
        return f'<path d="M{x},{y}{d}l-{_short(2 * radius)},{_short(2 * radius)}" class="{css}"/>'
    corner, side = f"{float(x) - radius:g}", f"{2 * radius:g}"
    return (
        f'<rect x="{corner}" y="{float(y) - radius:g}" width="{side}" height="{side}" '
        f'class="{css}">{title}</rect>'
    )


def _short(value: float) -> str:
    """Return a number with at most one decimal, to keep the drawing small."""
    return f"{value:.1f}".rstrip("0").rstrip(".")

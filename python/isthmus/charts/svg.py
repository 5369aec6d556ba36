"""Pictures of networks as SVG, in the page's colours; each link tells how busy it is."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

STEPS = 10
"""Colours from idle to busy: ``--u0`` to ``--u9`` of the page, for light and dark."""
Place = tuple[float, float]


def busy_colour(share: float, top: float) -> str:
    """The colour of a utilisation, `top` being the busiest shown."""
    return f"var(--u{min(STEPS - 1, int(STEPS * share / top)) if top > 0 else 0})"


@dataclass
class Drawing:
    """Shapes in the coordinates of the network, y upwards; `svg` fits them into a box."""

    size: float = 300.0
    """Width and height of the box in pixels."""
    wide: float = 1.0
    """How much wider than high one unit is drawn."""
    lines: list[tuple[list[Place], str, float, str, str]] = field(default_factory=list)
    heads: list[tuple[list[Place], str]] = field(default_factory=list)
    dots: list[tuple[Place, float, str, str, str]] = field(default_factory=list)
    words: list[tuple[Place, str, float, str]] = field(default_factory=list)

    def line(
        self, points: Sequence[Place], colour: str, width: float, told: str = "", css: str = ""
    ) -> None:
        """A line through places; `told` is shown where it is pointed at."""
        self.lines.append((list(points), colour, width, told, css))

    def head(self, points: Sequence[Place], colour: str) -> None:
        """The head of an arrow."""
        self.heads.append((list(points), colour))

    def dot(self, at: Place, radius: float, shape: str, css: str, told: str = "") -> None:
        """A node: ``circle``, ``square`` or ``cross``, of so many pixels."""
        self.dots.append((at, radius, shape, css, told))

    def word(self, at: Place, text: str, size: float, css: str = "") -> None:
        """A short text in the middle of a place."""
        self.words.append((at, text, size, css))

    def svg(self, label: str) -> str:
        """The picture, as wide as the page lets it be."""
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
            x = margin + shift + (place[0] - left) * scale * self.wide
            return _short(x), _short(margin + (high - place[1]) * scale)

        parts = [
            f'<svg role="img" aria-label="{html.escape(label)}" class="network" '
            f'viewBox="0 0 {_short(width)} {_short(height)}">'
        ]
        for points, colour, thick, told, css in self.lines:
            path = "M" + "L".join(",".join(at(p)) for p in points)
            title = f"<title>{html.escape(told)}</title>" if told else ""
            style = f' class="{css}"' if css else ""
            end = f">{title}</path>" if title else "/>"
            parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{thick:g}"{style}{end}')
        for points, colour in self.heads:
            parts.append(
                f'<polygon points="{" ".join(",".join(at(p)) for p in points)}" fill="{colour}"/>'
            )
        for place, radius, shape, css, told in self.dots:
            parts.append(_dot(at(place), radius, shape, css, told))
        for place, text, size, css in self.words:
            x, y = at(place)
            style = f' class="{css}"' if css else ""
            parts.append(
                f'<text x="{x}" y="{y}" font-size="{size:g}"{style}>{html.escape(text)}</text>'
            )
        return "".join(parts) + "</svg>"


def _dot(at: tuple[str, str], radius: float, shape: str, css: str, told: str) -> str:
    x, y = at
    title = f"<title>{html.escape(told)}</title>" if told else ""
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
    return f"{value:.1f}".rstrip("0").rstrip(".")

"""Where the nodes of a hypercube lie on paper."""

from __future__ import annotations

# Where one step in each dimension leads on paper: small cubes within larger ones, no two links on
# one line.
_STEPS = [
    (1.0, 0.0),
    (0.0, 1.0),
    (0.42, 0.33),
    (2.35, 0.16),
    (-0.16, 2.3),
    (5.1, -0.3),
    (0.3, 4.9),
]

_SMALL_STEPS = [(1.0, 0.0), (0.0, 1.0), (0.42, 0.33), (1.75, -1.15)]
"""The same for up to four dimensions, where there is room for a rounder picture."""


def project(node: int, dimension: int) -> tuple[float, float]:
    """Where a node of a hypercube lies on paper."""
    table = _SMALL_STEPS if dimension <= len(_SMALL_STEPS) else _STEPS
    steps = [table[bit] for bit in range(dimension) if node >> bit & 1]
    return sum(s[0] for s in steps), sum(s[1] for s in steps)

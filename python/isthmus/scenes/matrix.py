"""A cell of the interference matrix: its colours, and what stands in it."""

from __future__ import annotations

from isthmus.answer.lessons import felt_text, slower, tail_text
from isthmus.results.interference import Felt

SLOWER = [(0.0, "#ffffff"), (0.5, "#d55e00"), (1.0, "#8c1d04")]
"""From no change to longer times."""
QUICKER = [(0.0, "#0072b2"), (0.5, "#8fc4e4"), (1.0, "#ffffff")]
"""From shorter times to no change."""
PALE = 0.35
"""How much of its colour a change has that cannot be told from none."""


def is_clear(felt: Felt) -> bool:
    """Whether a change can be told from none."""
    return felt.piles_up or felt.mean.less or felt.mean.more


def headline(felt: Felt) -> str:
    """The mean in a cell, which is narrow."""
    if felt.mean.tells == "unknown":
        return "unknown"
    return "piles up" if felt.piles_up else felt_text(felt)


def below(felt: Felt) -> str:
    """What stands below that: the tail, or the interval of a change that is unknown."""
    if felt.mean.tells == "unknown":
        return slower(felt.mean).removeprefix("unknown (").removesuffix(")")
    return tail_text(felt)

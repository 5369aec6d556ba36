"""A cell of the interference matrix: its colours and its text."""

from __future__ import annotations

from isthmus.answer.lessons import felt_text, slower, tail_text
from isthmus.results.interference import Felt

SLOWER = [(0.0, "#ffffff"), (0.5, "#d55e00"), (1.0, "#8c1d04")]
"""Colours from no change to longer times."""
QUICKER = [(0.0, "#0072b2"), (0.5, "#8fc4e4"), (1.0, "#ffffff")]
"""Colours from shorter times to no change."""
PALE = 0.35
"""Colour strength of a change that cannot be distinguished from none."""


def is_clear(felt: Felt) -> bool:
    """Return whether a slowdown or speed-up can be distinguished from no change."""
    return felt.piles_up or felt.mean.less or felt.mean.more


def headline(felt: Felt) -> str:
    """Return the mean slowdown of a cell, short enough to print in it."""
    if felt.mean.direction == "unknown":
        return "unknown"
    return "piles up" if felt.piles_up else felt_text(felt)


def below(felt: Felt) -> str:
    """Return the second line of a cell: the tail, or the interval of an unknown change."""
    if felt.mean.direction == "unknown":
        return slower(felt.mean).removeprefix("unknown (").removesuffix(")")
    return tail_text(felt)

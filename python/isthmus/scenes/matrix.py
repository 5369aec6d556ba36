"""A cell of the interference matrix: its colours and its text."""

from __future__ import annotations

from isthmus.answer.lessons import felt_text, slower, tail_text
from isthmus.results.interference import JobSlowdown

SLOWER = [(0.0, "#ffffff"), (0.5, "#d55e00"), (1.0, "#8c1d04")]
"""Colour scale for slowdowns: from no change to much longer times."""
QUICKER = [(0.0, "#0072b2"), (0.5, "#8fc4e4"), (1.0, "#ffffff")]
"""Colour scale for speed-ups: from much shorter times to no change."""
PALE = 0.35
"""Colour strength of a cell whose change cannot be distinguished from no change."""


def is_clear(felt: JobSlowdown) -> bool:
    """Return whether a slowdown or speed-up can be distinguished from no change."""
    return felt.piles_up or felt.mean.less or felt.mean.more


def headline(felt: JobSlowdown) -> str:
    """Return the mean slowdown of a job as text that fits into a cell of the matrix."""
    if felt.mean.direction == "unknown":
        return "unknown"
    return "piles up" if felt.piles_up else felt_text(felt)


def below(felt: JobSlowdown) -> str:
    """Return the second line of text of a matrix cell: the slowdown of the tail latencies, or the
    interval of the mean slowdown if that cannot be distinguished from no change.
    """
    if felt.mean.direction == "unknown":
        return slower(felt.mean).removeprefix("unknown (").removesuffix(")")
    return tail_text(felt)

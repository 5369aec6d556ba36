"""Layout of an interference matrix: its variants as rows and columns of panels."""

from __future__ import annotations

from dataclasses import dataclass

from isthmus.results.interference import Interference, Variant, value_words
from isthmus.results.schema import RunResult

SLOWDOWN_MAX = 4.0
"""Slowdown factor from which all larger ones have the same colour."""
LEAST = 0.1
"""The minimum range of slowdowns that the colours span."""
PANELS = 16
"""The maximum number of variants that the picture shows; the table shows all of them."""
WIDE = 5
"""The maximum number of panels in a row."""


@dataclass(frozen=True)
class Grid:
    """The variants of an interference matrix, arranged as rows and columns of panels."""

    columns: list[str]
    rows: list[str]
    at: dict[tuple[int, int], Variant]


def slowdown_range(found: Interference) -> tuple[float, float]:
    """Return the smallest and the largest slowdown of the colour scale."""
    values = [min(c.felt.mean.value, SLOWDOWN_MAX) for c in found.cells if c.felt]
    return min([1 - LEAST / 2, *values]), max([1 + LEAST, *values])


def grid_of(found: Interference) -> Grid:
    """Return the layout of the panels: one axis, preferably with numbers, across and all others
    down.
    """
    run, variants = found.run, found.variants[:PANELS]
    axes = _axes(run, found)
    if not axes:
        return Grid([""], [""], {(0, 0): variants[0]})
    numeric = [i for i in axes if all(_number(v, i) is not None for v in variants)]
    across = (numeric or axes)[-1]
    columns = list(dict.fromkeys(v.at(across) for v in variants))
    if len(columns) > WIDE:
        return Grid([""], [v.words for v in variants], {(n, 0): v for n, v in enumerate(variants)})
    rest = [i for i in axes if i != across]
    rows = list(dict.fromkeys(tuple(v.at(i) for i in rest) for v in variants))
    at, row_words, column_words = {}, [""] * len(rows), [""] * len(columns)
    for variant in variants:
        row = rows.index(tuple(variant.at(i) for i in rest))
        column = columns.index(variant.at(across))
        at[row, column] = variant
        row_words[row] = ", ".join(_words(run, variant, i) for i in rest)
        column_words[column] = _words(run, variant, across)
    return Grid(column_words, row_words, at)


def _axes(run: RunResult, found: Interference) -> list[int]:
    """Return the axes, except that of the jobs, along which the variants differ."""
    axes = [i for i in range(len(run.axes)) if i != found.axis]
    return [i for i in axes if len({v.at(i) for v in found.variants}) > 1]


def _number(variant: Variant, axis: int) -> float | None:
    """Return the number of a variant on an axis; None if the value is not a number."""
    value = variant.values[axis]
    return value.number if value else None


def _words(run: RunResult, variant: Variant, axis: int) -> str:
    """Return the value of a variant on an axis, in words."""
    value = variant.values[axis]
    return value_words(run, axis, value) if value else ""

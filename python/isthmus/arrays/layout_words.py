"""Readers of layouts in TOML files: one for each value of `kind`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from isthmus.arrays.interface import io_distribution
from isthmus.arrays.layouts import Layout, block, cyclic
from isthmus.errors import IsthmusError
from isthmus.given import Given, Table

RANKS_MAX = 1 << 20
"""Most ranks, and most chunks, of a layout that a file describes."""

Numbering = Literal["row", "column"]


@dataclass(frozen=True)
class Array:
    """Shape and element size of the array that a layout distributes."""

    shape: tuple[int, ...]
    itemsize: int


def layout(table: Table, array: Array) -> Layout:
    """Return the array layout that a TOML table describes.

    Raises:
        IsthmusError: the table is invalid; the message gives file, line, field and correction.

    """
    word = table.need("kind", '"block-cyclic"').word(list(KINDS))
    try:
        found = KINDS[word](table, array)
    except IsthmusError as error:
        # An error of a single field already names the field. Add the position of the table to
        # errors about the layout as a whole.
        raise error if _is_placed(error, table) else table.at_field(error) from error
    table.end()
    return found


def _is_placed(error: IsthmusError, table: Table) -> bool:
    """Return whether an error names a field of this table."""
    return f"{table.field}." in str(error)


def _cap(table: Table, name: str, sizes: list[int]) -> list[int]:
    """Return the sizes of a process grid, whose product must not exceed `RANKS_MAX`.

    Raises:
        IsthmusError: the product exceeds it.

    """
    count = math.prod(sizes)
    if count > RANKS_MAX:
        raise table.wrong(name, f"{count:,} processes", f"give at most {RANKS_MAX:,}")
    return sizes


def _grid(table: Table, name: str = "grid") -> list[int]:
    """Return the process grid from a field, within the limit on ranks."""
    return _cap(table, name, table.need(name, "[2, 2]").wholes(1, "[2, 2]"))


def _dims(found: Given, count: int, least: int, example: str) -> list[int]:
    """Return one whole number for each dimension of the array."""
    numbers = found.wholes(least, example)
    if len(numbers) != count:
        raise found.wrong(
            f"{len(numbers)} numbers for an array of {count} dimensions", f"give {count}"
        )
    return numbers


def _numbering(table: Table, usual: Numbering = "row") -> Numbering:
    """Return the numbering of ranks from the field `numbering`, or the `usual` one."""
    found = table.get("numbering")
    if found is None:
        return usual
    return "row" if found.word(["row", "column"]) == "row" else "column"


def _on_ranks(table: Table, of: Layout) -> Layout:
    """Renumber the ranks of a layout by the field `ranks`, if it is given."""
    found = table.get("ranks")
    if found is None:
        return of
    return of.on_ranks(_rank_numbers(found, len(of.ranks)))


def _rank_numbers(found: Given, count: int) -> list[int]:
    """Return `count` distinct rank numbers."""
    numbers = [each.whole(0, 2**32 - 1) for each in found.items("a list of ranks", "[0, 2]")]
    if len(numbers) != count:
        raise found.wrong(f"{len(numbers)} numbers for {count} ranks", f"give {count}")
    twice = {number for number in numbers if numbers.count(number) > 1} if count < 4096 else set()
    if twice:
        raise found.wrong(f"rank {min(twice)} twice", "give each rank a number of its own")
    return numbers


def _ranks(table: Table) -> tuple[int, list[int] | None]:
    """Return the number of ranks in the field `ranks`, and their numbers if it is a list."""
    found = table.need("ranks", "4")
    if found.kind == "list":
        numbers = _rank_numbers(found, len(found.value))
        if not numbers:
            raise found.wrong("no rank at all", "list one or more")
        return len(numbers), numbers
    return found.whole(1, RANKS_MAX), None


def _block_cyclic(table: Table, array: Array) -> Layout:
    """Read a layout of cyclic blocks."""
    count = len(array.shape)
    grid = _cap(table, "grid", _dims(table.need("grid", "[2, 2]"), count, 1, "[2, 2]"))
    blocks = _dims(table.need("blocks", "[16, 16]"), count, 1, "[16, 16]")
    source = table.get("source")
    sources = [0] * count if source is None else _dims(source, count, 0, "[0, 1]")
    for at, (first, extent) in enumerate(zip(sources, grid, strict=True)):
        if first >= extent:
            raise table.wrong(
                "source",
                f"dimension {at}: coordinate {first} of {extent} processes",
                f"give 0 to {extent - 1}",
            )
    dims = [cyclic(size, source=first) for size, first in zip(blocks, sources, strict=True)]
    made = Layout.grid(array.shape, grid, dims, numbering=_numbering(table))
    return _on_ranks(table, made)


def _block(table: Table, array: Array) -> Layout:
    """Read a layout of one block for each process."""
    grid = _cap(table, "grid", _dims(table.need("grid", "[2, 2]"), len(array.shape), 1, "[2, 2]"))
    dims = [block() for _ in grid]
    made = Layout.grid(array.shape, grid, dims, numbering=_numbering(table))
    return _on_ranks(table, made)


def _whole(table: Table, array: Array) -> Layout:
    """Read a layout that places the whole array on one rank."""
    rank = table.get("rank")
    return Layout.whole(array.shape, rank=0 if rank is None else rank.whole(0, 2**32 - 1))


def _row_swath(table: Table, array: Array) -> Layout:
    """Read a layout of contiguous rows (Table 1 of Steenkiste's paper)."""
    count, numbers = _ranks(table)
    return Layout.row_swath(array.shape, count).on_ranks(numbers)


def _coarse(table: Table, array: Array) -> Layout:
    """Read a layout of one block for each process of a square grid (Table 1 of
    Steenkiste's paper).
    """
    side = table.need("side", "2").whole(1, RANKS_MAX)
    _cap(table, "side", [side] * len(array.shape))
    return _on_ranks(table, Layout.coarse(array.shape, side))


def _fine(table: Table, array: Array) -> Layout:
    """Read a layout of several blocks for each process of a square grid (Table 1 of the paper)."""
    side = table.need("side", "2").whole(1, RANKS_MAX)
    _cap(table, "side", [side] * len(array.shape))
    factor = table.need("factor", "4").whole(1)
    return _on_ranks(table, Layout.fine(array.shape, side, factor))


def _hpf(table: Table, array: Array) -> Layout:
    """Read a layout from the words of a High Performance Fortran directive."""
    example = '["BLOCK", "CYCLIC(2)"]'
    given = table.need("distribution", example)
    words = [each.text('"BLOCK"') for each in given.items("a list of words", example)]
    if len(words) != len(array.shape):
        raise given.wrong(
            f"{len(words)} words for an array of {len(array.shape)} dimensions",
            f"give {len(array.shape)}",
        )
    for at, word in enumerate(words):
        # Refuse long words: a number with more digits cannot be a block size.
        if len(word) > 40:
            raise given.wrong(f"the word of dimension {at} is too long", f"write {example}")
    made = Layout.hpf(array.shape, words, _grid(table), numbering=_numbering(table, "column"))
    return _on_ranks(table, made)


def _scalapack(table: Table, array: Array) -> Layout:
    """Read a layout from an array descriptor of ScaLAPACK."""
    example = "[1, 0, 8, 8, 2, 2, 0, 0, 4]"
    given = table.need("descriptor", example)
    items = given.items("a list of nine numbers", example)
    descriptor = [each.whole(-(2**31), 2**63 - 1) for each in items]
    if len(descriptor) == 9 and tuple(descriptor[2:4]) != array.shape:
        extents = " x ".join(map(str, descriptor[2:4]))
        raise given.wrong(f"a matrix of {extents}", "give that of array.shape")
    if len(descriptor) == 9 and min(descriptor[4:8]) < 0:
        raise given.wrong("a block or a source below 0", "give MB_, NB_ of 1 or more")
    made = Layout.scalapack(descriptor, _grid(table), numbering=_numbering(table))
    return _on_ranks(table, made)


def _darray(table: Table, array: Array) -> Layout:
    """Read a layout from the arguments of ``MPI.Datatype.Create_darray``."""
    count = len(array.shape)
    processes = _cap(
        table, "processes", _dims(table.need("processes", "[2, 2]"), count, 1, "[2, 2]")
    )
    example = '["cyclic", "block"]'
    given = table.need("distributions", example)
    words = [
        each.word(["block", "cyclic", "none"]) for each in given.items("a list of words", example)
    ]
    if len(words) != count:
        raise given.wrong(f"{len(words)} words for an array of {count} dimensions", f"give {count}")
    arguments: list[int | None] = [None] * count
    if (given_args := table.get("arguments")) is not None:
        items = given_args.items("a list of numbers", '[16, "default"]')
        if len(items) != count:
            raise given_args.wrong(
                f"{len(items)} arguments for an array of {count} dimensions", f"give {count}"
            )
        arguments = [
            None if each.kind == "text" and each.word(["default"]) else each.whole(1)
            for each in items
        ]
    return _on_ranks(table, Layout.darray(array.shape, words, arguments, processes))


def _boxes(table: Table, array: Array) -> Layout:
    """Read a layout from the boxes (array regions) that each rank holds."""
    example = "[[[[0, 4], [0, 8]]], [[[4, 8], [0, 8]]]]"
    count = len(array.shape)
    ranks = []
    for rank in table.need("boxes", example).items("a list of boxes by rank", example):
        boxes = []
        for box in rank.items("a list of boxes", "[[[0, 4], [0, 8]]]"):
            sides = [each.wholes(0, "[0, 4]") for each in box.items("a box", "[[0, 4], [0, 8]]")]
            if len(sides) != count or any(len(side) != 2 for side in sides):
                raise box.wrong(
                    f"no box of an array of {count} dimensions",
                    "give [first, end] for each dimension",
                )
            boxes.append(([side[0] for side in sides], [side[1] for side in sides]))
        ranks.append(boxes)
    return _on_ranks(table, Layout.boxes(array.shape, ranks))


def _chunks(table: Table, array: Array) -> Layout:
    """Read a layout of chunks that are assigned to ranks round-robin."""
    count, numbers = _ranks(table)
    example = "[100, 100]"
    given = table.need("chunks", example)
    items = given.items("a list of chunks", example)
    if len(items) != len(array.shape):
        raise given.wrong(
            f"chunks of {len(items)} dimensions for an array of {len(array.shape)}",
            f"give {len(array.shape)}",
        )
    chunks: list[Any] = []
    for item, extent in zip(items, array.shape, strict=True):
        if item.kind == "list":
            chunks.append(item.wholes(1, "[50, 50]"))
        else:
            chunks.append(item.whole(1))
            if extent // chunks[-1] > RANKS_MAX:
                raise item.wrong(f"{extent // chunks[-1]:,} chunks", f"give at most {RANKS_MAX:,}")
    sizes = [
        len(sizes) if isinstance(sizes, list) else -(-extent // sizes)
        for sizes, extent in zip(chunks, array.shape, strict=True)
    ]
    if math.prod(sizes) > RANKS_MAX:
        raise given.wrong(f"{math.prod(sizes):,} chunks", f"give at most {RANKS_MAX:,}")
    return Layout.chunks(array.shape, chunks, count).on_ranks(numbers)


def _interface(table: Table, array: Array) -> Layout:
    """Read the layout from which a network interface reads large blocks (`io_distribution`)."""
    grid = _cap(table, "grid", _dims(table.need("grid", "[8, 8]"), 2, 1, "[8, 8]"))
    made = io_distribution(
        array.shape,
        (grid[0], grid[1]),
        links=table.need("links", "4").whole(1),
        tu=table.need("tu", '"64 KiB"').data(),
        element=array.itemsize,
    )
    return _on_ranks(table, made.layout)


KINDS: dict[str, Callable[[Table, Array], Layout]] = {
    "block-cyclic": _block_cyclic,
    "block": _block,
    "whole": _whole,
    "row-swath": _row_swath,
    "coarse": _coarse,
    "fine": _fine,
    "hpf": _hpf,
    "scalapack": _scalapack,
    "darray": _darray,
    "boxes": _boxes,
    "chunks": _chunks,
    "interface": _interface,
}
"""For each value of the field `kind` of a layout, the function that reads its other fields."""

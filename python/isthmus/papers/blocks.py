"""Blocks that a distribution leaves contiguous, for Table 1 of the paper on iWarp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from isthmus.errors import IsthmusError
from isthmus.papers.grammar import Conditions
from isthmus.value import Value

if TYPE_CHECKING:
    from isthmus.arrays import Layout


def counted(words: list[str], fixed: Conditions) -> Value:
    """Size in elements, or number, of contiguous blocks, as the plan to a single rank has them.

    They lie in one piece in the memory of a cell, and on a network over which the array goes row by
    row.

    Raises:
        IsthmusError: no such distribution, or its blocks differ in size.

    """
    from isthmus.arrays import Layout, Plan

    def number(name: str) -> int:
        told = fixed.get(name, "")
        if not told.isdigit():
            raise IsthmusError(f"blocks: say {name}, for example `@ n=1024; p=8; b=2`")
        return int(told)

    layouts: dict[str, Callable[[tuple[int, int]], Layout]] = {
        "row_swath": lambda shape: Layout.row_swath(shape, number("p") ** 2),
        "coarse": lambda shape: Layout.coarse(shape, number("p")),
        "fine": lambda shape: Layout.fine(shape, number("p"), number("b")),
    }
    if len(words) != 2 or words[0] not in layouts or words[1] not in ("size", "count"):
        raise IsthmusError(
            f"blocks {' '.join(words)}: write `blocks LAYOUT size` or `count`; "
            f"layouts are {', '.join(layouts)}"
        )
    shape = (number("n"), number("n"))
    plan = Plan(layouts[words[0]](shape), Layout.whole(shape))
    sizes: Counter[int] = Counter()
    for message in plan.messages():
        sizes.update(plan.runs(message.from_rank, message.to_rank, element=1))
    if len(sizes) != 1:
        told = " ".join(words)
        raise IsthmusError(f"blocks {told}: they have {len(sizes)} sizes; take other n, p, b")
    ((size, count),) = sizes.items()
    return Value(float(size if words[1] == "size" else count))

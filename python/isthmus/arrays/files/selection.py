"""Parts of an array selected by numpy's basic slicing."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from isthmus.arguments import shown
from isthmus.errors import IsthmusError


class OutOfRangeError(IsthmusError, IndexError):
    """Error: an index outside the array; an iteration over the array ends with it."""


@dataclass(frozen=True)
class Selection:
    """A slice with a positive step for each dimension, and the numpy index that then reverses or
    drops dimensions as the user asked.
    """

    ascending: tuple[slice, ...]
    """Slice of each dimension, with a step of at least 1."""
    after: tuple[Any, ...]
    """Index to apply to the selected array; it reverses dimensions and drops those with a single
    index.
    """

    def blocks(self, shape: Sequence[int], order: str, element: int, block: int) -> list[int]:
        """Return the blocks of a file that contain the selection, ascending.

        Args:
            shape: shape of the whole array.
            order: order of the elements in the file.
            element: bytes of an element.
            block: bytes of a block.

        """
        ranges = [range(*along.indices(n)) for along, n in zip(self.ascending, shape, strict=True)]
        if not all(ranges):
            return []
        if order == "F":
            ranges, shape = ranges[::-1], shape[::-1]
        strides = [element * math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
        # Treat the last dimensions as one run if the gaps in it are smaller than a block, because
        # such a run touches each block from its first byte to its last.
        tail, start, length = len(ranges), 0, element
        while tail:
            along, stride = ranges[tail - 1], strides[tail - 1]
            reach = (along[-1] - along[0]) * stride + length
            if len(along) > 1 and along.step * stride != length and reach > block:
                break
            tail, start, length = tail - 1, start + along[0] * stride, reach
        # For each block of the file: the number of runs of the selection in it, minus that in the
        # block before. The cumulated sum gives the number of runs in each block.
        more = np.zeros(-(-element * math.prod(shape) // block) + 1, np.int64)
        inner, stride = (ranges[tail - 1], strides[tail - 1]) if tail else (range(1), 0)
        steps = stride * np.arange(inner.start, inner.stop, inner.step, dtype=np.int64) + start
        for at in product(*ranges[: max(0, tail - 1)]):
            outer = sum(map(operator.mul, at, strides))
            np.add.at(more, (steps + outer) // block, 1)
            np.add.at(more, (steps + outer + length - 1) // block + 1, -1)
        return [int(number) for number in np.flatnonzero(np.cumsum(more))]


def selected(key: Any, shape: Sequence[int]) -> Selection:
    """Return the selection of a key of numpy's basic slicing.

    Raises:
        IsthmusError: it is not such a key: it has too many indices, a list, or an index out of
            range.

    """
    words = key if isinstance(key, tuple) else (key,)
    if sum(word is Ellipsis for word in words) > 1:
        raise IsthmusError("index: more than one ellipsis (...)")
    given = [word for word in words if word is not Ellipsis]
    if len(given) > len(shape):
        raise IsthmusError(f"index: {len(given)} of them; the array has {len(shape)} dimensions")
    at = next((place for place, word in enumerate(words) if word is Ellipsis), len(words))
    rest = [slice(None)] * (len(shape) - len(given))
    whole = [*given[:at], *rest, *given[at:]]
    ascending: list[slice] = []
    after: list[Any] = []
    for dim, (word, extent) in enumerate(zip(whole, shape, strict=True)):
        if isinstance(word, slice):
            try:
                along = range(*word.indices(extent))
            except (TypeError, ValueError) as error:
                raise IsthmusError(f"index of dimension {dim}: {shown(word)}: {error}") from error
            forward = along if along.step > 0 else along[::-1]
            ascending.append(slice(forward.start, max(forward.start, forward.stop), forward.step))
            after.append(slice(None, None, 1 if along.step > 0 else -1))
            continue
        try:
            if isinstance(word, bool):
                raise TypeError
            index = operator.index(word)
        except TypeError:
            raise IsthmusError(
                f"index of dimension {dim}: {shown(word)}; give whole numbers and slices"
            ) from None
        if not -extent <= index < extent:
            raise OutOfRangeError(f"index {index} of dimension {dim}, which has {extent}")
        index %= extent
        ascending.append(slice(index, index + 1, 1))
        after.append(0)
    return Selection(tuple(ascending), tuple(after))

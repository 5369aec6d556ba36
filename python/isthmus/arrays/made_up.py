"""Synthetic data: the value of each element encodes its index in the array."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.errors import RunFailedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.layouts import Layout

    Part = NDArray[Any]

SLAB = 1 << 18
"""Maximum number of elements that are generated or checked at a time."""
_FACTOR, _STEP = np.uint64(0xBF58476D1CE4E5B9), 0x9E3779B97F4A7C15
_SHIFT = np.uint64(29)


def element(itemsize: int) -> np.dtype[Any]:
    """Return the numpy type of synthetic elements of `itemsize` bytes."""
    return np.dtype(f"u{itemsize}") if itemsize in (1, 2, 4, 8) else np.dtype(f"V{itemsize}")


def fill(layout: Layout, rank: int, parts: list[Part], order: Literal["C", "F"]) -> None:
    """Fill the arrays of a rank with synthetic elements, each a hash of its index."""
    for part, indices in zip(parts, layout.indices(rank), strict=True):
        view = part.T if order == "F" else part
        for where, made in _expected_slabs(layout, view, indices, order):
            view[where] = made


def check(layout: Layout, rank: int, parts: list[Part], order: Literal["C", "F"]) -> int:
    """Check that every synthetic element in the arrays of a rank has the right value; return their
    number.

    Raises:
        RunFailedError: an element is wrong; the message names its index and the rank.

    """
    count = 0
    for part, indices in zip(parts, layout.indices(rank), strict=True):
        view = part.T if order == "F" else part
        for where, made in _expected_slabs(layout, view, indices, order):
            differs = view[where] != made
            if differs.any():
                inside = np.argwhere(differs)[0]
                starts = [each.start for each in where]
                place = [int(a + b) for a, b in zip(starts, inside, strict=True)]
                place = place[::-1] if order == "F" else place
                index = [int(along[at]) for along, at in zip(indices, place, strict=True)]
                raise RunFailedError(
                    f"rank {rank}: element {index} is not the one that belongs there"
                )
            count += made.size
    return count


def _expected_slabs(
    layout: Layout, view: Part, indices: list[NDArray[np.int64]], order: Literal["C", "F"]
) -> Iterator[tuple[tuple[slice, ...], Part]]:
    """Yield the expected elements of a synthetic array in slabs: the index ranges of each slab,
    and its elements.
    """
    shape = layout.shape
    # Contribution of each dimension to the row-major index of an element in the whole array.
    along = [
        index.astype(np.uint64) * np.uint64(math.prod(shape[dim + 1 :]))
        for dim, index in enumerate(indices)
    ]
    along = along[::-1] if order == "F" else along
    for where in _slabs(view.shape):
        places = np.zeros((1,) * view.ndim, np.uint64)
        for dim, (each, cut) in enumerate(zip(along, where, strict=True)):
            sides = [1] * view.ndim
            sides[dim] = -1
            places = places + each[cut].reshape(sides)
        yield where, _words(places, view.dtype)


def _words(places: NDArray[np.uint64], kind: np.dtype[Any]) -> Part:
    """Return the synthetic element of each index: a hash of the index, with the size of an
    element.
    """
    words = -(-kind.itemsize // 8)
    out = np.empty((*places.shape, words), "<u8")
    for word in range(words):
        mixed = places + np.uint64(word * _STEP % 2**64)
        mixed = (mixed ^ (mixed >> _SHIFT)) * _FACTOR
        out[..., word] = mixed ^ (mixed >> _SHIFT)
    flat = out.view(np.uint8)[..., : kind.itemsize]
    return np.ascontiguousarray(flat).view(kind)[..., 0]


def _slabs(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield the index ranges that cut an array of this shape into contiguous slabs of at most
    `SLAB` elements each.
    """
    if 0 in shape:
        return
    dim = 0
    while dim + 1 < len(shape) and math.prod(shape[dim + 1 :]) > SLAB:
        dim += 1
    step = max(1, SLAB // math.prod(shape[dim + 1 :]))
    rest = tuple(slice(0, extent) for extent in shape[dim + 1 :])
    for outer in np.ndindex(*shape[:dim]):
        head = tuple(slice(at, at + 1) for at in outer)
        for start in range(0, shape[dim], step):
            yield (*head, slice(start, min(start + step, shape[dim])), *rest)

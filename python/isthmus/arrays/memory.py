"""The bytes of numpy arrays, in the form that the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays.elements import array_of
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.layouts import Layout

    Part = NDArray[Any]
    Given = tuple[NDArray[np.uint8], list[int]]
    """The bytes of an array from its first element on, and its strides: the form that the Rust core
    takes.
    """


SHARED_WORK: Any = 10_000
"""Bound on the effort of numpy to find an element that two arrays share; odd strides make the
search hard.
"""


class _Span:
    """The memory of an array from its first to its last element, for numpy's array interface."""

    def __init__(self, array: Part, size: int) -> None:
        """Describe `size` bytes of memory from the first element of an array on."""
        self._array = array
        writable = bool(array.flags.writeable)
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (array.__array_interface__["data"][0], not writable),
        }


def given(part: Part) -> Given:
    """Return the bytes of an array without negative strides, in the form for the Rust core."""
    if part.size == 0:
        return np.empty(0, np.uint8), [part.itemsize] * part.ndim
    size = part.itemsize + sum(
        stride * (extent - 1) for stride, extent in zip(part.strides, part.shape, strict=True)
    )
    # Replace the stride of each extent of 1, which is arbitrary in numpy.
    strides = [
        part.itemsize if extent == 1 else stride
        for stride, extent in zip(part.strides, part.shape, strict=True)
    ]
    return np.asarray(_Span(part, size)), strides


def to_read(part: Part) -> Given:
    """Return the bytes of an array to read, in the form that the Rust core takes; copy it if it has
    a negative stride.
    """
    if any(stride < 0 for stride in part.strides):
        part = part.copy()
    return given(part)


def to_write(part: Part, what: str) -> Given:
    """Return the bytes of an array to write, in the form that the Rust core takes.

    Raises:
        IsthmusError: the array is read-only, or has a negative stride.

    """
    if not part.flags.writeable:
        raise IsthmusError(f"{what}: the array is read-only")
    if any(stride < 0 for stride in part.strides):
        raise IsthmusError(f"{what}: the array goes backwards through memory; pass a copy")
    return given(part)


class CheckedArrays:
    """The arrays of the last exchange and their memory layout then, so that an exchange of the
    same arrays needs no further checks.
    """

    def __init__(self, *held: Any) -> None:
        """Record the shape, strides and type of each array."""
        self._held = held
        self._parts = [
            (part, part.shape, part.strides, part.dtype)
            for given in held
            for part in (given if isinstance(given, (list, tuple)) else [given])
            if isinstance(part, np.ndarray)
        ]
        self._lists = [(given, list(given)) for given in held if isinstance(given, (list, tuple))]

    @staticmethod
    def can_check(*held: Any) -> bool:
        """Return whether all arguments are numpy arrays or lists of these, so that no argument was
        converted to a copy.
        """
        return all(
            isinstance(part, np.ndarray)
            for given in held
            if given is not None
            for part in (given if isinstance(given, (list, tuple)) else [given])
        )

    def match(self, *held: Any) -> bool:
        """Return whether these are the same arrays with unchanged memory layout."""
        return (
            all(now is then for now, then in zip(held, self._held, strict=True))
            and all(
                len(now) == len(then) and all(a is b for a, b in zip(now, then, strict=True))
                for now, then in self._lists
            )
            and all(
                part.shape == shape and part.strides == strides and part.dtype is dtype
                for part, shape, strides, dtype in self._parts
            )
        )


def overlapped(read: Sequence[Given], write: Sequence[Given]) -> list[int]:
    """Return the indices of the source arrays that share bytes with a target array."""
    spans = [(*_span(given), True, number) for number, given in enumerate(read)]
    spans += [(*_span(given), False, number) for number, given in enumerate(write)]
    found: set[int] = set()
    open_: dict[bool, dict[int, int]] = {True: {}, False: {}}
    for begin, end, reads, number in sorted(spans):
        for side in open_.values():
            for other in [other for other, ends in side.items() if ends <= begin]:
                del side[other]
        if begin < end:
            if reads and open_[False]:
                found.add(number)
            elif not reads:
                found.update(open_[True])
            open_[reads][number] = end
    return sorted(found)


def _span(given: Given) -> tuple[int, int]:
    """Return start and end address of an array's bytes."""
    begin = given[0].ctypes.data
    return begin, begin + len(given[0])


def distinct(parts: Sequence[Part], what: str) -> None:
    """Refuse target arrays that share an element.

    Interleaved views, such as every other column, share none. The search has bounded effort; if it
    ends undecided, the arrays are accepted.

    Raises:
        IsthmusError: two arrays share an element.

    """
    spans = sorted((*_bounds(part), number) for number, part in enumerate(parts) if part.size)
    open_: list[tuple[int, int]] = []
    for begin, end, number in spans:
        open_ = [(ends, other) for ends, other in open_ if ends > begin]
        for _, other in open_:
            if _shared(parts[other], parts[number]):
                raise IsthmusError(
                    f"{what}: the same memory is given twice; each part needs its own"
                )
        open_.append((end, number))


def _bounds(part: Part) -> tuple[int, int]:
    """Return start and end address of an array, for strides of either sign."""
    steps = [stride * (extent - 1) for stride, extent in zip(part.strides, part.shape, strict=True)]
    begin: int = part.__array_interface__["data"][0]
    return (
        begin + sum(step for step in steps if step < 0),
        begin + sum(step for step in steps if step > 0) + part.itemsize,
    )


def _shared(one: Part, other: Part) -> bool:
    """Return whether two arrays share an element; False if the search reaches its bound."""
    try:
        return np.shares_memory(one, other, max_work=SHARED_WORK)
    except np.exceptions.TooHardError:
        return False


def columns(parts: Sequence[Part]) -> bool:
    """Return whether all arrays are stored in column-major order, and not in row-major order as
    well.
    """
    return any(part.flags.f_contiguous and not part.flags.c_contiguous for part in parts)


def parts_of(held: Any, what: str) -> list[Part]:
    """Return the parts of a rank, given as an array or a list of arrays.

    Raises:
        IsthmusError: a part is not an array, or its elements cannot be moved.

    """
    if isinstance(held, (list, tuple)):
        return [array_of(what, part) for part in held]
    return [array_of(what, held)]


def refuse_unless_ranks(held: Any, what: str) -> None:
    """Refuse an argument that is not a list with an item for each rank.

    Raises:
        IsthmusError: it is neither a list nor an array with dimensions.

    """
    if not isinstance(held, (list, tuple)) and not (isinstance(held, np.ndarray) and held.ndim):
        raise IsthmusError(f"{what}: give a list with what each rank of the layout holds")


def check(layout: Layout, rank: int, parts: Sequence[Part], what: str) -> None:
    """Refuse parts whose shapes differ from those of a rank in a layout.

    Raises:
        IsthmusError: a shape differs; the message names the part.

    """
    extents = layout.extents(rank)
    if len(parts) != len(extents):
        raise IsthmusError(
            f"{what} of rank {rank}: {len(parts)} arrays; the layout gives it {len(extents)}"
        )
    for number, (part, shape) in enumerate(zip(parts, extents, strict=True)):
        which = f"{what} of rank {rank}" + (f", part {number}" if len(parts) > 1 else "")
        if part.shape != shape:
            raise IsthmusError(
                f"{which}: an array of shape {part.shape}; the layout gives it {shape}"
            )


def one_type(parts: Sequence[Part], what: str) -> np.dtype[Any] | None:
    """Return the common element type of these arrays; None if there are none.

    Raises:
        IsthmusError: the types differ.

    """
    kinds = list(dict.fromkeys(part.dtype for part in parts))
    if len(kinds) > 1:
        raise IsthmusError(
            f"{what}: elements of type {kinds[0]} and of type {kinds[1]}; all are of one"
        )
    return kinds[0] if kinds else None

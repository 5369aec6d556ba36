"""The rules for arrays and types of elements that callers and files give.

All arrays and element types from callers and files pass the checks of this module.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.arguments import choice, refuse
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Order = Literal["C", "F"]

DIMENSIONS_MAX = 32
"""Maximum number of dimensions of an array."""
BYTES_END = 1 << 63
"""Every array must be smaller than this number of bytes."""


def array_of(what: str, given: Any) -> NDArray[Any]:
    """Return an argument as a plain numpy array.

    An array of numpy shares its memory with the result; subclasses are viewed as `ndarray`.

    Args:
        what: the name of the argument, for messages.
        given: an array, or any object that numpy converts to one.

    Raises:
        IsthmusError: it is not an array, has a mask, or its elements cannot be moved.

    """
    try:
        found = np.asanyarray(given)
    except Exception as error:  # the method `__array__` of other libraries may raise any error
        raise IsthmusError(f"{what}: not an array of numpy ({error})") from error
    if _has_mask(found) or (isinstance(given, (list, tuple)) and _has_mask(given, found.ndim)):
        raise IsthmusError(
            f"{what}: a masked array, whose mask would be lost; pass array.filled(value), or "
            "array.data and numpy.ma.getmaskarray(array) one after the other"
        )
    refuse_type(what, found.dtype)
    return np.asarray(found)


def _has_mask(given: Any, depth: int = 0) -> bool:
    """Return whether an argument is a masked array, or a list of masked arrays nested at most
    `depth` levels deeper.
    """
    if isinstance(given, np.ma.MaskedArray):
        return True
    nested = depth > 0 and isinstance(given, (list, tuple))
    return nested and any(_has_mask(each, depth - 1) for each in given)


def type_of(what: str, given: Any) -> np.dtype[Any]:
    """Return the type of elements that a caller names.

    Args:
        what: the name of the argument, for messages.
        given: any numpy type specification except None.

    Raises:
        IsthmusError: it is not a type, or its elements cannot be moved.

    """
    try:
        if given is None:
            raise TypeError("numpy takes None for float64")
        found: np.dtype[Any] = np.dtype(given)
    except (
        Exception
    ) as error:  # numpy parses texts and reads attributes of objects, which may raise any error
        raise refuse(what, given, "a type of elements, such as 'f8'") from error
    refuse_type(what, found)
    return found


def refuse_type(what: str, dtype: np.dtype[Any]) -> None:
    """Check that values of a numpy type can be copied as a fixed number of bytes. `what` is the
    name of the argument in an error.

    Raises:
        IsthmusError: they are Python objects, have no bytes, or are arrays themselves.

    """
    if dtype.hasobject:
        raise IsthmusError(
            f"{what}: elements of type {dtype}; Python objects have no fixed bytes: use numbers, "
            "as by astype(float)"
        )
    if dtype.itemsize == 0:
        raise IsthmusError(f"{what}: elements of type {dtype}, which have no bytes")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        raise IsthmusError(
            f"{what}: elements of type {dtype}, which are arrays; give the type {base}, and a "
            f"shape that ends in {shape}"
        )


def refuse_shape(what: str, shape: Sequence[Any], dtype: np.dtype[Any]) -> None:
    """Check that a numpy array can have this shape. `what` is the name of the argument in an error.

    Raises:
        IsthmusError: too many dimensions or bytes, or an extent that is not a whole number.

    """
    if len(shape) > DIMENSIONS_MAX:
        raise IsthmusError(
            f"{what}: {len(shape)} dimensions; an array has at most {DIMENSIONS_MAX}"
        )
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise IsthmusError(f"{what}: shape {tuple(shape)}; extents are whole numbers, 0 or more")
    # Count an extent of 0 as 1, because numpy does so: it refuses a shape whose other extents have
    # a large product.
    if math.prod(max(extent, 1) for extent in shape) * dtype.itemsize >= BYTES_END:
        raise IsthmusError(
            f"{what}: shape {tuple(shape)} of {dtype}; an array has fewer than 2^63 bytes"
        )


def refuse_order(what: str, order: Any) -> None:
    """Check that an order of elements in memory is ``"C"``, ``"F"`` or None. `what` is the name
    of the argument in an error.
    """
    if order is not None:
        choice(what, order, ("C", "F"))


def empty(
    what: str, shape: Sequence[int], dtype: np.dtype[Any], order: Order = "C"
) -> NDArray[Any]:
    """Allocate an uninitialised array.

    Raises:
        IsthmusError: the shape is impossible, or memory is exhausted.

    """
    refuse_shape(what, shape, dtype)
    try:
        return np.empty(shape, dtype, order)
    except (MemoryError, ValueError) as error:
        raise IsthmusError(f"{what}: {error}") from error

"""Bytes of users' arrays, and who has them at the moment."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus import _core
from isthmus.arguments import refuse
from isthmus.arrays.elements import array_of
from isthmus.streams.errors import StreamsError

Bytes = NDArray[np.uint8]

# With its first array the core looks up what it calls of numpy, and with its first sum what the
# processor can, both under locks: who forks meanwhile would have a child that waits for ever.
_core.crc32c(np.empty(0, np.uint8))


def _flat(name: str, data: object) -> Bytes:
    if isinstance(data, np.ndarray):
        array = array_of(name, data)
    else:
        try:
            array = np.frombuffer(data, np.uint8)  # type: ignore[call-overload]
        except (TypeError, ValueError, BufferError):
            right = "a numpy array, bytes or anything else that has a buffer in one piece"
            raise refuse(name, data, right) from None
    if not array.flags.c_contiguous:
        raise StreamsError(
            f"{name}: an array of shape {array.shape} that is not in one piece in memory, row by "
            "row; pass numpy.ascontiguousarray(it), or send_array, which packs it"
        )
    flat: Bytes = array.reshape(-1).view(np.uint8)
    return flat


def to_send(name: str, data: object) -> Bytes:
    """The bytes of what is sent, not copied.

    Raises:
        IsthmusError: it has none, or not in one piece.

    """
    return _flat(name, data)


def to_fill(name: str, data: object) -> Bytes:
    """The bytes that are received into, not copied.

    Raises:
        IsthmusError: there are none, or not in one piece, or they may not be written to.

    """
    flat = _flat(name, data)
    if not flat.flags.writeable:
        raise StreamsError(f"{name}: the array is read-only; pass one that can be written to")
    return flat


class Holds:
    """The bytes that sends and receives of this process have at the moment."""

    def __init__(self) -> None:
        # A handle that is thrown away gives its bytes back, maybe in the middle of a call here.
        self._lock = threading.RLock()
        self._held: dict[object, tuple[int, int, bool, str]] = {}
        self._frozen: list[tuple[int, int, NDArray[Any]]] = []

    def hold(self, flat: Bytes, who: str, *, writes: bool) -> object:
        """Take bytes for a call until they are given back; reading them twice is no harm.

        Returns:
            What `release` gives them back by.

        Raises:
            StreamsError: another call has some of them.

        """
        begin = _core.address(flat)
        end = begin + len(flat)
        key = object()
        with self._lock:
            for low, high, written, other in list(self._held.values()):
                if low < end and begin < high and (writes or written):
                    raise StreamsError(
                        f"{who}: {other} has some of these bytes; wait for that first"
                    )
            self._held[key] = (begin, end, writes, who)
        return key

    def freeze(self, data: object, flat: Bytes) -> None:
        """Make an array read-only until no call has any of its bytes."""
        if isinstance(data, np.ndarray) and data.flags.writeable:
            begin = _core.address(flat)
            with self._lock:
                data.flags.writeable = False
                self._frozen.append((begin, begin + len(flat), data))

    def forget(self) -> None:
        """Give all back, in a process that was forked: the calls are those of the one before."""
        self._lock = threading.RLock()
        self._held.clear()
        self.release(None)

    def release(self, key: object) -> None:
        """Give bytes back."""
        with self._lock:
            self._held.pop(key, None)
            if not self._frozen:
                return
            held = list(self._held.values())
            frozen, self._frozen = self._frozen, []
            free = []
            for begin, end, array in frozen:
                if any(low < end and begin < high for low, high, _, _ in held):
                    self._frozen.append((begin, end, array))
                else:
                    free.append(array)
            # A view can be written to once the array below it can.
            for array in sorted(free, key=lambda array: array.base is not None):
                with suppress(ValueError):
                    array.flags.writeable = True


HOLDS = Holds()
"""Of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=HOLDS.forget)

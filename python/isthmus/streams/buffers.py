"""Buffers of users' arrays, and the calls that use them at the moment."""

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

# Initialise numpy's interface and the processor detection of the core now, since both take locks: a
# process forked meanwhile would wait forever.
_core.crc32c(np.empty(0, np.uint8))


def _as_bytes(name: str, data: object) -> Bytes:
    """Return the bytes of an object without a copy; refuse an object without a contiguous
    buffer.
    """
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
    """Return the bytes of an object to send, without a copy.

    Raises:
        IsthmusError: the object has no buffer, or not a contiguous one.

    """
    return _as_bytes(name, data)


def to_fill(name: str, data: object) -> Bytes:
    """Return the bytes of an object to receive into, without a copy.

    Raises:
        IsthmusError: the object has no buffer, or it is not contiguous or not writable.

    """
    flat = _as_bytes(name, data)
    if not flat.flags.writeable:
        raise StreamsError(f"{name}: the array is read-only; pass one that can be written to")
    return flat


class Holds:
    """Registry of the bytes that sends and receives of this process use."""

    def __init__(self) -> None:
        """Start without reserved bytes."""
        # Reentrant: a discarded handle may release its bytes while this thread has the lock.
        self._lock = threading.RLock()
        self._held: dict[object, tuple[int, int, bool, str]] = {}
        self._frozen: list[tuple[int, int, NDArray[Any]]] = []

    def hold(self, flat: Bytes, who: str, *, writes: bool) -> object:
        """Reserve bytes for a call, described by `who`, until `release`; several calls may read the
        same bytes.

        Returns:
            The key for `release`.

        Raises:
            StreamsError: another call uses some of the bytes.

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
        """Make an array read-only until no call uses any of its bytes."""
        if isinstance(data, np.ndarray) and data.flags.writeable:
            begin = _core.address(flat)
            with self._lock:
                data.flags.writeable = False
                self._frozen.append((begin, begin + len(flat), data))

    def forget(self) -> None:
        """Release all reserved bytes in a forked process, since the calls belong to its parent."""
        self._lock = threading.RLock()
        self._held.clear()
        self.release(None)

    def release(self, key: object) -> None:
        """Release the bytes that a call has reserved by `hold`, by their key."""
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
            # Make base arrays writable before their views: numpy allows no other order.
            for array in sorted(free, key=lambda array: array.base is not None):
                with suppress(ValueError):
                    array.flags.writeable = True


HOLDS = Holds()
"""The registry of reserved bytes of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=HOLDS.forget)

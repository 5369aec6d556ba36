"""What operators ask of an I/O daemon: what is not stored yet, and that it is stored."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from isthmus.iod.client import Client

LOOK_S = 0.5
"""Seconds between two looks at a daemon that stores files."""

ROUNDS = 10
"""Number of times that a drain begins again, because clients have written meanwhile."""


@dataclass(frozen=True)
class Unstored:
    """A file with bytes that are not stored."""

    number: int
    """Its number in the cache."""
    bytes: int
    """Number of bytes that are not stored."""
    age_s: float
    """For how long the oldest of them has waited."""
    error: str | None
    """Why the last attempt to store it has failed."""
    path: str
    """Its path in the store."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Return one line."""
        why = f": {self.error}" if self.error else ""
        return f"{self.path}: {self.bytes} bytes are not stored{why}"


async def unstored(client: Client) -> list[Unstored]:
    """Return all files with bytes that are not stored."""
    found = list[Unstored]()
    start = 0
    while files := await client.list_unstored(start):
        for number, count, age_s, error, path in files:
            why = _reason(path, error) if error is not None else None
            found.append(Unstored(number, count, age_s, why, os.fsdecode(path)))
        start = found[-1].number + 1
    return found


def _reason(path: bytes, error: int) -> str:
    """Return why a file could not be stored."""
    if error == errno.ESTALE and path.startswith(b"s3://"):
        return "conflict: another program has changed or removed the object"
    return os.strerror(error)


async def drain(
    client: Client, watch: Callable[[dict[str, int]], None]
) -> tuple[list[Unstored], str | None]:
    """Have everything stored.

    Args:
        client: the connection to the daemon.
        watch: gets the state of the daemon meanwhile.

    Returns:
        The files that are not stored, and the error of the daemon if it has another reason. They
        could not be stored, or clients have written them meanwhile again and again.

    """
    left, error = list[Unstored](), None
    for _ in range(ROUNDS):
        draining = asyncio.ensure_future(client.drain())
        while not draining.done():
            watch(await client.status())
            await asyncio.wait([draining], timeout=LOOK_S)
        failed = draining.exception()
        if failed is not None and not isinstance(failed, OSError):
            raise failed
        left = await unstored(client)
        error = failed.strerror if failed is not None else None
        if error or not left or any(file.error for file in left):
            break
    return left, error

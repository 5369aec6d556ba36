"""Commands that ask an I/O daemon for something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from isthmus.cli.voice import voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.iod.client import Client
    from isthmus.iod.operators import Unstored

T = TypeVar("T")

SHOWN = 10
"""Maximum number of files that are named on standard error."""


def ask(daemon: dict[str, Any], work: Callable[[Client], Awaitable[T]]) -> T:
    """Connect to a daemon and return the result of ``work``.

    Args:
        daemon: the options of the daemon, from `isthmus.cli.daemons.target`.
        work: a coroutine that uses the connection.

    Raises:
        IsthmusError: there is no daemon, or it fails.

    """
    import asyncio

    from isthmus.iod.client import Client

    async def connected() -> T:
        client = await Client.connect(daemon)
        try:
            return await work(client)
        finally:
            client.end()

    try:
        return asyncio.run(connected())
    except OSError as error:
        raise IsthmusError(error.strerror or str(error)) from None


def name_files(files: Iterable[Unstored]) -> None:
    """Name files that are not stored on standard error, the first ones if there are many."""
    lines = [str(file) for file in files]
    for line in lines[:SHOWN]:
        voice().note(line)
    if len(lines) > SHOWN:
        voice().note(f"and {len(lines) - SHOWN} more; isthmus iod status --json has all")

"""Connections to external peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from isthmus.streams.status import ConnectionStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    Ask = Callable[[dict[str, object]], dict[str, Any]]


class Connection:
    """A connection of this application to an external peer.

    As a context manager, it is closed at the end of the block.
    """

    def __init__(
        self,
        ask: Ask,
        number: int,
        destination: str,
        session: Any = None,
        checksum: str = "crc32c",
    ) -> None:
        """Create the object for a connection that the daemon has opened."""
        self._ask = ask
        self.session = session
        """The session that opened the connection."""
        self.number = number
        """Number of the connection at the daemon."""
        self.destination = destination
        """Destination of the connection."""
        self.checksum = checksum
        """Checksum of the connection's data: ``crc32c``, ``internet`` or ``none``."""

    def status(self) -> ConnectionStatus:
        """Return the status of the connection.

        Raises:
            StreamsError: the daemon refuses, or is gone.

        """
        reply = self._ask({"ask": "connection", "connection": self.number})
        found: Any = reply["connection-status"]["connection"]
        return msgspec.convert(found, ConnectionStatus)

    def close(self) -> None:
        """Close the connection after its streams have ended; data that was sent is delivered first.

        A file is complete and has its final name when this returns.

        Raises:
            NotKeptError: the file was not kept; the message explains why.
            TimedOutError: its streams have not ended, or the disk is slow.
            StreamsError: the daemon refuses, or is gone.

        """
        self._ask({"ask": "close", "connection": self.number})

    def __enter__(self) -> Self:
        """Return the connection itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the connection, unless an exception ends the block."""
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        """Return the number and the destination of the connection as text."""
        return f"<connection {self.number} to {self.destination}>"

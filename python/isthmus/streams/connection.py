"""Connections to the outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from isthmus.streams.status import ConnectionStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    Ask = Callable[[dict[str, object]], dict[str, Any]]


class Connection:
    """A connection of this application. As a context manager it is closed at the end."""

    def __init__(
        self,
        ask: Ask,
        number: int,
        destination: str,
        session: Any = None,
        checksum: str = "crc32c",
    ) -> None:
        self._ask = ask
        self.session = session
        """The session that opened it."""
        self.number = number
        """As the daemon counts."""
        self.destination = destination
        """Where to."""
        self.checksum = checksum
        """Of its data: ``crc32c``, ``internet`` or ``none``."""

    def status(self) -> ConnectionStatus:
        """Where it is.

        Raises:
            StreamsError: the daemon does not tell.

        """
        told = self._ask({"ask": "connection", "connection": self.number})
        found: Any = told["connection-status"]["connection"]
        return msgspec.convert(found, ConnectionStatus)

    def close(self) -> None:
        """Close it once its streams have ended; what was sent goes out first.

        If it goes to a file, that is whole and under its name when this returns.

        Raises:
            NotKeptError: the file was not kept, and why.
            TimedOutError: its streams have not ended, or the disk takes its time.
            StreamsError: the daemon refuses, or is gone.

        """
        self._ask({"ask": "close", "connection": self.number})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        return f"<connection {self.number} to {self.destination}>"

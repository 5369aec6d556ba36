"""Status and events of streams and connections, as the daemon reports them."""

from __future__ import annotations

from typing import Any

import msgspec


class StreamStatus(msgspec.Struct, frozen=True):
    """The progress of a stream and the resources it waits for, as the daemon reports them."""

    stream: int
    """Number of the stream."""
    application: int
    """Number of the application to which the stream belongs."""
    connection: int
    """Number of the connection that the stream uses."""
    direction: str
    """Direction of the data: ``transmit`` or ``receive``."""
    state: str
    """State of the stream: ``inactive``, ``pending``, ``active``, ``draining``, ``done``,
    ``failed`` or ``cancelled``.
    """
    over: bool
    """Whether the stream has ended and none of its transfers is still in progress."""
    moved: int
    """Number of ADUs that were moved: to the daemon's network memory when sending, to the
    application's processes when receiving.
    """
    done: int
    """Number of application data units (ADUs) that are done, as the destination guarantees."""
    incomplete: int
    """Number of ADUs that are done although some of their bytes are missing."""
    bytes: int
    """Number of data bytes that the stream has sent or received."""
    retransmissions: int
    """Number of packets that were sent again."""
    waits: list[str] = []
    """Texts that name the resources for which the stream waits."""
    adus: int | None = None
    """Number of ADUs (application data units) of the stream; None if unknown."""
    reason: str | None = None
    """Reason why the stream failed; None if it has not failed."""


class ConnectionStatus(msgspec.Struct, frozen=True):
    """The state of a connection and its amounts of data, as the daemon reports them."""

    connection: int
    """Number of the connection."""
    application: int
    """Number of the application to which the connection belongs."""
    destination: str
    """Destination of the connection, such as ``raw:tcp:127.0.0.1:5000`` or ``file:/data/image``."""
    open: bool
    """Whether the connection is open: established and not closed."""
    streams: int
    """Number of streams of the connection that have not ended."""
    transmit_bytes: int
    """Data to send in network memory, in bytes."""
    receive_bytes: int
    """Received data in network memory, in bytes."""
    moved_bytes: tuple[int, int]
    """Bytes that streams of the connection moved to the peer, and from the peer."""
    gone: str | None = None
    """Reason why the connection was lost; None while it works."""
    congestion: str | None = None
    """Algorithm of congestion control of the connection's socket."""


class Event:
    """An event of the session; `what` is its kind, and its details are attributes."""

    def __init__(self, event: dict[str, Any]) -> None:
        """Create the event from a dictionary, as parsed from the daemon's JSON."""
        self.what = str(event["what"])
        """Kind of the event, for example ``opened``, ``closed``, ``lost`` or ``done``."""
        self.told = {k: v for k, v in event.items() if k != "what"}  # codespell:ignore told
        """All details of the event."""

    def __getattr__(self, name: str) -> Any:
        """Return a detail of the event by its name."""
        try:
            return self.__dict__["told"][name]  # codespell:ignore told
        except KeyError:
            raise AttributeError(f"nothing is reported of {name!r} in {self!r}") from None

    def __repr__(self) -> str:
        words = ", ".join(f"{k}={v!r}" for k, v in self.told.items())  # codespell:ignore told
        return f"Event({self.what!r}{', ' if words else ''}{words})"


def stream_status(text: str) -> StreamStatus:
    """Parse the status of a stream from the core's JSON."""
    return msgspec.json.decode(text, type=StreamStatus)

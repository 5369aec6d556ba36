"""What the daemon tells of streams and connections."""

from __future__ import annotations

from typing import Any

import msgspec


class StreamStatus(msgspec.Struct, frozen=True):
    """Where a stream is."""

    stream: int
    """Its number."""
    application: int
    """Number of its application."""
    connection: int
    """Number of its connection."""
    direction: str
    """``transmit`` or ``receive``."""
    state: str
    """``inactive``, ``pending``, ``active``, ``draining``, ``done``, ``failed``, ``cancelled``."""
    over: bool
    """Whether nothing of it is under way any more."""
    moved: int
    """ADUs moved: in the manager's network memory, or with the ranks."""
    done: int
    """ADUs done as the destination promises."""
    incomplete: int
    """ADUs, of those, of which something is missing."""
    bytes: int
    """Bytes moved."""
    retransmissions: int
    """Packets sent again."""
    waits: list[str] = []
    """Who it waits for, in words."""
    adus: int | None = None
    """ADUs that it has, if that is known."""
    reason: str | None = None
    """Why it failed."""


class ConnectionStatus(msgspec.Struct, frozen=True):
    """Where a connection is."""

    connection: int
    """Its number."""
    application: int
    """Number of its application."""
    destination: str
    """Where to."""
    open: bool
    """Whether it is open."""
    streams: int
    """Streams that have not ended."""
    transmit_bytes: int
    """Data in network memory that is to be sent, in bytes."""
    receive_bytes: int
    """Data in network memory that came, in bytes."""
    moved_bytes: tuple[int, int]
    """Bytes that its streams moved to the outside, and from there."""
    gone: str | None = None
    """Why it is gone."""
    congestion: str | None = None
    """The congestion control of its socket."""


class Event:
    """Something that happened: `what` and what is told of it, as attributes."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.what = str(told["what"])
        """``opened``, ``closed``, ``lost``, ``moved``, ``done``, ``ended``, ``stalled``, ..."""
        self.told = {name: value for name, value in told.items() if name != "what"}
        """All that is told of it."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["told"][name]
        except KeyError:
            raise AttributeError(f"nothing is told of {name!r} in {self!r}") from None

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in self.told.items())
        return f"Event({self.what!r}{', ' if words else ''}{words})"


def stream_status(text: str) -> StreamStatus:
    """A status as the core tells it."""
    return msgspec.json.decode(text, type=StreamStatus)

"""Streams to and from external peers, through the daemon of a stream manager.

The daemon is ``isthmus nic serve``::

    import numpy as np
    from isthmus.streams import connect

    with connect("unix:/run/isthmus/nic.sock") as nic:
        out = nic.open("raw:tcp:127.0.0.1:5000")
        stream = nic.stream(out, adu="1 MiB", links=4, adus=100)
        for _ in range(100):
            stream.send(np.zeros(1 << 20, np.uint8))
        stream.wait()

The guide's page "Streams" defines the ownership of buffers, and the guarantees of `wait`.
"""

from __future__ import annotations

from isthmus.streams.aio import AsyncConnection, AsyncNic, AsyncStream, aconnect, ajoin
from isthmus.streams.arrays import recv_array, send_array
from isthmus.streams.connection import Connection
from isthmus.streams.errors import (
    IncompleteError,
    LinkError,
    NotKeptError,
    RefusedError,
    SessionOverError,
    StreamFailedError,
    StreamsError,
    TimedOutError,
    UnreachableError,
)
from isthmus.streams.ranks import RankNic, connect_ranks
from isthmus.streams.session import Nic, connect, join
from isthmus.streams.specs import StreamSpec
from isthmus.streams.status import ConnectionStatus, Event, StreamStatus
from isthmus.streams.stream import Stream
from isthmus.streams.worker import Handle

__all__ = [
    "AsyncConnection",
    "AsyncNic",
    "AsyncStream",
    "Connection",
    "ConnectionStatus",
    "Event",
    "Handle",
    "IncompleteError",
    "LinkError",
    "Nic",
    "NotKeptError",
    "RankNic",
    "RefusedError",
    "SessionOverError",
    "Stream",
    "StreamFailedError",
    "StreamSpec",
    "StreamStatus",
    "StreamsError",
    "TimedOutError",
    "UnreachableError",
    "aconnect",
    "ajoin",
    "connect",
    "connect_ranks",
    "join",
    "recv_array",
    "send_array",
]

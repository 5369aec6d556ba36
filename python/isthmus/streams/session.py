"""Sessions with a stream manager's daemon."""

from __future__ import annotations

import json
import os
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus import _core
from isthmus.arguments import flag, one_of, path, shown, text, whole
from isthmus.errors import IsthmusError, meant
from isthmus.streams.amounts import as_json, parse_size, seconds
from isthmus.streams.arrival import blocking, completed, open_to_peer
from isthmus.streams.connection import Connection
from isthmus.streams.errors import SessionOverError, StreamsError, ask
from isthmus.streams.movers import Movers, Threads
from isthmus.streams.specs import LINK_MAX, StreamSpec
from isthmus.streams.status import Event
from isthmus.streams.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

    from isthmus.streams.stream import Timeout

CHECKSUMS = ("none", "internet", "crc32c")
PROTOCOLS: dict[str, Any] = {
    "stream": "stream",
    "confirmed": {"confirmed": {"repair": False}},
    "repaired": {"confirmed": {"repair": True}},
    "unconfirmed": {"unconfirmed": {}},
}
"""Protocols by name. They differ in when a packet is done, and in how losses are handled.

``stream`` uses a reliable layer, such as TCP. With ``confirmed`` a packet is done when the stream
manager of the peer has it; ``repaired`` also sends lost packets again. With ``unconfirmed`` a
packet is done when it is sent.
"""
RING = "2 MiB"
"""Default size of the shared-memory ring buffer of a link, one for each direction."""
NUMBER_MAX = (1 << 32) - 1


def connect(
    address: str,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    name: str | None = None,
    watch: bool = False,
    patience: str | float = "60 s",
) -> Nic:
    """Create an application at a daemon.

    Args:
        address: address of the daemon: ``unix:/run/isthmus/nic.sock``, ``tcp:127.0.0.1:7000``, or
            with TLS ``tls:nic.example.org:7000``.
        token: the secret that the daemon may require.
        ca: with TLS, a PEM file with the certificate of the daemon or of its signer.
        name: name of the application in the daemon's log and tables; by default that of the
            program.
        watch: whether the session receives events; see `Nic.events`.
        patience: default timeout of calls, the maximum time without progress or reply: text with a
            unit, or `math.inf`.

    Returns:
        The session. When it ends, the application and all of its streams end too.

    Raises:
        UnreachableError: no daemon listens at the address.
        RefusedError: the daemon refuses the application.
        IsthmusError: an argument is invalid.

    """
    needs_linux()
    text("address", address, "unix:/run/isthmus/nic.sock")
    if token is not None:
        text("token", token, "a secret")
    if name is None:
        name = Path(sys.argv[0] or "python").name or "python"
    text("name", name, "imaging")
    flag("watch", watch)
    limit = seconds("patience", patience)
    core = ask(_core.NicSession.connect, address, check_ca(ca), token, name, watch, limit)
    return Nic(core, address, limit, watch=watch)


def join(
    address: str,
    ticket: str,
    *,
    ca: str | os.PathLike[str] | None = None,
    watch: bool = False,
    patience: str | float = "60 s",
) -> Nic:
    """Join the application of another process, with the ticket (`Nic.ticket`) of that process.

    The session has links of its own, and may use everything that the application has. The
    application ends with the session that created it. Arguments and errors are those of `connect`.
    """
    needs_linux()
    text("address", address, "unix:/run/isthmus/nic.sock")
    text("ticket", ticket, "0123abcd")
    flag("watch", watch)
    limit = seconds("patience", patience)
    core = ask(_core.NicSession.join, address, check_ca(ca), ticket, watch, limit)
    return Nic(core, address, limit, watch=watch)


def needs_linux() -> None:
    """Check that the system supports links to the daemon.

    Raises:
        StreamsError: on systems other than Linux.

    """
    if not hasattr(_core, "NicSession"):
        raise StreamsError("isthmus.streams: links to the manager need Linux; run it there")


def check_ca(ca: str | os.PathLike[str] | None) -> str | None:
    """Check the argument `ca`, the path of a certificate file, and return it as text.

    Raises:
        IsthmusError: the value is not a path.

    """
    if ca is None:
        return None
    path("ca", ca, "nic.pem")
    return os.fspath(ca)


def _ended(core: _core.NicSession, streams: weakref.WeakSet[Stream]) -> None:
    """End a session that is closed or discarded: end it in the core and close its streams."""
    core.end()
    for stream in list(streams):
        stream.close()


class Nic:
    """A session with the daemon of the stream manager, created by `connect` or `join`.

    As a context manager, it is closed at the end of the block.
    """

    def __init__(
        self, core: _core.NicSession, address: str, patience: float | None, *, watch: bool
    ) -> None:
        """Create the object for an open session of the core; use `connect` or `join`."""
        self._core = core
        self._patience = patience
        self._watch = watch
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._links: dict[int, dict[str, Any]] = {}
        """Settings of the links of this process by number, so that lost links can be made again."""
        self._finalizer = weakref.finalize(self, _ended, core, self._streams)
        self.address = address
        """Address of the daemon."""
        welcome = core.welcome()
        self.application: int = welcome[0]
        """Number by which the daemon identifies the application."""
        self.ticket: str = welcome[1]
        """Ticket with which further processes join the application."""
        self.staging_bytes: int = welcome[3]
        """Maximum bytes of staging memory for the application's active streams, per direction."""
        self.network_bytes: int = welcome[4]
        """Maximum bytes of network memory for the application's connections, per direction."""

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        """Send a request to the daemon and return the reply."""
        answer = json.loads(ask(self._core.ask, as_json(request), self._patience))
        return answer if isinstance(answer, dict) else {answer: {}}

    def open(
        self,
        destination: str,
        *,
        channel: int = 0,
        protocol: str | None = None,
        checksum: str = "crc32c",
        share: int | str | None = None,
        window: int | str = 0,
        wait: Timeout = None,
    ) -> Connection:
        """Open a connection to an external peer.

        Args:
            destination: such as ``raw:tcp:127.0.0.1:5000``, ``tcp:...``, ``udp:...``,
                ``file:PATH``; or ``raw:accept:127.0.0.1:0``, ``tcp:accept:...``,
                ``udp:accept:...``, which wait for a peer.
            channel: the number in each packet; it must be the same on both ends.
            protocol: one of `PROTOCOLS`; by default the usual one of the destination.
            checksum: checksum of the data: ``crc32c``, ``internet`` or ``none``.
            share: limit of network memory for sending; by default the daemon's limit per
                connection, which is a quarter of all unless its operator sets it.
            window: network memory reserved for received data; required to receive.
            wait: the maximum time to wait for the peer, such as ``"30 s"``; the connection is open
                when this returns. Without it, this returns immediately, and the streams of the
                connection fail if no peer exists.

        Raises:
            RefusedError: the daemon refuses to open it.
            TimedOutError: no peer connected in time; the connection is closed.
            StreamsError: the daemon is gone or silent.

        """
        request = open_request(destination, channel, protocol, checksum, share, window)

        if wait is None:
            number = int(self._ask(request)["connection"]["connection"])
        else:
            limit = seconds("wait", wait)
            steps = open_to_peer(blocking(self._ask), blocking(time.sleep), request, limit)
            number = completed(steps)
        return Connection(self._ask, number, destination, self, checksum)

    def link(
        self,
        number: int,
        *,
        carrier: str | None = None,
        ring: int | str = RING,
        grace: Timeout = None,
        timeout: Timeout = None,
    ) -> None:
        """Make a link of this process; `stream` makes missing links by itself.

        Over TCP and TLS a link is made again when its socket is cut: no data is lost, and waiting
        calls continue.

        Args:
            number: number of the link in the application.
            carrier: ``rings`` in shared memory, or the ``socket``; by default rings if the daemon's
                address is a Unix socket.
            ring: bytes of the ring in each direction.
            grace: how long a link over TCP or TLS may be without its socket, up to the daemon's
                limit (10 s unless its operator sets it), which is the default; 0: the link is lost
                with its socket.
            timeout: the maximum time to make the link.

        Raises:
            LinkError: rings are not available here, or this process has the link already.
            RefusedError: another process has the link.

        """
        whole("number", number, 0, LINK_MAX)
        number = int(number)
        if carrier is None:
            carrier = "rings" if self.address.startswith("unix:") else "socket"
        _check_word("carrier", carrier, ("rings", "socket"))
        each = parse_size("ring", ring)
        rings = (each, each) if carrier == "rings" else None
        limit = self._patience if timeout is None else seconds("timeout", timeout)
        within = None if grace is None else seconds("grace", grace)
        ask(self._core.link, number, rings, within, limit)
        self._links[number] = {"carrier": carrier, "ring": ring, "grace": grace}

    def unlink(self, number: int) -> None:
        """Release a link of this process."""
        whole("number", number, 0, LINK_MAX)
        self._links.pop(number, None)
        ask(self._core.unlink, number)

    @property
    def links(self) -> list[int]:
        """Numbers of the links of this process."""
        return self._core.links()

    def stream(self, connection: Connection, adu: int | str, **settings: Any) -> Stream:
        """Register a stream, and make its missing links; lost links are made again with their
        settings.

        Args:
            connection: the connection to send to, or receive from.
            adu: bytes of an ADU, or ``"variable"``.
            **settings: as in `StreamSpec`: `tu`, `links`, `su_order`, `packet`, `granule`, `adus`,
            `direction`, `quantum`, `permanent`, `after`, `in_step_with`, `finished`, `cut_through`,
            `sums`.

        Raises:
            RefusedError: the daemon refuses; the message explains why.
            IsthmusError: an argument is invalid.

        """
        try:
            spec = StreamSpec(connection=connection, adu=adu, **settings)
        except TypeError as error:
            raise IsthmusError(f"stream: {error}; see StreamSpec") from error
        return self.submit([spec])[0]

    def submit(self, specs: Sequence[StreamSpec], *, links: bool = True) -> list[Stream]:
        """Register streams, all or none; they may refer to each other.

        Args:
            specs: specification of each stream.
            links: whether to make missing links of this process.

        Raises:
            RefusedError: the daemon refuses; the message explains why.

        """
        one_of("specs", specs, (list, tuple), "a list of StreamSpec")
        flag("links", links)
        for spec in specs:
            one_of("specs", spec, (StreamSpec,), "a StreamSpec each")
        if len(set(map(id, specs))) < len(specs):
            raise StreamsError("specs: one of them is there twice; make a StreamSpec for each")
        words = as_json([spec.words(specs) for spec in specs])
        with self._linked(specs) if links else nullcontext():
            made = ask(self._core.submit, words, self._patience)
        return [self._made(core, spec) for core, spec in zip(made, specs, strict=True)]

    @contextmanager
    def _linked(self, specs: Sequence[StreamSpec]) -> Iterator[None]:
        """Make missing links at the start of a ``with`` block; an error in it removes them."""
        made = []
        try:
            for number in sorted({link for spec in specs for link in spec.link_numbers}):
                if number not in self.links:
                    self.link(number, **self._links.get(number, {}))
                    made.append(number)
            yield
        except BaseException:
            for number in made:
                self.unlink(number)
            raise

    def _made(self, core: _core.NicStream, spec: StreamSpec) -> Stream:
        """Create the Python object of a stream of the session, record it and return it."""
        stream = Stream(core, spec, self._patience)
        self._streams.add(stream)
        return stream

    def adopt(self, number: int, spec: StreamSpec) -> Stream:
        """Return a stream that another process of the application has registered.

        This process can then move the stream's data over its own links.

        Args:
            number: its `Stream.number` there.
            spec: its specification; the links of this process must exist already.

        Raises:
            RefusedError: no stream of the application has this number.

        """
        whole("number", number, 0, NUMBER_MAX)
        one_of("spec", spec, (StreamSpec,), "the StreamSpec that it was registered with")
        core = ask(self._core.adopt, number, as_json(spec.words([])), self._patience)
        return self._made(core, spec)

    def event(self, *, timeout: Timeout = None) -> Event | None:
        """Return the next event, or None at the timeout. The session must have been created with
        `watch`.

        Raises:
            SessionOverError: the session is over, and no event will follow.

        """
        limit = self._patience if timeout is None else seconds("timeout", timeout)
        found = ask(self._core.event, limit)
        return None if found is None else Event(json.loads(found))

    def events(self) -> Iterator[Event]:
        """Yield events until the session is over.

        Raises:
            StreamsError: the session was created without `watch`, so that no event would arrive.

        """
        self.needs_watch()
        return self._events()

    def needs_watch(self) -> None:
        """Check that the session receives events: it was created with `watch`.

        Raises:
            StreamsError: the session was created without `watch`.

        """
        if not self._watch:
            raise StreamsError(
                "events: this session is told none; make it with "  # codespell:ignore told
                "watch=True, as in connect(address, watch=True)"
            )

    def _events(self) -> Iterator[Event]:
        """Yield events; check every second whether the session is over."""
        while True:
            try:
                event = self.event(timeout="1 s")
            except SessionOverError:
                return
            if event is not None:
                yield event

    def overview(self, *, all_applications: bool = False) -> dict[str, Any]:
        """Return the connections, streams and links of this application, and the daemon's counters.

        With `all_applications`, return those of all applications; this needs an operator's token.
        """
        flag("all_applications", all_applications)
        reply = self._ask({"ask": "overview", "all": all_applications})
        found: dict[str, Any] = reply["overview"]["overview"]
        return found

    def geometry(
        self, screen: str, width: int, height: int, *, pixel: str = "grey", interlaced: bool = False
    ) -> None:
        """Set the format of a frame buffer and clear it, before a connection to it is opened.

        Args:
            screen: its name, as in ``framebuffer:NAME``.
            width: pixels per line.
            height: number of lines.
            pixel: ``grey``, one byte; or ``color``, four.
            interlaced: whether an ADU is a field, every second line.

        """
        text("screen", screen, "left")
        whole("width", width, 1, NUMBER_MAX)
        whole("height", height, 1, NUMBER_MAX)
        _check_word("pixel", pixel, ("grey", "color"))
        flag("interlaced", interlaced)
        form = {"width": width, "height": height, "pixel": pixel, "interlaced": interlaced}
        self._ask({"ask": "geometry", "screen": screen, "geometry": form})

    def reset(self, screen: str) -> None:
        """Clear a frame buffer and its counters."""
        text("screen", screen, "left")
        self._ask({"ask": "reset", "screen": screen})

    def movers(self, threads: int | None = None) -> Movers:
        """Return the object that redistributes arrays in this process, with `threads` threads."""
        return Threads(threads)

    @property
    def over(self) -> str | None:
        """Reason why the session has ended; None while it is open."""
        return self._core.gone()

    def close(self) -> None:
        """End the session. Calls that wait for an answer of the daemon fail.

        Wait for the ends of streams before this call.
        """
        self._finalizer()

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the session."""
        self.close()

    def __repr__(self) -> str:
        """Return the number of the application and the address of the daemon as text."""
        return f"<application {self.application} at {self.address}>"


def _check_word(name: str, value: object, words: tuple[str, ...]) -> None:
    """Check that the value of the argument `name` is one of the permitted `words`."""
    if not isinstance(value, str) or value not in words:
        hint = meant(str(value), words, f"it is one of {', '.join(words)}")
        raise StreamsError(f"{name}: {shown(value)} is not known here; {hint}")


def open_request(
    destination: str,
    channel: int,
    protocol: str | None,
    checksum: str,
    share: int | str | None,
    window: int | str,
) -> dict[str, object]:
    """Return the request to open a connection, from the arguments of `Nic.open`.

    Raises:
        IsthmusError: an argument is invalid.

    """
    text("destination", destination, "raw:tcp:127.0.0.1:5000")
    whole("channel", channel, 0, NUMBER_MAX)
    _check_word("checksum", checksum, CHECKSUMS)
    request: dict[str, object] = {
        "ask": "open",
        "destination": destination,
        "channel": channel,
        "checksum": checksum,
        "window_bytes": parse_size("window", window, 0),
    }
    if protocol is not None:
        _check_word("protocol", protocol, tuple(PROTOCOLS))
        request["protocol"] = PROTOCOLS[protocol]
    if share is not None:
        request["share_bytes"] = parse_size("share", share)
    return request

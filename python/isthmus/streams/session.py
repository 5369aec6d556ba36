"""Sessions with a stream manager's daemon."""

from __future__ import annotations

import json
import os
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.arguments import flag, one_of, path, shown, text, whole
from isthmus.errors import IsthmusError
from isthmus.streams.amounts import as_json, seconds, size
from isthmus.streams.arrival import Arrival
from isthmus.streams.connection import Connection
from isthmus.streams.errors import (
    RefusedError,
    SessionOverError,
    StreamsError,
    told,
)
from isthmus.streams.movers import Movers, Threads
from isthmus.streams.specs import LINK_MAX, StreamSpec
from isthmus.streams.status import Event
from isthmus.streams.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

    from isthmus import _core
    from isthmus.streams.stream import Timeout

CHECKSUMS = ("none", "internet", "crc32c")
PROTOCOLS: dict[str, Any] = {
    "stream": "stream",
    "confirmed": {"confirmed": {"repair": False}},
    "repaired": {"confirmed": {"repair": True}},
    "unconfirmed": {"unconfirmed": {}},
}
"""When a packet is done: when the peer's manager has it; that, and repaired; when it is sent."""
RING = "2 MiB"
"""Of a link, each way, if nobody says otherwise."""
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
    """Make an application at a daemon.

    Args:
        address: where it listens: ``unix:/run/isthmus/nic.sock``, ``tcp:127.0.0.1:7000``, or with
            TLS ``tls:nic.example.org:7000``.
        token: the secret that lets in, where the daemon asks for one.
        ca: with TLS a file, in PEM, of the daemon's certificate or of its signer's.
        name: what the application calls itself in the daemon's log and tables; that of the program
            if not given.
        watch: whether events are told: see `Nic.events`.
        patience: how long a call may go on without anything being moved or answered, if it is not
            told otherwise: text with a unit, or `math.inf`.

    Returns:
        The session. The application ends with it, and all of its streams.

    Raises:
        UnreachableError: nobody listens there.
        RefusedError: the daemon does not let in.
        IsthmusError: an argument that cannot be.

    """
    from isthmus import _core

    needs_linux()
    text("address", address, "unix:/run/isthmus/nic.sock")
    if token is not None:
        text("token", token, "a secret")
    if name is None:
        name = Path(sys.argv[0] or "python").name or "python"
    text("name", name, "imaging")
    flag("watch", watch)
    limit = seconds("patience", patience)
    core = told(_core.NicSession.connect, address, trusted(ca), token, name, watch, limit)
    return Nic(core, address, limit, watch=watch)


def join(
    address: str,
    ticket: str,
    *,
    ca: str | os.PathLike[str] | None = None,
    watch: bool = False,
    patience: str | float = "60 s",
) -> Nic:
    """Join an application as a further process of it, by its `Nic.ticket`.

    The session has links of its own, and may use all that the application has; the application
    ends with the session that made it. Arguments and errors are those of `connect`.
    """
    from isthmus import _core

    needs_linux()
    text("address", address, "unix:/run/isthmus/nic.sock")
    text("ticket", ticket, "0123abcd")
    flag("watch", watch)
    limit = seconds("patience", patience)
    core = told(_core.NicSession.join, address, trusted(ca), ticket, watch, limit)
    return Nic(core, address, limit, watch=watch)


def needs_linux() -> None:
    """Say so where links are not to be had.

    Raises:
        StreamsError: on other systems.

    """
    from isthmus import _core

    if not hasattr(_core, "NicSession"):
        raise StreamsError("isthmus.streams: links to the manager need Linux; run it there")


def trusted(ca: str | os.PathLike[str] | None) -> str | None:
    """The path of a file of certificates.

    Raises:
        IsthmusError: it is none.

    """
    if ca is None:
        return None
    path("ca", ca, "nic.pem")
    return os.fspath(ca)


def _ended(core: _core.NicSession, streams: weakref.WeakSet[Stream]) -> None:
    core.end()
    for stream in list(streams):
        stream.close()


class Nic:
    """A session: made by `connect` and `join`. As a context manager it is closed at the end."""

    def __init__(
        self, core: _core.NicSession, address: str, patience: float | None, *, watch: bool
    ) -> None:
        self._core = core
        self._patience = patience
        self._watch = watch
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._links: dict[int, dict[str, Any]] = {}
        """How links were made, for those that are gone and made again."""
        self._finalizer = weakref.finalize(self, _ended, core, self._streams)
        self.address = address
        """Where the daemon is."""
        welcome = core.welcome()
        self.application: int = welcome[0]
        """The application's number."""
        self.ticket: str = welcome[1]
        """What lets further processes of it in."""
        self.staging_bytes: int = welcome[3]
        """Staging memory that its active streams may have, in each direction."""
        self.network_bytes: int = welcome[4]
        """Network memory that its connections may have, in each direction."""

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        answer = json.loads(told(self._core.ask, as_json(request), self._patience))
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
        """Open a connection to the outside.

        Args:
            destination: as ``raw:tcp:127.0.0.1:5000``, ``tcp:...``, ``udp:...``, ``file:PATH``; or
                ``raw:accept:127.0.0.1:0``, ``tcp:accept:...``, ``udp:accept:...``, which wait for a
                peer.
            channel: the number that packets carry; both ends give the same.
            protocol: one of `PROTOCOLS`; what is natural for the destination if not given.
            checksum: of data: ``crc32c``, ``internet`` or ``none``.
            share: network memory of the transmit direction that it may have; what the daemon lets a
                connection have (a quarter of all, if its operator says nothing), if not given.
            window: network memory that is set aside for what comes; needed to receive.
            wait: the longest time to wait for the peer, as ``"30 s"``; the connection is open when
                this returns. Without it, this returns at once, and the streams of the connection
                fail if no peer exists.

        Raises:
            RefusedError: the daemon does not open it.
            TimedOutError: no peer connected in time; the connection is closed.
            StreamsError: the daemon is gone or silent.

        """
        request = opening(destination, channel, protocol, checksum, share, window)

        if wait is None:
            number = int(self._ask(request)["connection"]["connection"])
        else:
            number = self._arrive(Arrival(request, seconds("wait", wait)))
        return Connection(self._ask, number, destination, self, checksum)

    def _arrive(self, arrival: Arrival) -> int:
        steps = arrival.steps()
        try:
            step = next(steps)
            while True:
                if isinstance(step, float):
                    time.sleep(step)
                    step = next(steps)
                    continue
                try:
                    answer = self._ask(step)
                except RefusedError as refused:
                    step = steps.throw(refused)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return int(end.value)
        except BaseException:
            if arrival.number is not None:
                with suppress(StreamsError):
                    self._ask(arrival.close())
            raise

    def link(
        self,
        number: int,
        *,
        carrier: str | None = None,
        ring: int | str = RING,
        grace: Timeout = None,
        timeout: Timeout = None,
    ) -> None:
        """Make a link of this process; `stream` makes those that are missing by itself.

        Over TCP and TLS a link is made anew when its socket is cut: nothing is lost, and calls
        that wait go on.

        Args:
            number: as the application counts them.
            carrier: ``rings`` in shared memory, or the ``socket``; rings if not given, where the
                daemon's address is a Unix socket.
            ring: bytes of the ring each way.
            grace: how long a link over TCP or TLS may be without its socket, at most what the
                daemon lets it (10 s, if its operator says nothing), and that if not given; 0: the
                link is gone with its socket.
            timeout: how long it may take.

        Raises:
            LinkError: rings cannot be had here; this process has the link.
            RefusedError: another process has the link.

        """
        whole("number", number, 0, LINK_MAX)
        number = int(number)
        if carrier is None:
            carrier = "rings" if self.address.startswith("unix:") else "socket"
        _word("carrier", carrier, ("rings", "socket"))
        each = size("ring", ring)
        rings = (each, each) if carrier == "rings" else None
        limit = self._patience if timeout is None else seconds("timeout", timeout)
        within = None if grace is None else seconds("grace", grace)
        told(self._core.link, number, rings, within, limit)
        self._links[number] = {"carrier": carrier, "ring": ring, "grace": grace}

    def unlink(self, number: int) -> None:
        """Give a link of this process up."""
        whole("number", number, 0, LINK_MAX)
        self._links.pop(number, None)
        told(self._core.unlink, number)

    @property
    def links(self) -> list[int]:
        """Numbers of the links of this process."""
        return self._core.links()

    def stream(self, connection: Connection, adu: int | str, **settings: Any) -> Stream:
        """Register a stream, and make the links of it that no process made yet; those that are gone
        are made again as they were.

        Args:
            connection: where it goes to, or comes from.
            adu: bytes of an ADU, or ``"variable"``.
            **settings: as in `StreamSpec`: `tu`, `links`, `su_order`, `packet`, `granule`, `adus`,
                `direction`, `quantum`, `permanent`, `after`, `in_step_with`, `finished`,
                `cut_through`, `sums`.

        Raises:
            RefusedError: the daemon refuses; it says why.
            IsthmusError: an argument that cannot be.

        """
        try:
            spec = StreamSpec(connection=connection, adu=adu, **settings)
        except TypeError as error:
            raise IsthmusError(f"stream: {error}; see StreamSpec") from error
        return self.submit([spec])[0]

    def submit(self, specs: Sequence[StreamSpec], *, links: bool = True) -> list[Stream]:
        """Register streams, all or none; they may name each other.

        Args:
            specs: of each.
            links: whether to make links that this process does not have.

        Raises:
            RefusedError: the daemon refuses; it says why.

        """
        one_of("specs", specs, (list, tuple), "a list of StreamSpec")
        flag("links", links)
        for spec in specs:
            one_of("specs", spec, (StreamSpec,), "a StreamSpec each")
        if len(set(map(id, specs))) < len(specs):
            raise StreamsError("specs: one of them is there twice; make a StreamSpec for each")
        words = as_json([spec.words(specs) for spec in specs])
        with self._linked(specs) if links else nullcontext():
            made = told(self._core.submit, words, self._patience)
        return [self._made(core, spec) for core, spec in zip(made, specs, strict=True)]

    @contextmanager
    def _linked(self, specs: Sequence[StreamSpec]) -> Iterator[None]:
        """Links that are missing; those that are made here go again with what fails."""
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
        stream = Stream(core, spec, self._patience)
        self._streams.add(stream)
        return stream

    def adopt(self, number: int, spec: StreamSpec) -> Stream:
        """A stream that another process of the application has registered, for this one's links.

        Args:
            number: its `Stream.number` there.
            spec: what it was registered with; links of this process are made before.

        Raises:
            RefusedError: no stream of the application has this number.

        """
        whole("number", number, 0, NUMBER_MAX)
        one_of("spec", spec, (StreamSpec,), "the StreamSpec that it was registered with")
        core = told(self._core.adopt, number, as_json(spec.words([])), self._patience)
        return self._made(core, spec)

    def event(self, *, timeout: Timeout = None) -> Event | None:
        """The next event; none if there is none in time. Only sessions that watch have any.

        Raises:
            SessionOverError: there will be none.

        """
        limit = self._patience if timeout is None else seconds("timeout", timeout)
        found = told(self._core.event, limit)
        return None if found is None else Event(json.loads(found))

    def events(self) -> Iterator[Event]:
        """Events as they come, until the session is over.

        Raises:
            StreamsError: the session does not watch, and would wait for ever.

        """
        self.needs_watch()
        return self._events()

    def needs_watch(self) -> None:
        """Say so where no event will ever come.

        Raises:
            StreamsError: the session does not watch.

        """
        if not self._watch:
            raise StreamsError(
                "events: this session is told none; make it with watch=True, as in "
                "connect(address, watch=True)"
            )

    def _events(self) -> Iterator[Event]:
        while True:
            try:
                event = self.event(timeout="1 s")
            except SessionOverError:
                return
            if event is not None:
                yield event

    def overview(self, *, all_applications: bool = False) -> dict[str, Any]:
        """All that there is of this application; of all, if it showed an operator's token."""
        flag("all_applications", all_applications)
        told_ = self._ask({"ask": "overview", "all": all_applications})
        found: dict[str, Any] = told_["overview"]["overview"]
        return found

    def geometry(
        self, screen: str, width: int, height: int, *, pixel: str = "grey", interlaced: bool = False
    ) -> None:
        """Set the form of a frame buffer, and clear it; before a connection to it is opened.

        Args:
            screen: its name, as in ``framebuffer:NAME``.
            width: pixels of a line.
            height: lines.
            pixel: ``grey``, a byte; or ``color``, four.
            interlaced: whether an ADU is a field, every second line.

        """
        text("screen", screen, "left")
        whole("width", width, 1, NUMBER_MAX)
        whole("height", height, 1, NUMBER_MAX)
        _word("pixel", pixel, ("grey", "color"))
        flag("interlaced", interlaced)
        form = {"width": width, "height": height, "pixel": pixel, "interlaced": interlaced}
        self._ask({"ask": "geometry", "screen": screen, "geometry": form})

    def reset(self, screen: str) -> None:
        """Clear a frame buffer; its counts are 0 then."""
        text("screen", screen, "left")
        self._ask({"ask": "reset", "screen": screen})

    def movers(self, threads: int | None = None) -> Movers:
        """Who reshuffles arrays of this session: threads of this process."""
        return Threads(threads)

    @property
    def over(self) -> str | None:
        """Why the session is over; nothing while it is not."""
        return self._core.gone()

    def close(self) -> None:
        """End the session: what waits for it is told. Waiting for streams comes before."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<application {self.application} at {self.address}>"


def _word(name: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in words:
        from isthmus.errors import meant

        hint = meant(str(value), words, f"it is one of {', '.join(words)}")
        raise StreamsError(f"{name}: {shown(value)} is not known here; {hint}")


def opening(
    destination: str,
    channel: int,
    protocol: str | None,
    checksum: str,
    share: int | str | None,
    window: int | str,
) -> dict[str, object]:
    """The request to open a connection, from what `Nic.open` is given.

    Raises:
        IsthmusError: an argument that cannot be.

    """
    text("destination", destination, "raw:tcp:127.0.0.1:5000")
    whole("channel", channel, 0, NUMBER_MAX)
    _word("checksum", checksum, CHECKSUMS)
    request: dict[str, object] = {
        "ask": "open",
        "destination": destination,
        "channel": channel,
        "checksum": checksum,
        "window_bytes": size("window", window, 0),
    }
    if protocol is not None:
        _word("protocol", protocol, tuple(PROTOCOLS))
        request["protocol"] = PROTOCOLS[protocol]
    if share is not None:
        request["share_bytes"] = size("share", share)
    return request

"""The specification of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from isthmus.arguments import choice, flag, one_of, refuse, whole
from isthmus.errors import IsthmusError
from isthmus.streams.amounts import parse_size

if TYPE_CHECKING:
    from isthmus.streams.connection import Connection
    from isthmus.streams.stream import Stream

LINK_MAX = (1 << 16) - 1
COUNT_MAX = (1 << 63) - 1
QUANTUM_MAX = (1 << 32) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamSpec:
    """A stream to register: how its data is cut, and what it depends on (Steenkiste 1996, 5.2-3).

    Sizes are numbers of bytes, or text with a unit such as ``"1 MiB"``.
    """

    connection: Connection
    """The connection that the stream sends to, or receives from."""
    adu: int | str
    """Bytes of an application data unit (ADU); ``"variable"`` if sizes differ, up to `tu`."""
    tu: int | str | None = None
    """Bytes of a transfer unit (TU); by default the whole ADU."""
    links: int | Sequence[int] = 1
    """Links over which a TU is striped: their count, or their numbers."""
    su_order: Sequence[int] | None = None
    """The links of the striping units (SUs) of a transfer unit, in order; by default each of
    `links` once.
    """
    packet: int | str | None = None
    """The maximum size of a packet's data in bytes; by default a TU."""
    granule: int | str = 1
    """Striping units (SUs) are cut at multiples of this many bytes, such as the size of an
    element.
    """
    adus: int | None = None
    """Number of ADUs; if not given, `Stream.finish` sets it."""
    direction: Literal["transmit", "receive"] = "transmit"
    """Direction of the data, seen from this application."""
    quantum: int = 1
    """Number of ADUs that the stream may move before another waiting stream has its turn."""
    permanent: bool = False
    """Whether the stream keeps its resources until it ends."""
    after: Sequence[Stream | StreamSpec] = ()
    """Streams that must be done before this one starts. Streams that are created in the same call
    are given by their specification.
    """
    in_step_with: Sequence[Stream | StreamSpec] = ()
    """Streams that run in lock step with this one, ADU by ADU."""
    finished: Literal["done", "moved"] = "done"
    """When an ADU is finished for streams in step: when it is done, or when it is moved."""
    cut_through: bool = False
    """Whether a packet is sent as soon as its data is there, before its TU is complete. Packets are
    then smaller than a TU.
    """
    sums: Literal["interface", "ranks"] = "interface"
    """The side that computes checksums of sent data: the daemon, or the sending processes."""
    _sizes: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the specification.

        Raises:
            IsthmusError: a size, number or word is invalid.

        """
        object.__setattr__(self, "_sizes", self._read())

    @property
    def adu_bytes(self) -> int | None:
        """Bytes of an application data unit (ADU); None if sizes differ."""
        found: int | None = self._sizes["adu_bytes"]
        return found

    @property
    def tu_bytes(self) -> int:
        """Bytes of a transfer unit (TU)."""
        return int(self._sizes["tu_bytes"])

    @property
    def link_numbers(self) -> tuple[int, ...]:
        """The numbers of the stream's links, each once, ascending."""
        return tuple(sorted(set(self._sizes["su_order"])))

    def _read(self) -> dict[str, Any]:
        """Check all settings, and return the sizes and links as the JSON object that the daemon
        expects.
        """
        # Check the attribute `number` instead of the class, because `AsyncConnection` is permitted,
        # too.
        if not isinstance(getattr(self.connection, "number", None), int):
            raise refuse("connection", self.connection, "a connection, as `open` gives it")
        is_variable = isinstance(self.adu, str) and self.adu == "variable"
        adu = None if is_variable else parse_size("adu", self.adu)
        if adu is None and self.tu is None:
            raise IsthmusError('tu: it is missing; with adu="variable" it is the most of an ADU')
        tu = parse_size("tu", self.tu if self.tu is not None else adu)
        if adu is not None:
            tu = min(tu, adu)
        choice("direction", self.direction, ("transmit", "receive"))
        choice("finished", self.finished, ("done", "moved"))
        flag("permanent", self.permanent)
        flag("cut_through", self.cut_through)
        choice("sums", self.sums, ("interface", "ranks"))
        whole("quantum", self.quantum, 1, QUANTUM_MAX)
        if self.adus is not None:
            whole("adus", self.adus, 0, COUNT_MAX)
        packet = tu if self.packet is None else parse_size("packet", self.packet)
        self._refuse_send_settings()
        return {
            "adu_bytes": adu,
            "tu_bytes": tu,
            "su_order": self._order(),
            "granule_bytes": parse_size("granule", self.granule),
            "packet_bytes": packet,
        }

    def _refuse_send_settings(self) -> None:
        """Refuse settings that have an effect only on sending, if the stream receives."""
        sends = self.direction == "transmit"
        if self.sums == "ranks" and not sends:
            raise IsthmusError("sums: what is received has them already; leave it out")
        if self.sums == "ranks" and self.connection.checksum == "none":
            raise IsthmusError("sums: the connection was opened without a checksum; leave it out")

    def _order(self) -> list[int]:
        """Return the link that carries each striping unit (SU) of a transfer unit, in order."""
        if isinstance(self.links, int) and not isinstance(self.links, bool):
            whole("links", self.links, 1, LINK_MAX + 1)
            links = list(range(self.links))
        else:
            links = _links("links", self.links)
            twice = [link for link in sorted(set(links)) if links.count(link) > 1]
            if twice:
                raise IsthmusError(
                    f"links: {twice[0]} is there {links.count(twice[0])} times; name it once, and "
                    "in su_order as often as it has an SU of a TU"
                )
        if self.su_order is None:
            return links
        order = _links("su_order", self.su_order)
        for link in order:
            if link not in links:
                raise IsthmusError(f"su_order: link {link} is none of {links}")
        return order

    def words(self, others: Sequence[StreamSpec]) -> dict[str, Any]:
        """Return the specification as the JSON object of a request to the daemon. The streams
        `others` are part of the same request, so references to them are positions.
        """
        words: dict[str, Any] = {
            "connection": self.connection.number,
            "direction": self.direction,
            "format": self._sizes,
            "quantum": self.quantum,
            "permanent": self.permanent,
            "after": _stream_references("after", self.after, others),
            "in_step_with": _stream_references("in_step_with", self.in_step_with, others),
            "moved_is_finished": self.finished == "moved",
            "cut_through": self.cut_through,
            "rank_sums": self.connection.checksum if self.sums == "ranks" else "none",
        }
        if self.adus is not None:
            words["adus"] = self.adus
        return words


def _links(name: str, given: object) -> list[int]:
    """Check a list of link numbers and return it."""
    one_of(name, given, (list, tuple, range), "numbers of links, such as [0, 1]")
    assert isinstance(given, Sequence)
    for link in given:
        whole(name, link, 0, LINK_MAX)
    if not given:
        raise IsthmusError(f"{name}: none; a stream goes over at least one link")
    return [int(link) for link in given]


def _stream_references(
    name: str, given: Iterable[object], same: Sequence[StreamSpec]
) -> list[dict[str, int]]:
    """Return references to streams for the daemon: by number, or by position in the same call."""
    from isthmus.streams.stream import Stream

    one_of(name, given, (list, tuple), "a list of streams")
    found = []
    for other in given:
        if isinstance(other, Stream):
            found.append({"stream": other.number})
        elif isinstance(other, StreamSpec) and other in same:
            found.append({"here": same.index(other)})
        else:
            raise refuse(name, other, "a stream, or a specification of the same call")
    return found

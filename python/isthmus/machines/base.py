"""What every kind of machine tells of itself, in words and in figures."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

LISTED = 64
"""Most nodes that are listed one by one."""


class Channel(NamedTuple):
    """A kind of channel in words. Of a channel ``up 2`` the level is 2; `{a}` and `{b}` are where
    it begins and ends.
    """

    label: str
    """For a row of a table: ``level {level} → {above} (up)``."""
    every: str = ""
    """All of the kind: ``the links into the nodes``."""
    one: str = ""
    """One of them: ``the link into node {b}``."""
    of_servers: str = ""
    """All of those of I/O servers, where they are told apart."""
    of_server: str = ""
    """That of one I/O server, `{server}`."""


DEVICE = Channel(
    "device of an I/O server",
    "the devices of the I/O servers",
    "the device of I/O server {a}",
    "the devices of the I/O servers",
    "the device of I/O server {server}",
)


class Machine(msgspec.Struct, frozen=True, tag_field="kind"):
    """A machine of a result. A kind of machine is a class of its own below this one, listed in
    `isthmus.machines`.
    """

    utilisation: ClassVar[str] = "utilisation of a link (share of the time)"
    """What the utilisation of its channels is."""
    channels: ClassVar[dict[str, Channel]] = {}
    """Its kinds of channel in words, as messages cross them; one without an entry is called by its
    name."""

    @property
    def kind(self) -> str:
        """The kind of machine, as scenarios name it."""
        return str(self.__struct_config__.tag)

    @property
    def title(self) -> str:
        """What it is, on one line."""
        return self.kind

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values of all else that is known of it."""
        return []

    @classmethod
    def channel_label(cls, kind: str) -> str:
        """Name of a kind of channel, for a row of a table or a plot."""
        channel, level = cls._channel(kind)
        return channel.label.format(level=level, above=level + 1)

    def end(self, vertex: int) -> int | str:
        """What a vertex at the end of a channel is called."""
        return vertex

    def part(
        self, kind: str, ends: tuple[int, int | None], server: int | None, *, every: bool
    ) -> str:
        """A channel, or `every` one of its kind, for a sentence: ``the link into node 3``."""
        channel, level = self._channel(kind)
        every_words, one = channel.every or kind, channel.one or kind
        if server is not None:
            every_words = channel.of_servers or every_words
            one = channel.of_server or one
        words = every_words if every else one
        a, b = (None if end is None else self.end(end) for end in ends)
        return words.format(a=a, b=b, level=level, server=server)

    @classmethod
    def _channel(cls, kind: str) -> tuple[Channel, int]:
        """The words of a kind of channel, and its level (0 if it has none)."""
        way, _, level = kind.partition(" ")
        found = cls.channels.get(way if level else kind)
        return found or Channel(kind.replace("_", " ")), int(level) if level.isdigit() else 0

    def axis_words(self, key: str) -> str | None:
        """What a value of the axis over this field means here, where the value does not say it."""
        del key
        return None

    def is_pictured(self, channel: str) -> bool:
        """Whether channels of this kind are drawn in the picture of the machine."""
        del channel
        return True


def cycle_text(cycle_us: float) -> str:
    """The length of a cycle."""
    if cycle_us < 1e-4:
        return f"{1e6 * cycle_us:g} ps"
    return f"{1000 * cycle_us:g} ns" if cycle_us < 0.01 else f"{cycle_us:g} µs"


def listed(nodes: list[int]) -> str:
    """Nodes, the first of many."""
    return ", ".join(map(str, nodes[:LISTED])) + (" …" if len(nodes) > LISTED else "")

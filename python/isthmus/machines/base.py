"""The common interface of all kinds of machine: texts and facts for reports."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

LISTED = 64
"""Maximum number of nodes that a text lists."""


class Channel(NamedTuple):
    """Texts by which reports describe a kind of channel, such as the links up from one level.

    `{level}` is the level of a channel such as ``up 2``; `{a}` and `{b}` are its two ends.
    """

    label: str
    """Text for a row of a table: ``level {level} → {above} (up)``."""
    every: str = ""
    """Text for all channels of the kind: ``the links into the nodes``."""
    one: str = ""
    """Text for one channel: ``the link into node {b}``."""
    of_servers: str = ""
    """Text for all channels of the kind if they belong to I/O servers; empty to use `every`."""
    of_server: str = ""
    """Text for the channel of one I/O server, `{server}`."""


DEVICE = Channel(
    "device of an I/O server",
    "the devices of the I/O servers",
    "the device of I/O server {a}",
    "the devices of the I/O servers",
    "the device of I/O server {server}",
)


class Machine(msgspec.Struct, frozen=True, tag_field="kind"):
    """A machine in results. Each kind of machine is a subclass, listed in `isthmus.machines`."""

    utilisation: ClassVar[str] = "utilisation of a link (share of the time)"
    """Text that explains the utilisation of the machine's channels, with its unit."""
    channels: ClassVar[dict[str, Channel]] = {}
    """Texts for each kind of channel of the machine, in the order in which messages cross them; a
    kind without an entry is shown by its name.
    """

    @property
    def kind(self) -> str:
        """The kind of machine, as scenarios name it."""
        return str(self.__struct_config__.tag)

    @property
    def title(self) -> str:
        """A description of the machine, on one line."""
        return self.kind

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        return []

    @classmethod
    def channel_label(cls, kind: str) -> str:
        """Return the name of a kind of channel, for a row of a table or a plot."""
        channel, level = cls._channel(kind)
        return channel.label.format(level=level, above=level + 1)

    def end(self, vertex: int) -> int | str:
        """Return the name or number of the node or switch at an end of a channel, as reports show
        it.
        """
        return vertex

    def part(
        self, kind: str, ends: tuple[int, int | None], server: int | None, *, every: bool
    ) -> str:
        """Describe a channel, or `every` one of its kind, in words: ``the link into node 3``."""
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
        """Return the texts for a kind of channel, and the level in its name (0 if it has none)."""
        name, _, level = kind.partition(" ")
        found = cls.channels.get(name if level else kind)
        return found or Channel(kind.replace("_", " ")), int(level) if level.isdigit() else 0

    def axis_words(self, key: str) -> str | None:
        """Return words in place of the value of the sweep axis `key`; None keeps the value."""
        del key
        return None

    def is_pictured(self, channel: str) -> bool:
        """Return whether the picture of the machine shows channels of this kind."""
        del channel
        return True


def cycle_text(cycle_us: float) -> str:
    """Return the length of a cycle as text with its unit."""
    if cycle_us < 1e-4:
        return f"{1e6 * cycle_us:g} ps"
    return f"{1000 * cycle_us:g} ns" if cycle_us < 0.01 else f"{cycle_us:g} µs"


def listed(nodes: list[int]) -> str:
    """Return node numbers as text, separated by commas: at most the first `LISTED`."""
    return ", ".join(map(str, nodes[:LISTED])) + (" …" if len(nodes) > LISTED else "")

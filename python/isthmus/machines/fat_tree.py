"""Descriptions of fat trees in results."""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import Channel, Machine, cycle_text
from isthmus.machines.packets import EJECT, INJECT, PLACES
from isthmus.wording import counted

_CHANNELS = {
    "inject": INJECT._replace(label="node → leaf switch"),
    "up": Channel(
        "level {level} → {above} (up)",
        "the links from level {level} up",
        "one of the links from level {level} up",
    ),
    "down": Channel(
        "level {above} → {level} (down)",
        "the links down to level {level}",
        "one of the links down to level {level}",
    ),
    "eject": EJECT._replace(label="leaf switch → node"),
    **PLACES,
}


class FatTreeSummary(Machine, frozen=True, tag="fat-tree"):
    """A fat tree: nodes below levels of switches (section 2.2 of the QsNET paper)."""

    channels: ClassVar[dict[str, Channel]] = _CHANNELS

    tree: str
    """Description of the tree: ``4-ary 3-tree``."""
    nodes: int
    switches: list[int]
    """Number of switches of each level, the leaves first."""
    links_down: list[int]
    """Number of links from a switch down to the next level, for each level of switches."""
    links_up: list[int]
    """Number of links from a switch up to the next level, for each level; 0 at the top."""
    links: int
    """Number of directed links."""
    cycle_us: float
    """Length of one simulation cycle in microseconds."""
    deadlock: str
    """Whether routing was proven free of deadlock, and how."""

    @property
    def title(self) -> str:
        """A description of the machine, on one line."""
        switches = counted(sum(self.switches), "switch", "switches")
        levels = counted(len(self.switches), "level")
        return f"{self.tree}: {counted(self.nodes, 'node')}, {switches} on {levels}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        levels = zip(self.switches, self.links_down, self.links_up, strict=True)
        texts = [
            f"level {n}: {count:,} with {down} down" + (f" and {up} up" if up else "")
            for n, (count, down, up) in enumerate(levels, 1)
        ]
        return [
            ("Switches", "; ".join(texts)),
            ("Directed links", f"{self.links:,}"),
            ("Cycle", cycle_text(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]

    def level(self, vertex: int) -> int:
        """Return the level of a node (0) or a switch (1 for leaves) by its number; nodes come
        first.
        """
        first = self.nodes
        if vertex < first:
            return 0
        for level, count in enumerate(self.switches, 1):
            first += count
            if vertex < first:
                return level
        raise ValueError(f"no node and no switch {vertex} in a {self.tree}")

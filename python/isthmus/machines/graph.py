"""Networks of switches."""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import Channel, Machine, cycle_text
from isthmus.machines.packets import EJECT, INJECT, PLACES, SWITCH_LINK
from isthmus.wording import counted

_CHANNELS = {
    "inject": INJECT,
    "switch_link": SWITCH_LINK,
    "local_link": Channel(
        "within a group", "the links within groups", "one of the links within a group"
    ),
    "global_link": Channel(
        "between groups", "the links between groups", "one of the links between groups"
    ),
    "eject": EJECT,
    **PLACES,
}


class GraphSummary(Machine, frozen=True, tag="graph"):
    """Switches joined in any form, and the nodes at them."""

    channels: ClassVar[dict[str, Channel]] = _CHANNELS

    graph: str
    """What it is, in words: ``4 x 4 torus``."""
    nodes: int
    switches: int
    links: int
    """Directed links."""
    cables: list[tuple[int, int]]
    """The two switches of each cable between switches; empty above 4096 nodes."""
    at: list[int]
    """The switch of each node; empty above 4096 nodes."""
    routing: str
    """Which ways packets take, in words."""
    cycle_us: float
    """Length of one cycle, what times are counted in."""
    deadlock: str
    """Why routing is free of deadlock."""

    @property
    def title(self) -> str:
        """What it is, on one line."""
        switches = counted(self.switches, "switch", "switches")
        return f"{self.graph}: {counted(self.nodes, 'node')}, {switches}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values of all else that is known of it."""
        return [
            ("Routing", self.routing),
            ("Directed links", f"{self.links:,}"),
            ("Cycle", cycle_text(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]

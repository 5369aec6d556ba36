"""Descriptions of networks of switches in results."""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import Channel, Machine, cycle_text
from isthmus.machines.packets import EJECT, INJECT, PLACES
from isthmus.wording import counted

_CHANNELS = {
    "inject": INJECT,
    "switch_link": Channel(
        "switch → switch", "the links between switches", "the link from switch {a} to switch {b}"
    ),
    "local_link": Channel(
        "within a group",
        "the links within groups",
        "the link within a group from switch {a} to switch {b}",
    ),
    "global_link": Channel(
        "between groups",
        "the links between groups",
        "the link between groups from switch {a} to switch {b}",
    ),
    "eject": EJECT,
    **PLACES,
}


class GraphSummary(Machine, frozen=True, tag="graph"):
    """A network of switches in any topology, with nodes at the switches."""

    channels: ClassVar[dict[str, Channel]] = _CHANNELS

    graph: str
    """Description of the network: ``4 x 4 torus``."""
    nodes: int
    switches: int
    links: int
    """Number of directed links."""
    cables: list[tuple[int, int]]
    """The two switches of each cable between switches; empty above 4096 nodes."""
    at: list[int]
    """Number of the switch to which each node is connected; empty above 4096 nodes."""
    routing: str
    """Routing of packets, in words."""
    cycle_us: float
    """Length of one simulation cycle in microseconds."""
    deadlock: str
    """Reason why routing is free of deadlock."""
    names: tuple[str, ...] = ()
    """Names of the switches in the scenario file; empty if the switches have only numbers."""

    @property
    def title(self) -> str:
        """A description of the machine, on one line."""
        switches = counted(self.switches, "switch", "switches")
        return f"{self.graph}: {counted(self.nodes, 'node')}, {switches}"

    def end(self, vertex: int) -> int | str:
        """Return the name of an end of a link: the number of a node, or the name or number of a
        switch.
        """
        switch = vertex - self.nodes
        if switch < 0:
            return vertex
        return self.names[switch] if self.names else switch

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        return [
            ("Routing", self.routing),
            ("Directed links", f"{self.links:,}"),
            ("Cycle", cycle_text(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]

"""Descriptions of fabrics of SCI rings in results."""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import DEVICE, Channel, Machine, cycle_text, listed
from isthmus.wording import counted, number

_LINKS = ("the links of the rings", "the ring link from node {a} to node {b}")
_CHANNELS = {
    "link": Channel("ring link", *_LINKS),
    "send": Channel("of it: send packets", *_LINKS),
    "echo": Channel("of it: echo packets", *_LINKS),
    "device": DEVICE,
}


class SciSummary(Machine, frozen=True, tag="sci"):
    """A fabric of SCI rings, connected by nodes that lie on several rings."""

    utilisation: ClassVar[str] = "utilisation of a link (symbols per cycle)"
    channels: ClassVar[dict[str, Channel]] = _CHANNELS

    fabric: str
    """Description of the fabric: ``6 x 6 bidirectional torus``."""
    nodes: int
    """Number of nodes, including those that are disconnected."""
    rings: list[list[int]]
    """The nodes of each ring in the order in which packets pass them; empty above 4096 nodes."""
    ring_count: int
    dead_rings: list[int]
    """Numbers of the rings that are out of service."""
    places: list[tuple[float, float]]
    """Position of each node in a picture, x and y; empty above 4096 nodes."""
    routing: str
    """Text that says how a packet chooses among several shortest paths."""
    mean_links: float
    """Mean number of links of a path under uniform traffic."""
    mean_ring_changes: float
    """Mean number of changes of ring of a path under uniform traffic."""
    cycle_us: float
    deadlock: str
    """Sentence that says whether queues can wait for each other in a cycle (deadlock)."""
    faults: list[str]
    cut_off: list[int]
    """Nodes that faults have disconnected from the others."""

    @property
    def title(self) -> str:
        """A description of the machine, on one line."""
        return f"{self.fabric}: {counted(self.nodes, 'node')}, {self.rings_text}"

    @property
    def rings_text(self) -> str:
        """The number of rings and of nodes per ring (Table 7 of the SCI paper)."""
        return rings_text(self.ring_count, sorted({len(ring) for ring in self.rings}))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        mean = f"{number(self.mean_links)} links and {number(self.mean_ring_changes)} changes"
        facts = [
            ("Routing", self.routing),
            ("Mean path", f"{mean} of ring, under uniform traffic"),
            ("Cycle", cycle_text(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]
        if self.faults:
            facts.append(("Faults", "; ".join(self.faults)))
        if self.dead_rings:
            dead = f"{len(self.dead_rings)} of {self.ring_count} ({listed(self.dead_rings)})"
            facts.append(("Rings out of service", dead))
        if self.cut_off:
            cut = f"{len(self.cut_off)} of {self.nodes} nodes ({listed(self.cut_off)})"
            facts.append(("Cut off", cut))
        return facts

    def links(self) -> list[tuple[int, int, int]]:
        """Return ring, start and end of each working link, in the order of channels in results."""
        dead = set(self.dead_rings)
        return [
            (number_, a, b)
            for number_, ring in enumerate(self.rings)
            if number_ not in dead
            for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)
        ]

    def is_pictured(self, channel: str) -> bool:
        """Return whether pictures of the fabric show this kind of channel: only ``link``, the whole
        link, and not its send or echo traffic alone.
        """
        return channel == "link"


def rings_text(count: int, lengths: list[int]) -> str:
    """Format the number of rings and of nodes per ring: ``24 rings of 6 nodes``."""
    rings = counted(count, "ring")
    if not lengths:
        return rings
    if len(lengths) == 1:
        return f"{rings} of {lengths[0]} nodes"
    return f"{rings} of {lengths[0]} to {lengths[-1]} nodes"

"""Descriptions of binary hypercubes with I/O nodes in results."""

from __future__ import annotations

from typing import ClassVar

from isthmus.machines.base import Channel, Machine, cycle_text, listed

_LANES = {
    "pe": "k, PE and its router",
    "link": "PE network links",
    "io_node": "m, router and I/O node",
    "io_source": "r, I/O node and I/O router",
    "io_link": "b, I/O network links",
    "io_to_pe": "n, I/O router to PE router",
}
_CHANNELS = {
    "pe_inject": Channel(
        "PE → router (k)",
        "the channels from the PEs to their routers",
        "the channel from PE {a}",
    ),
    "pe_eject": Channel(
        "router → PE (k)",
        "the channels from the routers to their PEs",
        "the channel to PE {b}",
    ),
    "link": Channel("PE network link", "the links between PEs", "the link from PE {a} to PE {b}"),
    "io_node_in": Channel(
        "router → I/O node (m)",
        "the channels into the I/O nodes",
        "the channel into the I/O node at PE {b}",
    ),
    "io_node_out": Channel(
        "I/O node → router (m)",
        "the channels from the I/O nodes to the PE network",
        "the channel from the I/O node at PE {a} to the PE network",
    ),
    "io_inject": Channel(
        "I/O node → I/O router (r)",
        "the channels into the I/O network",
        "the channel of I/O node {a} to its router",
    ),
    "io_eject": Channel(
        "I/O router → I/O node (r)",
        "the channels out of the I/O network",
        "the channel to I/O node {b}",
    ),
    "io_link": Channel(
        "I/O network link (b)",
        "the links of the I/O network",
        "the link from I/O node {a} to I/O node {b}",
    ),
    "io_to_pe": Channel(
        "I/O router → PE router (n)",
        "the channels from the I/O network to the PE network",
        "the channel from the I/O network to PE {b}",
    ),
    "disk": Channel("disk of an I/O node", "the disks", "the disk of I/O node {a}"),
    "device": Channel(
        "device of an I/O node", "the devices of the I/O nodes", "the device of I/O node {a}"
    ),
}


class HypercubeSummary(Machine, frozen=True, tag="hypercube"):
    """A binary hypercube with I/O nodes."""

    utilisation: ClassVar[str] = "utilisation of a lane (flits per cycle)"
    channels: ClassVar[dict[str, Channel]] = _CHANNELS

    dimension: int
    pes: int
    io_nodes: list[int]
    """PEs with an I/O node, ascending; the position is the I/O node's number."""
    servers: list[int | None]
    """For each PE the number of the I/O node that serves it, None for a failed PE; empty above 4096
    PEs.
    """
    lanes: list[tuple[str, int]]
    """Lanes of each kind of link: pe (k), link, io_node (m), io_source (r), io_link (b),
    io_to_pe (n)."""
    cycle_us: float
    deadlock: str
    """Result of the check that routing cannot deadlock, in words: whether and how this was
    proven.
    """
    faults: list[str]

    @property
    def has_io_network(self) -> bool:
        """Whether the I/O nodes have a network of their own (b > 0)."""
        return dict(self.lanes).get("io_link", 0) > 0

    @property
    def title(self) -> str:
        """A description of the machine in one line of text."""
        lanes = dict(self.lanes).get("io_link", 0)
        network = ", no I/O network"
        if lanes:
            network = f", I/O links of {lanes} " + ("lane" if lanes == 1 else "lanes")
        return (
            f"{self.dimension}-dimensional {self.kind}: {self.pes:,} PEs, "
            f"{len(self.io_nodes):,} I/O nodes{network}"
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further properties of the machine for reports, as pairs of a name and a text."""
        lanes = "; ".join(f"{count} ({_LANES.get(kind, kind)})" for kind, count in self.lanes)
        facts = [("Lanes", lanes), ("Cycle", cycle_text(self.cycle_us)), ("Routing", self.deadlock)]
        if self.faults:
            facts.append(("Faults", "; ".join(self.faults)))
        return [*facts, ("I/O nodes at PEs", listed(self.io_nodes))]

    def axis_words(self, key: str) -> str | None:
        """Return "no I/O network" for the lanes of I/O links of a machine without them; None for
        every other key.
        """
        none = key.endswith("lanes.io_link") and not self.has_io_network
        return "no I/O network" if none else None

    def is_pictured(self, channel: str) -> bool:
        """Return whether the channel is a link between two PEs or between two I/O nodes."""
        return channel in ("link", "io_link")

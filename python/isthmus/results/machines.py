"""Machines of a result, one class per kind; what they are in words and in figures."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from isthmus.wording import counted, lane_label, number

LISTED = 64
"""Most nodes that are listed one by one."""


class HypercubeSummary(msgspec.Struct, frozen=True, tag_field="kind", tag="hypercube"):
    """A binary hypercube with I/O nodes."""

    kind: ClassVar[str] = "hypercube"
    utilisation: ClassVar[str] = "utilisation of a lane (flits per cycle)"
    """What the utilisation of its channels is."""

    dimension: int
    pes: int
    io_nodes: list[int]
    """PEs with an I/O node, ascending; the position is the I/O node's number."""
    servers: list[int | None]
    """Number of the I/O node that does the work for each PE, none for one that has failed; empty
    above 4096 PEs."""
    lanes: list[tuple[str, int]]
    """Lanes of each kind of link: pe (k), link, io_node (m), io_source (r), io_link (b),
    io_to_pe (n)."""
    cycle_us: float
    deadlock: str
    """Whether routing was proven free of deadlock, and how."""
    faults: list[str]

    @property
    def has_io_network(self) -> bool:
        """Whether the I/O nodes have a network of their own (b > 0)."""
        return dict(self.lanes).get("io_link", 0) > 0

    @property
    def title(self) -> str:
        """What it is, on one line."""
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
        """Names and values of all else that is known of it."""
        lanes = "; ".join(f"{count} ({lane_label(kind)})" for kind, count in self.lanes)
        facts = [("Lanes", lanes), ("Cycle", _cycle(self.cycle_us)), ("Routing", self.deadlock)]
        if self.faults:
            facts.append(("Faults", "; ".join(self.faults)))
        return [*facts, ("I/O nodes at PEs", _listed(self.io_nodes))]


class SciSummary(msgspec.Struct, frozen=True, tag_field="kind", tag="sci"):
    """A fabric of SCI rings joined by the nodes that are on several of them."""

    kind: ClassVar[str] = "sci"
    utilisation: ClassVar[str] = "utilisation of a link (symbols per cycle)"
    """What the utilisation of its channels is."""

    fabric: str
    """What it is, in words: ``6 x 6 bidirectional torus``."""
    nodes: int
    """Number of nodes, those cut off included."""
    rings: list[list[int]]
    """The nodes of each ring in the order in which packets pass them; empty above 4096 nodes."""
    ring_count: int
    dead_rings: list[int]
    """Rings out of service."""
    places: list[tuple[float, float]]
    """Where to draw each node, x and y; empty above 4096 nodes."""
    routing: str
    """Which of the shortest paths packets take, in words."""
    mean_links: float
    """Mean links of a path under uniform traffic."""
    mean_ring_changes: float
    """Mean changes of ring of a path under uniform traffic."""
    cycle_us: float
    deadlock: str
    """Whether queues can wait for one another in a cycle."""
    faults: list[str]
    cut_off: list[int]
    """Nodes that faults have cut off."""

    @property
    def title(self) -> str:
        """What it is, on one line."""
        return f"{self.fabric}: {counted(self.nodes, 'node')}, {self.rings_text}"

    @property
    def rings_text(self) -> str:
        """How many rings of how many nodes (Table 7 of the SCI paper)."""
        return rings_text(self.ring_count, sorted({len(ring) for ring in self.rings}))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values of all else that is known of it."""
        mean = f"{number(self.mean_links)} links and {number(self.mean_ring_changes)} changes"
        facts = [
            ("Routing", self.routing),
            ("Mean path", f"{mean} of ring, under uniform traffic"),
            ("Cycle", _cycle(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]
        if self.faults:
            facts.append(("Faults", "; ".join(self.faults)))
        if self.dead_rings:
            dead = f"{len(self.dead_rings)} of {self.ring_count} ({_listed(self.dead_rings)})"
            facts.append(("Rings out of service", dead))
        if self.cut_off:
            cut = f"{len(self.cut_off)} of {self.nodes} nodes ({_listed(self.cut_off)})"
            facts.append(("Cut off", cut))
        return facts

    def links(self) -> list[tuple[int, int, int]]:
        """Ring, begin and end of each link in service, in the order of a point's channels."""
        dead = set(self.dead_rings)
        return [
            (number_, a, b)
            for number_, ring in enumerate(self.rings)
            if number_ not in dead
            for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)
        ]


class FatTreeSummary(msgspec.Struct, frozen=True, tag_field="kind", tag="fat-tree"):
    """A fat tree: nodes below levels of switches (section 2.2 of the QsNET paper)."""

    kind: ClassVar[str] = "fat-tree"
    utilisation: ClassVar[str] = "utilisation of a link (share of the time)"
    """What the utilisation of its channels is."""

    tree: str
    """What it is, in words: ``4-ary 3-tree``."""
    nodes: int
    switches: list[int]
    """Switches of each level, the leaves first."""
    links_down: list[int]
    """Links down of a switch of each level."""
    links_up: list[int]
    """Links up of a switch of each level; none at the top."""
    links: int
    """Directed links."""
    cycle_us: float
    """Length of one cycle, what times are counted in."""
    deadlock: str
    """Whether routing was proven free of deadlock, and how."""

    @property
    def title(self) -> str:
        """What it is, on one line."""
        switches = counted(sum(self.switches), "switch", "switches")
        levels = counted(len(self.switches), "level")
        return f"{self.tree}: {counted(self.nodes, 'node')}, {switches} on {levels}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values of all else that is known of it."""
        levels = zip(self.switches, self.links_down, self.links_up, strict=True)
        told = [
            f"level {n}: {count:,} with {down} down" + (f" and {up} up" if up else "")
            for n, (count, down, up) in enumerate(levels, 1)
        ]
        return [
            ("Switches", "; ".join(told)),
            ("Directed links", f"{self.links:,}"),
            ("Cycle", _cycle(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]

    def level(self, vertex: int) -> int:
        """Level of a node (0) or a switch (1 for the leaves), by its number: nodes come first."""
        first = self.nodes
        if vertex < first:
            return 0
        for level, count in enumerate(self.switches, 1):
            first += count
            if vertex < first:
                return level
        raise ValueError(f"no node and no switch {vertex} in a {self.tree}")


class GraphSummary(msgspec.Struct, frozen=True, tag_field="kind", tag="graph"):
    """Switches joined in any form, and the nodes at them."""

    kind: ClassVar[str] = "graph"
    utilisation: ClassVar[str] = "utilisation of a link (share of the time)"
    """What the utilisation of its channels is."""

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
            ("Cycle", _cycle(self.cycle_us)),
            ("Deadlock", self.deadlock),
        ]


MachineSummary = HypercubeSummary | SciSummary | FatTreeSummary | GraphSummary
"""A machine in figures, for tables and the picture; told apart by ``kind``."""


def rings_text(count: int, lengths: list[int]) -> str:
    """How many rings of how many nodes: ``24 rings of 6 nodes``."""
    rings = counted(count, "ring")
    if not lengths:
        return rings
    if len(lengths) == 1:
        return f"{rings} of {lengths[0]} nodes"
    return f"{rings} of {lengths[0]} to {lengths[-1]} nodes"


def _cycle(cycle_us: float) -> str:
    if cycle_us < 1e-4:
        return f"{1e6 * cycle_us:g} ps"
    return f"{1000 * cycle_us:g} ns" if cycle_us < 0.01 else f"{cycle_us:g} µs"


def _listed(nodes: list[int]) -> str:
    return ", ".join(map(str, nodes[:LISTED])) + (" …" if len(nodes) > LISTED else "")

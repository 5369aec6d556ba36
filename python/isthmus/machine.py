"""Machines as objects. Attributes left out take the defaults of the scenario format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from isthmus.scenario_fields import Described, key, part


@dataclass(frozen=True, kw_only=True)
class Disk(Described):
    """The disk behind an I/O node's cache."""

    seek: str | None = key("seek")
    """Mean seek time, such as ``"12 ms"``."""
    rotation: str | None = key("rotation")
    """Time of one full rotation; the latency is uniform between zero and this."""
    transfer: str | None = key("transfer")
    """Transfer rate of the medium, such as ``"2 MB/s"``; left out: it takes no time of its own."""


@dataclass(frozen=True, kw_only=True)
class Device(Described):
    """Start-up overhead, I/O node and disk (Table 1 of the hypercube paper)."""

    startup: str | None = key("startup")
    """Message start-up overhead in software, such as ``"200 us"``."""
    access: str | None = key("access")
    """I/O-node latency for a block from its cache, such as ``"400 us"``."""
    cache_hit_rate: float | str | None = key("cache_hit_rate")
    """Probability that a block is in the cache: 0 to 1, or ``"70%"``."""
    service: str | None = key("service")
    """``"delay"``: a pure delay, as in the paper; ``"queue"``: misses queue for the disk."""
    disk: Disk | None = part("disk")


@dataclass(frozen=True, kw_only=True)
class Placement(Described):
    """Where the I/O nodes go (section 3.2 of the hypercube paper)."""

    kind: str | None = key("kind")
    """``"hamming"``, ``"combined"``, ``"dominating"``, ``"stride"``, ``"clustered"``,
    ``"list"``."""
    count: int | None = key("count")
    """Number of I/O nodes (stride, clustered)."""
    pes: Sequence[int] | None = key("pes")
    """PEs with an I/O node (list)."""


@dataclass(frozen=True, kw_only=True)
class Faults(Described):
    """What has failed."""

    pes: Sequence[int] | None = key("pes")
    """PEs, with their routers."""
    io_nodes: Sequence[int] | None = key("io_nodes")
    """I/O nodes, by position in the ascending placement."""
    links: Sequence[tuple[int, int]] | None = key("links")
    """Links between neighbouring PEs."""
    io_links: Sequence[tuple[int, int]] | None = key("io_links")
    """Links between neighbouring I/O nodes, by position."""


@dataclass(frozen=True, kw_only=True)
class Hypercube(Described):
    """A binary hypercube of PEs with I/O nodes and, if ``io_link_lanes > 0``, an I/O network.

    The letters are those of Fig. 2 of the hypercube paper.

    >>> Hypercube(dimension=7, io_link_lanes=2).dimension
    7
    """

    kind: ClassVar[str] = "hypercube"

    dimension: int | None = key("dimension")
    """Dimension d of the hypercube of 2^d PEs, 1 to 20. Must be given or swept."""
    io_link_lanes: int | None = key("lanes.io_link")
    """b: lanes of each link of the I/O network; 0: no I/O network. Must be given or swept."""
    pe_lanes: int | None = key("lanes.pe")
    """k: lanes from PE to router and back; d + 2 if left out."""
    link_lanes: int | None = key("lanes.link")
    """Lanes of each link between PE routers; 1 if left out."""
    io_node_lanes: int | None = key("lanes.io_node")
    """m: lanes from PE router to I/O node and back; d + 1 if left out."""
    io_source_lanes: int | None = key("lanes.io_source")
    """r: lanes from I/O node to I/O router and back; 4 b if left out."""
    io_to_pe_lanes: int | None = key("lanes.io_to_pe")
    """n: lanes from I/O router to PE router; 4 b if left out."""
    flit: str | None = key("flit")
    """Length of one flit, such as ``"1 B"``."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of one lane, such as ``"20 MB/s"``; one cycle is the time of one flit."""
    placement: Placement | str | None = part("placement")
    """Where the I/O nodes go; a word is short for its kind."""
    device: Device | None = part("device")
    faults: Faults | None = part("faults")


@dataclass(frozen=True, kw_only=True)
class Queues(Described):
    """Slots of the queues of an interface, in packets (Table 1 of the SCI paper)."""

    input: int | None = key("input")
    """Slots of the input queue."""
    output: int | None = key("output")
    """Slots of the output queue for each input port that feeds it."""
    client: int | None = key("client")
    """Slots of the output queue for packets of the node itself."""


@dataclass(frozen=True, kw_only=True)
class RingFaults(Described):
    """What has failed in a fabric; a failed part takes its rings out of service (section 4.3)."""

    nodes: Sequence[int] | None = key("nodes")
    """Nodes."""
    links: Sequence[tuple[int, int]] | None = key("links")
    """Links, each from a node to the next on a ring."""
    cut_off: str | None = key("cut_off")
    """What becomes of nodes without a path: ``"refuse"`` (an error) or ``"leave-out"``."""


@dataclass(frozen=True, kw_only=True)
class Fabric(Described):
    """A fabric of SCI rings joined by the nodes that are on several of them.

    Sections and tables are those of the SCI paper; the times that it does not state are fitted to
    its latencies.

    >>> Fabric(fabric="bidirectional-torus", size="6x6").size
    '6x6'
    """

    kind: ClassVar[str] = "sci"

    fabric: str | None = key("fabric")
    """``"ring"``, ``"counter-rotating"`` (section 4.1), ``"torus"``, ``"bidirectional-torus"``
    (section 4.2; k-ary n-cubes with more numbers in `size`), ``"uniform-ring-torus"`` (section
    4.3), ``"manhattan"`` or ``"rings"``. Must be given or swept."""
    size: str | int | None = key("size")
    """Nodes in each dimension, such as ``"6x6"``; one number for rings. Not with ``"rings"``."""
    rings: Sequence[Sequence[int]] | None = key("rings")
    """The nodes of each ring in the order in which packets pass them, for ``"rings"``."""
    routing: str | None = key("routing")
    """Which shortest path a packet takes: ``"dimension-order"``, ``"fixed"``, ``"random"`` or
    ``"fewest-changes"`` of ring."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of a link, headers and idles included, such as ``"1 GB/s"``."""
    symbol: str | None = key("symbol")
    """Length of a symbol, such as ``"2 B"``; one cycle is the time of one symbol."""
    hop: str | None = key("hop")
    """h: from the output of a node to the output of the next, such as ``"34 ns"``."""
    ring_change: str | None = key("ring_change")
    """c: from an agent's address decoder to its output on another ring, such as ``"66 ns"``."""
    ring_change_from: str | None = key("ring_change_from")
    """When that begins: when the ``"header"`` comes, before the crossbar, or with the
    ``"transfer"`` through it."""
    overhead: str | None = key("overhead")
    """Header and check sum of a send packet, such as ``"16 B"``."""
    echo: str | None = key("echo")
    """Length of an echo packet, such as ``"8 B"``."""
    queues: Queues | None = part("queues")
    source: str | None = key("source")
    """Where packets wait for a client slot: ``"unbounded"`` (a FIFO) or ``"bounded"`` (nowhere, so
    that they are dropped)."""
    flow_control: str | None = key("flow_control")
    """``"none"``, or ``"go-bits"`` as in IEEE 1596."""
    patience: str | None = key("patience")
    """Time without a delivery, packets waiting, after which the fabric has collapsed."""
    faults: RingFaults | None = part("faults")


@dataclass(frozen=True, kw_only=True)
class Ports(Described):
    """The ports of the switches of a fat tree."""

    down: Sequence[int] | None = key("down")
    """Ports towards the nodes of the switches of each level, leaf switches first."""
    up: Sequence[int] | None = key("up")
    """Ports towards the top of the switches of each level but the top."""


@dataclass(frozen=True, kw_only=True)
class Nic(Described):
    """The network interface of a node of a fat tree (sections 2.2.1 and 4.1)."""

    payload: str | None = key("payload")
    """Most data of one packet, such as ``"320 B"``."""
    overhead: str | None = key("overhead")
    """What a packet has beside its data, such as ``"58 B"``."""
    padding: str | None = key("padding")
    """Data of a packet is padded to a multiple of this."""
    request: str | None = key("request")
    """Data of the packet that asks for a read."""
    packets_in_flight: int | None = key("packets_in_flight")
    """Packets of a node that may wait for their acknowledgement (circuit)."""
    dma_period: str | None = key("dma_period")
    """From the start of one packet to that of the next, such as ``"955.2 ns"``."""
    dma_block: str | None = key("dma_block")
    """What of that each padding unit takes; see the fields of a scenario."""
    receive_delay: str | None = key("receive_delay")
    """How much each packet received while the engine is busy delays it."""
    software_latency: str | None = key("software_latency")
    """What a message takes in software, such as ``"1.88 us"``."""
    read_turnaround: str | None = key("read_turnaround")
    """From the request of a read to the start of its data."""
    dma_slice: int | None = key("dma_slice")
    """Packets of one message before the engine turns to the next."""


@dataclass(frozen=True, kw_only=True)
class FatTree(Described):
    """Nodes below levels of switches, with links up and down between them.

    Sections are those of the QsNET paper; what it does not state is in the fields of a scenario.

    >>> FatTree(arity=4, levels=3).levels
    3
    """

    kind: ClassVar[str] = "fat-tree"

    tree: str | None = key("tree")
    """``"k-ary"`` (section 2.2), ``"ports"`` or ``"generalised"``: how the tree is described."""
    arity: int | None = key("arity")
    """k: links down, and up, of each switch; there are k^n nodes (k-ary)."""
    levels: int | None = key("levels")
    """n: levels of switches (k-ary)."""
    taper: int | None = key("taper")
    """Links down of a leaf switch for each link up (k-ary); it must divide the arity."""
    nodes: int | None = key("nodes")
    """Number of nodes (ports)."""
    ports: Ports | None = part("ports")
    """Ports of the switches of each level (ports)."""
    down: Sequence[int] | None = key("down")
    """Children of a switch of each level, leaf switches first (generalised)."""
    up: Sequence[int] | None = key("up")
    """Parents of a child of each level: of a node, of a leaf switch and so on (generalised)."""
    parallel: Sequence[int] | None = key("parallel")
    """Links between a child of each level and each of its parents (generalised)."""
    preset: str | None = key("preset")
    """Hardware by its name, for what is not given: ``"infiniband-hdr"``, ``"infiniband-ndr"``,
    ``"slingshot-11"``, ``"roce-100g"`` or ``"qsnet"``."""
    ascent: str | None = key("ascent")
    """Which link up a packet takes: ``"adaptive"`` (section 2.2.1), ``"destination"``,
    ``"source"`` or ``"random"``."""
    ascent_load: str | None = key("ascent_load")
    """The least loaded link (adaptive): ``"room"``, that with most free virtual channels or room
    behind it, or ``"idle"``, any that carries no packet."""
    ascent_tie: str | None = key("ascent_tie")
    """Which of several links loaded alike (adaptive): ``"random"``, ``"longest-idle"`` or
    ``"lowest"``."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of a link in one direction, headers included, such as ``"400 MB/s"``."""
    switch_latency: str | None = key("switch_latency")
    """What a header takes through a switch, such as ``"35 ns"``."""
    virtual_channels: int | None = key("virtual_channels")
    """Virtual channels of a link in one direction, 1 to 16 (section 2.2: 2)."""
    switching: str | None = key("switching")
    """``"circuit"``: packets hold links until they are acknowledged (section 2.2.1);
    ``"cut-through"``: while they cross them into a buffer with room for all of them."""
    acknowledgement: str | None = key("acknowledgement")
    """From the last byte of a packet at its destination to the acknowledgement (circuit)."""
    acknowledgement_hop: str | None = key("acknowledgement_hop")
    """What the acknowledgement takes for each switch on its way back (circuit)."""
    buffer: int | None = key("buffer")
    """Packets that an input of a switch can hold (cut-through)."""
    output_buffer: int | None = key("output_buffer")
    """Packets that an output of a switch can hold behind the crossbar; 0: none (cut-through)."""
    speedup: int | None = key("speedup")
    """How many times as fast as a link the crossbar is into output buffers (cut-through)."""
    credit: str | None = key("credit")
    """From a place of a buffer being free to the sender's knowing it (cut-through)."""
    age: str | None = key("age")
    """How the age of a packet counts, of which the oldest goes first: ``"saturating"``,
    ``"unlimited"`` or ``"per-switch"``."""
    age_from: str | None = key("age_from")
    """Since when it counts (saturating, unlimited): ``"injection"``, ``"message"``,
    ``"arrival"`` at the switch or ``"request"`` for an output there."""
    age_tie: str | None = key("age_tie")
    """Which of several packets equally old goes first: ``"round-robin"``, ``"random"`` or
    ``"lowest"``."""
    age_limit: str | None = key("age_limit")
    """Age beyond which all packets are equally old (saturating), such as ``"78 us"``."""
    memory: str | None = key("memory")
    """Where messages lie (section 4.1): ``"elan"``, in the interface, or ``"main"``."""
    late: str | None = key("late")
    """``"charged"``: packets that wait long cost their last link more (empirical); ``"free"``."""
    late_after: str | None = key("late_after")
    """Time since its injection after which a packet is late (charged)."""
    late_cost: str | None = key("late_cost")
    """How much longer a late packet occupies its last link (charged)."""
    nic: Nic | None = part("nic")


Machine = Hypercube | Fabric | FatTree
"""Any kind of machine."""

"""Scenarios as objects. Attributes left out take the defaults of the scenario format.

Written by `tools/objects.py` from the core's description of scenario files; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from isthmus.scenario_fields import Described, key, part, parts

__all__ = [
    "Cell",
    "Collectives",
    "CubeJobs",
    "CubeServers",
    "Device",
    "Disk",
    "Fabric",
    "FatTree",
    "Faults",
    "Files",
    "Graph",
    "HotNode",
    "HotSpot",
    "Hypercube",
    "Job",
    "Jobs",
    "NetworkInterface",
    "Nic",
    "PacketWorkload",
    "Placement",
    "Ports",
    "Precision",
    "Queues",
    "RingFaults",
    "RingJobs",
    "RingServers",
    "Search",
    "ServerDevice",
    "ServerDisk",
    "Servers",
    "StreamWorkload",
    "TransmitPipe",
    "Workload",
]


@dataclass(frozen=True, kw_only=True)
class Precision(Described):
    """When a point has been simulated long enough."""

    rule: Literal["precision", "fixed"] | None = key("rule")
    """When a point ends: all measures known well enough, or after a fixed number of messages or a
    fixed time. If left out: "precision"."""
    precision: float | str | None = key("precision")
    """Half-width of the confidence interval of each measure, relative to its mean. If left out:
    "2%". Range: between 0 and 1, both excluded. Only with stop.rule = "precision"."""
    of: Sequence[str] | None = key("of")
    """Measures that must be known; one that a point cannot give is not waited for. If left out:
    that of the machine. Range: names of measures, none twice. Only with stop.rule = "precision"."""
    messages_first: int | None = key("messages_first")
    """Messages of a replication before the first look at its precision, warm-up included. If left
    out: that of the machine. Range: 1 to 1000000000000. Only with stop.rule = "precision"."""
    messages_max: int | None = key("messages_max")
    """Messages of a replication at which to give up, warm-up included; a search whose bracket is
    too wide then goes on for 16 times as many. If left out: that of the machine. Range: 1 to
    1000000000000. Only with stop.rule = "precision"."""
    messages: int | None = key("messages")
    """Messages of a replication, warm-up included (section 5: 150,000). If left out: that of the
    machine. Range: 1 to 1000000000000. Only with stop.rule = "fixed"."""
    time: str | None = key("time")
    """Simulated time of a replication, warm-up included, in place of a number of messages. If left
    out: stop.messages decides. Range: above 0 s, to 24 h. Only with stop.rule = "fixed"."""
    confidence: float | str | None = key("confidence")
    """Confidence level of the intervals. If left out: 0.95. Range: between 0 and 1, both
    excluded."""
    replications: int | None = key("replications")
    """Independent replications of each point (section 5: 10). If left out: 10. Range: 1 to
    10000."""
    warmup: Literal["mser5", "fixed", "none"] | None = key("warmup")
    """What to discard at the start of a run: what MSER-5 finds, a number of messages, or nothing.
    If left out: "none" if stop.time is given; "mser5" if stop.rule = "precision"; "fixed" if
    stop.rule = "fixed"."""
    warmup_messages: int | None = key("warmup_messages")
    """Messages to discard at the start of a run (section 5: 50,000). If left out: that of the
    machine. Range: 0 to 1000000000000. Only with stop.warmup = "fixed"."""
    intervals: Literal["replications", "batch-means"] | None = key("intervals")
    """Whether intervals come from the means of replications or of batches within a run. If left
    out: "replications"."""


@dataclass(frozen=True, kw_only=True)
class Search(Described):
    """A search for the load at which the machine saturates.

    What is left out of `over`, `start` and `stop` is that of the work: ``Workload.search``.
    """

    over: Literal["workload.rate", "workload.interarrival", "workload.load"] | None = key("over")
    """The load to vary until the machine saturates."""
    start: str | None = key("from")
    """One end of the search, in the dimension of search.over. Range: as workload.rate or
    workload.interarrival."""
    stop: str | None = key("to")
    """The other end of the search. Range: as workload.rate or workload.interarrival."""
    resolution: float | str | None = key("resolution")
    """Width, relative to its middle, of the interval around the knee at which to stop. If left out:
    "2%". Range: between 0 and 1, both excluded."""


@dataclass(frozen=True, kw_only=True)
class Placement(Described):
    """Where the I/O nodes go (section 3.2 of the hypercube paper)."""

    kind: Literal["hamming", "combined", "dominating", "stride", "clustered", "list"] | None = key(
        "kind"
    )
    """Where the I/O nodes go (section 3.2): code words of the Hamming code; perfect cubes combined;
    a minimum dominating set; every s-th PE; the first PEs; these PEs. If left out: "combined"."""
    count: int | None = key("count")
    """Number of I/O nodes, at most that of the PEs. Must be given or swept. Range: 1 to 1048576.
    Only with machine.placement.kind = "stride" or "clustered"."""
    pes: Sequence[int] | None = key("pes")
    """PEs that have an I/O node, in any order. Must be given or swept. Range: node numbers, none
    twice. Only with machine.placement.kind = "list"."""


@dataclass(frozen=True, kw_only=True)
class Disk(Described):
    """The disk behind an I/O node's cache."""

    seek: str | None = key("seek")
    """Mean seek time; with half a rotation the 20 ms of Table 1. If left out: "12 ms". Range: 0 s
    to 24 h."""
    rotation: str | None = key("rotation")
    """Time of one full rotation; the latency is uniform between zero and this. If left out: "16
    ms". Range: 0 s to 24 h."""
    transfer: str | None = key("transfer")
    """Transfer rate of the medium. If left out: transfer takes no time of its own. Range: 1 bit/s
    or more."""


@dataclass(frozen=True, kw_only=True)
class Device(Described):
    """Start-up overhead, I/O node and disk (Table 1 of the hypercube paper)."""

    startup: str | None = key("startup")
    """Message start-up overhead in software (Table 1). If left out: "200 us". Range: 0 s to 24
    h."""
    access: str | None = key("access")
    """I/O node latency for a block from its cache (Table 1). If left out: "400 us". Range: 0 s to
    24 h."""
    cache_hit_rate: float | str | None = key("cache_hit_rate")
    """Probability that a block is in the I/O node's cache (Table 1: 70 to 100%). If left out: 1.0.
    Range: 0 to 1."""
    service: Literal["delay", "queue"] | None = key("service")
    """How requests share a disk: a pure delay, as in the paper, or first come first served. If left
    out: "delay"."""
    disk: Disk | None = part("disk")


@dataclass(frozen=True, kw_only=True)
class Faults(Described):
    """What has failed in a hypercube."""

    pes: Sequence[int] | None = key("pes")
    """PEs that have failed, with their routers. If left out: []. Range: node numbers, none
    twice."""
    io_nodes: Sequence[int] | None = key("io_nodes")
    """I/O nodes that have failed, by index in the ascending placement. If left out: []. Range: node
    numbers, none twice."""
    links: Sequence[tuple[int, int]] | None = key("links")
    """Links between neighbouring PEs that have failed. If left out: []. Range: pairs of
    neighbouring nodes, none twice."""
    io_links: Sequence[tuple[int, int]] | None = key("io_links")
    """Links between neighbouring I/O nodes that have failed, by index. If left out: []. Range:
    pairs of neighbouring nodes, none twice."""


@dataclass(frozen=True, kw_only=True)
class Hypercube(Described):
    """A binary hypercube of PEs with I/O nodes, which have a network of their own if
    ``io_link_lanes > 0``.

    The letters are those of Fig. 2 of the hypercube paper.

    >>> Hypercube(dimension=7, io_link_lanes=2).dimension
    7
    """

    kind: ClassVar[str] = "hypercube"

    dimension: int | None = key("dimension")
    """Dimension d of the hypercube of 2^d PEs. Must be given or swept. Range: 1 to 20."""
    flit: str | None = key("flit")
    """Length of one flit (Table 1). If left out: "1 B". Range: 1 B or more."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of one lane (Table 1); one cycle is the time of one flit. If left out: "20 MB/s".
    Range: 1 bit/s or more."""
    placement: (
        Placement
        | Literal["hamming", "combined", "dominating", "stride", "clustered", "list"]
        | None
    ) = part("placement")
    """Short for placement.kind."""
    pe_lanes: int | None = key("lanes.pe")
    """k: lanes from PE to router and back (Fig. 2). If left out: dimension + 2. Range: 1 to
    65535."""
    link_lanes: int | None = key("lanes.link")
    """Lanes of each dimension link between PE routers. If left out: 1. Range: 1 to 65535."""
    io_node_lanes: int | None = key("lanes.io_node")
    """m: lanes from PE router to I/O node and back (Fig. 2). If left out: dimension + 1. Range: 1
    to 65535."""
    io_link_lanes: int | None = key("lanes.io_link")
    """b: lanes of each link between I/O routers; 0: no I/O network, the control cube (Fig. 2). Must
    be given or swept. Range: 0 to 65535."""
    io_source_lanes: int | None = key("lanes.io_source")
    """r: lanes from I/O node to I/O router and back (Fig. 2); unused without an I/O network. If
    left out: 4 * io_link. Range: 0 to 65535."""
    io_to_pe_lanes: int | None = key("lanes.io_to_pe")
    """n: lanes from I/O router to PE router (Fig. 2); unused without an I/O network. If left out: 4
    * io_link. Range: 0 to 65535."""
    device: Device | None = part("device")
    faults: Faults | None = part("faults")


@dataclass(frozen=True, kw_only=True)
class Files(Described):
    """How large files are."""

    min: int | None = key("min")
    """Smallest file, in blocks. If left out: 1. Range: 1 to 1048576."""
    max: int | None = key("max")
    """Largest file, in blocks; sizes are uniform between the two (Table 1: 1 to 32). If left out:
    as file_blocks.min. Range: 1 to 1048576."""
    split: int | None = key("split")
    """Files with more blocks than this are broken up into several (Table 1: 128 KiB). If left out:
    32. Range: 1 to 1048576."""


@dataclass(frozen=True, kw_only=True)
class HotSpot(Described):
    """A favoured target."""

    target: int | None = key("target")
    """The PE that PE-PE messages favour. Range: 0 to 1048575."""
    probability: float | str | None = key("probability")
    """Share of the PE-PE messages that go to the hot PE. Range: 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Collectives(Described):
    """Shares of the I/O demands that are collective (section 4.3)."""

    broadcast: float | str | None = key("broadcast")
    """Share of I/O demands that fetch one block for all PEs (section 4.3 of the paper). If left
    out: 0.0. Range: 0 to 1."""
    scatter: float | str | None = key("scatter")
    """Share of I/O demands that spread a file's blocks over a group of PEs (section 4.3 of the
    paper). If left out: 0.0. Range: 0 to 1."""
    gather: float | str | None = key("gather")
    """Share of I/O demands that collect a block from each PE of a group (section 4.3 of the paper).
    If left out: 0.0. Range: 0 to 1."""
    group: int | None = key("group")
    """PEs that take part in one scatter or gather. Range: 1 to 1048576."""


@dataclass(frozen=True, kw_only=True)
class Workload(Described):
    """The traffic of every PE (section 4.3 of the hypercube paper).

    One of `interarrival` and `rate` is needed in an open loop, unless it is swept or searched.

    >>> Workload(interarrival="0.156 ms", locality=0.2).locality
    0.2
    """

    search: ClassVar[Search] = Search(over="workload.rate", start="1 /ms", stop="50 /ms")
    """The load that a search varies by default, and its ends."""

    arrival: Literal["exponential", "deterministic", "bursty", "closed"] | None = key("arrival")
    """When a PE asks: Poisson (section 4.3 of the paper); equal gaps; on/off bursts; a closed loop
    in which a PE waits for its data. If left out: "exponential"."""
    interarrival: str | None = key("interarrival")
    """t_a: mean time between two demands of one PE. If left out: this or workload.rate is required,
    unless swept or searched. Range: above 0 s, to 24 h. Only with workload.arrival = "exponential",
    "deterministic" or "bursty"."""
    rate: str | None = key("rate")
    """Demands of one PE per time, 1/t_a; held as a mean gap in whole picoseconds. If left out: this
    or workload.interarrival is required, unless swept or searched. Range: above 0, a mean gap of 1
    ps to 24 h. Only with workload.arrival = "exponential", "deterministic" or "bursty"."""
    burst_messages: float | None = key("burst_messages")
    """Mean number of demands in a burst (geometric). Must be given or swept. Range: 1 to
    1000000000. Only with workload.arrival = "bursty"."""
    burst_gap: str | None = key("burst_gap")
    """Time between two demands of one burst; below the mean interarrival time. Must be given or
    swept. Range: 0 s to 24 h. Only with workload.arrival = "bursty"."""
    think: str | None = key("think")
    """Mean time (exponential) from a completion to the next demand. Must be given or swept. Range:
    0 s to 24 h. Only with workload.arrival = "closed"."""
    outstanding: int | Literal["unlimited"] | None = key("outstanding")
    """Demands that one PE keeps under way in a closed loop; else how many it may have under way,
    from being handed to the network until the last tail is there or the data are stored: the next
    in order is handed over when it has been asked for and fewer are. If left out: 1 with
    workload.arrival = "closed", else "unlimited". Range: 1 to 65536, or "unlimited"."""
    io_probability: float | str | None = key("io_probability")
    """P_io: share of demands that are I/O requests (section 4.3 of the paper: 3 to 20%). If left
    out: 0.05. Range: 0 to 1."""
    read_ratio: float | str | None = key("read_ratio")
    """P_r: share of I/O requests that are reads. If left out: 1.0. Range: 0 to 1."""
    locality: float | str | None = key("locality")
    """P_l: probability that a block is at the local I/O node (Fig. 3). If left out: 0.2. Range: 0
    to 1."""
    message: str | None = key("message")
    """Length of a PE-PE message (Table 1). If left out: "32 B". Range: 1 B or more."""
    request: str | None = key("request")
    """Length of an I/O request and of a request-forward message. If left out: "32 B". Range: 1 B or
    more."""
    block: str | None = key("block")
    """Length of an I/O block (Table 1). If left out: "4096 B". Range: 1 B or more."""
    layout: Literal["contiguous", "declustered"] | None = key("layout")
    """All blocks of a file at one I/O node, or each placed on its own. If left out:
    "contiguous"."""
    file_blocks: Files | int | None = part("file_blocks")
    """Short for file_blocks.min and file_blocks.max with this same value."""
    hot_pe: HotSpot | None = part("hot_pe")
    hot_io_node: HotSpot | None = part("hot_io_node")
    collectives: Collectives | None = part("collectives")


@dataclass(frozen=True, kw_only=True)
class Queues(Described):
    """Slots of the queues of an interface, in packets (Table 1 of the SCI paper)."""

    input: int | None = key("input")
    """Packets that an interface can hold at its input (Table 1). If left out: 5. Range: 1 to
    65535."""
    output: int | None = key("output")
    """Packets that an interface can hold for each input port that feeds it (Table 1). If left out:
    5. Range: 1 to 65535."""
    client: int | None = key("client")
    """Packets of its own node that an interface can hold (Table 1). If left out: 5. Range: 1 to
    65535."""


@dataclass(frozen=True, kw_only=True)
class RingFaults(Described):
    """What has failed in a fabric; a failed part takes its rings out of service (section 4.3)."""

    nodes: Sequence[int] | None = key("nodes")
    """Nodes that have failed, and with them all their rings (section 4.3). If left out: []. Range:
    node numbers, none twice."""
    links: Sequence[tuple[int, int]] | None = key("links")
    """Links that have failed, each from a node to the next, and with them their rings (section
    4.3). If left out: []. Range: pairs of a node and the next on one of its rings, none twice."""
    cut_off: Literal["refuse", "leave-out"] | None = key("cut_off")
    """What becomes of nodes that faults cut off: an error, or they neither send nor receive. If
    left out: "refuse"."""


@dataclass(frozen=True, kw_only=True)
class Fabric(Described):
    """A fabric of SCI rings joined by the nodes that are on several of them.

    Sections and tables are those of the SCI paper; the times that it does not state are fitted
    to its latencies.

    >>> Fabric(fabric="bidirectional-torus", size="6x6").size
    '6x6'
    """

    kind: ClassVar[str] = "sci"

    fabric: (
        Literal[
            "ring",
            "counter-rotating",
            "torus",
            "bidirectional-torus",
            "uniform-ring-torus",
            "manhattan",
            "rings",
        ]
        | None
    ) = key("fabric")
    """Rings of the fabric: one, two in opposite directions (section 4.1); one or two along each
    line of a k-ary n-cube (section 4.2); the unit squares of a torus (section 4.3); rows and
    columns in alternating directions; the rings listed. Must be given or swept."""
    size: int | str | None = key("size")
    """Nodes in each dimension, x first: one number for a single or counter-rotating ring, two for a
    uniform-ring torus (3 or more) and a Manhattan network (even). Must be given or swept. Range:
    nodes in each dimension, 2 or more, 65536 in all. Only with machine.fabric = "ring",
    "counter-rotating", "torus", "bidirectional-torus", "uniform-ring-torus" or "manhattan"."""
    rings: Sequence[Sequence[int]] | None = key("rings")
    """The rings, each a list of its nodes in the order in which packets pass them; nodes on several
    rings are agents. Must be given or swept. Range: lists of two nodes or more, no node left out.
    Only with machine.fabric = "rings"."""
    routing: Literal["dimension-order", "fixed", "random", "fewest-changes"] | None = key("routing")
    """Which shortest path a packet takes: x first, then y, of two equally long directions one at
    random; the first; any at random; one with the fewest changes of ring, at random. If left out:
    "dimension-order" if machine.fabric = "ring", "counter-rotating", "torus" or
    "bidirectional-torus"; "fewest-changes" if machine.fabric = "uniform-ring-torus", "manhattan" or
    "rings"."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of a link, headers and idles included (Table 1). If left out: "1 GB/s". Range: 1
    bit/s or more."""
    symbol: str | None = key("symbol")
    """Length of a symbol (Table 1); one cycle is the time of one symbol. If left out: "2 B". Range:
    1 B or more."""
    hop: str | None = key("hop")
    """h: from the output of a node through the next one's address decoder and bypass FIFO (section
    2) to its output; not stated there, this value fits Tables 3, 5, 6 and 8. If left out: "34 ns".
    Range: above 0 s, to 24 h."""
    ring_change: str | None = key("ring_change")
    """c: from the address decoder of an agent to its output on another ring: the 10 ns of the
    routing decision (Table 1) and what more fits Tables 5, 6 and 8. If left out: "66 ns". Range: 0
    s to 24 h."""
    ring_change_from: Literal["header", "transfer"] | None = key("ring_change_from")
    """When `ring_change` begins: when the header comes to the agent, whose crossbar follows (Figure
    4: routers, then queues and crossbar), or when the crossbar begins; it matters where input
    queues are short. If left out: "header"."""
    overhead: str | None = key("overhead")
    """Header and check sum of a send packet (Table 1). If left out: "16 B". Range: 1 B or more."""
    echo: str | None = key("echo")
    """Length of an echo packet (section 4.1: 4 symbols); an idle symbol follows every packet. If
    left out: "8 B". Range: 1 B or more."""
    source: Literal["unbounded", "bounded"] | None = key("source")
    """Where packets wait for a client slot: in a FIFO without bound, or nowhere, so that they are
    dropped. If left out: "unbounded"."""
    flow_control: Literal["none", "go-bits"] | None = key("flow_control")
    """How a node that sends too much is held back: not at all, or by the go bits of IEEE 1596. If
    left out: "none"."""
    patience: str | None = key("patience")
    """Time without a delivery, packets waiting, after which the fabric counts as collapsed. If left
    out: 20 us, or four times a change to the longest ring and a trip round it if that is more.
    Range: above 0 s, to 24 h."""
    queues: Queues | None = part("queues")
    faults: RingFaults | None = part("faults")


@dataclass(frozen=True, kw_only=True)
class HotNode(Described):
    """A favoured node of a fabric."""

    node: int | None = key("node")
    """The node that packets favour. Range: 0 to 65535."""
    probability: float | str | None = key("probability")
    """Share of the packets of other nodes that are drawn to the hot node; the rest goes to any
    other node. Range: 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class PacketWorkload(Described):
    """Packets between the nodes of a fabric (Table 1 of the SCI paper).

    `load` is needed unless it is swept or searched.

    >>> PacketWorkload(load="8 GB/s").load
    '8 GB/s'
    """

    search: ClassVar[Search] = Search(over="workload.load", start="0.5 GB/s", stop="50 GB/s")
    """The load that a search varies by default, and its ends."""

    load: str | None = key("load")
    """Total offered load: payload that all nodes together offer (Table 1); each sending node offers
    an equal part. Range: 1 bit/s or more."""
    spacing: Literal["exponential", "deterministic"] | None = key("spacing")
    """Gaps between the packets of a node: exponential, of mean 64 B/(load/N) (Table 1); equal, each
    node with a random phase. If left out: "exponential"."""
    phases: float | str | None = key("phases")
    """With equal gaps: part of a gap over which the phases of the nodes are spread; at 0 all send
    in step. If left out: 1. Range: 0 to 1. Only with workload.spacing = "deterministic"."""
    transaction: Literal["move", "read", "write"] | None = key("transaction")
    """What each packet sets off: nothing (Table 1); a response with the data; a response without
    data. If left out: "move"."""
    payload: str | None = key("payload")
    """Data of one transaction in whole symbols (Table 1: 64 B; IEEE 1596: 16, 64 or 256 B). If left
    out: "64 B". Range: 16 B to 256 B."""
    senders: Sequence[int] | None = key("senders")
    """Nodes that send, as far as they are in service; none listed: all. If left out: []. Range:
    node numbers, none twice."""
    turnaround: str | None = key("turnaround")
    """From the arrival of a request to its response, at the target. If left out: "0 s". Range: 0 s
    to 24 h. Only with workload.transaction = "read" or "write"."""
    outstanding: int | Literal["unlimited"] | None = key("outstanding")
    """Transactions of a node that may be under way, from being handed to its interface until the
    tail of the response is there; the next in order is handed over when it has been asked for and
    fewer are. If left out: "unlimited". Range: 1 to 65536, or "unlimited". Only with
    workload.transaction = "read" or "write"."""
    hot_node: HotNode | None = part("hot_node")


@dataclass(frozen=True, kw_only=True)
class Ports(Described):
    """The ports of the switches of a fat tree."""

    down: Sequence[int] | None = key("down")
    """Ports towards the nodes of the switches of each level, leaf switches first. Must be given or
    swept. Range: 1 or more for each level, that of the leaf switches first. Only with machine.tree
    = "ports"."""
    up: Sequence[int] | None = key("up")
    """Ports towards the top of the switches of each level but the top. Must be given or swept.
    Range: 1 or more for each level, that of the leaf switches first. Only with machine.tree =
    "ports"."""


@dataclass(frozen=True, kw_only=True)
class Nic(Described):
    """The network interface of a node (sections 2.2.1 and 4.1 of the QsNET paper)."""

    payload: str | None = key("payload")
    """Most data of one packet (section 2.2.1). If left out: "320 B". Range: 1 B to 1048576 B."""
    overhead: str | None = key("overhead")
    """What a packet has beside its data (section 4.1); one without data has nothing else. If left
    out: "58 B". Range: 1 B to 1048576 B."""
    padding: str | None = key("padding")
    """Data of a packet is padded to a multiple of this (section 2.2.1); by default no more than the
    payload. If left out: "64 B". Range: 1 B to 1048576 B."""
    request: str | None = key("request")
    """Data of the packet that asks for a read; by default no more than the payload. If left out:
    "64 B". Range: 0 B to 1048576 B."""
    packets_in_flight: int | None = key("packets_in_flight")
    """Packets of a node that may wait for their acknowledgement; each holds a virtual channel of
    the node's link. If left out: 2. Range: 1 to 65535. Only with machine.switching = "circuit"."""
    dma_period: str | None = key("dma_period")
    """From one packet of the DMA engine to its next; not in the paper, these fit its pings. If left
    out: 955.2 ns with machine.memory = "elan", 1600 ns with "main". Range: above 0 s, to 24 h."""
    dma_block: str | None = key("dma_block")
    """What each block of nic.padding bytes adds to the DMA period. If left out: "0 s". Range: 0 s
    to 24 h."""
    receive_delay: str | None = key("receive_delay")
    """What each packet that comes in delays a busy DMA engine; not in the paper, these fit its
    bidirectional pings. If left out: 188 ns with machine.memory = "elan", 2400 ns with "main".
    Range: 0 s to 24 h."""
    software_latency: str | None = key("software_latency")
    """From a message being asked for to its first packet; not in the paper, fits its latency. If
    left out: "1.88 us". Range: 0 s to 24 h."""
    read_turnaround: str | None = key("read_turnaround")
    """From the arrival of a read request to the first packet of its data. If left out: "0 s".
    Range: 0 s to 24 h."""
    dma_slice: int | None = key("dma_slice")
    """Packets that the DMA engine sends of one message before the next that waits has its turn. If
    left out: 1. Range: 1 to 65535."""


@dataclass(frozen=True, kw_only=True)
class FatTree(Described):
    """Nodes below levels of switches, with links up and down between them.

    Sections are those of the QsNET paper.

    >>> FatTree(arity=4, levels=3).levels
    3
    """

    kind: ClassVar[str] = "fat-tree"

    preset: (
        Literal["infiniband-hdr", "infiniband-ndr", "slingshot-11", "roce-100g", "qsnet"] | None
    ) = key("preset")
    """Hardware by its name: values for bandwidth, switches, packets and interface that are not
    given; isthmus check --resolved shows each with its source. If left out: each field has its own
    default."""
    tree: Literal["k-ary", "ports", "generalised"] | None = key("tree")
    """How the tree is described: arity and levels (section 2.2), the ports of its switches, or the
    numbers of an extended generalised fat tree. If left out: "k-ary"."""
    arity: int | None = key("arity")
    """k: links down, and up, of each switch; there are k^n nodes (section 2.2: 4). Must be given or
    swept. Range: 2 to 2048. Only with machine.tree = "k-ary"."""
    levels: int | None = key("levels")
    """n: levels of switches (section 2.2: 3). Must be given or swept. Range: 1 to 16. Only with
    machine.tree = "k-ary"."""
    taper: int | None = key("taper")
    """Links down of a leaf switch for each link up; it must divide the arity. If left out: 1.
    Range: 1 to 4096. Only with machine.tree = "k-ary"."""
    nodes: int | None = key("nodes")
    """Number of nodes, each with one link. Must be given or swept. Range: 2 to 65536. Only with
    machine.tree = "ports"."""
    down: Sequence[int] | None = key("down")
    """m: children of a switch of each level, leaf switches first; the nodes are their product. Must
    be given or swept. Range: 1 or more for each level, that of the leaf switches first. Only with
    machine.tree = "generalised"."""
    up: Sequence[int] | None = key("up")
    """w: parents of a child of each level: of a node, of a leaf switch and so on; fewer than the
    links down below taper the tree. Must be given or swept. Range: 1 or more for each level, that
    of the leaf switches first. Only with machine.tree = "generalised"."""
    parallel: Sequence[int] | None = key("parallel")
    """Links between a child of each level and each of its parents. If left out: 1 on each level.
    Range: 1 or more for each level, that of the leaf switches first. Only with machine.tree =
    "generalised"."""
    ascent: Literal["adaptive", "destination", "source", "random"] | None = key("ascent")
    """Which link up a packet takes: the least loaded (section 2.2.1), by ascent_load and
    ascent_tie; the one that the destination or the source gives; any. If left out: "adaptive"."""
    ascent_load: Literal["room", "idle"] | None = key("ascent_load")
    """Which of the links that a packet can have is the least loaded: that with most free virtual
    channels, then the earliest free (with cut-through: most room in the buffers behind it); or any
    that carries no packet now, then the earliest free. If left out: "room". Only with
    machine.ascent = "adaptive"."""
    ascent_tie: Literal["random", "longest-idle", "lowest"] | None = key("ascent_tie")
    """Which of several links loaded alike a packet takes: any; that which has carried no packet for
    longest; that of the lowest number. If left out: "random". Only with machine.ascent =
    "adaptive"."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of a link in one direction, headers included (section 2.2). If left out: "400
    MB/s". Range: 1 bit/s or more."""
    switch_latency: str | None = key("switch_latency")
    """From a header's start on a link to its request for a link beyond the next switch (section
    2.2). If left out: "35 ns". Range: above 0 s, to 24 h."""
    virtual_channels: int | None = key("virtual_channels")
    """Virtual channels of a link in one direction (section 2.2). If left out: 2. Range: 1 to 16."""
    switching: Literal["circuit", "cut-through"] | None = key("switching")
    """How packets hold links: from the header to the acknowledgement (section 2.2.1), or while they
    cross them into a buffer with room for all of a packet. If left out: "circuit"."""
    acknowledgement: str | None = key("acknowledgement")
    """From the last byte of a packet at its destination to the acknowledgement; not in the paper,
    from the reading of it. If left out: "50 ns". Range: 0 s to 24 h. Only with machine.switching =
    "circuit"."""
    acknowledgement_hop: str | None = key("acknowledgement_hop")
    """What the acknowledgement takes for each switch on its way back. If left out: switch_latency.
    Range: 0 s to 24 h. Only with machine.switching = "circuit"."""
    buffer: int | None = key("buffer")
    """Packets that an input of a switch can hold, all its virtual channels together; each channel
    has an equal part, whole packets. If left out: 16. Range: 1 to 65535. Only with
    machine.switching = "cut-through"."""
    output_buffer: int | None = key("output_buffer")
    """Packets that an output of a switch can hold behind the crossbar, all virtual channels
    together; 0: none, a packet crosses onto the link and holds its input for so long. If left out:
    0. Range: 0 to 65535. Only with machine.switching = "cut-through"."""
    speedup: int | None = key("speedup")
    """How many times as fast as a link the crossbar of a switch is into each output buffer. If left
    out: 1. Range: 1 to 64. Only with machine.switching = "cut-through"."""
    credit: str | None = key("credit")
    """From a place of a buffer being free to the sender's knowing it. If left out: switch_latency.
    Range: 0 s to 24 h. Only with machine.switching = "cut-through"."""
    age: Literal["saturating", "unlimited", "per-switch"] | None = key("age")
    """How the age of a packet counts, of which the oldest goes first: since age_from up to a limit,
    since age_from without limit, since it asks for its output of the switch. If left out:
    "saturating"."""
    age_from: Literal["injection", "message", "arrival", "request"] | None = key("age_from")
    """Since when the age of a packet counts: its start on the link of its node; its message being
    handed to the interface; its header's arrival at the switch; its request for an output there,
    which with cut-through is when it is the first of its buffer. If left out: "injection". Only
    with machine.age = "saturating" or "unlimited"."""
    age_tie: Literal["round-robin", "random", "lowest"] | None = key("age_tie")
    """Which of several packets equally old goes first: that at the input after the one served last,
    going around; any; that at the input of the lowest number. If left out: "round-robin"."""
    age_limit: str | None = key("age_limit")
    """Age beyond which all packets are equally old; not in the paper, from the reading of it. If
    left out: "78 us". Range: 0 s to 24 h. Only with machine.age = "saturating"."""
    memory: Literal["elan", "main"] | None = key("memory")
    """Where messages lie (section 4.1): in the memory of the network interface or in main memory
    behind its bus; sets the times of the DMA engine unless they are given. If left out: "elan"."""
    late: Literal["free", "charged"] | None = key("late")
    """Whether packets that wait long cost their last link more: an empirical term for the 64 nodes
    of section 4.3. If left out: "free"."""
    late_after: str | None = key("late_after")
    """Time since its injection after which a packet is late. If left out: "78 us". Range: 0 s to 24
    h. Only with machine.late = "charged"."""
    late_cost: str | None = key("late_cost")
    """How much longer a late packet occupies its last link. If left out: "87 ns". Range: 0 s to 24
    h. Only with machine.late = "charged"."""
    ports: Ports | None = part("ports")
    nic: Nic | None = part("nic")


@dataclass(frozen=True, kw_only=True)
class ServerDisk(Described):
    """A disk of such a device."""

    seek: str | None = key("seek")
    """Mean seek time; with half a rotation the 20 ms of Table 1. If left out: "12 ms". Range: 0 s
    to 24 h. Only with workload.servers.device.kind = "disk", "cache" or "array"."""
    rotation: str | None = key("rotation")
    """Time of one full rotation; the latency is uniform between zero and this. If left out: "16
    ms". Range: 0 s to 24 h. Only with workload.servers.device.kind = "disk", "cache" or "array"."""
    transfer: str | None = key("transfer")
    """Transfer rate of the medium. If left out: transfer takes no time of its own. Range: 1 bit/s
    or more. Only with workload.servers.device.kind = "disk", "cache" or "array"."""


@dataclass(frozen=True, kw_only=True)
class ServerDevice(Described):
    """What stands behind each I/O server of jobs."""

    kind: Literal["none", "disk", "cache", "array", "burst-buffer"] | None = key("kind")
    """What stands behind each I/O server: nothing, so that what has arrived is stored, and on a
    hypercube what machine.device says; a disk; a disk behind a cache; an array of disks; a fast
    buffer that drains into something slower. A write is complete when the device has taken it and,
    but on hypercubes, the server's answer has come back. If left out: "none"."""
    access: str | None = key("access")
    """Latency for access to cached data, of hits and of misses. If left out: "400 us". Range: 0 s
    to 24 h. Only with workload.servers.device.kind = "cache"."""
    cache_hit_rate: float | str | None = key("cache_hit_rate")
    """Share of requests, reads and writes alike, that end in the cache. Must be given or swept.
    Range: 0 to 1. Only with workload.servers.device.kind = "cache"."""
    disks: int | None = key("disks")
    """How many disks an array has. Must be given or swept. Range: 1 to 1024. Only with
    workload.servers.device.kind = "array"."""
    stripe_unit: str | None = key("stripe_unit")
    """Data on one disk before the next has its turn. If left out: "64 KiB". Range: 1 B or more.
    Only with workload.servers.device.kind = "array"."""
    parity: int | None = key("parity")
    """Units of parity that are written with the data of each row of units: 0 as in RAID 0, 1 as in
    RAID 5, 2 as in RAID 6. If left out: 0. Range: 0 to 2. Only with workload.servers.device.kind =
    "array"."""
    capacity: str | None = key("capacity")
    """What a burst buffer holds. Must be given or swept. Range: 1 B or more. Only with
    workload.servers.device.kind = "burst-buffer"."""
    absorb: str | None = key("absorb")
    """How fast it takes data in while it has room, and gives back what has not drained. Must be
    given or swept. Range: 1 bit/s or more. Only with workload.servers.device.kind =
    "burst-buffer"."""
    drain: str | None = key("drain")
    """How fast it drains, and takes data in when it is full; also how fast reads come from behind
    it. Must be given or swept. Range: 1 bit/s or more. Only with workload.servers.device.kind =
    "burst-buffer"."""
    disk: ServerDisk | None = part("disk")


@dataclass(frozen=True, kw_only=True)
class Servers(Described):
    """Which nodes are I/O servers (section 3.4 of the QsNET paper)."""

    placement: Literal["none", "clustered", "distributed", "list"] | None = key("placement")
    """Which nodes are I/O servers (section 3.4): none, those with the highest numbers, nodes at
    equal distances, these. If left out: "none"."""
    count: int | None = key("count")
    """How many servers there are (section 3.4: 8 of 64 nodes). Must be given or swept. Range: 1 to
    1048576. Only with workload.servers.placement = "clustered" or "distributed"."""
    stride: int | None = key("stride")
    """From one server to the next (section 3.4: 8). If left out: nodes / count. Range: 1 to
    1048576. Only with workload.servers.placement = "distributed"."""
    offset: int | None = key("offset")
    """The first server. If left out: 0. Range: 0 to 1048575. Only with workload.servers.placement =
    "distributed"."""
    nodes: Sequence[int] | None = key("nodes")
    """The servers. Must be given or swept. Range: node numbers, none twice. Only with
    workload.servers.placement = "list"."""
    serve: Literal["all", "one"] | None = key("serve")
    """How many requests a server works on at a time: all that have come, or one from its first to
    its last byte, while the others wait in the order in which they were handed over (on networks of
    packets only). A client learns without delay that it is its turn. If left out: "all"."""
    device: ServerDevice | None = part("device")


@dataclass(frozen=True, kw_only=True)
class Job(Described):
    """A set of nodes with traffic of its own (sections 3.4, 3.5 and 4.2 to 4.4 of the QsNET
    paper).

    >>> Job(traffic="io", load=0.3).traffic
    'io'
    """

    traffic: (
        Literal[
            "uniform",
            "shift",
            "all-to-all",
            "all-reduce",
            "neighbours",
            "listed",
            "checkpoint",
            "io",
            "hot-spot",
            "ping",
        ]
        | None
    ) = key("traffic")
    """What the nodes of the job do: send to any other of its nodes (section 3.5), or to that at an
    offset; exchange with each other one; combine a vector; exchange with their neighbours in a
    grid; send what is listed for them, in rounds; write to the I/O servers at every period; read
    from and write to them (section 3.4); read from and write to one node (section 4.3); send to a
    partner (sections 4.1 and 4.2). Must be given or swept."""
    nodes: str | Sequence[int | str] | None = key("nodes")
    """Where the job runs: on all nodes that are available, which with a dedicated mapping are those
    that are no servers; on one of several equal runs of them; on these, in this order. If left out:
    "all". Range: "all", "part I of N", or node numbers and runs of them, none twice."""
    message: str | None = key("message")
    """Length of a message, or its mean: section 3.5 has 256 KB between compute nodes and 1 MB to
    servers. For all-reduce the length of the vector; for a checkpoint that of one of its messages;
    only a ping may be empty. If left out: 262144 B; 1 MB for checkpoint, io, hot-spot and ping.
    Range: 0 B to 1099511627776 B. Only with workload.jobs.NAME.traffic = "uniform", "shift",
    "all-to-all", "all-reduce", "neighbours", "checkpoint", "io", "hot-spot" or "ping"."""
    sizes: Literal["fixed", "exponential", "uniform"] | None = key("sizes")
    """How lengths spread around their mean (section 3.4: exponential): not at all, exponential,
    uniform up to twice the mean. If left out: "fixed" if workload.jobs.NAME.traffic = "uniform",
    "shift" or "hot-spot"; "exponential" if workload.jobs.NAME.traffic = "io". Only with
    workload.jobs.NAME.traffic = "uniform", "shift", "io" or "hot-spot"."""
    arrivals: Literal["closed", "open"] | None = key("arrivals")
    """When a node asks for its next message: when one is complete, or at times of its own, into a
    queue without bound. If left out: "open" if workload.jobs.NAME.load is given; "closed" if
    workload.jobs.NAME.traffic = "uniform", "shift", "io" or "hot-spot". Only with
    workload.jobs.NAME.traffic = "uniform", "shift", "io" or "hot-spot"."""
    outstanding: int | Literal["unlimited"] | None = key("outstanding")
    """Messages of a node of the job that may be under way, from being handed to its interface until
    the last byte is there (with circuits and on SCI rings: is acknowledged; with a device behind
    the server: until its answer is there); the next in order is handed over when it has been asked
    for and fewer are. Of an all-to-all exchanges, within a round. If left out: 1; for neighbours
    and listed, and with arrivals = "open" but on networks of circuits, "unlimited". Range: 1 to
    65536, or "unlimited". Only with workload.jobs.NAME.traffic = "uniform", "shift", "all-to-all",
    "neighbours", "listed", "checkpoint", "io", "hot-spot" or "ping"."""
    load: str | float | None = key("load")
    """Data that each node of the job asks to move: a bandwidth, or a share of what a node can send.
    If left out: workload.load. Range: 1 bit/s or more; above 0, to 1 of what a node can send. Only
    with workload.jobs.NAME.arrivals = "open"."""
    gaps: Literal["fixed", "exponential", "uniform"] | None = key("gaps")
    """How the gaps between arrivals spread around their mean (section 4.4: exponential, uniform).
    If left out: "exponential". Only with workload.jobs.NAME.arrivals = "open"."""
    think: str | None = key("think")
    """From the completion of a message to the next one, or its mean. If left out: "0 s". Range: 0 s
    to 24 h. Only with workload.jobs.NAME.arrivals = "closed"."""
    think_times: Literal["fixed", "exponential", "uniform"] | None = key("think_times")
    """How these times spread around their mean: not at all, exponential, uniform up to twice the
    mean. If left out: "fixed". Only with workload.jobs.NAME.arrivals = "closed"."""
    pause: str | None = key("pause")
    """From the end of a round, or of a ping, to the next one. If left out: "0 s". Range: 0 s to 24
    h. Only with workload.jobs.NAME.traffic = "all-to-all", "all-reduce", "neighbours", "listed" or
    "ping"."""
    read_ratio: float | str | None = key("read_ratio")
    """Share of messages that are reads (section 4.4: 0.5); the rest are writes. If left out: 0.
    Range: 0 to 1. Only with workload.jobs.NAME.traffic = "io" or "hot-spot"."""
    destinations: Literal["random", "interleaved", "blocked"] | None = key("destinations")
    """To which server a message goes (section 3.4): drawn for each message, or one server for each
    node, assigned cyclically or in blocks of nodes (the paper's deterministic I/O). If left out:
    "random". Only with workload.jobs.NAME.traffic = "io" or "checkpoint"."""
    hot_node: int | None = key("hot_node")
    """The node that all others of the job read from and write to (section 4.3: 0). Must be given or
    swept. Range: 0 to 1048575. Only with workload.jobs.NAME.traffic = "hot-spot"."""
    algorithm: Literal["ring", "recursive-doubling"] | None = key("algorithm")
    """How nodes combine a vector: parts of it round a ring, 2 (n - 1) steps; all of it between
    nodes whose ranks differ in one bit, log2 n steps and two more if n is no power of two. If left
    out: "ring". Only with workload.jobs.NAME.traffic = "all-reduce"."""
    grid: int | str | None = key("grid")
    """Nodes in each dimension of the grid, ranks along the first dimension first. If left out: two
    dimensions, as square as the number of nodes allows. Range: nodes in each dimension, 1 or more.
    Only with workload.jobs.NAME.traffic = "neighbours"."""
    wrap: bool | None = key("wrap")
    """Whether the last node of each line of the grid is a neighbour of the first. If left out:
    true. Only with workload.jobs.NAME.traffic = "neighbours"."""
    period: str | None = key("period")
    """From one checkpoint to the next; all nodes begin at the same time. Must be given or swept.
    Range: above 0 s, to 24 h. Only with workload.jobs.NAME.traffic = "checkpoint"."""
    volume: str | None = key("volume")
    """What each node writes at a checkpoint. Must be given or swept. Range: 1 B to 1125899906842624
    B. Only with workload.jobs.NAME.traffic = "checkpoint"."""
    both_ways: bool | None = key("both_ways")
    """Whether the second node of each pair sends to the first one as well (section 4.2); pairs are
    the first two nodes, the next two and so on. If left out: false. Only with
    workload.jobs.NAME.traffic = "ping"."""
    offset: int | None = key("offset")
    """From the rank of a node to that of the one it sends to, modulo the nodes of the job. In a
    dragonfly the nodes of a group are the worst for minimal routes. Must be given or swept. Range:
    1 to 1048576. Only with workload.jobs.NAME.traffic = "shift"."""
    messages: Sequence[Sequence[int | str]] | None = key("messages")
    """The messages of a round, in the order in which each node sends its own: the rank of the
    sender in the job, that of the receiver or an I/O server ("server 2", the first is "server 0"),
    the length, and how many there are one after another (1 if left out). All go to nodes of the
    job, or all to servers. A round begins at all nodes at once, when the last has sent and received
    all of the one before. Must be given or swept. Range: [from, to, length] or [from, to, length,
    times] each; at most 2^24 messages of 1 B to 2^40 B. Only with workload.jobs.NAME.traffic =
    "listed"."""
    overhead: str | None = key("overhead")
    """Time of its processor that each message takes, one after the other, before it is handed over.
    If left out: "0 s". Range: 0 s to 24 h. Only with workload.jobs.NAME.traffic = "listed"."""


@dataclass(frozen=True, kw_only=True)
class Jobs(Described):
    """The jobs that run on a machine and the I/O servers that they share.

    >>> work = Jobs(
    ...     servers=Servers(placement="clustered", count=8),
    ...     jobs={"compute": Job(traffic="uniform"), "io": Job(traffic="io", load=0.3)},
    ...     mapping="shared",
    ... )
    >>> list(work.jobs)
    ['compute', 'io']
    """

    search: ClassVar[Search] = Search(over="workload.load", start="1 MB/s", stop="340 MB/s")
    """The load that a search varies by default, and its ends."""

    load: str | float | None = key("load")
    """Data that each node of an open loop asks to move, for jobs that give no load of their own: a
    bandwidth, or a share of what a node can send (section 3.5: 0.1, 0.3 and 0.5). If left out: each
    open loop gives its own. Range: 1 bit/s or more; above 0, to 1 of what a node can send."""
    mapping: Literal["dedicated", "shared"] | None = key("mapping")
    """Whether each node has one purpose, or jobs may run on I/O servers and on the same nodes
    (section 3.4). If left out: "dedicated"."""
    active: Sequence[str] | None = key("active")
    """Jobs that run; the others keep their nodes idle. As an axis, "alone" stands for each job
    alone and "pairs" for each job alone and each pair; both end with all together. If left out: all
    jobs. Range: names of jobs, none twice; as an axis also "alone" or "pairs"."""
    servers: Servers | None = part("servers")
    jobs: Mapping[str, Job] | None = parts("jobs")
    """By names of your own; at least one must be given."""


@dataclass(frozen=True, kw_only=True)
class Graph(Described):
    """Switches joined in any form, and nodes at them.

    >>> Graph(graph="torus", size="4x4", nodes_per_switch=2).graph
    'torus'
    """

    kind: ClassVar[str] = "graph"

    preset: (
        Literal["infiniband-hdr", "infiniband-ndr", "slingshot-11", "roce-100g", "qsnet"] | None
    ) = key("preset")
    """Hardware by its name: values for bandwidth, switches, packets and interface that are not
    given; isthmus check --resolved shows each with its source. If left out: each field has its own
    default."""
    graph: Literal["ring", "torus", "mesh", "dragonfly", "edges", "cables"] | None = key("graph")
    """How switches are joined: each with the next; in a grid that is closed in every dimension, or
    has borders; in groups, each pair of which has links of its own (Kim, Dally, Scott and Abts,
    ISCA 2008); by the cables or the edges listed. Must be given or swept."""
    switches: int | None = key("switches")
    """Switches of the ring. Must be given or swept. Range: 2 to 4096. Only with machine.graph =
    "ring"."""
    nodes_per_switch: int | None = key("nodes_per_switch")
    """Nodes at each switch. If left out: 1. Range: 1 to 4096. Only with machine.graph = "ring",
    "torus", "mesh", "edges" or "cables"."""
    routing: Literal["minimal", "up-down", "table"] | None = key("routing")
    """Which ways packets take: one of the shortest, in layers of virtual channels where they could
    wait for one another in a circle; the shortest of those that lead up a tree, then down; those of
    a table. If left out: "minimal". Only with machine.graph = "ring", "torus", "mesh", "edges" or
    "cables"."""
    routes: str | None = key("routes")
    """The routes, one a line: a switch, a destination, the next switch, and perhaps the layer of
    virtual channels on the link to that, from 0. A destination is a switch, a run of numbers
    ("3-7"), or * for all that the switch has no other route to. Must be given or swept. Range: at
    most 16777216 characters. Only with machine.routing = "table"."""
    size: int | str | None = key("size")
    """Switches in each dimension, x first; of a torus 2 or more. Must be given or swept. Range:
    nodes in each dimension, 1 or more, 4096 in all. Only with machine.graph = "torus" or "mesh"."""
    nodes: int | None = key("nodes")
    """p: nodes at each router. Must be given or swept. Range: 1 to 4096. Only with machine.graph =
    "dragonfly"."""
    routers: int | None = key("routers")
    """a: routers of each group. Must be given or swept. Range: 1 to 4096. Only with machine.graph =
    "dragonfly"."""
    groups: int | None = key("groups")
    """g: groups. Must be given or swept. Range: 1 to 4096. Only with machine.graph =
    "dragonfly"."""
    global_links: int | None = key("global_links")
    """Links between each two groups. If left out: 1. Range: 1 to 4096. Only with machine.graph =
    "dragonfly"."""
    global_delay: str | None = key("global_delay")
    """What a signal takes along a link between groups. If left out: "0 s". Range: 0 s to 24 h. Only
    with machine.graph = "dragonfly"."""
    group_routing: Literal["minimal", "valiant", "ugal"] | None = key("group_routing")
    """Which ways packets take through a dragonfly: over a link between the two groups; by a third
    group, drawn by lot; by that if its queues promise to be faster (UGAL-L). If left out:
    "minimal". Only with machine.graph = "dragonfly"."""
    edges: str | None = key("edges")
    """The network as a list of edges, two names a line and perhaps how many links lie beside one
    another; or as GraphML, with the attribute width of edges, and role ("node" or "switch") of
    vertices. Must be given or swept. Range: at most 16777216 characters. Only with machine.graph =
    "edges"."""
    leaves: Literal["switches", "nodes"] | None = key("leaves")
    """What vertices with one neighbour are, unless their role says it. Where there are nodes in the
    list, there are no others. If left out: "switches". Only with machine.graph = "edges"."""
    ignored: str | None = key("ignored")
    """Attributes of the list that have no effect here, names separated by commas. Without it an
    attribute that means nothing here is refused, unless it only says how a part is called or drawn.
    If left out: "". Range: at most 10000 characters. Only with machine.graph = "edges"."""
    cables: Sequence[tuple[int, int]] | None = key("cables")
    """The switches that each cable joins. Must be given or swept. Range: pairs of neighbouring
    nodes, none twice. Only with machine.graph = "cables"."""
    delay: str | None = key("delay")
    """What a signal takes along a link between switches; of a dragonfly, within a group. If left
    out: "0 s". Range: 0 s to 24 h."""
    bandwidth: str | None = key("bandwidth")
    """Bandwidth of a link in one direction, headers included (section 2.2). If left out: "400
    MB/s". Range: 1 bit/s or more."""
    switch_latency: str | None = key("switch_latency")
    """From a header's start on a link to its request for a link beyond the next switch (section
    2.2). If left out: "35 ns". Range: above 0 s, to 24 h."""
    virtual_channels: int | None = key("virtual_channels")
    """Virtual channels of a link in one direction (section 2.2). If left out: 2. Range: 1 to 16."""
    switching: Literal["circuit", "cut-through"] | None = key("switching")
    """How packets hold links: from the header to the acknowledgement (section 2.2.1), or while they
    cross them into a buffer with room for all of a packet. If left out: "circuit"."""
    acknowledgement: str | None = key("acknowledgement")
    """From the last byte of a packet at its destination to the acknowledgement; not in the paper,
    from the reading of it. If left out: "50 ns". Range: 0 s to 24 h. Only with machine.switching =
    "circuit"."""
    acknowledgement_hop: str | None = key("acknowledgement_hop")
    """What the acknowledgement takes for each switch on its way back. If left out: switch_latency.
    Range: 0 s to 24 h. Only with machine.switching = "circuit"."""
    buffer: int | None = key("buffer")
    """Packets that an input of a switch can hold, all its virtual channels together; each channel
    has an equal part, whole packets. If left out: 16. Range: 1 to 65535. Only with
    machine.switching = "cut-through"."""
    output_buffer: int | None = key("output_buffer")
    """Packets that an output of a switch can hold behind the crossbar, all virtual channels
    together; 0: none, a packet crosses onto the link and holds its input for so long. If left out:
    0. Range: 0 to 65535. Only with machine.switching = "cut-through"."""
    speedup: int | None = key("speedup")
    """How many times as fast as a link the crossbar of a switch is into each output buffer. If left
    out: 1. Range: 1 to 64. Only with machine.switching = "cut-through"."""
    credit: str | None = key("credit")
    """From a place of a buffer being free to the sender's knowing it. If left out: switch_latency.
    Range: 0 s to 24 h. Only with machine.switching = "cut-through"."""
    age: Literal["saturating", "unlimited", "per-switch"] | None = key("age")
    """How the age of a packet counts, of which the oldest goes first: since age_from up to a limit,
    since age_from without limit, since it asks for its output of the switch. If left out:
    "unlimited"."""
    age_from: Literal["injection", "message", "arrival", "request"] | None = key("age_from")
    """Since when the age of a packet counts: its start on the link of its node; its message being
    handed to the interface; its header's arrival at the switch; its request for an output there,
    which with cut-through is when it is the first of its buffer. If left out: "injection". Only
    with machine.age = "saturating" or "unlimited"."""
    age_tie: Literal["round-robin", "random", "lowest"] | None = key("age_tie")
    """Which of several packets equally old goes first: that at the input after the one served last,
    going around; any; that at the input of the lowest number. If left out: "round-robin"."""
    age_limit: str | None = key("age_limit")
    """Age beyond which all packets are equally old. Must be given or swept. Range: 0 s to 24 h.
    Only with machine.age = "saturating"."""
    memory: Literal["elan", "main"] | None = key("memory")
    """Where messages lie (section 4.1): in the memory of the network interface or in main memory
    behind its bus; sets the times of the DMA engine unless they are given. If left out: "elan"."""
    late: Literal["free", "charged"] | None = key("late")
    """Whether packets that wait long cost their last link more: an empirical term for the 64 nodes
    of section 4.3. If left out: "free"."""
    late_after: str | None = key("late_after")
    """Time since its injection after which a packet is late. If left out: "78 us". Range: 0 s to 24
    h. Only with machine.late = "charged"."""
    late_cost: str | None = key("late_cost")
    """How much longer a late packet occupies its last link. If left out: "87 ns". Range: 0 s to 24
    h. Only with machine.late = "charged"."""
    nic: Nic | None = part("nic")


@dataclass(frozen=True, kw_only=True)
class Cell(Described):
    """One cell of the torus."""

    cycle: str | None = key("cycle")
    """A cycle of a cell's processor, the unit of costs per word: 20 MHz, which the paper does not
    give. If left out: "50 ns". Range: above 0 s, to 24 h."""
    word: str | None = key("word")
    """A word (Figure 11: 4 B). If left out: "4 B". Range: 1 B to 64 B."""
    copy: str | None = key("copy")
    """What the processor of a cell moves of messages if it moves every byte itself, as in slow
    reshuffling (section 6.3); the messages that it sends, passes on and takes share it. The paper
    does not give it. If left out: "20 MB/s". Range: 1 bit/s or more."""
    message: str | None = key("message")
    """Time that a cell takes to begin a message (Figure 11). The paper does not give it. If left
    out: "2.5 us". Range: 0 s to 24 h."""


@dataclass(frozen=True, kw_only=True)
class TransmitPipe(Described):
    """The half of the interface that sends (section 4.2 of the paper on iWarp)."""

    processors: int | None = key("processors")
    """Processors of the interface, each with a memory bus (section 4.2: 2). If left out: 2. Range:
    1 to 16."""
    bus: str | None = key("bus")
    """What the memory bus of one processor carries (section 4.2). If left out: "160 MB/s". Range: 1
    bit/s or more."""
    crossings: int | None = key("crossings")
    """How often data cross the memory bus on their way (section 4.2: once). If left out: 1. Range:
    1 to 16."""
    staging: str | None = key("staging")
    """Staging memory for what comes over the links (section 4.2); two TUs must fit. If left out:
    "128 KiB". Range: 1 B or more."""
    memory: str | None = key("memory")
    """Network memory for packets (section 4.2). The paper does not give it. If left out: "2 MiB".
    Range: 1 B or more."""
    engines: int | None = key("engines")
    """DMA engines for links (section 5.3.2: 6). If left out: 6. Range: 1 to 4096."""
    message: str | None = key("message")
    """Time of the interface's processor to set up a message from a cell over its link. The paper
    does not give it. If left out: "2.5 us". Range: 0 s to 24 h."""
    place: str | None = key("place")
    """Time of the interface's processor for a message of a small block, which it takes to its place
    itself (section 6.3: `reshuffle = "none"`). The paper does not give it. If left out:
    machine.interface.message. Range: 0 s to 24 h."""
    store: str | None = key("store")
    """What moves from staging to network memory. The paper does not give it. If left out: "160
    MB/s". Range: 1 bit/s or more."""
    packet: str | None = key("packet")
    """Time of the interface's processor to hand over a packet, fitted to the idle time with raw
    HIPPI (section 4.3). If left out: "78 us". Range: 0 s to 24 h."""
    udp: str | None = key("udp")
    """Time of the interface's processor for the UDP and IP headers of a packet, fitted to the idle
    time with them (section 4.3). If left out: "95 us". Range: 0 s to 24 h."""
    packet_rate: str | None = key("packet_rate")
    """Packets that the microcode of the interface sends at most (section 4.3). If left out: "3000
    /s". Range: above 0, a mean gap of 1 ps to 24 h."""
    network: str | None = key("network")
    """What the external network carries (section 2.1: HIPPI). If left out: "100 MB/s". Range: 1
    bit/s or more."""


@dataclass(frozen=True, kw_only=True)
class NetworkInterface(Described):
    """Cells of a torus and the network interface through which they send.

    Sections and figures are those of the paper on iWarp.

    >>> NetworkInterface(rows=4, columns=4, links=2).links
    2
    """

    kind: ClassVar[str] = "interface"

    rows: int | None = key("rows")
    """Rows of cells of the torus (section 6.3: 8); row 0 is the edge at which the interface is. If
    left out: 8. Range: 1 to 4096."""
    columns: int | None = key("columns")
    """Columns of cells of the torus (section 6.3: 8). If left out: 8. Range: 1 to 4096."""
    bandwidth: str | None = key("bandwidth")
    """What a link between neighbouring cells carries one way, and a link to the interface (section
    3); what crosses it shares it evenly (section 6.3). If left out: "40 MB/s". Range: 1 bit/s or
    more."""
    links: int | None = key("links")
    """Links from the machine to the interface (section 3: 4); each has as many columns as the
    others, and is at the first of them. If left out: 4. Range: 1 to 4096."""
    routing: Literal["column-first", "row-first"] | None = key("routing")
    """Which dimension data for the interface take first. If left out: "column-first"."""
    cell: Cell | None = part("cell")
    interface: TransmitPipe | None = part("interface")


@dataclass(frozen=True, kw_only=True)
class StreamWorkload(Described):
    """A stream of application data units (section 5.2 of the paper on iWarp).

    >>> StreamWorkload(reshuffle="fast", block="512 B", stripes=4).block
    '512 B'
    """

    search: ClassVar[Search] = Search(over="workload.load", start="5 MB/s", stop="200 MB/s")
    """The load that a search varies by default, and its ends."""

    origin: Literal["cells", "interface"] | None = key("origin")
    """Where data come from: the cells, or the interface's staging memory, in which they lie
    already. If left out: "cells"."""
    sink: Literal["cells", "interface", "network"] | None = key("sink")
    """Where data go to: other cells, so that only the reshuffle runs; the memory of the interface;
    the external network. If left out: "network"."""
    reshuffle: Literal["streaming", "none", "slow", "fast"] | None = key("reshuffle")
    """How blocks become larger (section 6.3): not at all, and their order is lost; not at all, and
    the interface takes each to its place; by the processors of the cells; by their communication
    agents. If left out: "fast"."""
    block: str | None = key("block")
    """Blocks of the application's distribution, which go round the cells of a row (section 6.2.1);
    a divisor of what a cell has of a TU. If left out: "512 B". Range: 1 B or more."""
    adu: str | None = key("adu")
    """An ADU, in whole TUs; rows have them one after another (section 5.2). If left out: a TU of
    each row. Range: 1 B or more."""
    tu: str | None = key("tu")
    """A transfer unit: what the interface takes at a time (section 5.2), a part of it from each
    cell of a row. If left out: "64 KiB". Range: 1 B or more."""
    packet: str | None = key("packet")
    """Data of a packet of the external network. If left out: a TU. Range: 1 B or more."""
    stripes: int | None = key("stripes")
    """Links to the interface that a TU is striped over. If left out: all of machine.links. Range: 1
    to 4096."""
    adus: int | None = key("adus")
    """How many ADUs there are; a run ends with the last. If left out: 8. Range: 1 to 1000000."""
    protocol: Literal["raw", "udp"] | None = key("protocol")
    """What makes packets: the network itself, or UDP over IP (section 4.3). If left out: "raw"."""
    reservation: str | None = key("reservation")
    """What is reserved, on all links on its way, for what one cell sends to the interface (section
    6.3). If left out: nothing: links are shared evenly. Range: 1 bit/s or more."""
    load: str | None = key("load")
    """Data that the application makes, an ADU at equal gaps. If left out: an ADU is there when the
    one before has gone. Range: 1 bit/s or more."""


@dataclass(frozen=True, kw_only=True)
class RingServers(Described):
    """Which nodes of a fabric are I/O servers, and what stands behind them."""

    placement: Literal["none", "clustered", "distributed", "list"] | None = key("placement")
    """Which nodes are I/O servers (section 3.4): none, those with the highest numbers, nodes at
    equal distances, these. If left out: "none"."""
    count: int | None = key("count")
    """How many servers there are (section 3.4: 8 of 64 nodes). Must be given or swept. Range: 1 to
    1048576. Only with workload.servers.placement = "clustered" or "distributed"."""
    stride: int | None = key("stride")
    """From one server to the next (section 3.4: 8). If left out: nodes / count. Range: 1 to
    1048576. Only with workload.servers.placement = "distributed"."""
    offset: int | None = key("offset")
    """The first server. If left out: 0. Range: 0 to 1048575. Only with workload.servers.placement =
    "distributed"."""
    nodes: Sequence[int] | None = key("nodes")
    """The servers. Must be given or swept. Range: node numbers, none twice. Only with
    workload.servers.placement = "list"."""
    serve: Literal["all", "one"] | None = key("serve")
    """How many requests a server works on at a time: all that have come, or one from its first to
    its last byte, while the others wait in the order in which they were handed over (on networks of
    packets only). A client learns without delay that it is its turn. If left out: "all"."""
    device: ServerDevice | None = part("device")


@dataclass(frozen=True, kw_only=True)
class RingJobs(Described):
    """The jobs that run on a fabric of SCI rings, their messages cut into transactions.

    >>> RingJobs(jobs={"pairs": Job(traffic="ping", message="1 KiB")}, payload="64 B").payload
    '64 B'
    """

    search: ClassVar[Search] = Search(over="workload.load", start="1 MB/s", stop="1 GB/s")
    """The load that a search varies by default, and its ends."""

    load: str | float | None = key("load")
    """Data that each node of an open loop asks to move, for jobs that give no load of their own: a
    bandwidth, or a share of what a node can send (section 3.5: 0.1, 0.3 and 0.5). If left out: each
    open loop gives its own. Range: 1 bit/s or more; above 0, to 1 of what a node can send."""
    mapping: Literal["dedicated", "shared"] | None = key("mapping")
    """Whether each node has one purpose, or jobs may run on I/O servers and on the same nodes
    (section 3.4). If left out: "dedicated"."""
    active: Sequence[str] | None = key("active")
    """Jobs that run; the others keep their nodes idle. As an axis, "alone" stands for each job
    alone and "pairs" for each job alone and each pair; both end with all together. If left out: all
    jobs. Range: names of jobs, none twice; as an axis also "alone" or "pairs"."""
    payload: str | None = key("payload")
    """Most data of one transaction in whole symbols (Table 1: 64 B; IEEE 1596: 16, 64 or 256 B); a
    message is as many writes, or reads, as it fills, of which the last one has what is left in
    blocks of 16 B. If left out: "64 B". Range: 16 B to 256 B."""
    turnaround: str | None = key("turnaround")
    """From the arrival of a request to its response, at the target. If left out: "0 s". Range: 0 s
    to 24 h."""
    transactions: int | None = key("transactions")
    """Transactions of one message that may be under way, from being handed to the interface until
    the tail of the response is there (IEEE 1596 distinguishes 64 of a node). If left out: 8. Range:
    1 to 64."""
    servers: RingServers | None = part("servers")
    jobs: Mapping[str, Job] | None = parts("jobs")
    """By names of your own; at least one must be given."""


@dataclass(frozen=True, kw_only=True)
class CubeServers(Described):
    """What stands behind the I/O nodes in place of their caches and disks."""

    device: ServerDevice | None = part("device")


@dataclass(frozen=True, kw_only=True)
class CubeJobs(Described):
    """The jobs that run on the PEs of a hypercube, its I/O nodes their servers.

    >>> CubeJobs(jobs={"save": Job(traffic="io", message="1 MB")}, worms=4).worms
    4
    """

    search: ClassVar[Search] = Search(over="workload.load", start="10 kB/s", stop="20 MB/s")
    """The load that a search varies by default, and its ends."""

    load: str | float | None = key("load")
    """Data that each node of an open loop asks to move, for jobs that give no load of their own: a
    bandwidth, or a share of what a node can send (section 3.5: 0.1, 0.3 and 0.5). If left out: each
    open loop gives its own. Range: 1 bit/s or more; above 0, to 1 of what a node can send."""
    mapping: Literal["dedicated", "shared"] | None = key("mapping")
    """Whether each node has one purpose, or jobs may run on I/O servers and on the same nodes
    (section 3.4). If left out: "dedicated"."""
    active: Sequence[str] | None = key("active")
    """Jobs that run; the others keep their nodes idle. As an axis, "alone" stands for each job
    alone and "pairs" for each job alone and each pair; both end with all together. If left out: all
    jobs. Range: names of jobs, none twice; as an axis also "alone" or "pairs"."""
    transfer_unit: str | None = key("transfer_unit")
    """Most data of one worm (Table 1: files of more than 128 KiB are broken up into several); a
    message is as many worms as it fills, each with a start-up of its own. If left out: "128 KiB".
    Range: 1 B to 1073741824 B."""
    worms: int | None = key("worms")
    """Transfer units of one message that may be under way, from the start-up of the first worm of
    each until its data are where they go, or stored. If left out: 8. Range: 1 to 1024."""
    request: str | None = key("request")
    """Length of a request, which goes before what is read and with what is written. If left out:
    "32 B". Range: 1 B or more."""
    servers: CubeServers | None = part("servers")
    jobs: Mapping[str, Job] | None = parts("jobs")
    """By names of your own; at least one must be given."""


Machine = Hypercube | Fabric | FatTree | Graph | NetworkInterface
"""Any kind of machine."""
AnyWorkload = Workload | PacketWorkload | Jobs | StreamWorkload | RingJobs | CubeJobs
"""Work of any kind of machine."""

"""Work as objects. Attributes left out take the defaults of the scenario format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from isthmus.scenario_fields import Described, key, part, parts


@dataclass(frozen=True, kw_only=True)
class HotSpot(Described):
    """A favoured target."""

    target: int | None = key("target")
    """Number of the PE or I/O node."""
    probability: float | str | None = key("probability")
    """Share of the demands of that kind that go to it."""


@dataclass(frozen=True, kw_only=True)
class Files(Described):
    """How large files are."""

    min: int | None = key("min")
    """Smallest file, in blocks."""
    max: int | None = key("max")
    """Largest file, in blocks; sizes are uniform between the two."""
    split: int | None = key("split")
    """Files with more blocks than this are broken up (Table 1: 32)."""


@dataclass(frozen=True, kw_only=True)
class Collectives(Described):
    """Shares of the I/O demands that are collective (section 4.3)."""

    broadcast: float | str | None = key("broadcast")
    """Share that fetches one block for all PEs."""
    scatter: float | str | None = key("scatter")
    """Share that spreads a file's blocks over a group of PEs."""
    gather: float | str | None = key("gather")
    """Share that collects a block from each PE of a group."""
    group: int | None = key("group")
    """PEs in one scatter or gather."""


@dataclass(frozen=True, kw_only=True)
class Workload(Described):
    """The traffic of every PE (section 4.3 of the hypercube paper).

    One of `interarrival` and `rate` is needed in an open loop, unless it is swept or searched.

    >>> Workload(interarrival="0.156 ms", locality=0.2).locality
    0.2
    """

    search: ClassVar[tuple[str, str, str]] = ("workload.rate", "1 /ms", "50 /ms")
    """The load that a search varies, and its ends, unless told otherwise."""

    interarrival: str | None = key("interarrival")
    """t_a: mean time between two demands of one PE, such as ``"0.156 ms"``."""
    rate: str | None = key("rate")
    """The same as demands of one PE per time, such as ``"6.4 /ms"``."""
    arrival: str | None = key("arrival")
    """``"exponential"``, ``"deterministic"``, ``"bursty"`` or ``"closed"`` (a PE waits for its
    data)."""
    burst_messages: float | None = key("burst_messages")
    """Mean number of demands in a burst (bursty)."""
    burst_gap: str | None = key("burst_gap")
    """Time between two demands of one burst (bursty)."""
    think: str | None = key("think")
    """Mean time from a completion to the next demand (closed)."""
    outstanding: int | str | None = key("outstanding")
    """Demands that one PE keeps under way (closed), or may have under way: a number or
    ``"unlimited"``."""
    io_probability: float | str | None = key("io_probability")
    """P_io: share of demands that are I/O requests, 0 to 1 or ``"5%"``."""
    read_ratio: float | str | None = key("read_ratio")
    """P_r: share of I/O requests that are reads."""
    locality: float | str | None = key("locality")
    """P_l: probability that a block is at the local I/O node (Fig. 3)."""
    message: str | None = key("message")
    """Length of a PE-PE message, such as ``"32 B"``."""
    request: str | None = key("request")
    """Length of a request and of a request-forward message."""
    block: str | None = key("block")
    """Length of an I/O block, such as ``"4096 B"``."""
    layout: str | None = key("layout")
    """``"contiguous"``: a file at one I/O node; ``"declustered"``: each block placed on its own."""
    file_blocks: Files | int | None = part("file_blocks")
    """Blocks in a file; a number is short for files all of that size."""
    hot_pe: HotSpot | None = part("hot_pe")
    """A PE that takes part of the PE-PE messages."""
    hot_io_node: HotSpot | None = part("hot_io_node")
    """An I/O node that takes part of the reads."""
    collectives: Collectives | None = part("collectives")


@dataclass(frozen=True, kw_only=True)
class HotNode(Described):
    """A favoured node of a fabric."""

    node: int | None = key("node")
    """Its number."""
    probability: float | str | None = key("probability")
    """Share of the packets of other nodes that go to it."""


@dataclass(frozen=True, kw_only=True)
class PacketWorkload(Described):
    """Packets between the nodes of a fabric (Table 1 of the SCI paper).

    `load` is needed unless it is swept or searched.

    >>> PacketWorkload(load="8 GB/s").load
    '8 GB/s'
    """

    search: ClassVar[tuple[str, str, str]] = ("workload.load", "0.5 GB/s", "50 GB/s")
    """The load that a search varies, and its ends, unless told otherwise."""

    load: str | None = key("load")
    """Payload that all nodes together offer, such as ``"8 GB/s"``."""
    spacing: str | None = key("spacing")
    """Gaps between the packets of a node: ``"exponential"`` or ``"deterministic"``."""
    phases: float | None = key("phases")
    """With equal gaps, the part of a gap over which the phases of the nodes are spread, 0 to 1."""
    transaction: str | None = key("transaction")
    """``"move"`` (no response), ``"read"`` (the response carries the data) or ``"write"`` (the
    request does)."""
    payload: str | None = key("payload")
    """Data of one transaction, ``"16 B"`` to ``"256 B"``."""
    senders: Sequence[int] | None = key("senders")
    """Nodes that send; all if left out."""
    hot_node: HotNode | None = part("hot_node")
    """A node that takes part of the packets of all others."""
    turnaround: str | None = key("turnaround")
    """From the arrival of a request to its response, such as ``"100 ns"`` (read, write)."""
    outstanding: int | str | None = key("outstanding")
    """Transactions of a node that may be under way (read, write): a number or ``"unlimited"``."""


@dataclass(frozen=True, kw_only=True)
class Servers(Described):
    """Which nodes of a fat tree are I/O servers (section 3.4 of the QsNET paper)."""

    placement: str | None = key("placement")
    """``"none"``, ``"clustered"`` (the highest numbers), ``"distributed"`` (equal distances) or
    ``"list"``."""
    count: int | None = key("count")
    """How many there are (clustered, distributed)."""
    stride: int | None = key("stride")
    """From one server to the next (distributed); nodes / count if left out."""
    offset: int | None = key("offset")
    """The first server (distributed)."""
    nodes: Sequence[int | str] | None = key("nodes")
    """The servers (list): numbers and runs such as ``"56-63"``."""


@dataclass(frozen=True, kw_only=True)
class Job(Described):
    """A set of nodes with traffic of its own (sections 3.4, 3.5 and 4.2 to 4.4 of the QsNET paper).

    >>> Job(traffic="io", load=0.3).traffic
    'io'
    """

    traffic: str | None = key("traffic")
    """``"uniform"``, ``"shift"``, ``"all-to-all"``, ``"all-reduce"``, ``"neighbours"``,
    ``"checkpoint"``, ``"io"``, ``"hot-spot"`` or ``"ping"``. Must be given."""
    nodes: str | Sequence[int | str] | None = key("nodes")
    """``"all"``, ``"part 1 of 2"``, or node numbers and runs of them such as ``"0-31"``."""
    message: str | None = key("message")
    """Length of a message or its mean, such as ``"1 MB"``; of all-reduce that of the vector."""
    sizes: str | None = key("sizes")
    """How lengths spread: ``"fixed"``, ``"exponential"``, ``"uniform"`` (uniform, shift, io,
    hot-spot)."""
    arrivals: str | None = key("arrivals")
    """``"closed"``: the next message when one is complete; ``"open"``: at times of its own."""
    outstanding: int | str | None = key("outstanding")
    """Messages of a node that may be under way, from being handed to its interface until they are
    complete: a number or ``"unlimited"`` (all but all-reduce)."""
    load: float | str | None = key("load")
    """Data that each node asks to move (open): a bandwidth such as ``"60 MB/s"``, or a share of
    what a node can send."""
    gaps: str | None = key("gaps")
    """How gaps between arrivals spread (open): ``"fixed"``, ``"exponential"``, ``"uniform"``."""
    think: str | None = key("think")
    """From the completion of a message to the next one (closed)."""
    pause: str | None = key("pause")
    """From the end of a round, or of a ping, to the next (collectives, ping)."""
    read_ratio: float | str | None = key("read_ratio")
    """Share of messages that are reads, 0 to 1 or ``"50%"`` (io, hot-spot)."""
    destinations: str | None = key("destinations")
    """To which server a message goes (io, checkpoint): ``"random"``, ``"interleaved"`` or
    ``"blocked"``."""
    hot_node: int | None = key("hot_node")
    """The node that all others read from and write to (hot-spot)."""
    algorithm: str | None = key("algorithm")
    """``"ring"`` or ``"recursive-doubling"`` (all-reduce)."""
    grid: str | int | None = key("grid")
    """Nodes in each dimension, such as ``"4x4x2"`` (neighbours)."""
    wrap: bool | None = key("wrap")
    """Whether the last node of a line is a neighbour of the first (neighbours)."""
    period: str | None = key("period")
    """From one checkpoint to the next, such as ``"10 ms"``."""
    volume: str | None = key("volume")
    """What each node writes at a checkpoint, such as ``"5 MB"``."""
    both_ways: bool | None = key("both_ways")
    """Whether both nodes of a pair send (ping)."""
    offset: int | None = key("offset")
    """From the rank of a node to that of the one it sends to (shift)."""


@dataclass(frozen=True, kw_only=True)
class Jobs(Described):
    """The jobs that run on a fat tree and the I/O servers that they share.

    >>> work = Jobs(
    ...     servers=Servers(placement="clustered", count=8),
    ...     jobs={"compute": Job(traffic="uniform"), "io": Job(traffic="io", load=0.3)},
    ...     mapping="shared",
    ... )
    >>> list(work.jobs)
    ['compute', 'io']
    """

    search: ClassVar[tuple[str, str, str]] = ("workload.load", "1 MB/s", "340 MB/s")
    """The load that a search varies, and its ends, unless told otherwise."""

    jobs: Mapping[str, Job] | None = parts("jobs")
    """The jobs, by names of your own. At least one must be given."""
    servers: Servers | None = part("servers")
    load: float | str | None = key("load")
    """Load of each node of an open loop whose job gives none: a bandwidth, or a share of what a
    node can send."""
    mapping: str | None = key("mapping")
    """``"dedicated"``: each node has one purpose; ``"shared"``: jobs may run on I/O servers and on
    the same nodes (section 3.4)."""
    active: Sequence[str] | None = key("active")
    """Jobs that run; all if left out. Swept over ``"pairs"``: each alone, each pair, and all."""


AnyWorkload = Workload | PacketWorkload | Jobs
"""Work of any kind of machine."""

"""Machines as objects. Attributes left out take the defaults of the scenario format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.scenario_fields import key, part


@dataclass(frozen=True, kw_only=True)
class Disk:
    """The disk behind an I/O node's cache."""

    seek: str | None = key("seek")
    """Mean seek time, such as ``"12 ms"``."""
    rotation: str | None = key("rotation")
    """Time of one full rotation; the latency is uniform between zero and this."""
    transfer: str | None = key("transfer")
    """Transfer rate of the medium, such as ``"2 MB/s"``; left out: it takes no time of its own."""


@dataclass(frozen=True, kw_only=True)
class Device:
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
class Placement:
    """Where the I/O nodes go (section 3.2 of the hypercube paper)."""

    kind: str | None = key("kind")
    """``"hamming"``, ``"combined"``, ``"dominating"``, ``"stride"``, ``"clustered"``,
    ``"list"``."""
    count: int | None = key("count")
    """Number of I/O nodes (stride, clustered)."""
    pes: Sequence[int] | None = key("pes")
    """PEs with an I/O node (list)."""


@dataclass(frozen=True, kw_only=True)
class Faults:
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
class Hypercube:
    """A binary hypercube of PEs with I/O nodes and, if ``io_link_lanes > 0``, an I/O network.

    The letters are those of Fig. 2 of the hypercube paper.

    >>> Hypercube(dimension=7, io_link_lanes=2).dimension
    7
    """

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

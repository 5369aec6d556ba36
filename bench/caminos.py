"""The peer CAMINOS, a cycle-driven network simulator, on the same hypercube and fat tree."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from measure import ROOT, Window, run

VERSION = "0.6.3"
NAME = f"caminos {VERSION}"
PEERS = ROOT / "bench" / ".peers"
PROGRAM = PEERS / "bin" / "caminos"

# Messages that a node keeps waiting if nothing is said; further ones are dropped.
BOUNDED = 20
# So many that none is ever dropped: open sources.
OPEN = 1_000_000

# What both networks have in common: one virtual channel and no output buffers. With two virtual
# channels this version mixes the phits of two packets on the tree and comes to a stop.
ROUTER = """
    router: Basic {{
        virtual_channels: 1,
        virtual_channel_policies: [ EnforceFlowControl, Random ],
        buffer_size: {buffer},
        output_buffer_size: 0,
        flit_size: {whole},
        bubble: false,
        intransit_priority: false,
        allow_request_busy_port: true,
        output_prioritize_lowest_label: false,
    }},
"""

CONFIGURATION = """
Configuration
{{
    random_seed: {seed},
    warmup: {warm_up},
    measured: {measured},
    server_queue_size: {queue},
    topology: {topology},
    traffic: HomogeneousTraffic {{
        pattern: Uniform, tasks: {nodes}, load: {load}, message_size: {length},
    }},
    maximum_packet_size: {length},
    routing: {routing},
    link_classes: [ {links} ],
    {router}
}}
"""


@dataclass(frozen=True)
class Network:
    """A network in the peer's words."""

    nodes: int
    topology: str
    routing: str
    link_classes: int
    flits: int
    """Of a message, which is one packet."""
    buffer: int
    """Of an input of a router, in flits."""
    whole: int
    """Flits for which there must be room before a packet goes on: 1 is wormhole switching."""
    hop: int
    """Cycles that a head takes for each link on an idle network, nodes' own links included."""
    offset: int
    """Cycles between what the peer counts and links times `hop` and the rest of the message."""


# Buffers of two flits: one would halve the rate of a link, as a credit takes a cycle to come back.
CUBE = Network(
    nodes=2**7,
    topology=f"Hamming {{ sides: [{', '.join(['2'] * 7)}], servers_per_router: 1 }}",
    routing="DOR { order: [6, 5, 4, 3, 2, 1, 0] }",
    link_classes=8,
    flits=32,
    buffer=2,
    whole=1,
    hop=1,
    offset=0,
)
# A 4-ary 3-tree: two stages above the leaf switches. Packets go whole (virtual cut-through) into
# buffers of four; up and down, the way up chosen by the switch.
TREE = Network(
    nodes=64,
    topology="XGFT { height: 2, servers_per_leaf: 4, down: [4, 4], up: [4, 4] }",
    routing="UpDown",
    link_classes=4,
    flits=160,
    buffer=640,
    whole=160,
    hop=1,
    offset=0,
)


@dataclass(frozen=True)
class Setting:
    """One run. Cycles are those of a flit, whatever the grain."""

    network: Network
    seed: int
    load: float
    warm_up: int
    measured: int
    queue: int = BOUNDED
    grain: int = 1
    """Flits that the peer moves as one: it is as many times as fast, and as coarse in time."""

    def text(self, measured: int) -> str:
        """The configuration file, with a window of `measured` of the peer's own cycles."""
        network, grain = self.network, self.grain
        if network.flits % grain or self.warm_up % grain or self.measured % grain:
            raise SystemExit(f"grain {grain} divides no packet of {network.flits} flits, or window")
        # A buffer that is counted in flits, not packets, stays at the two that a link needs.
        packets = network.buffer >= network.flits
        router = ROUTER.format(
            buffer=network.buffer // grain if packets else network.buffer,
            whole=max(1, network.whole // grain),
        )
        return CONFIGURATION.format(
            seed=self.seed,
            warm_up=self.warm_up // grain,
            measured=measured,
            queue=self.queue,
            topology=network.topology,
            nodes=network.nodes,
            load=self.load,
            length=network.flits // grain,
            routing=network.routing,
            links=", ".join(["LinkClass { delay: 1 }"] * network.link_classes),
            router=router,
        )


def cube(flits: int) -> Network:
    """The hypercube with messages of another length."""
    return replace(CUBE, flits=flits)


def is_installed() -> bool:
    """Whether it has been built already."""
    return PROGRAM.exists()


def install() -> Path:
    """The program, built if it is not there yet."""
    if not is_installed():
        install = ["cargo", "install", "--quiet", "--locked", "caminos", "--version", VERSION]
        with tempfile.TemporaryDirectory() as build:
            run([*install, "--root", str(PEERS), "--target-dir", build])
    return PROGRAM


def measure(setting: Setting, *, timed: bool = True) -> Window:
    """The window; its CPU time is that of a run with it less that of a run that ends where it
    begins. Not `timed`, one run is enough, and the CPU time is all of it.
    """
    program = install()

    def spent(measured: int) -> tuple[float, str]:
        with tempfile.TemporaryDirectory() as folder:
            written, results = Path(folder, "run.cfg"), Path(folder, "results")
            written.write_text(setting.text(measured))
            cost = run([str(program), str(written), f"--results={results}"])
            return cost.cpu_s, results.read_text()

    before_s = spent(1)[0] if timed else 0.0
    with_window_s, results = spent(setting.measured // setting.grain)
    accepted = _value(results, "accepted_load")
    flits = accepted * setting.measured * setting.network.nodes
    return Window(
        messages=flits / setting.network.flits,
        cpu_s=with_window_s - before_s,
        accepted=accepted,
        latency=_value(results, "average_message_delay") * setting.grain,
    )


def _value(results: str, name: str) -> float:
    found = re.search(rf"\b{name}:\s*([\d.eE+-]+)", results)
    if found is None:
        raise SystemExit(f"CAMINOS reports no {name}")
    return float(found[1])

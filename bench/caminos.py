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

# Default number of messages that wait at a node; CAMINOS drops further ones.
BOUNDED = 20
# Number of waiting messages with which no message is ever dropped: open sources.
OPEN = 1_000_000

# Common settings of both networks: one virtual channel and no output buffers. With two virtual
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
    """A network in the configuration language of CAMINOS."""

    nodes: int
    topology: str
    routing: str
    link_classes: int
    flits: int
    """Number of flits of a message, which is one packet."""
    buffer: int
    """Size of the buffer of a router's input, in flits."""
    whole: int
    """Free flits that a packet needs in the next buffer before it advances: 1 is wormhole
    switching.
    """
    hop: int
    """Cycles that a head takes for each link on an idle network, including the links of nodes."""
    offset: int
    """Offset of the peer's latency on an idle network, in cycles: its value less `hop` times the
    links and less the further flits of a message.
    """


# Buffers hold two flits: a single flit would halve the rate of a link, as a credit takes a cycle to
# return.
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
# A 4-ary 3-tree: two stages above the leaf switches. Virtual cut-through of whole packets into
# buffers for four packets, with up/down routing; the switch chooses the link up.
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
    """The parameters of one run of CAMINOS. Cycles are those of a flit, whatever the grain."""

    network: Network
    seed: int
    load: float
    warm_up: int
    measured: int
    queue: int = BOUNDED
    grain: int = 1
    """Number of flits that CAMINOS moves as one; the simulation is faster and coarser in time by
    this factor.
    """

    def text(self, measured: int) -> str:
        """Return the configuration file, with a window of `measured` of the peer's own cycles."""
        network, grain = self.network, self.grain
        if network.flits % grain or self.warm_up % grain or self.measured % grain:
            raise SystemExit(f"grain {grain} divides no packet of {network.flits} flits, or window")
        # A buffer with a size in flits, not in packets, stays at the two flits that a link needs.
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
    """Return the hypercube with messages of another length."""
    return replace(CUBE, flits=flits)


def is_installed() -> bool:
    """Return whether CAMINOS has been built already."""
    return PROGRAM.exists()


def install() -> Path:
    """Return the program; build it if it does not exist."""
    if not is_installed():
        install = ["cargo", "install", "--quiet", "--locked", "caminos", "--version", VERSION]
        with tempfile.TemporaryDirectory() as build:
            run([*install, "--root", str(PEERS), "--target-dir", build])
    return PROGRAM


def measure(setting: Setting, *, timed: bool = True) -> Window:
    """Measure one window. Its CPU time is that of a run that includes the window less that of a run
    that ends where the window begins. If not `timed`, one run is enough, and the CPU time is that
    of the whole run.
    """
    program = install()

    def spent(measured: int) -> tuple[float, str]:
        """Run CAMINOS with a window of `measured` cycles; return CPU seconds and results."""
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
    """Return a number from the results of CAMINOS."""
    found = re.search(rf"\b{name}:\s*([\d.eE+-]+)", results)
    if found is None:
        raise SystemExit(f"CAMINOS reports no {name}")
    return float(found[1])

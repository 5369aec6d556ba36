"""The peer: CAMINOS, a cycle-driven network simulator, on the same hypercube and fat tree."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import ROOT, run

VERSION = "0.6.3"
PEERS = ROOT / "bench" / ".peers"

DIMENSION = 7
NODES = 2**DIMENSION

# One virtual channel, buffers of two phits (one would halve the rate of a link, since a credit
# takes a cycle to come back), no output buffers, and whole messages as packets: wormhole switching.
CONFIGURATION = """
Configuration
{{
    random_seed: {seed},
    warmup: {warm_up},
    measured: {measured},
    topology: Hamming {{ sides: [{sides}], servers_per_router: 1 }},
    traffic: HomogeneousTraffic {{
        pattern: Uniform, tasks: {nodes}, load: {load}, message_size: {length},
    }},
    maximum_packet_size: {length},
    router: Basic {{
        virtual_channels: 1,
        virtual_channel_policies: [ EnforceFlowControl, Random ],
        buffer_size: 2,
        output_buffer_size: 0,
        flit_size: 1,
        bubble: false,
        intransit_priority: false,
        allow_request_busy_port: true,
        output_prioritize_lowest_label: false,
    }},
    routing: DOR {{ order: [{order}] }},
    link_classes: [ {links} ],
}}
"""

# A 4-ary 3-tree of 64 nodes: two stages above the leaf switches. Packets go whole (virtual
# cut-through) into buffers of four; up and down, the way up chosen by the switch. With two virtual
# channels this version mixes the phits of two packets and comes to a stop.
TREE_NODES = 64
TREE_PACKET = 160
TREE = """
Configuration
{{
    random_seed: {seed},
    warmup: {warm_up},
    measured: {measured},
    topology: XGFT {{ height: 2, servers_per_leaf: 4, down: [4, 4], up: [4, 4] }},
    traffic: HomogeneousTraffic {{
        pattern: Uniform, tasks: {nodes}, load: {load}, message_size: {length},
    }},
    maximum_packet_size: {length},
    router: Basic {{
        virtual_channels: 1,
        virtual_channel_policies: [ EnforceFlowControl, Random ],
        buffer_size: 640,
        output_buffer_size: 0,
        flit_size: 16,
        bubble: false,
        intransit_priority: false,
        allow_request_busy_port: true,
        output_prioritize_lowest_label: false,
    }},
    routing: UpDown,
    link_classes: [ {links} ],
}}
"""


@dataclass(frozen=True)
class Window:
    """What the peer did in the measured window."""

    messages: float
    cpu_s: float
    accepted: float
    """Flits per cycle and node."""

    @property
    def rate_per_s(self) -> float:
        """Messages delivered for each CPU second."""
        return self.messages / self.cpu_s


PROGRAM = PEERS / "bin" / "caminos"


def is_installed() -> bool:
    """Whether it has been built already."""
    return PROGRAM.exists()


def install() -> Path:
    """The program, built if it is not there yet."""
    program = PROGRAM
    if not is_installed():
        install = ["cargo", "install", "--quiet", "--locked", "caminos", "--version", VERSION]
        with tempfile.TemporaryDirectory() as build:
            run([*install, "--root", str(PEERS), "--target-dir", build])
    return program


def measure(
    program: Path, *, seed: int, length: int, load: float, warm_up: int, measured: int
) -> Window:
    """CPU time of the window on the hypercube."""
    dimensions = reversed(range(DIMENSION))
    values = {
        "seed": seed,
        "warm_up": warm_up,
        "length": length,
        "load": load,
        "nodes": NODES,
        "sides": ", ".join(["2"] * DIMENSION),
        "order": ", ".join(map(str, dimensions)),
        "links": ", ".join(["LinkClass { delay: 1 }"] * (DIMENSION + 1)),
    }
    return _window(program, CONFIGURATION, values, measured)


def measure_tree(program: Path, *, seed: int, load: float, warm_up: int, measured: int) -> Window:
    """CPU time of the window on the fat tree."""
    values = {
        "seed": seed,
        "warm_up": warm_up,
        "length": TREE_PACKET,
        "load": load,
        "nodes": TREE_NODES,
        "links": ", ".join(["LinkClass { delay: 1 }"] * 4),
    }
    return _window(program, TREE, values, measured)


def _window(program: Path, configuration: str, values: dict[str, Any], measured: int) -> Window:
    """CPU time of the window: of a run with it less that of a run that ends where it begins."""

    def cost(measured: int) -> tuple[float, str]:
        text = configuration.format(**values, measured=measured)
        with tempfile.TemporaryDirectory() as folder:
            written, results = Path(folder, "run.cfg"), Path(folder, "results")
            written.write_text(text)
            spent = run([str(program), str(written), f"--results={results}"])
            return spent.cpu_s, results.read_text()

    before_s, _ = cost(1)
    with_window_s, results = cost(measured)
    accepted = re.search(r"accepted_load:\s*([\d.eE+-]+)", results)
    if accepted is None:
        raise SystemExit("CAMINOS reports no accepted_load")
    flits = float(accepted[1]) * measured * values["nodes"]
    return Window(flits / values["length"], with_window_s - before_s, float(accepted[1]))

"""The peer BookSim2, a cycle-driven network simulator, on the same hypercube and fat tree.

It is built from its source where a path to it is given, by ``--booksim`` or ``BOOKSIM``; else the
benchmarks leave it out and say so.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT, Window, run

NAME = "booksim2"
PEERS = ROOT / "bench" / ".peers"
PROGRAM = PEERS / "booksim2" / "booksim"
LEFT_OUT = "BookSim2 is left out: give the path of its source by --booksim or BOOKSIM"

# One virtual channel, and the shortest pipeline that its routers have: no cycle for the route, one
# in which the virtual channel and the crossbar are allocated side by side, one for the crossbar.
CONFIGURATION = """
{topology}
num_vcs = 1;
vc_buf_size = {buffer};
wait_for_tail_credit = 0;
vc_allocator = separable_input_first;
sw_allocator = separable_input_first;
routing_delay = 0;
vc_alloc_delay = 1;
sw_alloc_delay = 1;
st_final_delay = 1;
speculative = 1;
credit_delay = 0;
input_speedup = 1;
output_speedup = 1;
internal_speedup = 1.0;
traffic = uniform;
injection_process = bernoulli;
injection_rate_uses_flits = 1;
injection_rate = {rate};
packet_size = {flits};
sim_type = {kind};
warmup_periods = {warm_up};
max_samples = {samples};
sample_period = {period};
warmup_thres = 0.0;
acc_warmup_thres = 0.0;
stopping_thres = 0.0;
acc_stopping_thres = 0.0;
latency_thres = 1000000000.0;
deadlock_warn_timeout = 100000;
pair_stats = {pairs};
seed = {seed};
"""


@dataclass(frozen=True)
class Network:
    """A network in the peer's words."""

    nodes: int
    topology: str
    flits: int
    """Of a message, which is one packet."""
    buffer: int
    """Of an input of a router, in flits."""
    hop: int
    """Cycles that a head takes for each link on an idle network, nodes' own links included."""
    offset: int
    """Cycles between what the peer counts and links times `hop` and the rest of the message."""


CUBE = Network(
    nodes=2**7,
    topology="topology = mesh;\nk = 2;\nn = 7;\nrouting_function = dor;",
    flits=32,
    buffer=5,
    hop=3,
    offset=-1,
)
# The way up at random, which is the same on both sides: BookSim2's adaptive ascent takes the better
# of two links drawn at random, isthmus the best of all.
TREE = Network(
    nodes=64,
    topology="topology = fattree;\nk = 4;\nn = 3;\nrouting_function = nca;",
    flits=160,
    buffer=640,
    hop=3,
    offset=-1,
)

PERIOD = 1_000
# What the program exits with where all went well.
SUCCESS = 255


@dataclass(frozen=True)
class Setting:
    """One run."""

    network: Network
    seed: int
    load: float
    """Flits per cycle and node to other nodes. The peer draws the sender itself, too, as one of
    all; what it offers is more by so much.
    """
    warm_up: int
    measured: int
    drained: bool = False
    """Whether all messages of the window are awaited, and messages to the sender itself left out of
    the latency. A latency needs this, a speed does not.
    """

    def text(self, samples: int) -> str:
        """The configuration file, with a window of so many periods."""
        if self.warm_up % PERIOD or self.measured % PERIOD:
            raise SystemExit(f"BookSim2's windows are multiples of {PERIOD} cycles")
        warm_up = self.warm_up // PERIOD
        return CONFIGURATION.format(
            topology=self.network.topology,
            buffer=self.network.buffer,
            rate=self.load * self.network.nodes / (self.network.nodes - 1),
            flits=self.network.flits,
            kind="latency" if self.drained else "throughput",
            warm_up=warm_up,
            samples=warm_up + samples,
            period=PERIOD,
            pairs=int(self.drained),
            seed=self.seed,
        )


def source(given: str | None) -> Path | None:
    """The source that was given, by option or environment: the folder with the Makefile."""
    root = given or os.environ.get("BOOKSIM")
    if not root:
        return None
    for folder in (Path(root) / "src", Path(root)):
        if (folder / "iq_router.cpp").exists() or (folder / "booksim_config.cpp").exists():
            return folder
    raise SystemExit(f"{root}: no source of BookSim2 is there; give the folder with its src")


def is_installed() -> bool:
    """Whether it has been built already."""
    return PROGRAM.exists()


def install(folder: Path) -> Path:
    """The program, built from a copy of its source if it is not there yet."""
    if not is_installed():
        with tempfile.TemporaryDirectory() as build:
            copy = Path(build, "src")
            shutil.copytree(folder, copy)
            run(["make"], cwd=copy)
            PROGRAM.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy / "booksim", PROGRAM)
    return PROGRAM


def measure(setting: Setting, *, timed: bool = True) -> Window:
    """The window; its CPU time is that of a run with it less that of a run that ends a period after
    the warm-up. Not `timed`, one run is enough, and the CPU time is all of it.
    """

    def spent(samples: int) -> tuple[float, str]:
        with tempfile.TemporaryDirectory() as folder:
            written, pairs = Path(folder, "run.cfg"), Path(folder, "pairs")
            text = setting.text(samples)
            if setting.drained:
                text += f"stats_out = {pairs};\n"
            written.write_text(text)
            cost = run([str(PROGRAM), str(written)], success=SUCCESS)
            return cost.cpu_s, pairs.read_text() if setting.drained else cost.output

    samples = setting.measured // PERIOD
    before_s = spent(1)[0] if timed else 0.0
    with_window_s, output = spent(samples + 1 if timed else samples)
    network = setting.network
    if setting.drained:
        latency, share = _between_nodes(output, network.nodes)
        # All messages started in the window, of which this share goes to other nodes.
        accepted = _mean(output, "accepted_flits") * share
    else:
        latency = _overall(output, "Packet latency average")
        # To any node, of which the sender itself is one: those are not counted.
        all_nodes = _overall(output, "Accepted flit rate average")
        accepted = all_nodes * (network.nodes - 1) / network.nodes
    flits = accepted * setting.measured * network.nodes
    return Window(
        messages=flits / network.flits,
        cpu_s=with_window_s - before_s,
        accepted=accepted,
        latency=latency,
    )


def _overall(output: str, name: str) -> float:
    """Mean of all samples, which BookSim2 reports last."""
    found = re.findall(rf"{name} = ([\d.eE+-]+) \(\d+ samples\)", output)
    if not found:
        raise SystemExit(f"BookSim2 reports no {name}")
    return float(found[-1])


def _row(output: str, name: str) -> Iterator[float]:
    found = re.findall(rf"{name}\(1,:\) = \[ ([^\]]*?) ?(?:\]|pair_|sent_)", output)
    if not found:
        raise SystemExit(f"BookSim2 reports no {name}")
    return map(float, found[-1].split())


def _mean(output: str, name: str) -> float:
    values = list(_row(output, name))
    return sum(values) / len(values)


def _between_nodes(output: str, nodes: int) -> tuple[float, float]:
    """Mean latency of the messages to other nodes, and their share of all."""
    total = sent = latency = 0.0
    pairs = zip(_row(output, "pair_sent"), _row(output, "pair_plat"), strict=True)
    for index, (count, mean) in enumerate(pairs):
        total += count
        if index // nodes != index % nodes:
            sent += count
            latency += count * mean if count else 0.0
    return latency / sent, sent / total

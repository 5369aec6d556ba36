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

# One virtual channel, and the shortest pipeline that BookSim2's routers have: no cycle for the
# route, one in which virtual channel and crossbar are allocated, one for the crossbar.
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
    """A network in the configuration language of BookSim2."""

    nodes: int
    topology: str
    flits: int
    """Number of flits of a message, which is one packet."""
    buffer: int
    """Size of the buffer of a router's input, in flits."""
    hop: int
    """Cycles that a head takes for each link on an idle network, including the links of nodes."""
    offset: int
    """Offset of the peer's latency on an idle network, in cycles: its value less `hop` times the
    links and less the further flits of a message.
    """


CUBE = Network(
    nodes=2**7,
    topology="topology = mesh;\nk = 2;\nn = 7;\nrouting_function = dor;",
    flits=32,
    buffer=5,
    hop=3,
    offset=-1,
)
# Packets ascend at random on both sides: BookSim2's adaptive ascent takes the better of two random
# links, while that of isthmus takes the best of all links.
TREE = Network(
    nodes=64,
    topology="topology = fattree;\nk = 4;\nn = 3;\nrouting_function = nca;",
    flits=160,
    buffer=640,
    hop=3,
    offset=-1,
)

PERIOD = 1_000
# Exit status of BookSim2 after a successful run.
SUCCESS = 255


@dataclass(frozen=True)
class Setting:
    """The parameters of one run of BookSim2."""

    network: Network
    seed: int
    load: float
    """Load in flits per cycle and node to other nodes. BookSim2 also sends messages to the sender
    itself, so the configured rate is higher.
    """
    warm_up: int
    measured: int
    drained: bool = False
    """Whether the run ends only when all messages of the window have arrived, and the latency
    excludes messages to the sender itself. A latency needs this, a speed does not.
    """

    def text(self, samples: int) -> str:
        """Return the configuration file, with a measured window of `samples` periods."""
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
    """Return the folder with BookSim2's Makefile, below the path in an option or in the
    environment.
    """
    root = given or os.environ.get("BOOKSIM")
    if not root:
        return None
    for folder in (Path(root) / "src", Path(root)):
        if (folder / "iq_router.cpp").exists() or (folder / "booksim_config.cpp").exists():
            return folder
    raise SystemExit(f"{root}: no source of BookSim2 is there; give the folder with its src")


def is_installed() -> bool:
    """Return whether BookSim2 has been built already."""
    return PROGRAM.exists()


def install(folder: Path) -> Path:
    """Return the program; build it from a copy of its source if it does not exist."""
    if not is_installed():
        with tempfile.TemporaryDirectory() as build:
            copy = Path(build, "src")
            shutil.copytree(folder, copy)
            run(["make"], cwd=copy)
            PROGRAM.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy / "booksim", PROGRAM)
    return PROGRAM


def measure(setting: Setting, *, timed: bool = True) -> Window:
    """Measure one window. Its CPU time is that of a run that includes the window less that of a run
    that ends one period after the warm-up. If not `timed`, one run is enough, and the CPU time is
    that of the whole run.
    """

    def spent(samples: int) -> tuple[float, str]:
        """Run BookSim2 with a window of `samples` periods; return CPU seconds and output."""
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
        # The output includes all messages that started in the window; this share of them goes to
        # other nodes.
        accepted = _mean(output, "accepted_flits") * share
    else:
        latency = _overall(output, "Packet latency average")
        # BookSim2 also sends to the sender itself; such messages do not count here.
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
    """Return the mean of all samples, which BookSim2 reports last."""
    found = re.findall(rf"{name} = ([\d.eE+-]+) \(\d+ samples\)", output)
    if not found:
        raise SystemExit(f"BookSim2 reports no {name}")
    return float(found[-1])


def _row(output: str, name: str) -> Iterator[float]:
    """Return the numbers of a row of BookSim2's output."""
    found = re.findall(rf"{name}\(1,:\) = \[ ([^\]]*?) ?(?:\]|pair_|sent_)", output)
    if not found:
        raise SystemExit(f"BookSim2 reports no {name}")
    return map(float, found[-1].split())


def _mean(output: str, name: str) -> float:
    """Return the mean of a row of BookSim2's output."""
    values = list(_row(output, name))
    return sum(values) / len(values)


def _between_nodes(output: str, nodes: int) -> tuple[float, float]:
    """Return the mean latency of messages to other nodes, and their share of all messages."""
    total = sent = latency = 0.0
    pairs = zip(_row(output, "pair_sent"), _row(output, "pair_plat"), strict=True)
    for index, (count, mean) in enumerate(pairs):
        total += count
        if index // nodes != index % nodes:
            sent += count
            latency += count * mean if count else 0.0
    return latency / sent, sent / total

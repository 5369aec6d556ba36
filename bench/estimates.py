"""How far models are from the simulation, on random SCI fabrics, fat trees and graphs.

Question: within how much of the simulation are the latency of SCI fabrics, the response of open
loops on networks of switches, and the accepted bandwidth and the response of closed loops on fat
trees and on networks of switches? Peer: the simulation of the same machine. Load: 5% to 80% of the
link bound of SCI fabrics and of the knee of networks; what closed loops ask for. Good is that the
model's domain contains 70% of the machines, and that 95% of these are within 10%. One row for each
measure has the number of machines, of machines inside the domain, and of those of them whose mean
the simulation does not know to 10%. Of the other machines inside it has the shares within 5% and
10%, and the largest distance.

    python bench/estimates.py sci --count 200 --seed 5 --out sci.csv
    python bench/estimates.py fat-tree --count 200 --seed 5 --out fat-tree.csv
    python bench/estimates.py graph --count 200 --seed 1616 --out graph.csv
    python bench/estimates.py graph-loops --count 200 --seed 61 --out graph-loops.csv
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
from pathlib import Path
from typing import Any

from isthmus import IsthmusError, Scenario


def tree(draw: random.Random) -> str:
    """Return a random scenario of a fat tree whose nodes or clients have outstanding messages,
    alone or beside another job.
    """
    one = draw.choice
    levels = one([2, 2, 3])
    arity = one([2, 4, 4, 4, 8]) if levels == 2 else one([2, 4, 4, 4])
    outstanding = one([1, 1, 2, 4, 16])
    think, think_times = one([0, 0, 200, 1000, 5000]), one(["fixed", "exponential", "uniform"])
    # Pauses of one length synchronise the clients, so that a window with part of a turn counts too
    # many or too few messages.
    turns = 40 if think and think_times == "fixed" else 10
    traffic = one(
        [
            'traffic = "uniform"',
            *3
            * [
                f'traffic = "io"\ndestinations = "{one(["random", "interleaved", "blocked"])}"\n'
                f"read_ratio = {one([0, 1, 0.5])}"
            ],
        ]
    )
    spread = f'think_times = "{think_times}"' if think else ""
    arrivals = f"""think = "{think} us"
{spread}
outstanding = {outstanding}"""
    if draw.random() < 0.15:
        arrivals = f"""arrivals = "open"
load = "{one([10, 40, 120])} MB/s"
outstanding = {outstanding}"""
    mapping = one(["dedicated", "shared"])
    part = (
        ['nodes = "part 1 of 2"', 'nodes = "part 2 of 2"'] if mapping == "dedicated" else ["", ""]
    )
    beside = f"""
[workload.jobs.beside]
{part[1]}
traffic = "uniform"
message = "{one(["4 KiB", "16 KiB"])}"
think = "{one(["200 us", "1 ms"])}"
outstanding = {one([1, 4])}"""
    beside, part[0] = one([(beside, part[0]), *[("", "")] * 4])
    if arity == 2:
        beside, part[0] = "", ""
    return f"""version = 1
name = "tree"
[machine]
kind = "fat-tree"
arity = {arity}
levels = {levels}
switching = "{one(["circuit", "cut-through"])}"
[workload]
mapping = "{mapping}"
[workload.servers]
placement = "{one(["clustered", "distributed"])}"
count = {one([1, 2, 4, 4] if arity > 2 else [1, 2])}
[workload.jobs.all]
{part[0]}
{traffic}
message = "{one(["1 KiB", "4 KiB", "16 KiB", "64 KiB"])}"
sizes = "{one(["fixed", "exponential"])}"
{arrivals}{beside}
[measure]
channels = false
[stop]
precision = "3%"
of = ["all.response"]
messages_first = {max(2000, turns * outstanding * arity**levels)}
messages_max = 200000
"""


def fabric(draw: random.Random) -> str:
    """Return a random scenario of transactions on a fabric: uniform, with a hot node, or from few
    senders.
    """
    one = draw.choice
    kind = one(
        [
            *[*2 * ["ring"], *2 * ["counter-rotating"]],
            *["torus", "bidirectional-torus", "uniform-ring-torus", "manhattan"],
        ]
    )
    flat = kind in ("ring", "counter-rotating")
    nodes = one([4, 6, 8, 10, 16]) if flat else 0
    width = 0 if flat else one([4, 6] if kind == "manhattan" else [3, 4, 5, 6])
    nodes = nodes or width * width
    pattern, payload = one(["", "", "", "hot", "few"]), one([16, 64, 64, 128, 256])
    few = nodes // one([2, 4]) if pattern == "few" else 0
    senders, traffic = sorted(draw.sample(range(nodes), few)), ""
    if senders:
        traffic = f"senders = {senders}\n"
    elif pattern == "hot":
        traffic = f"hot_node = {{ node = 1, probability = {one([0.05, 0.1, 0.2])} }}\n"
    text = f"""version = 1
name = "fabric"
[machine]
kind = "sci"
fabric = "{kind}"
size = {nodes if flat else f'"{width}x{width}"'}
queues = {{ input = {one([2, 5, 5])}, output = {one([2, 5, 5])}, client = {one([2, 5, 5])} }}
[workload]
transaction = "{one(["move", "move", "read", "write"])}"
payload = "{payload} B"
{traffic}load = "LOAD GB/s"
[measure]
channels = false
[stop]
rule = "fixed"
messages = 10000
warmup = "mser5"
replications = 2
"""
    part = draw.uniform(0.05, 0.8)
    # A packet from each sender every 8 ns exceeds the bandwidth of the links.
    most = payload * (len(senders) or nodes) / 8
    bound = measures(text.replace("LOAD", f"{most}"), analyze=True)["accepted"].analytic
    return text.replace("LOAD", f"{part * bound:.6f}")


def switches(draw: random.Random) -> str:
    """Return the TOML table of a random network of switches with 6 to 96 nodes."""
    one = draw.choice
    form = one(["ring", "torus", "mesh", "dragonfly", "edges"])
    if form == "dragonfly":
        links = one([1, 1, 2])
        return f"""graph = "dragonfly"
nodes = {one([1, 2])}
routers = {one([2, 3, 4])}
groups = {one([3, 4, 5, 8])}
global_links = {links}
global_delay = "{one([0, 100, 500])} ns"
group_routing = "{one(["minimal", "minimal", "valiant"])}"
"""
    at = f"""nodes_per_switch = {one([1, 2, 3, 4])}
routing = "{one(["minimal", "minimal", "up-down"])}"
"""
    if form == "ring":
        return f'graph = "ring"\nswitches = {draw.randrange(3, 11)}\n{at}'
    if form != "edges":
        return f'graph = "{form}"\nsize = "{one(["3x3", "4x4", "2x5", "3x2x2", "4x6"])}"\n{at}'
    count, cables = one([6, 8, 12, 16]), one([3, 4])
    while True:
        ends = [switch for switch in range(count) for _ in range(cables)]
        draw.shuffle(ends)
        pairs = {(min(pair), max(pair)) for pair in zip(ends[::2], ends[1::2], strict=True)}
        joined = {0}
        for _ in range(count):
            joined |= {end for pair in pairs if joined & set(pair) for end in pair}
        if len(joined) == count and len(pairs) == count * cables // 2:
            break
    edges = "\n".join(f"{a} {b}" for a, b in sorted(pairs))
    return f'graph = "edges"\nedges = """\n{edges}\n"""\n{at}'


def on_switches(draw: random.Random) -> tuple[str, float, float]:
    """Return a random job on switches without its arrivals, the bandwidth in GB/s, and the time of
    a message in ns.
    """
    one = draw.choice
    bandwidth, payload = one([1.0, 12.5, 25.0]), one([256, 1024, 4096])
    packet = (payload + 32) / bandwidth
    channels = one([2, 4, 4, 8])
    held = (
        f'switching = "cut-through"\nbuffer = {channels * one([1, 2, 4, 8, 16])}'
        if draw.random() < 0.75
        else 'switching = "circuit"'
    )
    traffic = one(
        [
            "uniform",
            "uniform",
            "io",
            "io",
            f'shift"\noffset = {one([1, 2, 3, 5])}\n#"',
        ]
    )
    io = traffic == "io"
    servers = f"""[workload.servers]
placement = "{one(["clustered", "distributed"])}"
count = {one([1, 2, 4])}
"""
    asks = f"""destinations = "{one(["random", "interleaved", "blocked"])}"
read_ratio = {one([0, 1, 0.5])}
"""
    text = f"""version = 1
name = "graph"
[machine]
kind = "graph"
{switches(draw)}delay = "{one([0, 0, 20, 150])} ns"
bandwidth = "{bandwidth} GB/s"
switch_latency = "{one([35, 100, 300])} ns"
virtual_channels = {channels}
{held}
[machine.nic]
payload = "{payload} B"
overhead = "32 B"
dma_period = "{round(one([0.1, 0.1, 0.9, 1.5]) * packet)} ns"
receive_delay = "{round(one([0.0, 0.0, 0.1]) * packet)} ns"
software_latency = "{one([0, 500])} ns"
{servers if io else ""}[workload.jobs.all]
traffic = "{traffic}"
"""
    count = one([1, 2, 4, 8, 16])
    text += f"""message = "{payload * count} B"
sizes = "{one(["fixed", "exponential"])}"
{asks if io else ""}"""
    return text, bandwidth, count * packet


def network(draw: random.Random) -> str:
    """Return a random scenario of nodes on switches that send at random times, up to 80% of the
    load of the bottleneck.
    """
    text, bandwidth, _ = on_switches(draw)
    text += """load = "LOAD MB/s"
[measure]
channels = false
[stop]
rule = "fixed"
messages = 20000
warmup = "mser5"
replications = 2
"""
    part = draw.uniform(0.05, 0.8)
    try:
        bound = knee(text, bandwidth * 1000, 500, analyze=True)
    except IsthmusError:  # too few virtual channels for the routes, or too few nodes
        return network(draw)
    short = text.replace("messages = 20000", "messages = 5000")
    return text.replace("LOAD", f"{part * knee(short, bound, 30, analyze=False):.6f}")


def loops(draw: random.Random) -> str:
    """Return a random scenario of nodes on switches with outstanding messages, with pauses or
    without.
    """
    one = draw.choice
    text, _, message = on_switches(draw)
    outstanding, think = one([1, 1, 2, 4, 16]), one([0, 0, 1, 5, 20])
    think_times = one(["fixed", "exponential", "uniform"])
    if think:
        text += f'think = "{think * message:.0f} ns"\nthink_times = "{think_times}"\n'
    text += f"""outstanding = {outstanding}
[measure]
channels = false
[stop]
precision = "3%"
of = ["all.response"]
messages_first = {4000 * outstanding}
messages_max = 200000
"""
    try:
        measures(text, analyze=True)
    except IsthmusError:  # too few virtual channels for the routes, or too few nodes
        return loops(draw)
    return text


def knee(text: str, high: float, parts: int, *, analyze: bool) -> float:
    """Return the highest load in MB/s, up to ``high``, that does not saturate."""
    low = 0.0
    while high - low > high / parts:
        middle = (low + high) / 2
        full = point(text.replace("LOAD", f"{middle:.6f}"), analyze=analyze).verdict.verdict
        low, high = (low, middle) if full == "saturated" else (middle, high)
    return low


def point(text: str, *, analyze: bool = False) -> Any:
    """Return the only point of a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "machine.toml"
        file.write_text(text)
        scenario = Scenario.load(file)
        found = scenario.analyze() if analyze else scenario.run(jobs=1)
        return found.run.points[0]


def measures(text: str, *, analyze: bool = False) -> dict[str, Any]:
    """Return the measures of the only point of a scenario."""
    return {m.name: m for m in point(text, analyze=analyze).measures}


KINDS = {
    "sci": (fabric, ["latency"]),
    "fat-tree": (tree, ["all.accepted", "all.response"]),
    "graph": (network, ["all.response"]),
    "graph-loops": (loops, ["all.accepted", "all.response"]),
}
HALF_WIDTH_MAX = 0.1
"""Largest relative half-width with which the mean of the simulation counts as known."""


def is_known(at: Any) -> bool:
    """Return whether the interval of a simulated mean is narrow enough.

    Where many messages are under way at its end, the interval is wide or has no upper end.
    """
    return at.high is not None and at.high - at.low <= 2 * HALF_WIDTH_MAX * at.mean


def main() -> None:
    """Generate random machines, run them and print the shares within each error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    drawn, names = KINDS[given.kind]
    found: dict[str, list[Any]] = {name: [] for name in names}
    with given.out.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["number", "measure", "model", "simulated", "low", "high", "outside", "scenario"]
        )
        for number in range(given.count):
            text = drawn(random.Random(f"{given.seed}/{number}"))
            simulated = measures(text)
            for name in names:
                at = simulated.get(name)
                if at is None or at.model_anywhere is None or at.mean is None:
                    continue
                found[name].append(at)
                reason = at.outside.reason if at.outside else ""
                row = [number, name, at.model_anywhere, at.mean, at.low, at.high, reason, text]
                rows.writerow(row)
            file.flush()
    for name, of in found.items():
        inside = [at for at in of if at.analytic]
        sizes = [abs(at.analytic / at.mean - 1) for at in inside if is_known(at)]
        if not sizes:
            print(f"| {name} | {len(of)} | {len(inside)} | {len(inside)} |")
            continue
        shares = [sum(size <= aim for size in sizes) / len(sizes) for aim in (0.05, 0.1)]
        print(
            f"| {name} | {len(of)} | {len(inside)} | {len(inside) - len(sizes)} | {shares[0]:.0%} "
            f"| {shares[1]:.1%} | {max(sizes):.0%} |"
        )


if __name__ == "__main__":
    main()

"""How far the models of SCI fabrics and fat trees are from the simulation, on random machines.

Question: within how much of the simulation are the latency of SCI fabrics and the accepted
bandwidth of closed loops on fat trees? Peer: the simulation of the same machine. Load: 5% to 72%
of the link bound of SCI fabrics; closed loops on trees. Good is 95% of the machines within 10%.

    python bench/estimates.py sci --count 200 --seed 2 --out sci.csv
    python bench/estimates.py fat-tree --count 200 --seed 2 --out fat-tree.csv
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
from pathlib import Path
from typing import Any

from isthmus import Scenario


def tree(draw: random.Random) -> str:
    """A fat tree whose nodes or clients keep messages under way."""
    one = draw.choice
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
    return f"""version = 1
name = "tree"
[machine]
kind = "fat-tree"
arity = 4
levels = {one([2, 2, 3])}
switching = "{one(["circuit", "cut-through"])}"
[workload]
mapping = "{one(["dedicated", "shared"])}"
[workload.servers]
placement = "{one(["clustered", "distributed"])}"
count = {one([1, 2, 4, 4])}
[workload.jobs.all]
{traffic}
message = "{one(["4 KiB", "16 KiB", "64 KiB"])}"
sizes = "{one(["fixed", "exponential"])}"
think = "{one(["0 s", "0 s", "1 ms", "5 ms"])}"
outstanding = {one([1, 1, 4, 16])}
[measure]
channels = false
[stop]
rule = "fixed"
messages = 1000
warmup = "mser5"
replications = 2
"""


def fabric(draw: random.Random) -> str:
    """Moves of 64 bytes between random nodes of a ring, counter-rotating rings or a torus."""
    one = draw.choice
    kind = one(["ring", "ring", "counter-rotating", "torus", "bidirectional-torus"])
    size = one(["4", "6", "8", "10"]) if "torus" not in kind else one(["3x3", "4x4"])
    size = size if "x" not in size else f'"{size}"'
    payload = one([16, 64, 64, 64, 256])
    text = f"""version = 1
name = "fabric"
[machine]
kind = "sci"
fabric = "{kind}"
size = {size}
[workload]
payload = "{payload} B"
load = "LOAD GB/s"
[measure]
channels = false
[stop]
rule = "fixed"
messages = 10000
warmup = "mser5"
replications = 2
"""
    part = draw.uniform(0.05, 0.72)
    # A payload per ns in all is more than these links carry and less than the nodes can begin.
    bound = measures(text.replace("LOAD", str(payload)), analyze=True)["accepted"].analytic
    return text.replace("LOAD", f"{part * bound:.6f}")


def measures(text: str, *, analyze: bool = False) -> dict[str, Any]:
    """The measures of the one point of a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "machine.toml"
        file.write_text(text)
        scenario = Scenario.load(file)
        found = scenario.analyze() if analyze else scenario.run(jobs=1)
        return {m.name: m for m in found.run.points[0].measures}


KINDS = {"sci": (fabric, "latency"), "fat-tree": (tree, "all.accepted")}


def main() -> None:
    """Draw, run and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    drawn, name = KINDS[given.kind]
    sizes: list[float] = []
    with given.out.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["number", "model", "simulated", "residual", "scenario"])
        for number in range(given.count):
            text = drawn(random.Random(f"{given.seed}/{number}"))
            at = measures(text)[name]
            rows.writerow([number, at.analytic, at.mean, at.residual, text])
            file.flush()
            if at.analytic and at.mean:
                sizes.append(abs(at.analytic / at.mean - 1))
    shares = [sum(size <= aim for size in sizes) / len(sizes) for aim in (0.05, 0.1)]
    print(f"| {given.kind} | {len(sizes)} | {shares[0]:.0%} | {shares[1]:.0%} | {max(sizes):.0%} |")


if __name__ == "__main__":
    main()

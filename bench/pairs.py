"""How much narrower are ratios of variants that share random numbers? ``python bench/pairs.py``.

Each scenario is run once; every two points at the same load that differ in one choice are compared
by `isthmus.value.compare`, and by the ends of their intervals, as if nothing were shared. Printed
are the median and the largest factor by which the first is narrower. No peer.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from pathlib import Path

from coverage import run

from isthmus import _core
from isthmus.results.schema import Measure, PointResult, RunResult
from isthmus.value import Value

ROOT = Path(__file__).parents[1]
LOADS = ("workload.rate", "workload.load")
CASES = {
    "examples/hypercube-128.toml": (
        [
            "sweep.workload.rate=['1.6 /ms', '6.4 /ms', '9.6 /ms']",
            "sweep.machine.lanes.io_link=[2, 3]",
            "stop.messages_max=100000",
        ],
        ("pe_pe.header", "read.network", "read.response"),
    ),
    "bench/coverage/sci.toml": (
        ["sweep.machine.fabric=['torus', 'bidirectional-torus']"],
        ("latency", "accepted"),
    ),
    "examples/fat-tree-jobs.toml": (
        ["stop.time='10 ms'"],
        ("compute.response", "io.response", "compute.accepted", "io.accepted"),
    ),
}


def pairs(found: RunResult) -> list[tuple[PointResult, PointResult]]:
    """Return the pairs of points that differ in one choice other than the load."""
    matched = []
    for one, other in itertools.combinations(found.points, 2):
        apart = [
            axis.key
            for axis, a, b in zip(found.axes, one.values, other.values, strict=True)
            if a.text != b.text
        ]
        if len(apart) == 1 and apart[0] not in LOADS:
            matched.append((other, one))
    return matched


def width(value: Value) -> float | None:
    """Return the width of an interval; None without both ends."""
    return None if value.low is None or value.high is None else value.high - value.low


def narrower(own: Measure, base: Measure, confidence: float) -> float | None:
    """Return the width of a ratio from both intervals, relative to that from pairs."""
    paired = width(Value.of(own, confidence).over(Value.of(base, confidence)))
    ends = width(Value(own.mean, own.low, own.high).over(Value(base.mean, base.low, base.high)))
    # Skip values that are equal in all replications, as on an idle network.
    return ends / paired if ends and paired and paired > 1e-9 else None


def main() -> int:
    """Run the scenarios, compare their points and print the factors."""
    for file, (changes, names) in CASES.items():
        text = (ROOT / file).read_text()
        found = RunResult.from_json(
            json.dumps(run(text, 1, _core.processors(), changes)), source=file
        )
        for name in names:
            each = [
                (own, base)
                for a, b in pairs(found)
                if (own := a.measure(name)) and (base := b.measure(name))
            ]
            factors = [f for a, b in each if (f := narrower(a, b, found.confidence)) is not None]
            middle = statistics.median(factors)
            print(
                f"{file}, {name}: {middle:.1f}, at most {max(factors):.1f} ({len(factors)} pairs)"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

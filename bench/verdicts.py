"""How often is a short run judged wrongly? ``python bench/verdicts.py [--seeds N] [--keep]``.

Each scenario of ``bench/verdicts/`` is a machine under an open load and a short run of a fixed
length. Each seed runs once below its knee and once above it, with 2 and with 4 replications, at the
loads of `BELOW` and `ABOVE` in turn. A verdict is false if a load below is called saturated, or one
above stable. With ``--keep`` the table goes between the markers in ``docs/statistics.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from coverage import keep, run

from isthmus import _core

SCENARIOS = Path(__file__).parent / "verdicts"
BEGIN = "<!-- verdicts: written by `make coverage` -->"
END = "<!-- end of verdicts -->"
KNEES = {
    "fat-tree": ("workload.jobs.all.load", 164.0, "MB/s"),
    "graph": ("workload.jobs.uniform.load", 5300.0, "MB/s"),
    "hypercube": ("workload.rate", 43.9, "/ms"),
    "hypercube-jobs": ("workload.jobs.io.load", 16.2, "MB/s"),
    "sci": ("workload.load", 6.42, "GB/s"),
}
"""Load of each scenario at which it saturates, by a search with the rule `precision`."""
REPLICATIONS = (2, 4)
BELOW = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
ABOVE = (1.2, 1.3, 1.4, 1.5)
"""Loads above saturation, relative to the knee."""
FALSE_MAX = 0.02
"""The maximum share of false verdicts of one setting: 4 of 200. All together may have half."""


def verdicts(
    kind: str, replications: int, loads: tuple[float, ...], seeds: int, jobs: int
) -> Counter[str]:
    """Count the verdicts of runs with these seeds, at these loads in turn."""
    text = (SCENARIOS / f"{kind}.toml").read_text()
    key, knee, unit = KNEES[kind]
    found: Counter[str] = Counter()
    for seed in range(1, seeds + 1):
        load = f"{knee * loads[seed % len(loads)]:.6g} {unit}"
        changes = [f'{key}="{load}"', f"stop.replications={replications}"]
        [point] = run(text, seed, jobs, changes)["points"]
        found[point["verdict"]["verdict"]] += 1
    return found


def table(seeds: int, jobs: int, show: Callable[[str], None]) -> tuple[str, list[str]]:
    """Return the table of the guide, and the settings with too many false verdicts."""
    heads = ("10 to 60%: false", "undecided", "120 to 150%: false", "undecided")
    lines = [f"| machine | replications | {' | '.join(heads)} |", f"|{'---|' * 6}"]
    many: list[str] = []
    pooled: Counter[str] = Counter()
    for kind in KNEES:
        for replications in REPLICATIONS:
            cells = []
            for name, loads, wrong in (("below", BELOW, "saturated"), ("above", ABOVE, "stable")):
                found = verdicts(kind, replications, loads, seeds, jobs)
                cells += [f"{found[wrong]}", f"{found['undecided'] / seeds:.0%}"]
                pooled[name] += found[wrong]
                if found[wrong] > FALSE_MAX * seeds:
                    many.append(f"{kind}, {replications}, {name}: {found[wrong]} of {seeds}")
            lines.append(f"| {kind} | {replications} | {' | '.join(cells)} |")
            show(lines[-1])
    runs = seeds * len(KNEES) * len(REPLICATIONS)
    many += [
        f"all {name}: {found} of {runs}"
        for name, found in pooled.items()
        if found > FALSE_MAX / 2 * runs
    ]
    return "\n".join(lines), many


def main() -> int:
    """Measure the verdicts, print the table and write it if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=_core.processors())
    parser.add_argument("--keep", action="store_true", help="write the table into the guide")
    asked = parser.parse_args()
    text, many = table(asked.seeds, asked.jobs, lambda line: print(line, flush=True))
    head = f"isthmus {_core.version()}, seeds 1 to {asked.seeds}, false verdicts in runs:"
    if asked.keep:
        keep(f"{head}\n\n{text}", BEGIN, END)
    for line in many:
        print(f"too many false verdicts: {line}", file=sys.stderr)
    return 1 if many else 0


if __name__ == "__main__":
    sys.exit(main())

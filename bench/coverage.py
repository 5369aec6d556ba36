"""Do the intervals hold what they state? ``python bench/coverage.py [--seeds N] [--keep]``.

Each scenario of ``bench/coverage/`` is run with many seeds, and once with a seed of its own and
runs 30 times as long. That run is held to be the truth: its own error is a fifth of that of what it
judges, which costs an interval of 95% up to one percent. For each kind of machine and load the
table says how many of the intervals hold it. With ``--keep`` the table goes between the markers in
``docs/statistics.md``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus import _core

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "bench" / "coverage"
PAGE = ROOT / "docs" / "statistics.md"
BEGIN = "<!-- coverage: written by `make coverage` -->"
END = "<!-- end of coverage -->"
KINDS = ("hypercube", "sci", "fat-tree")
LOADS = ("light", "two thirds", "near the knee")
TRUTH_SEED = 4_000_000_007
LONGER = 30
LEAST = 0.92
"""What an interval of 95% must cover: the mean over the measures of a cell, and each measure as far
as chance allows."""
CHANCE = 1e-4
"""Probability that a measure which covers as much falls below what is asked of it."""
WAIT_S = 3600.0

Interval = tuple[float, float | None, float | None]


@dataclass
class Cell:
    """Intervals of one kind of statistic at one load of one kind of machine."""

    held: dict[str, int] = field(default_factory=dict)
    """By measure."""
    of: dict[str, int] = field(default_factory=dict)
    open: int = 0
    """Those without an upper end, which hold every truth above their lower one."""

    def add(self, measure: str, held: bool, ended: bool) -> None:
        """Count one interval."""
        self.held[measure] = self.held.get(measure, 0) + held
        self.of[measure] = self.of.get(measure, 0) + 1
        self.open += not ended

    @property
    def share(self) -> float:
        """The share of the intervals that hold the truth."""
        return sum(self.held.values()) / sum(self.of.values())

    @property
    def lowest(self) -> str:
        """The measure whose intervals hold it least often."""
        return min(self.of, key=lambda name: self.held[name] / self.of[name])

    @property
    def low(self) -> list[str]:
        """What holds it too rarely: measures by name, or all together."""
        told = [
            f"{name}: {self.held[name]} of {self.of[name]}"
            for name in self.of
            if below(self.held[name], self.of[name])
        ]
        return told + [f"all: {self.share:.1%}"] * (self.share < LEAST)


def below(held: int, of: int) -> bool:
    """Whether so few would be chance, did they hold the truth as often as asked."""
    terms = (math.comb(of, k) * LEAST**k * (1 - LEAST) ** (of - k) for k in range(held + 1))
    return math.fsum(terms) < CHANCE


def run(text: str, seed: int, jobs: int, changes: list[str]) -> Any:
    """The result of a scenario."""
    experiment = _core.Experiment(text, "coverage", changes, seed, jobs, False, None, None)
    experiment.start()
    if not experiment.wait(WAIT_S):
        raise SystemExit("coverage: a run takes longer than an hour")
    return json.loads(experiment.result())


def statistics(point: Any) -> Iterator[tuple[str, str, Interval]]:
    """Kind, name, value and interval of all that a point says."""
    for measure in point["measures"]:
        kind = "mean" if measure["percentiles"] else "rate"
        yield kind, measure["name"], (measure["mean"], measure["low"], measure["high"])
        for each in measure["percentiles"]:
            if each["resolved"]:
                interval = (each["value"], each["low"], each["high"])
                yield f"p{each['percent']:g}", measure["name"], interval


def ratios(points: list[Any]) -> list[dict[str, Interval]]:
    """For each load each mean over that at the load before, the first over that at the next."""
    found = []
    for at, point in enumerate(points):
        other = points[at - 1 if at else 1]
        bases = {m["name"]: m for m in other["measures"]}
        told = {}
        for measure in point["measures"]:
            base = bases.get(measure["name"])
            if base is None or not base["mean"]:
                continue
            operands = [
                {"value": m["mean"], "low": m["low"], "high": m["high"], "each": m["each"]}
                for m in (measure, base)
            ]
            question = {"operation": "ratio", "operands": operands, "confidence": 0.95}
            if (ratio := json.loads(_core.compare(json.dumps(question)))) is not None:
                told[measure["name"]] = (ratio["value"], ratio["low"], ratio["high"])
        found.append(told)
    return found


def told(points: list[Any]) -> list[dict[tuple[str, str], Interval]]:
    """All that the points say, and their ratios."""
    each = zip(points, ratios(points), strict=True)
    return [
        {(what, name): interval for what, name, interval in statistics(point)}
        | {("ratio", name): interval for name, interval in ratio.items()}
        for point, ratio in each
    ]


def holds(value: float, low: float | None, high: float | None) -> bool:
    """Whether an interval holds a value; an end that is not there is nowhere."""
    return (low is None or low <= value) and (high is None or value <= high)


def coverage(
    kind: str, seeds: int, jobs: int, longer: int = LONGER, shorter: int = 1
) -> dict[tuple[str, str], Cell]:
    """For each load and statistic, how often the intervals of a scenario hold the truth; its runs
    are `shorter` than the file says, and that of the truth is `longer` than they are.
    """
    text = (SCENARIOS / f"{kind}.toml").read_text()
    messages = int(text.partition("messages = ")[2].split()[0]) // shorter
    long = run(text, TRUTH_SEED, jobs, [f"stop.messages={longer * messages}"])
    truths = told(long["points"])
    cells: dict[tuple[str, str], Cell] = {}
    for seed in range(1, seeds + 1):
        points = run(text, seed, jobs, [f"stop.messages={messages}"])["points"]
        for load, truth, found in zip(LOADS, truths, told(points), strict=True):
            for (what, name), (_, low, high) in found.items():
                if (what, name) not in truth:
                    continue
                cell = cells.setdefault((load, what), Cell())
                cell.add(name, holds(truth[what, name][0], low, high), high is not None)
    return cells


def table(found: dict[str, dict[tuple[str, str], Cell]]) -> str:
    """The cells as a table of the guide."""
    columns = list(dict.fromkeys(what for cells in found.values() for _, what in cells))
    lines = [
        f"| machine | load | measures | {' | '.join(columns)} |",
        f"|---|---|---|{'---|' * len(columns)}",
    ]
    for kind, cells in found.items():
        for load in dict.fromkeys(load for load, _ in cells):
            at = [cells.get((load, what)) for what in columns]
            shares = " | ".join(_cell(c) if c else "–" for c in at)
            measures = max(len(c.of) for c in at if c)
            lines.append(f"| {kind} | {load} | {measures} | {shares} |")
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    """All measures, the lowest one, and how many have no upper end, if any."""
    name = cell.lowest
    lowest = f"{100 * cell.held[name] / cell.of[name]:.0f}"
    of = sum(cell.of.values())
    ended = f", {100 * cell.open / of:.0f}% open" if cell.open else ""
    return f"{100 * cell.share:.1f}% ({lowest}{ended})"


def low_cells(found: dict[str, dict[tuple[str, str], Cell]]) -> list[str]:
    """What holds the truth too rarely, in words."""
    return [
        f"{kind}, {load}, {what}, {low}"
        for kind, cells in found.items()
        for (load, what), cell in cells.items()
        for low in cell.low
    ]


def keep(text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the table between the markers of the guide's page."""
    page = PAGE.read_text()
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE}: has no {begin} and {end}")
    PAGE.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}")


def main() -> int:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=_core.processors())
    parser.add_argument("--keep", action="store_true", help="write the table into the guide")
    asked = parser.parse_args()
    found = {kind: coverage(kind, asked.seeds, asked.jobs) for kind in KINDS}
    head = (
        f"isthmus {_core.version()}, seeds 1 to {asked.seeds}, truth from seed {TRUTH_SEED} "
        f"and runs {LONGER} times as long:"
    )
    text = f"{head}\n\n{table(found)}"
    print(text)
    if asked.keep:
        keep(text)
    low = low_cells(found)
    for line in low:
        print(f"below {LEAST:.0%}: {line}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())

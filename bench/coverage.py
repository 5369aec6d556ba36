"""Measure the coverage of intervals: ``python bench/coverage.py [--seeds N] [--keep]``.

Each scenario of ``bench/coverage/`` is run with many seeds, and once with another seed and 30 times
as long. The long run counts as the truth: its own error is a fifth of that of the short runs, which
costs a 95% interval up to one percent. Two tables give the share of intervals that contain the
truth: one of means, rates and ratios by kind of machine and load, one of percentiles by kind of
machine, with the width of the intervals relative to an oracle. The oracle knows the scatter of all
seeds: its half-width is 1.96 standard deviations. With ``--keep`` the tables are written between
the markers in ``docs/statistics.md``.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from isthmus import _core

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "bench" / "coverage"
PAGE = ROOT / "docs" / "statistics.md"
BEGIN = "<!-- coverage: written by `make coverage` -->"
END = "<!-- end of coverage -->"
KINDS = ("hypercube", "sci", "fat-tree", "graph")
SMOOTH = ("hypercube", "fat-tree", "graph")
"""Kinds of machine whose percentiles must not over-cover or be too wide. Percentiles of SCI are a
few cycles on a lattice, so an interval has a whole number of steps.
"""
LOADS = ("light", "two thirds", "near the knee")
TRUTH_SEED = 4_000_000_007
LONGER = 30
LEAST = 0.92
"""The minimum coverage of a 95% interval: for the mean over the measures of a cell, and for each
measure within chance.
"""
CHANCE = 1e-4
"""Probability that a measure with sufficient coverage fails the test by chance."""
MOST = 0.98
WIDEST = 1.3
MOST_OPEN = 0.05
"""Upper limits for the percentiles of a kind: coverage (to p99), width relative to the oracle (to
p99), and share without an upper end (to p90).
"""
Z = 1.959964
WAIT_S = 3600.0


class Interval(NamedTuple):
    """A value, its interval, and whether enough observations lie above it."""

    value: float
    low: float | None
    high: float | None
    resolved: bool = True

    def holds(self, value: float) -> bool:
        """Return whether the interval contains a value; an interval without an end is unbounded
        there.
        """
        below = self.low is not None and value < self.low
        return not below and (self.high is None or value <= self.high)


@dataclass
class Measure:
    """The intervals of all seeds for one statistic of one measure at one load."""

    truth: float
    found: list[Interval] = field(default_factory=list)

    @property
    def held(self) -> int:
        """The number of intervals that contain the truth."""
        return sum(each.holds(self.truth) for each in self.found)

    @property
    def open(self) -> int:
        """The number of intervals without an upper end, which contain every true value above the
        lower end.
        """
        return sum(each.high is None for each in self.found)

    @property
    def share(self) -> float:
        """The share of the intervals that contain the truth."""
        return self.held / len(self.found)

    @property
    def is_low(self) -> bool:
        """Whether the coverage is so low that this is not by chance."""
        of = len(self.found)
        terms = (
            math.comb(of, k) * LEAST**k * (1 - LEAST) ** (of - k) for k in range(self.held + 1)
        )
        return math.fsum(terms) < CHANCE

    @property
    def on_step(self) -> bool:
        """Whether most intervals are equal: a value on a lattice, known exactly."""
        ends = Counter((each.low, each.high) for each in self.found)
        return 2 * max(ends.values()) > len(self.found)

    @property
    def is_resolved(self) -> bool:
        """Whether most intervals are of values with enough observations."""
        return 2 * sum(each.resolved for each in self.found) > len(self.found)

    @property
    def width(self) -> float:
        """Mean width of the two-ended intervals relative to the oracle; infinite without any."""
        widths = [e.high - e.low for e in self.found if e.high is not None and e.low is not None]
        oracle = 2 * Z * statistics.stdev(each.value for each in self.found)
        return statistics.fmean(widths) / oracle if widths and oracle else math.inf


Found = dict[tuple[str, str, str], Measure]
"""Measures by load, statistic (``mean``, ``rate``, ``ratio``, ``p50``, ...) and name."""


def run(text: str, seed: int, jobs: int, changes: list[str]) -> Any:
    """Return the result of a scenario."""
    experiment = _core.Experiment(text, "coverage", changes, seed, jobs, False, None, None)
    experiment.start()
    if not experiment.wait(WAIT_S):
        raise SystemExit("coverage: a run takes longer than an hour")
    return json.loads(experiment.result())


def of_point(point: Any) -> Iterator[tuple[str, str, Interval]]:
    """Yield statistic, measure and interval for everything that a point reports."""
    for measure in point["measures"]:
        kind = "mean" if measure["percentiles"] else "rate"
        yield kind, measure["name"], Interval(measure["mean"], measure["low"], measure["high"])
        for p in measure["percentiles"]:
            interval = Interval(p["value"], p["low"], p["high"], p["resolved"])
            yield f"p{p['percent']:g}", measure["name"], interval


def ratios(points: list[Any]) -> list[dict[str, Interval]]:
    """Return means divided by those at the previous load, for each load; the first by the next."""
    found = []
    for at, point in enumerate(points):
        other = points[at - 1 if at else 1]
        bases = {m["name"]: m for m in other["measures"]}
        at_load = {}
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
                at_load[measure["name"]] = Interval(ratio["value"], ratio["low"], ratio["high"])
        found.append(at_load)
    return found


def of_points(points: list[Any]) -> list[dict[tuple[str, str], Interval]]:
    """Return everything that the points report, with ratios."""
    each = zip(points, ratios(points), strict=True)
    return [
        {(what, name): interval for what, name, interval in of_point(point)}
        | {("ratio", name): interval for name, interval in ratio.items()}
        for point, ratio in each
    ]


def coverage(kind: str, seeds: int, jobs: int, longer: int = LONGER, shorter: int = 1) -> Found:
    """Measure the intervals of a scenario.

    The runs are `shorter` than in the file, and the run of the truth is `longer` than they are.
    """
    text = (SCENARIOS / f"{kind}.toml").read_text()
    messages = int(text.partition("messages = ")[2].split()[0]) // shorter
    long = run(text, TRUTH_SEED, jobs, [f"stop.messages={longer * messages}"])
    truths = of_points(long["points"])
    found: Found = {}
    for seed in range(1, seeds + 1):
        points = run(text, seed, jobs, [f"stop.messages={messages}"])["points"]
        for load, truth, at in zip(LOADS, truths, of_points(points), strict=True):
            for (what, name), interval in at.items():
                if (what, name) in truth:
                    key = load, what, name
                    found.setdefault(key, Measure(truth[what, name].value)).found.append(interval)
    return found


def is_percentile(what: str) -> bool:
    """Return whether a statistic is a percentile, by its name."""
    return what.startswith("p")


def pooled(measures: Iterable[Measure]) -> tuple[float, float]:
    """Return the shares of all intervals that contain the truth, and that have no upper end."""
    each = list(measures)
    of = sum(len(m.found) for m in each)
    return sum(m.held for m in each) / of, sum(m.open for m in each) / of


def tables(found: dict[str, Found]) -> str:
    """Return both tables of the guide."""
    return f"{table_of_means(found)}\n\n{table_of_percentiles(found)}"


def table_of_means(found: dict[str, Found]) -> str:
    """Return the table of rates, means and ratios, by kind of machine and load."""
    lines = ["| machine | load | measures | rate | mean | ratio |", "|---|---|---|---|---|---|"]
    for kind, measures in found.items():
        for load in LOADS:
            cells, most = [], 0
            for column in ("rate", "mean", "ratio"):
                named = {
                    n: m for (at, what, n), m in measures.items() if (at, what) == (load, column)
                }
                most = max(most, len(named))
                cells.append(_cell(list(named.values())) if named else "–")
            lines.append(f"| {kind} | {load} | {most} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(measures: list[Measure]) -> str:
    """Return the table cell with the coverage of all measures, the lowest one, and the number
    without an upper end.
    """
    held, unended = pooled(measures)
    lowest = f"{100 * min(m.share for m in measures):.0f}"
    return f"{100 * held:.1f}% ({lowest}{f', {100 * unended:.0f}% open' if unended else ''})"


def by_percentile(measures: Found) -> dict[str, list[Measure]]:
    """Return the measures of all loads by percentile, ascending."""
    names = {what for _, what, _ in measures if is_percentile(what)}
    return {
        percentile: [m for (_, what, _), m in measures.items() if what == percentile]
        for percentile in sorted(names, key=lambda name: float(name[1:]))
    }


def table_of_percentiles(found: dict[str, Found]) -> str:
    """Return the table of percentiles by kind of machine; lattice values and few samples apart."""
    lines = [
        "| machine | percentile | measures | hold | width over oracle, median (most) | open "
        "| on a step: measures, hold | too few: measures, hold, open |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, measures in found.items():
        for percentile, each in by_percentile(measures).items():
            step, few, rest = split(each)
            cells = [str(len(rest)), "–", "–", "–"]
            if rest:
                held, unended = pooled(rest)
                widths = [m.width for m in rest]
                width = f"{statistics.median(widths):.2f} ({max(widths):.2f})"
                cells[1:] = [f"{100 * held:.1f}%", width, f"{100 * unended:.1f}%"]
            cells.append(f"{len(step)}, {100 * pooled(step)[0]:.1f}%" if step else "–")
            ends = [f"{100 * share:.1f}%" for share in pooled(few)] if few else []
            cells.append(", ".join([str(len(few)), *ends]) if few else "–")
            lines.append(f"| {kind} | {percentile} | {' | '.join(cells)} |")
    return "\n".join(lines)


def oracle_error(seeds: int) -> float:
    """Return the relative standard error of the oracle's width, that of a standard deviation."""
    return 1 / math.sqrt(2 * (seeds - 1))


def split(measures: Iterable[Measure]) -> tuple[list[Measure], list[Measure], list[Measure]]:
    """Split percentiles into those on a lattice, those with few observations, and all others."""
    step: list[Measure] = []
    few: list[Measure] = []
    rest: list[Measure] = []
    for measure in measures:
        (few if not measure.is_resolved else step if measure.on_step else rest).append(measure)
    return step, few, rest


def complaints(found: dict[str, Found]) -> list[str]:
    """Return the violated requirements on coverage and width, in words."""
    lines = []
    for kind, measures in found.items():
        for (load, what, name), measure in measures.items():
            if measure.is_resolved and measure.is_low:
                of = f"{measure.held} of {len(measure.found)}"
                lines.append(f"{kind}, {load}, {what}, {name}: {of} hold")
        for percentile, each in by_percentile(measures).items():
            rest = split(each)[2]
            if not rest or float(percentile[1:]) > 99:
                continue
            held, unended = pooled(rest)
            width = statistics.median(m.width for m in rest)
            if held < LEAST or (kind in SMOOTH and held > MOST):
                lines.append(f"{kind}, {percentile}: {held:.1%} hold")
            if kind in SMOOTH and width > WIDEST * (1 + oracle_error(len(rest[0].found))):
                lines.append(f"{kind}, {percentile}: {width:.2f} times as wide as the oracle")
            if float(percentile[1:]) <= 90 and unended > MOST_OPEN:
                lines.append(f"{kind}, {percentile}: {unended:.1%} have no upper end")
    return lines


def keep(text: str, begin: str = BEGIN, end: str = END) -> None:
    """Write tables between the markers of the guide's page."""
    page = PAGE.read_text()
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE}: has no {begin} and {end}")
    PAGE.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}")


def main() -> int:
    """Measure the coverage, print the tables and write them if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=_core.processors())
    parser.add_argument("--keep", action="store_true", help="write the tables into the guide")
    asked = parser.parse_args()
    found = {kind: coverage(kind, asked.seeds, asked.jobs) for kind in KINDS}
    head = (
        f"isthmus {_core.version()}, seeds 1 to {asked.seeds}, truth from seed {TRUTH_SEED} "
        f"and runs {LONGER} times as long:"
    )
    text = f"{head}\n\n{tables(found)}"
    print(text)
    if asked.keep:
        keep(text)
    wrong = complaints(found)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

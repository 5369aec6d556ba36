"""Runs the scaling study and draws it: placement of I/O servers and interference by size of tree.

    python papers/qsnet-io/scaling/study.py [--out FOLDER] [--jobs N] [--quick]

Writes ``scaling.csv``, ``scaling.png`` and ``scaling.svg`` beside this file, or with ``--quick``
into the folder of the results; finished scenarios are kept there and not run again.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

import isthmus
from isthmus.results.schema import PointResult, RunResult
from isthmus.value import Value

HERE = Path(__file__).resolve().parent
TREES = {
    "64": "nodes-64",
    "256": "nodes-256",
    "1,024": "nodes-1024",
    "1,024 tapered": "nodes-1024-tapered",
    "4,096": "nodes-4096",
}
CASES = (
    "shared, clustered Ii",
    "shared, distributed",
    "shared, clustered Ic",
    "dedicated, distributed",
)
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
Row = tuple[str, str, str, Value]
"""Tree, case, what it is, percent or MB/s."""


def main() -> None:
    """Run, tell and draw."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--out", type=Path, default=Path("out/papers/qsnet-io/scaling"))
    asked.add_argument("--jobs", type=int, default=None)
    asked.add_argument("--quick", action="store_true")
    how = asked.parse_args()

    def run(name: str) -> RunResult:
        scenario = isthmus.load(HERE / f"{name}.toml")
        digest = scenario.check()["digest"][:8]
        folder = how.out / f"{name}-{digest}{'-quick' if how.quick else ''}"
        kept = folder / "result.json"
        if not kept.is_file():
            results = scenario.run(jobs=how.jobs, quick=how.quick)
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_text(results.json)
        return RunResult.from_json(kept.read_text(), str(kept))

    rows = list(placement(run("placement")))
    for tree, name in TREES.items():
        rows += interference(tree, run(name))
    folder = how.out if how.quick else HERE
    write(folder / "scaling.csv", rows)
    draw(folder, rows)
    for tree, case, what, value in rows:
        print(f"{tree:14} {case:24} {what:28} {value.text}")


def at(run: RunResult, *labels: str) -> PointResult:
    """The point whose axes have these values, in any order."""
    (found,) = (p for p in run.points if {v.text for v in p.values} == set(labels))
    return found


def rate(point: PointResult, name: str) -> Value:
    """A measure with its interval."""
    measure = point.measure(name)
    assert measure is not None
    return Value(measure.mean, measure.low, measure.high)


def placement(run: RunResult) -> list[Row]:
    """What servers accept, and the gain of distributing them."""
    rows: list[Row] = []
    for tree in TREES:
        accepted = {p: rate(at(run, p, tree), "servers.accepted") for p in PLACEMENTS}
        rows += [(tree, p, "MB/s per server", value) for p, value in accepted.items()]
        gain = accepted["distributed"].above(accepted["clustered"])
        rows.append((tree, "distributed", "% more than clustered", gain))
    return rows


PLACEMENTS = ("clustered", "distributed")


def interference(tree: str, run: RunResult) -> list[Row]:
    """What each job loses beside the other, in percent of its bandwidth alone."""
    rows: list[Row] = []
    for case in CASES:
        both = at(run, case, "compute + io")
        for job, other in (("compute", "io"), ("io", "compute")):
            alone = rate(at(run, case, job), f"{job}.accepted")
            rows.append((tree, case, f"{job} alone, MB/s", alone))
            loss = rate(both, f"{job}.accepted").below(alone)
            rows.append((tree, case, f"{job} loses beside {other}, %", loss))
    return rows


def write(path: Path, rows: list[Row]) -> None:
    """The numbers as a table."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("tree", "case", "quantity", "mean", "low", "high"))
        for tree, case, what, value in rows:
            ends = (value.value, *value.ends)
            table.writerow((tree, case, what, *(f"{end:.4g}" for end in ends)))


def draw(folder: Path, rows: list[Row]) -> None:
    """Two panels: accepted load by placement, loss of the compute job by case."""
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "scaling", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    bars(left, rows, "MB/s per server", PLACEMENTS)
    left.set_ylabel("accepted load per I/O server (MB/s)")
    left.set_title("Placement: random writes of all other nodes")
    bars(right, rows, "compute loses beside io, %", CASES)
    right.set_ylabel("bandwidth lost by the compute job (%)")
    right.set_title("Interference: I/O at a load of 0.3, half reads")
    for axes in (left, right):
        axes.set_xlabel("nodes")
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.08))
    figure.savefig(folder / "scaling.png", dpi=130, metadata={"Software": None})
    figure.savefig(folder / "scaling.svg", metadata={"Date": None})


def bars(axes: plt.Axes, rows: list[Row], what: str, cases: tuple[str, ...]) -> None:
    """A group of bars with intervals for each tree."""
    width = 0.8 / len(cases)
    for number, case in enumerate(cases):
        values = [v for _, c, w, v in rows if (c, w) == (case, what)]
        middles = [v.value or 0.0 for v in values]
        low = [m - v.ends[0] for m, v in zip(middles, values, strict=True)]
        high = [v.ends[1] - m for m, v in zip(middles, values, strict=True)]
        x = [i + (number - (len(cases) - 1) / 2) * width for i in range(len(values))]
        axes.bar(x, middles, 0.92 * width, color=COLOURS[number], label=case)
        axes.errorbar(x, middles, (low, high), fmt="none", ecolor="black", lw=0.8, capsize=2)
    axes.axhline(0, color="black", lw=0.6)
    axes.set_xticks(range(len(TREES)), [t.replace(" ", "\n") for t in TREES])
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()

"""Exchanges: predicted against measured times, and the gain of reshuffling before writing."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plot
from array_files import tmpfs
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measure import ROOT, Engine, Line
from mpis import RANKS, installed, launched, turns

IMAGES = ROOT / "docs" / "images"
CASES = 20
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Numbers of doubles in a block: 8 bytes to 8 KiB, as in section 6.3 of the paper from 128 bytes
on.
"""


def prediction(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Predict and measure exchanges that calibration does not use."""
    mpis = installed()
    if not mpis:
        sys.stdout.write("prediction: left out, there is no MPI with mpi4py and a compiler\n")
        return
    mpi = mpis[0]
    cases, runs, most = (4, 2, 1) if quick else (CASES, 3, 15)
    words = map(str, (cases, runs, most))
    report = json.loads(launched([*mpi.launch(), *mpi.python_program("predicted.py"), *words]))
    found = report["cases"]
    wrong = sorted(abs(case["predicted_s"] / case["measured_s"] - 1) for case in found)
    if not quick:
        _draw_prediction(found, IMAGES / "exchanges-predicted")
    yield Line(
        id="prediction.exchanges",
        name=f"{cases} exchanges of {RANKS} ranks, none of them used for calibration: median error",
        isthmus=statistics.median(wrong) * 100,
        unit="%",
        detail={"mpi": mpi.name, "largest_error": wrong[-1], **report},
    )


def crossover(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Write one file in blocks of several sizes, directly and reshuffled."""
    mpis = installed()
    side = 512 if quick else 4096
    place = tmpfs(4 * side * side * 8)
    if not mpis or place is None:
        sys.stdout.write("crossover: left out, it needs an MPI with mpi4py and tmpfs\n")
        return
    mpi = mpis[0]
    direct, isthmus = mpi.built("direct"), mpi.python_program("reshuffled.py")
    points = []
    with tempfile.TemporaryDirectory(dir=place, prefix="isthmus-bench-") as folder:
        for block in BLOCKS[3::4] if quick else BLOCKS:
            words = [str(side), str(block), "1", str(Path(folder) / "matrix")]
            commands = {
                name: [*mpi.launch(), *program, *words]
                for name, program in (("as it is", direct), ("reshuffled", isthmus))
            }
            times = turns(commands, 1 if quick else 5)
            moved = side * side * 8
            points.append(
                {"block_bytes": block * 8}
                | {name: took["write"].as_detail(moved) for name, took in times.items()}
            )
    if not quick:
        _draw_crossover(points, IMAGES / "reshuffle-or-not")
    ratio = {
        point["block_bytes"]: point["reshuffled"]["rate_mb_per_s"]["median"]
        / point["as it is"]["rate_mb_per_s"]["median"]
        for point in points
    }
    pays = [size for size, gain in ratio.items() if gain > 1]
    first = points[0]
    yield Line(
        id="crossover.write",
        name=f"{side * side * 8 / 2**20:g} MiB in blocks of {first['block_bytes']} bytes to one "
        f"file on tmpfs, reshuffled and as it is; it pays up to {max(pays, default=0)} bytes",
        isthmus=first["reshuffled"]["rate_mb_per_s"]["median"],
        peer=first["as it is"]["rate_mb_per_s"]["median"],
        unit="MB/s",
        ratio=ratio[first["block_bytes"]],
        detail={"mpi": mpi.name, "points": points, "ratio": ratio},
    )


def _picture() -> tuple[Figure, Axes]:
    """Return an empty plot with logarithmic axes."""
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    plot.tidy(axes)
    return figure, axes


def _draw_prediction(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw predicted against measured times of exchanges."""
    figure, axes = _picture()
    marks = {"alltoall": "o", "pairwise": "s", "datatype": "^", "window": "D"}
    for form, marker in marks.items():
        if form not in {case["form"] for case in cases}:
            continue
        of_form = [case for case in cases if case["form"] == form]
        axes.plot(
            [case["predicted_s"] * 1e3 for case in of_form],
            [case["measured_s"] * 1e3 for case in of_form],
            marker,
            label=form,
        )
    both = [case[what] * 1e3 for case in cases for what in ("predicted_s", "measured_s")]
    ends = [min(both) / 1.5, max(both) * 1.5]
    axes.plot(ends, ends, color="#222222", linewidth=0.8)
    axes.fill_between(
        ends, [0.85 * end for end in ends], [1.15 * end for end in ends], color="#222222", alpha=0.1
    )
    axes.set_xlabel("predicted (ms)")
    axes.set_ylabel("measured (ms)")
    axes.set_title("Exchanges of 4 ranks, and 15% on either side", loc="left")
    axes.legend(frameon=False)
    plot.save(figure, path)


def _draw_crossover(points: list[dict[str, Any]], path: Path) -> None:
    """Draw the rates of writing, direct and after a redistribution, against the block size."""
    figure, axes = _picture()
    for name, marker in (("reshuffled", "o"), ("as it is", "s")):
        rates = [point[name]["rate_mb_per_s"] for point in points]
        axes.errorbar(
            [point["block_bytes"] for point in points],
            [rate["median"] for rate in rates],
            [
                [rate["median"] - rate["min"] for rate in rates],
                [rate["max"] - rate["median"] for rate in rates],
            ],
            marker=marker,
            capsize=2,
            label=name,
        )
    axes.set_xticks([2**power for power in range(3, 14, 2)])
    axes.set_xticklabels(
        [f"{2**power} B" if power < 10 else f"{2 ** (power - 10)} KiB" for power in range(3, 14, 2)]
    )
    axes.minorticks_off()
    axes.set_xlabel("block")
    axes.set_ylabel("MB/s")
    axes.set_title("4 ranks write one file on tmpfs", loc="left")
    axes.legend(frameon=False)
    plot.save(figure, path)

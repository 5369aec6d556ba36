"""Runs the scaling study: scaling.csv, .png and .svg, with --quick in the folder of results."""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib import pyplot as plt

import isthmus

HERE, COLOURS = Path(__file__).resolve().parent, ("#d55e00", "#0072b2", "#009e73", "#cc79a7")
TREES, PLACED = ("64", "256", "1,024", "1,024 tapered", "4,096"), ("clustered", "distributed")
CASES = [f"shared, {mapping}" for mapping in ("clustered Ii", "distributed", "clustered Ic")]
CASES.append("dedicated, distributed")
asked = argparse.ArgumentParser(description="Runs the scaling study and draws it.")
asked.add_argument("--out", type=Path, default="out/papers/qsnet-io/scaling")
asked.add_argument("--jobs", type=int)
asked.add_argument("--quick", action="store_true")
how, rows = asked.parse_args(), []
for tree in ("", *TREES):
    name = f"nodes-{tree.replace(',', '').replace(' ', '-')}" if tree else "placement"
    out = how.out / (name + "-quick" * how.quick)
    run = isthmus.load(HERE / f"{name}.toml").run(jobs=how.jobs, quick=how.quick, out=out)
    jobs = (("compute", "io"), ("io", "compute")) if tree else (("servers", ""),)
    for place, (job, other) in ((p, j) for p in (CASES if tree else TREES) for j in jobs):
        at = run.sel({"case" if tree else "tree": place}, measure=f"{job}.accepted")
        axis, pair = ("active", (job, "compute + io")) if tree else ("servers.placement", PLACED)
        for value in pair[: 1 if tree else 2]:
            told = at.sel({axis: value}, statistic="mean").table.select("value", "low", "high")
            words = (place, value, "MB/s per server")
            rows.append((*((tree, place, f"{job} alone, MB/s") if tree else words), *told.row(0)))
        table = at.compare({axis: pair[0]}, {axis: pair[1]}, paired=False).table
        ratios = table.filter(statistic="mean").select("ratio", "ratio_low", "ratio_high").row(0)
        mean, *ends = (100 * (-1 if tree else 1) * (ratio - 1) for ratio in ratios)
        words = (tree, place, f"{job} loses beside {other}, %")
        words = words if tree else (place, value, "% more than clustered")
        rows.append((*words, mean, *sorted(ends)))
folder, names = how.out if how.quick else HERE, ["tree", "case", "quantity", "mean"]
told = [[*row[:3], *(f"{end:.4g}" for end in row[3:])] for row in rows]
pl.DataFrame(told, [*names, "low", "high"], orient="row").write_csv(folder / "scaling.csv")
plt.rcParams.update({"font.size": 9, "svg.hashsalt": "scaling", "svg.fonttype": "none"})
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
drawn = ((PLACED, "MB/s per server"), (CASES, "compute loses beside io, %"))
for ax, (cases, what) in zip(axes, drawn, strict=True):
    for n, case in enumerate(cases):
        mean, low, high = np.transpose([row[3:] for row in rows if row[1:3] == (case, what)])
        x = np.arange(len(TREES)) + (n - (len(cases) - 1) / 2) * (0.8 / len(cases))
        ax.bar(x, mean, 0.92 * (0.8 / len(cases)), color=COLOURS[n], label=case)
        ax.errorbar(x, mean, (mean - low, high - mean), fmt="none", ecolor="k", lw=0.8, capsize=2)
    ax.axhline(0, color="black", lw=0.6)
    ax.set_xticks(range(len(TREES)), [tree.replace(" ", "\n") for tree in TREES])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.08))
left, right = "accepted load per I/O server (MB/s)", "bandwidth lost by the compute job (%)"
axes[0].set(title="Placement: random writes of all other nodes", xlabel="nodes", ylabel=left)
axes[1].set(title="Interference: I/O at a load of 0.3, half reads", xlabel="nodes", ylabel=right)
figure.savefig(folder / "scaling.png", dpi=130, metadata={"Software": None})
figure.savefig(folder / "scaling.svg", metadata={"Date": None})

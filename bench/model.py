"""How far the queueing model of hypercubes is from the simulation, on machines drawn at random.

Question: within how much of the simulation are the model's PE-PE latency and whole read below 80%
of the load at which the machine saturates? Peer: the simulation of the same machine. Load: one of
each machine's own, even between 5% and 80% of its knee. Good is 5% for PE-PE messages and 10% for
reads. The model was fitted on the first machines; the last ones were simulated afterwards, and are
told apart: only these say how well it foretells.

    python bench/model.py simulate --count 200    measures what the model is held against
    python bench/model.py                         compares, and draws the residuals
    python bench/model.py --count 12 --keep no    the short form

Messages are longer than their paths; the model holds for no others.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isthmus import Hypercube, Placement, Search, Workload, analyze, simulate

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "hypercube-model.png"
KEPT = HERE / "results" / "hypercube-model.json"
MEASURES = {"pe_pe.header": 0.05, "read.network": 0.10}
TITLES = {"pe_pe.header": "PE-PE messages", "read.network": "whole reads"}
BELOW = 0.8
SEED = 11
HELD_OUT = 140
"""Number of the first machine that nobody had looked at when the model was made. The weight of
Draper and Ghosh was fitted on machines 0 to 61; how worms that wait together are counted was chosen
among variants by what each gave on those below this number."""


def drawn(count: int) -> list[dict[str, Any]]:
    """Machines and work, as arguments of `Hypercube` and `Workload`."""
    machines = []
    for number in range(count):
        draw = random.Random(f"{SEED}/{number}")
        d = draw.randint(3, 7)
        b = draw.choice([0, 1, 1, 2, 2, 3, 4])
        kind = draw.choice(
            ["combined", "combined", "combined", "dominating", "stride", "clustered"]
        )
        placement: dict[str, Any] = {"kind": kind}
        if kind in ("stride", "clustered"):
            placement["count"] = draw.randint(2, 2 ** (d - 1))
        machine = {
            "dimension": d,
            "io_link_lanes": b,
            "pe_lanes": draw.choice([1, 2, d + 2]),
            "link_lanes": draw.choice([1, 1, 1, 2]),
            "io_node_lanes": draw.choice([1, 3, d + 1]),
        }
        if b > 0:
            machine["io_source_lanes"] = draw.choice([b, 4 * b])
            machine["io_to_pe_lanes"] = draw.choice([b, 4 * b])
        work = {
            "io_probability": round(draw.uniform(0.01, 0.2), 3),
            "read_ratio": draw.choice([1.0, 1.0, 0.7, 0.4]),
            "locality": round(draw.uniform(0.0, 0.9), 2),
            "message": f"{draw.randint(16, 128)} B",
            "block": f"{draw.choice([512, 1024, 2048, 4096])} B",
        }
        machines.append(
            {
                "machine": machine,
                "placement": placement,
                "work": work,
                "at": draw.uniform(0.05, BELOW),
            }
        )
    return machines


def built(case: dict[str, Any]) -> Hypercube:
    """The machine of a case."""
    return Hypercube(placement=Placement(**case["placement"]), **case["machine"])


def measured(case: dict[str, Any]) -> dict[str, Any]:
    """A case with its knee and its means as simulated."""
    machine, work = built(case), case["work"]
    low, high = 1.0, 100.0
    while True:
        found = simulate(machine, Workload(**work), quick=True, seed=1, **_search(low, high))
        search = found.run.searches[0]
        stable, saturated = search.highest_stable, search.lowest_saturated
        if stable is not None and saturated is not None:
            break
        low, high = low / 4, high * 4
    knee = (stable + saturated) / 2
    rate = case["at"] * knee
    run = simulate(machine, Workload(rate=f"{rate!r} /ms", **work), precision="2%", seed=2).run
    means = {m.name: [m.mean, m.low, m.high] for m in run.points[0].measures if m.name in MEASURES}
    return {**case, "knee": knee, "rate": rate, "simulated": means}


def compared(case: dict[str, Any]) -> dict[str, float | None]:
    """The model's residuals at the load of a case; none where the model says that it saturates."""
    work = Workload(rate=f"{case['rate']!r} /ms", **case["work"])
    told = {m.name: m.analytic for m in analyze(built(case), work).run.points[0].measures}
    simulated = case["simulated"]
    return {
        name: told[name] / simulated[name][0] - 1 if told.get(name) else None
        for name in MEASURES
        if simulated.get(name, [None])[0]
    }


def sizes(cases: list[dict[str, Any]], name: str) -> list[float]:
    """Sizes of the residuals, the least first; that of a machine said to saturate is infinite."""
    residuals = [case["residual"][name] for case in cases if name in case["residual"]]
    return sorted(float("inf") if found is None else abs(found) for found in residuals)


def summary(cases: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Of each measure: how many residuals are within the aim, and how large they are."""
    found: dict[str, dict[str, float | None]] = {}
    for name, aim in MEASURES.items():
        of = sizes(cases, name)
        found[name] = {
            "cases": len(of),
            "within_aim": sum(size <= aim for size in of) / len(of),
            "median": _finite(statistics.median(of)),
            "p90": _finite(of[int(0.9 * (len(of) - 1))]),
            "largest": _finite(of[-1]),
            "said_to_saturate": of.count(float("inf")),
        }
    return found


def _finite(size: float) -> float | None:
    """None for a machine said to saturate, for JSON."""
    return size if size < float("inf") else None


def table(told: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The rows of the guide's table."""
    for part, measures in told.items():
        for name, row in measures.items():
            cells = [
                "saturates" if row[key] is None else f"{row[key]:.{digits}%}"
                for key, digits in (("within_aim", 0), ("median", 1), ("p90", 1), ("largest", 0))
            ]
            first = f"{row['cases']}, {part.replace('_', ' ')}"
            cells.append(str(row["said_to_saturate"]))
            yield f"| {first} | {TITLES[name]} | {' | '.join(cells)} |"


def parts(cases: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The summaries of the machines that the model was fitted on and of those held out."""
    split = {
        "fitted_on": [case for case in cases if case["number"] < HELD_OUT],
        "held_out": [case for case in cases if case["number"] >= HELD_OUT],
    }
    return {part: summary(chosen) for part, chosen in split.items() if chosen}


def _search(low: float, high: float) -> dict[str, Any]:
    ends = {"start": f"{low!r} /ms", "stop": f"{high!r} /ms"}
    return {"search": Search(over="workload.rate", resolution="10%", **ends)}


EDGE = 60.0
"""Residuals in percent that are drawn at most."""


def interval(case: dict[str, Any], name: str) -> tuple[float, float, float]:
    """The least, middle and greatest residual of a case over the simulation's interval."""
    mean, low, high = case["simulated"][name]
    told = (1 + case["residual"][name]) * mean
    return told / high - 1, told / mean - 1, told / low - 1


def draw(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw residuals against the part of the knee, and how many are how large."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 6.6), layout="constrained", sharey="col")
    figure.suptitle(f"The model of hypercubes on {len(cases)} machines drawn at random")
    for row, (name, aim) in zip(axes, MEASURES.items(), strict=True):
        row[0].axhspan(-100 * aim, 100 * aim, color="#888888", alpha=0.2, linewidth=0)
        for held, color, label in (
            (False, "#1b6ca8", "fitted on"),
            (True, "#c8553d", "held out"),
        ):
            chosen = [
                case
                for case in cases
                if (case["number"] >= HELD_OUT) == held and name in case["residual"]
            ]
            if not chosen:
                continue
            full = [100 * case["at"] for case in chosen if case["residual"][name] is None]
            row[0].scatter(full, [EDGE] * len(full), s=24, color=color, marker="^")
            known = [case for case in chosen if case["residual"][name] is not None]
            ends = [interval(case, name) for case in known]
            clipped = [[min(EDGE, max(-EDGE, 100 * end)) for end in three] for three in ends]
            row[0].errorbar(
                [100 * case["at"] for case in known],
                [middle for _, middle, _ in clipped],
                yerr=[[m - low for low, m, _ in clipped], [high - m for _, m, high in clipped]],
                fmt="o",
                markersize=3,
                elinewidth=0.8,
                color=color,
            )
            of = [min(100.0, 100 * size) for size in sizes(chosen, name)]
            shares = [100 * (n + 1) / len(of) for n in range(len(of))]
            row[1].step(of, shares, where="post", color=color, label=f"{label} ({len(of)})")
        row[0].set_ylim(-EDGE - 2, EDGE + 2)
        row[0].set_ylabel("model above simulation (%)")
        row[0].set_title(f"{TITLES[name]}, 95% intervals; grey: within {aim:.0%}", loc="left")
        row[0].set_xlabel(
            f"load (% of the knee); {EDGE:.0f} and more at the edge, ▲ said to saturate"
        )
        row[1].axvline(100 * aim, color="#555555", linewidth=0.8)
        row[1].set_title(f"{TITLES[name]}: machines within so much", loc="left")
        row[1].set_xlim(0, 40)
        row[1].set_ylim(0, 100)
        row[1].set_xlabel("size of the residual (%), 40 and more at the edge")
        row[1].set_ylabel("machines (%)")
        row[1].legend(frameon=False, fontsize=10, loc="lower right")
        for ax in row:
            ax.grid(visible=True, color="#dddddd", linewidth=0.8)
            ax.set_axisbelow(True)
            ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Measure or compare, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", nargs="?", choices=["compare", "simulate"], default="compare")
    parser.add_argument("--count", type=int, default=None, help="machines, the first ones drawn")
    parser.add_argument("--keep", choices=["yes", "no"], default="yes", help="write files")
    given = parser.parse_args()
    cases = json.loads(KEPT.read_text())["cases"] if KEPT.exists() else []
    if given.action == "simulate":
        known = {case["number"] for case in cases}
        for number, case in enumerate(drawn(given.count or 200)):
            if number not in known:
                cases.append({"number": number, **measured(case)})
                _keep(cases)
    kept, cases = cases, cases[: given.count]
    for case in cases:
        case["residual"] = compared(case)
    told = parts(cases)
    for row in table(told):
        print(row)
    if given.keep == "yes" and cases == kept:
        _keep(cases, told)
        draw(cases, PICTURE)


def _keep(cases: list[dict[str, Any]], told: dict[str, Any] | None = None) -> None:
    rows = ",\n".join(f"  {json.dumps(case, sort_keys=True)}" for case in cases)
    KEPT.write_text(f'{{"seed": {SEED}, "summary": {json.dumps(told)}, "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()

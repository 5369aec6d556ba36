"""How far the queueing model of hypercubes is from the simulation, on machines drawn at random.

Question: which machines does the model's domain contain, and within how much of the simulation is
the model there? Peer: the simulation of the same machine. Load: one of each machine's own, even
between 5% and 80% of its knee. Good is that the domain contains 70% of the machines, and that 95%
of these are within 10%. The model and its domain were set on the machines of the first seeds; those
of the last were compared afterwards, and only these show how well it predicts.

    python bench/model.py simulate                measures what the model is held against
    python bench/model.py                         compares, and draws the residuals
    python bench/model.py --count 12 --keep no    the short form

The knees of the first 200 machines are those of searches with a resolution of 10%, of the others
those of short runs (`knee`). Writes were measured on the latter only.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from plot import tidy

from isthmus import Hypercube, Placement, Precision, Workload, analyze, simulate

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "hypercube-model.png"
KEPT = HERE / "results" / "hypercube-model.json"
TITLES = {
    "pe_pe.header": "PE-PE messages",
    "read.network": "whole reads",
    "write.network": "whole writes",
}
AIM = 0.10
BELOW = 0.8
SEEDS = (11, 12, 13, 14, 15, 16)
PER_SEED = 200
HELD_OUT = PER_SEED * (len(SEEDS) - 1)
"""Index of the first machine of the last seed. The model and its domain were set on earlier
machines; this and later ones were compared only after the domain was fixed.
"""


def drawn(count: int) -> list[dict[str, Any]]:
    """Return `count` random machines and workloads, as arguments of `Hypercube` and `Workload`."""
    machines = []
    for number in range(count):
        draw = random.Random(f"{SEEDS[number // PER_SEED]}/{number % PER_SEED}")
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
    """Return the machine of a case."""
    return Hypercube(placement=Placement(**case["placement"]), **case["machine"])


def knee(machine: Hypercube, work: dict[str, Any], dimension: int) -> float:
    """Return the load in messages per ms and PE at which 2% are never served, by short runs."""
    low, high = 1.0, 600.0
    while high / low > 1.06:
        rate = (low * high) ** 0.5
        near = high / low <= 2
        messages = max(24000, 500 * 2**dimension) if near else 10000
        short = Precision(precision="50%", messages_first=messages, messages_max=messages)
        asked = Workload(rate=f"{rate!r} /ms", **work)
        verdict = simulate(machine, asked, precision=short, seed=1, jobs=1).run.points[0].verdict
        lost = (verdict.growth or 0) > (0.02 if near else 0.1)
        if verdict.verdict == "saturated" or lost:
            high = rate
        else:
            low = rate
    return (low * high) ** 0.5


def measured(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case together with its knee and its simulated means."""
    machine, work = built(case), case["work"]
    full = knee(machine, work, case["machine"]["dimension"])
    rate = case["at"] * full
    good = Precision(precision="2%", messages_max=300000)
    asked = Workload(rate=f"{rate!r} /ms", **work)
    run = simulate(machine, asked, precision=good, seed=2, jobs=1).run
    known = [m for m in run.points[0].measures if m.name in TITLES and m.mean]
    return {
        **case,
        "knee": full,
        "rate": rate,
        "simulated": {m.name: [m.mean, m.low, m.high] for m in known},
    }


def compared(case: dict[str, Any]) -> tuple[dict[str, float | None], list[str]]:
    """Return the model's residuals at the load of a case, and the measures whose domain contains
    it.

    A residual is None if the machine saturates by the model.
    """
    work = Workload(rate=f"{case['rate']!r} /ms", **case["work"])
    measures = {m.name: m for m in analyze(built(case), work).run.points[0].measures}
    simulated = {name: case["simulated"].get(name, [None])[0] for name in TITLES}
    of = {name: measures.get(name) for name, mean in simulated.items() if mean}
    residuals = {
        name: found.model_anywhere / simulated[name] - 1 if found else None
        for name, found in of.items()
    }
    return residuals, [name for name, found in of.items() if found and found.analytic]


def sizes(cases: list[dict[str, Any]], name: str) -> list[float]:
    """Return the absolute residuals inside the domain, ascending."""
    return sorted(abs(case["residual"][name]) for case in cases if name in case["inside"])


def summary(cases: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each measure the number of machines, the number inside the domain, and their
    residuals.
    """
    found: dict[str, dict[str, float]] = {}
    for name in TITLES:
        of = sizes(cases, name)
        if of:
            found[name] = {
                "machines": sum(name in case["residual"] for case in cases),
                "inside": len(of),
                "within_5": sum(size <= 0.05 for size in of) / len(of),
                "within_10": sum(size <= AIM for size in of) / len(of),
                "largest": of[-1],
            }
    return found


def table(summary: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of the guide's table."""
    for part, measures in summary.items():
        for name, row in measures.items():
            inside = f"{row['inside']} ({row['inside'] / row['machines']:.1%})"
            near = " | ".join(f"{row[key]:.1%}" for key in ("within_5", "within_10", "largest"))
            first = f"{row['machines']}, {part.replace('_', ' ')}"
            yield f"| {first} | {TITLES[name]} | {inside} | {near} |"


def parts(cases: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the summaries of the machines on which the model was fitted, and of those held out."""
    split = {
        "fitted_on": [case for case in cases if case["number"] < HELD_OUT],
        "held_out": [case for case in cases if case["number"] >= HELD_OUT],
    }
    return {part: summary(chosen) for part, chosen in split.items() if chosen}


EDGE = 60.0
"""Largest residual in the plot, in percent."""


def interval(case: dict[str, Any], name: str) -> tuple[float, float, float]:
    """Return minimum, middle and maximum of a case's residual over the simulation's interval.

    An end that is open or 0 is replaced by the mean.
    """
    mean, low, high = (end or case["simulated"][name][0] for end in case["simulated"][name])
    predicted = (1 + case["residual"][name]) * mean
    return predicted / high - 1, predicted / mean - 1, predicted / low - 1


def draw(cases: list[dict[str, Any]], path: Path) -> None:
    """Draw residuals against the share of the knee, with their distribution."""
    figure = Figure(figsize=(10, 3.3 * len(TITLES)), layout="constrained")
    axes = figure.subplots(len(TITLES), 2, sharey="col")
    figure.suptitle(f"The model of hypercubes on {len(cases)} machines drawn at random")
    for row, (name, title) in zip(axes, TITLES.items(), strict=True):
        row[0].axhspan(-100 * AIM, 100 * AIM, color="#888888", alpha=0.2, linewidth=0)
        known = [case for case in cases if case["residual"].get(name) is not None]
        outside = [case for case in known if name not in case["inside"]]
        drawn = [min(EDGE, max(-EDGE, 100 * case["residual"][name])) for case in outside]
        row[0].scatter([100 * case["at"] for case in outside], drawn, s=12, color="#bbbbbb")
        for held, color, label in (
            (False, "#1b6ca8", "fitted on"),
            (True, "#c8553d", "held out"),
        ):
            chosen = [
                case
                for case in known
                if (case["number"] >= HELD_OUT) == held and name in case["inside"]
            ]
            if not chosen:
                continue
            ends = [interval(case, name) for case in chosen]
            clipped = [[min(EDGE, max(-EDGE, 100 * end)) for end in three] for three in ends]
            row[0].errorbar(
                [100 * case["at"] for case in chosen],
                [middle for _, middle, _ in clipped],
                yerr=[[m - low for low, m, _ in clipped], [high - m for _, m, high in clipped]],
                fmt="o",
                markersize=3,
                elinewidth=0.8,
                color=color,
            )
            of = [100 * size for size in sizes(chosen, name)]
            shares = [100 * (n + 1) / len(of) for n in range(len(of))]
            row[1].step(of, shares, where="post", color=color, label=f"{label} ({len(of)})")
        row[0].set_ylim(-EDGE - 2, EDGE + 2)
        row[0].set_ylabel("model above simulation (%)")
        row[0].set_title(f"{title}, 95% intervals; grey: outside", loc="left")
        row[0].set_xlabel("load (% of the knee)")
        row[1].axvline(100 * AIM, color="#555555", linewidth=0.8)
        row[1].set_title(f"{title}: machines inside within so much", loc="left")
        row[1].set_xlim(0, 40)
        row[1].set_ylim(0, 100)
        row[1].set_xlabel("size of the residual (%)")
        row[1].set_ylabel("machines (%)")
        row[1].legend(frameon=False, fontsize=10, loc="lower right")
        for ax in row:
            tidy(ax)
            ax.set_axisbelow(True)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Simulate or compare, as the command line requests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", nargs="?", choices=["compare", "simulate"], default="compare")
    parser.add_argument("--count", type=int, default=None, help="machines, the first ones drawn")
    parser.add_argument("--keep", choices=["yes", "no"], default="yes", help="write files")
    given = parser.parse_args()
    cases = json.loads(KEPT.read_text())["cases"] if KEPT.exists() else []
    if given.action == "simulate":
        known = {case["number"] for case in cases}
        for number, case in enumerate(drawn(given.count or PER_SEED * len(SEEDS))):
            if number not in known:
                cases.append({"number": number, **measured(case)})
                _keep(cases)
    kept, cases = cases, cases[: given.count]
    for case in cases:
        case["residual"], case["inside"] = compared(case)
    summary = parts(cases)
    for row in table(summary):
        print(row)
    if given.keep == "yes" and cases == kept:
        _keep(cases, summary)
        draw(cases, PICTURE)


def _keep(cases: list[dict[str, Any]], summary: dict[str, Any] | None = None) -> None:
    """Write the cases and their summary to the file of results."""
    rows = ",\n".join(f"  {json.dumps(case, sort_keys=True)}" for case in cases)
    KEPT.write_text(
        f'{{"seeds": {list(SEEDS)}, "summary": {json.dumps(summary)}, "cases": [\n{rows}\n]}}\n'
    )


if __name__ == "__main__":
    main()

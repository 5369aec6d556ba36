"""Time to a stated interval: CPU seconds for a mean to 2%, and for the load that saturates to 2%.

isthmus is measured whole: the command, its start, its stopping rule, its report. The peers
have no such rule. Of them the speed is measured, at the load in question, and the messages that the
interval takes are divided by it:

- for a mean, those that the spread of the mean over many of our windows says a single run needs, as
  if its user knew that beforehand, and one warm-up;
- for the knee, those that our own search simulated: as many runs, each as long as its verdict took.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import booksim
import caminos
from measure import EQUAL, ROOT, Cost, Engine, Line, Window, apart, rounded, run

FOLDER = ROOT / "bench" / "interval"
PRECISION = 0.02
# The 97.5% quantile of the normal distribution.
NORMAL = 1.96


@dataclass(frozen=True)
class Case:
    """A machine with its two scenarios, for isthmus and for the peers."""

    row: str
    name: str
    file: str
    """Name of the scenario file in `interval/`, without suffix; the name of the scenario with the
    search ends in `-knee`.
    """
    measure: str
    """Name of the measure whose interval must reach the precision."""
    what: str
    """Name of the measurement in `isthmus-bench` with the same machine."""
    setting: dict[str, Any]
    load: float
    """Load in flits per cycle and node, 60% of saturation, as in the scenario."""
    near: float
    """Load just below the knee, at which the speed of peers is measured."""
    constant: int
    """Cycles of the latency that `measure` does not include."""
    warm_up: int
    measured: int
    peers: tuple[tuple[str, Any, Any], ...]
    changes: tuple[str, ...] = ()
    """Overrides for the scenario's machine."""
    rate: str | None = None
    """Replacement for the scenario's load."""


CASES = (
    Case(
        row="7-cube",
        name="7-cube, uniform, 32 flits",
        file="cube",
        measure="pe_pe.header",
        what="uniform",
        setting={"length": 32},
        load=0.28,
        near=0.44,
        constant=31,
        warm_up=2_000,
        measured=8_000,
        peers=(
            (caminos.NAME, caminos, caminos.CUBE),
            (booksim.NAME, booksim, booksim.CUBE),
        ),
    ),
    Case(
        row="64-nodes",
        name="64-node fat tree, uniform, packets of 160 flits",
        file="tree",
        measure="uniform.response",
        what="tree",
        setting={},
        load=0.35,
        near=0.55,
        constant=0,
        warm_up=8_000,
        measured=32_000,
        peers=((caminos.NAME, caminos, caminos.TREE),),
    ),
    # BookSim2 ascends at random, which saturates sooner.
    Case(
        row="64-nodes-random",
        name="64-node fat tree, random ascent, uniform, packets of 160 flits",
        file="tree",
        measure="uniform.response",
        what="tree",
        setting={"random": 1},
        load=0.32,
        near=0.5,
        constant=0,
        warm_up=8_000,
        measured=32_000,
        peers=((booksim.NAME, booksim, booksim.TREE),),
        changes=('machine.ascent="random"',),
        rate='workload.jobs.uniform.load="127.2 MB/s"',
    ),
)


def needed(messages: float, means: list[float], precision: float) -> float:
    """Return the messages of one run whose mean has a 95% interval of `precision`, from the means
    of many windows of `messages` each.
    """
    allowed = precision * statistics.mean(means)
    return messages * (NORMAL * statistics.stdev(means) / allowed) ** 2


def command(file: str, changes: list[str]) -> tuple[dict[str, Any], Cost] | None:
    """Run `isthmus run` on one processor; return its report and cost, or None without isthmus."""
    program = shutil.which("isthmus", path=str(ROOT / ".venv" / "bin")) or shutil.which("isthmus")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        words = [program, "run", str(FOLDER / f"{file}.toml"), *changes]
        cost = run([*words, "--jobs", "1", "--quiet", "--json", "--out", str(out)])
        return json.loads((out / "result.json").read_text()), cost


def peers(case: Case, load: float, own: dict[str, Any], count: int) -> Iterator[tuple[str, Any]]:
    """Measure each installed peer's speed, or None if it accepts another load."""
    for name, module, network in case.peers:
        if not module.is_installed():
            continue
        window = {"warm_up": case.warm_up, "measured": case.measured}
        if module is caminos:
            window["queue"] = caminos.OPEN
        measure: Callable[..., Window] = module.measure
        runs = [
            measure(module.Setting(network=network, seed=seed + 1, load=load, **window))
            for seed in range(count)
        ]
        gap = apart([own["accepted"]], [each.accepted for each in runs])
        yield name, statistics.median(each.rate_per_s for each in runs) if gap <= EQUAL else None


def interval(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the time to a mean and to a knee, each to 2%."""
    count = 1 if quick else 3
    for case in CASES:
        windows = {"warm_up": case.warm_up, "measured": case.measured}
        for knee in (False, True):
            if knee and quick:
                continue
            file = case.file + ("-knee" if knee else "")
            changes = [*case.changes, *([case.rate] if case.rate and not knee else [])]
            changes += ["stop.precision=10%"] if quick else []
            found = [command(file, changes) for _ in range(count)]
            runs = [each for each in found if each is not None]
            if not runs:
                return
            cpu_s = statistics.median(cost.cpu_s for _, cost in runs)
            result = runs[0][0]
            load = case.near if knee else case.load
            windows["runs"] = 4 if quick else 100
            spread = engine.measure(case.what, offered=load, **case.setting, **windows)[0]
            if knee:
                search = result["searches"][0]
                messages = float(sum(trial["messages"] for trial in search["trials"]))
                width = _width(search)
                note = f"bracket {width:.1%} wide, {messages / 1e6:.1f} million messages"
                reached = bool(search["reached"])
                note += "" if reached else "; the search gave up before 2%"
            else:
                point = result["points"][0]
                mean = next(m for m in point["measures"] if m["name"] == case.measure)
                width = (mean["high"] - mean["low"]) / 2 / mean["mean"]
                each = [latency - case.constant for latency in spread["latency_each"]]
                ideal = needed(spread["messages"] / len(each), each, PRECISION)
                messages = ideal + case.warm_up * load * _per_cycle(case)
                reached = bool(point["converged"])
                note = f"± {width:.1%} after {point['messages'] / 1e6:.2f} million messages"
            what = "the knee to 2%" if knee else "mean at 60% of saturation to 2%"
            row = f"interval/{case.row}-{'knee' if knee else 'mean'}"
            detail = {
                "ours": {"width": rounded(width), "reached": reached},  # codespell:ignore ours
                "peer_messages": rounded(messages),
                "measured": "ours whole; "  # codespell:ignore ours
                "of the peer its speed at this load",
                "extrapolated": "the peer's time: messages by speed",
            }
            yield _line(row, f"{case.name}: {what}", cpu_s, None, None, note, detail)
            for name, rate in peers(case, load, spread, count):
                time_s = None if rate is None else messages / rate
                note = (
                    "another accepted load: no ratio"
                    if rate is None
                    else f"{_number(messages)} messages at {_number(rate)} messages/s"
                )
                yield _line(
                    f"{row}-{name.partition(' ')[0]}",
                    f"{case.name}: {what}, {name}",
                    cpu_s,
                    time_s,
                    name,
                    note,
                    detail | {"peer_rate_per_s": rounded(rate)},
                )


def _per_cycle(case: Case) -> float:
    """Return the number of messages that all nodes send per cycle, at one flit per cycle
    and node.
    """
    network = case.peers[0][2]
    return float(network.nodes / network.flits)


def _width(search: dict[str, Any]) -> float:
    """Return the relative width of the bracket of a search."""
    low, high = search["highest_stable"], search["lowest_saturated"]
    return float((high - low) / ((high + low) / 2)) if low and high else float("nan")


def _number(value: float) -> str:
    """Return a number with three significant digits as text."""
    return f"{float(f'{value:.3g}'):,.15g}"


def _line(
    row: str,
    name: str,
    isthmus: float,
    peer: float | None,
    peer_name: str | None,
    note: str,
    detail: dict[str, Any],
) -> Line:
    """Return a line with the CPU seconds of isthmus and of a peer."""
    return Line(
        id=row,
        name=name,
        isthmus=isthmus,
        peer=peer,
        unit="CPU s",
        ratio=None if peer is None else peer / isthmus,
        note=note,
        detail=detail | {"peer": peer_name, "note": note},
    )

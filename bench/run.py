"""All benchmarks: ``python bench/run.py [--quick] [NAME ...]``. See ``bench/README.md``."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import booksim
import caminos
import plot
from array_files import array
from checkpoints import iod_checkpoint, iod_memory
from crosscheck import crosscheck
from exchanges import crossover, prediction
from flows import flow
from forwarding import iod
from interval import interval
from measure import ROOT, Engine, Line, machine_kind, rounded, run, spread
from mounts import iod_fuse
from peers import fat_tree_peer, peer
from redistribution import plan, redistribute
from rings import ring
from small_files import iod_idle, iod_small
from streams import stream
from striping import striping
from sweeps import sweep
from units import iod_units

RESULTS = ROOT / "bench" / "results"
QUICK = ROOT / "out" / "bench-quick.json"
BUSY = 0.25
"""Load average per processor above which a machine counts as busy."""

# Offered load of the SCI torus in GB/s, more than the 25 GB/s that it accepts.
SCI_LOAD = 34
# Offered load in GB/s of a torus of 1,024 nodes that could carry 270 GB/s.
SCI_LIGHT_LOAD = 1


def _rate(row: str, name: str, unit: str, rates: list[float], **detail: Any) -> Line:
    """Return a row of the median rate of several runs."""
    detail = {"rate": spread(rates), **detail}
    return Line(id=row, name=name, isthmus=statistics.median(rates), unit=unit, detail=detail)


def replications(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure whole replications of the paper's setting, including set-up."""
    runs = [
        engine.measure("replications", replications=20 if quick else 100)[0]
        for _ in range(3 if quick else 9)
    ]
    yield _rate(
        "replications/7-cube",
        "7-cube, b = 2, t_a = 0.156 ms, replications of 150,000 messages",
        "messages per CPU second",
        [run["rate_per_s"] for run in runs],
        first=spread([run["first_per_s"] for run in runs]),
    )


def reference(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the flit-by-flit reference of isthmus on the same list of messages."""
    messages = 1_000 if quick else 2_000
    runs = [engine.measure("reference", messages=messages)[0] for _ in range(1 if quick else 5)]
    ratios = [run["reference_s"] / run["engine_s"] for run in runs]
    yield Line(
        id="reference/7-cube",
        name=f"7-cube, b = 2, one list of {messages:,} messages",
        isthmus=statistics.median(run["messages"] / run["engine_s"] for run in runs),
        peer=statistics.median(run["messages"] / run["reference_s"] for run in runs),
        unit="messages per CPU second",
        ratio=statistics.median(ratios),
        detail={"peer": "the flit-by-flit reference of this repository", "ratio": spread(ratios)},
    )


def paper(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure whole papers: every point of every figure and table."""
    program = shutil.which("isthmus", path=str(ROOT / ".venv" / "bin")) or shutil.which("isthmus")
    for name in ("hypercube-io", "sci-fabrics"):
        command = ["isthmus", "papers", "run", name, "--fresh", "--jobs", "2", "--json"]
        command += ["--quick"] if quick else []
        cost = run([program, *command[1:]]) if program else None
        yield Line(
            id=f"paper/{name}",
            name=f"the whole paper {name} on 2 cores" + (" (quick)" if quick else ""),
            isthmus=cost.wall_s if cost else None,
            unit="s",
            command=" ".join(command),
            detail={"cpu_s": cost.cpu_s, "memory_gib": cost.memory_gib} if cost else {},
        )


def sci(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure 200 us of a 6 x 6 bidirectional torus of SCI rings at saturation, on both engines."""
    setting = {"side": 6, "load": SCI_LOAD}
    pairs = 1 if quick else 5
    isthmus, peers = [], []
    for _ in range(pairs):
        isthmus.append(engine.measure("sci", **setting, runs=20)[0])
        peers.append(engine.measure("sci", **setting, runs=2, symbols=1)[0])
    name = f"6 x 6 bidirectional torus of SCI rings, {SCI_LOAD} GB/s offered, 200 us"
    medians = [run["run_s"]["median"] for run in isthmus]
    slow = [run["run_s"]["median"] for run in peers]
    ratios = [b / a for a, b in zip(medians, slow, strict=True)]
    yield Line(
        id="sci/torus-6x6",
        name=name,
        isthmus=statistics.median(medians),
        peer=statistics.median(slow),
        unit="CPU s",
        ratio=statistics.median(ratios),
        detail={
            "peer": "the symbol-by-symbol reference of this repository",
            "ratio": spread(ratios),
            "ours": spread(medians),  # codespell:ignore ours
            "theirs": spread(slow),  # codespell:ignore theirs
            "first": isthmus[0],
        },
    )
    yield _rate(
        "sci/torus-6x6-reference",
        f"{name}: the symbol-by-symbol reference",
        "symbol-links per CPU second",
        [run["symbol_links_per_s"] for run in peers],
    )


def sci_growth(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the cost of 200 us and of a packet as a bidirectional torus grows, at half its
    saturation.
    """
    points = []
    for side in (4, 16) if quick else (3, 4, 6, 8, 12, 16, 24, 32, 48):
        # The load exceeds the capacity of the torus, so that the accepted load is the saturation
        # throughput.
        flood = {"side": side, "load": 6.0 * side * side, "runs": 1, "time_us": 50}
        peak = engine.measure("sci", **flood)[0]["accepted_gb_per_s"]
        setting = {"side": side, "load": round(peak / 2, 3), "runs": 1 if side > 16 else 5}
        runs = [engine.measure("sci", **setting)[0] for _ in range(1 if quick else 3)]
        best = min(runs, key=lambda run: run["run_s"]["median"])
        points.append({"side": side, "saturation_gb_per_s": peak, **best})
    if not quick:
        plot.sci_growth(points, RESULTS / "sci-cost")
    for side in (4, 16 if quick else 32):
        point = next(point for point in points if point["side"] == side)
        yield Line(
            id=f"sci_growth/torus-{side}x{side}",
            name=f"{side} x {side} bidirectional torus of SCI rings, half its saturation, 200 us",
            isthmus=point["run_s"]["median"],
            unit="CPU s",
            detail={"points": points},
        )


def sci_light(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure 200 us of a 32 x 32 bidirectional torus whose links are idle almost always."""
    setting = {"side": 32, "load": SCI_LIGHT_LOAD, "runs": 3}
    runs = [engine.measure("sci", **setting)[0] for _ in range(1 if quick else 7)]
    times = [run["run_s"]["median"] for run in runs]
    yield Line(
        id="sci/torus-32x32-light",
        name=f"32 x 32 bidirectional torus of SCI rings, {SCI_LIGHT_LOAD} GB/s offered, 200 us",
        isthmus=statistics.median(times),
        unit="CPU s",
        detail={"ours": spread(times), "first": runs[0]},  # codespell:ignore ours
    )


def million(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure a 20-cube: 1,048,576 PEs, 65,536 I/O nodes."""
    messages = 100_000 if quick else 10_000_000
    report, cost = engine.measure("replications", dimension=20, messages=messages, replications=1)
    for row, what, value, unit in (
        ("wall", "wall-clock time", cost.wall_s, "s"),
        ("cpu", "CPU time", cost.cpu_s, "s"),
        ("memory", "memory", cost.memory_gib, "GiB"),
    ):
        yield Line(
            id=f"million/{row}",
            name=f"20-cube, b = 2, t_a = 0.156 ms, {messages:,} messages: {what}",
            isthmus=value,
            unit=unit,
            detail=report,
        )


def growth(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the cost per message as the cube grows."""
    messages = 100_000 if quick else 2_000_000
    points = []
    largest = 16 if quick else 20
    for dimension in (4, largest) if quick else range(4, largest + 1):
        setting = {"dimension": dimension, "messages": messages}
        runs = [engine.measure("growth", **setting)[0] for _ in range(1 if quick else 3)]
        points.append(min(runs, key=lambda run: run["ns_per_message"]))
    if not quick:
        plot.growth(points, RESULTS / "cost-per-message")
    for dimension in (4, largest):
        point = next(point for point in points if point["dimension"] == dimension)
        yield Line(
            id=f"growth/{dimension}-cube",
            name=f"{dimension}-cube, b = 2: cost of a message",
            isthmus=point["ns_per_message"],
            unit="CPU ns per message",
            detail={"points": points},
        )


def fat_tree(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the most demanding traffic of the QsNET paper, and a tree of 4,096 nodes."""
    runs = [
        engine.measure("fattree", time_us=5_000 if quick else 100_000, runs=2)[0]
        for _ in range(1 if quick else 5)
    ]
    yield _rate(
        "fat_tree/64-nodes",
        "64-node fat tree, 56 clients write to 8 clustered servers at random",
        "packets per CPU second",
        [run["packets_per_s"] for run in runs],
        first=runs[0],
    )
    time_us = 2_000 if quick else 100_000
    report, cost = engine.measure("fattree", levels=6, time_us=time_us, runs=1)
    for row, what, value, unit in (
        ("cpu", "CPU time", cost.cpu_s, "s"),
        ("memory", "memory", cost.memory_gib, "GiB"),
    ):
        yield Line(
            id=f"fat_tree/4096-nodes-{row}",
            name=f"4,096-node fat tree, 512 clustered servers, {time_us / 1e6:g} s: {what}",
            isthmus=value,
            unit=unit,
            detail=report,
        )


def dragonfly(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure uniform traffic on a dragonfly of 1,056 nodes, at 60% of a link's bandwidth."""
    for routing, adaptive in (("minimal", 0), ("UGAL", 1)):
        setting = {"adaptive": adaptive, "ticks": 20_000 if quick else 100_000, "runs": 2}
        runs = [engine.measure("dragonfly", **setting)[0] for _ in range(1 if quick else 5)]
        yield _rate(
            f"dragonfly/1056-nodes-{routing.lower()}",
            f"1,056-node dragonfly, uniform traffic, 60% offered, {routing} routing",
            "packets per CPU second",
            [run["packets_per_s"] for run in runs],
            first=runs[0],
        )
    setting = {"time_us": 50 if quick else 200, "replications": 2}
    runs = [engine.measure("corridor", **setting)[0] for _ in range(1 if quick else 5)]
    yield _rate(
        "dragonfly/1056-nodes-scenario",
        "1,056-node dragonfly, uniform traffic, 60% offered, from scenario to result",
        "packets per CPU second",
        [run["packets_per_s"] for run in runs],
        first=runs[0],
    )


PARTS: dict[str, Callable[[Engine, bool], Iterator[Line]]] = {
    part.__name__: part
    for part in (
        interval,
        replications,
        peer,
        reference,
        paper,
        million,
        growth,
        sci,
        sci_growth,
        sci_light,
        fat_tree,
        fat_tree_peer,
        dragonfly,
        redistribute,
        plan,
        ring,
        stream,
        striping,
        array,
        prediction,
        crossover,
        flow,
        iod,
        iod_fuse,
        iod_units,
        iod_checkpoint,
        iod_small,
        iod_memory,
        iod_idle,
        sweep,
        crosscheck,
    )
}

CAMINOS_ALONE = {"peer", "fat_tree_peer"}
"""Benchmarks whose only peer is CAMINOS."""
PEERS = {"interval", "crosscheck", *CAMINOS_ALONE}
"""Benchmarks that compare with other simulators, which must be built first."""

# The benchmarks of rows whose ids do not begin with the name of their benchmark. An id such as
# `iod.fuse/wall` is of the benchmark `iod_fuse`.
ROWS_OF = {"stream.flow": "flow", "stream.striping.4": "striping"}


def result_text(line: Line) -> str:
    """Return the figures of ``line`` as text."""
    if line.isthmus is None:
        return "not measured"
    words = f"{rounded(line.isthmus):,.15g} {line.unit}"
    if line.peer is not None:
        words += f", peer {rounded(line.peer):,.15g}"
    if line.ratio is not None:
        words += f": {rounded(line.ratio):,.15g} times"
    return f"{words} ({line.note})" if line.note else words


def merged(
    rows: list[dict[str, Any]], old: list[dict[str, Any]], parts: list[str]
) -> list[dict[str, Any]]:
    """Return all rows in the order of the benchmarks.

    These are ``rows``, the results of ``parts``, and those of ``old`` for other benchmarks. Rows
    that no benchmark produces any more are left out.
    """
    kept = [row for row in old if _part(row) in PARTS and _part(row) not in parts]
    order = list(PARTS)
    return sorted(kept + rows, key=lambda row: order.index(_part(row)))


def _part(row: dict[str, Any]) -> str:
    """Return the benchmark to which a row belongs."""
    name = str(row.get("id", ""))
    words = re.split(r"[/.]", name)
    both = "_".join(words[:2])
    return ROWS_OF.get(name) or (both if both in PARTS else words[0])


def keep(lines: list[Line], parts: list[str], *, quick: bool) -> None:
    """Write ``results.json``, and the details by date and kind of machine.

    Rows of benchmarks that were not run stay. A quick run is written to another file, since it is
    not a valid measurement.
    """
    if quick:
        _write(QUICK, [line.row() for line in lines])
        return
    summary = ROOT / "bench" / "results.json"
    old = json.loads(summary.read_text()) if summary.exists() else []
    _write(summary, merged([line.row() for line in lines], old, parts))
    kind = machine_kind()
    slug = re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    path = RESULTS / f"{today}-{slug}.json"
    old = json.loads(path.read_text())["lines"] if path.exists() else []
    rows = merged([line.row() | {"detail": line.detail} for line in lines], old, parts)
    _write(path, {"date": today, "machine": kind, "lines": rows})


def doubt(load: float, processors: int) -> str:
    """Return a warning if other work on the machine may have disturbed the figures, or an empty
    text.
    """
    if load <= BUSY * processors:
        return ""
    return (
        f"the load average is {load:.1f} on {processors} processors: other work takes part of the "
        "machine, so that figures may be worse than on a quiet one"
    )


def _write(path: Path, content: Any) -> None:
    """Write a value to a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def main() -> None:
    """Measure the requested benchmarks, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"shorter runs, kept in {QUICK.relative_to(ROOT)} only",
    )
    parser.add_argument(
        "--booksim", metavar="PATH", help="source of BookSim2, a second peer; BOOKSIM says the same"
    )
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(PARTS)}")
    if doubts := doubt(os.getloadavg()[0], os.cpu_count() or 1):
        sys.stderr.write(f"{Path(__file__).name}: {doubts}\n")
    # Restore settings of the system after a benchmark, however it ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    engine = Engine()
    # The tests run the short form of the papers, and CAMINOS takes minutes to build.
    left_out = {"paper"} | (set() if caminos.is_installed() else CAMINOS_ALONE)
    parts = options.parts or [part for part in PARTS if not (options.quick and part in left_out)]
    if options.quick and not options.parts:
        sys.stdout.write(f"left out: {', '.join(sorted(left_out))}\n")
    if PEERS.intersection(parts):
        if source := booksim.source(options.booksim):
            booksim.install(source)
        elif not booksim.is_installed():
            sys.stdout.write(f"{booksim.LEFT_OUT}\n")
        if not options.quick or CAMINOS_ALONE.intersection(parts):
            caminos.install()
    lines: list[Line] = []
    for done, part in enumerate(parts, 1):
        for line in PARTS[part](engine, options.quick):
            sys.stdout.write(f"{line.name}: {result_text(line)}\n")
            sys.stdout.flush()
            lines.append(replace(line, command=line.command or f"python bench/run.py {part}"))
        # An interrupted run keeps its finished rows.
        keep(lines, parts[:done], quick=options.quick)


if __name__ == "__main__":
    main()

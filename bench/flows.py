"""Transfers that share the links of a torus, compared with SimGrid, which shares them by the same
rule.

SimGrid is a Debian package (``libsimgrid-dev``); without it the peer is left out with a note. Its
program, ``simgrid/torus.cpp``, is compiled here and tried in several settings; the best one counts.
Both simulators run the same messages on the same paths and share links equally except for rounding,
so the last message must arrive at the same time in both.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from measure import EQUAL, ROOT, Engine, Line, rounded, run, spread

HERE = ROOT / "bench" / "simgrid"
PROGRAM = ROOT / "out" / "bench-simgrid" / "torus"
LEFT_OUT = "SimGrid is not installed (Debian: libsimgrid-dev, g++): left out"
# Settings in which a transfer has an equal share of each link, without latencies and window limits.
EQUAL_PHYSICS = (
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/weight-S:0",
    "--cfg=network/crosstraffic:0",
    "--log=root.threshold:error",
)
SETTINGS = (
    ("--cfg=network/optim:Lazy",),
    ("--cfg=network/optim:Full",),
    ("--cfg=network/optim:Full", "--cfg=network/maxmin-selective-update:1"),
    ("--cfg=network/optim:Lazy", "--cfg=contexts/factory:raw", "--cfg=contexts/stack-size:64"),
    ("--cfg=network/optim:Lazy", "--cfg=maxmin/precision:1e-3"),
)
"""Settings of SimGrid to try; the first one is its default."""


@dataclass(frozen=True)
class Load:
    """Outstanding messages at each of 128 hosts, and the number of messages in turn."""

    outstanding: int
    bytes: int
    each: int


@dataclass(frozen=True)
class Ran:
    """The outcome of a run of SimGrid."""

    rate_per_s: float
    """Messages per CPU second."""
    simulated_s: float
    """Simulated time at which the last message arrived, in seconds."""
    memory_gib: float


def flow(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure 128 hosts of a torus with 16 outstanding messages of 4 KiB each."""
    load = Load(16, 4096, 2 if quick else 8)
    program = built()
    if program is None:
        sys.stdout.write(f"{LEFT_OUT}\n")
        yield _line(load, [_isthmus(engine, load)[0] for _ in range(1 if quick else 5)], [], {})
        return
    tried = {
        words: ran
        for words in (SETTINGS[:1] if quick else SETTINGS)
        if (ran := _tried(program, load, words)) is not None
    }
    if not tried:
        raise SystemExit(f"{program}: fails in each of its settings")
    best = max(tried, key=lambda words: tried[words].rate_per_s)
    isthmus, peers, memory = [], [], []
    for _ in range(1 if quick else 5):
        peers.append(simgrid(program, load, best))
        report, memory_gib = _isthmus(engine, load)
        isthmus.append(report)
        memory.append(memory_gib)
    detail = {
        "peer_setting": list(best),
        "tried": {" ".join(words): rounded(ran.rate_per_s) for words, ran in tried.items()},
        "memory_gib": spread(memory),
        "memory_gib_theirs": spread([ran.memory_gib for ran in peers]),  # codespell:ignore theirs
    }
    yield _line(load, isthmus, peers, detail)


def built() -> list[str] | None:
    """Compile the peer's program and return its command; None without SimGrid or a compiler."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    asked = [compiler, "-E", "-x", "c++", "-", "-o", "/dev/null"]
    has = "#include <simgrid/s4u.hpp>\n"
    if subprocess.run(asked, input=has, text=True, capture_output=True, check=False).returncode:
        return None
    source = str(HERE / "torus.cpp")
    run([compiler, "-O3", "-std=c++17", "-Wall", source, "-o", str(PROGRAM), "-lsimgrid"])
    return [str(PROGRAM), str(HERE / "torus.xml")]


def simgrid(program: list[str], load: Load, words: tuple[str, ...]) -> Ran:
    """Run SimGrid once with these settings."""
    amounts = [str(load.outstanding), str(load.bytes), str(load.each)]
    cost = run([*program, *amounts, *EQUAL_PHYSICS, *words])
    messages, cpu_s, simulated_s = cost.output.split()[-3:]
    return Ran(int(messages) / float(cpu_s), float(simulated_s), cost.memory_gib)


def _tried(program: list[str], load: Load, words: tuple[str, ...]) -> Ran | None:
    """Return a short run in a setting; None if the setting does not exist."""
    try:
        return simgrid(program, Load(load.outstanding, load.bytes, 1), words)
    except SystemExit:
        return None


def _isthmus(engine: Engine, load: Load) -> tuple[dict[str, Any], float]:
    """Measure isthmus; return its report and its memory in GiB."""
    values = {"outstanding": load.outstanding, "bytes": load.bytes, "each": load.each, "runs": 3}
    report, cost = engine.measure("flow", **values)
    return report, cost.memory_gib


def _line(
    load: Load, isthmus: list[dict[str, Any]], peers: list[Ran], detail: dict[str, Any]
) -> Line:
    """Return the row; it has a ratio if both last messages arrive at the same time."""
    rates = [each["rate_per_s"] for each in isthmus]
    ratio, note = None, ""
    if peers:
        peer_rates = [ran.rate_per_s for ran in peers]
        apart = abs(isthmus[0]["simulated_s"] / peers[0].simulated_s - 1)
        ratios = [a / b for a, b in zip(rates, peer_rates, strict=True)]
        if apart > EQUAL:
            note = f"the last message arrives at times {apart:.1%} apart: no ratio"
        else:
            ratio = statistics.median(ratios)
        detail = detail | {
            "peer": "SimGrid",
            "theirs": spread(peer_rates),  # codespell:ignore theirs
            "ratio": spread(ratios) if ratio else None,
            "simulated_s": [isthmus[0]["simulated_s"], peers[0].simulated_s],
            "simulated_apart": rounded(apart),
        }
    return Line(
        id="stream.flow",
        name=f"torus of 128 hosts, {load.outstanding} messages of {load.bytes} B under way at each",
        isthmus=statistics.median(rates),
        peer=statistics.median(ran.rate_per_s for ran in peers) if peers else None,
        unit="messages per CPU second",
        ratio=ratio,
        note=note,
        detail={"ours": spread(rates), "first": isthmus[0], **detail},  # codespell:ignore ours
    )

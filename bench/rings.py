"""Messages from one process to another through a ring in shared memory.

Peer: a minimal ring in C (``ring/plain.c``) with two positions and two copies, without checks or
    sleeping. Both are tried with several capacities, the peer also with several steps, and run in
    turns with their best settings.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Iterator

from measure import ROOT, Engine, Line, quickest, report, run, spread, throughput

SOURCES = ROOT / "bench" / "ring"
PROGRAMS = ROOT / "out" / "bench-ring"
CAPACITIES = tuple(1 << power for power in range(16, 24))
STEPS = (8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 1 << 20)
SIZES = {"64KiB": 64 << 10, "1MiB": 1 << 20}
RUNS = 7
MOVED = 4 << 30
"""Number of bytes of a turn; each capacity is tried with a quarter of it."""


def ring(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure isthmus and the peer in turns, each with its best capacity."""
    plain = built("plain")
    if plain is None:
        sys.stdout.write("ring: left out, there is no C compiler\n")
        return
    total = (64 << 20) if quick else MOVED
    for name, message in SIZES.items():
        tries = total // 4 // message
        isthmus = {
            capacity: _isthmus(engine, message, capacity, tries)
            for capacity in (CAPACITIES[2:4] if quick else CAPACITIES)
        }
        peer = {
            (capacity, step): _peer(plain, message, capacity, tries, step)
            for capacity in (CAPACITIES[2:4] if quick else CAPACITIES)
            for step in (STEPS[2:3] if quick else STEPS)
            if step <= min(message, capacity)
        }
        best, (peer_best, step) = quickest(isthmus), quickest(peer)
        messages = total // message
        turns = [
            (
                report(_isthmus(engine, message, best, messages)),
                report(_peer(plain, message, peer_best, messages, step)),
            )
            for _ in range(2 if quick else RUNS)
        ]
        moved = messages * message
        mine, other = ([turn[side] for turn in turns] for side in range(2))
        rates = [[moved / each["seconds"] / 1e6 for each in side] for side in (mine, other)]
        cost = [[each["cpu_s"] / moved * 1e9 for each in side] for side in (mine, other)]
        ratios = [a / b for a, b in zip(*rates, strict=True)]
        yield Line(
            id=f"ring.{name}",
            name=f"messages of {name} between two processes, copied in and out of a ring",
            isthmus=statistics.median(rates[0]),
            peer=statistics.median(rates[1]),
            unit="MB/s",
            ratio=statistics.median(ratios),
            detail={
                "peer": "a plain ring in shared memory, in C",
                "load_average": os.getloadavg()[0],
                "ratio": spread(ratios),
                "ours": throughput(rates[0], cost[0])  # codespell:ignore ours
                | {"capacity_bytes": best},
                "theirs": throughput(rates[1], cost[1])  # codespell:ignore theirs
                | {"capacity_bytes": peer_best, "step_bytes": step},
            },
            note="CPU s/GB: {:.3g}, peer {:.3g}".format(*map(statistics.median, cost)),
        )


def built(peer: str) -> str | None:
    """Compile a peer in C and return its program; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    options = ["-std=gnu11", "-O3", "-march=native", "-Wall", "-Wextra"]
    run([compiler, *options, str(SOURCES / f"{peer}.c"), "-o", str(PROGRAMS / peer)])
    return str(PROGRAMS / peer)


def _isthmus(engine: Engine, message: int, capacity: int, messages: int) -> list[str]:
    """Return the command that measures a ring of isthmus."""
    return engine.words("ring", message=message, capacity=capacity, messages=messages)


def _peer(program: str, message: int, capacity: int, messages: int, step: int) -> list[str]:
    """Return the command that measures a ring of the peer."""
    return [program, *map(str, (message, capacity, messages, step))]

"""A stream from a rank through the stream manager to a sink that checks and confirms.

Peers: the same bytes over loopback TCP between a plain writer and a plain reader, without manager,
sums or confirmations; and the ring by itself, from one process to another. Each of ours is tried with
several capacities of its rings and the best one is taken; they take turns with their peer.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from measure import Engine, Line, run, spread

MESSAGE = 1 << 20
CAPACITIES = (1 << 20, 1 << 21, 1 << 22, 1 << 23)
RING_CAPACITIES = tuple(1 << power for power in range(16, 24))
RUNS = 7
MOVED = 4 << 30
"""Bytes of a turn; a capacity is tried with a quarter."""

Command = Callable[[int, int], list[str]]


def stream(engine: Engine, quick: bool) -> Iterator[Line]:
    """Through the manager: by TCP beside raw TCP, by rings beside one ring."""
    yield _line(
        engine,
        "tcp",
        quick,
        row="stream.tcp.1MiB.raw",
        name="TUs of 1 MiB from a rank by a ring, by TCP to a sink that checks and confirms",
        peer="raw loopback TCP, cubic: a plain writer and reader",
        theirs=lambda _, messages: engine.words(
            "stream", way="raw", message=MESSAGE, messages=messages
        ),
        capacities=(MESSAGE,),
    )
    yield _line(
        engine,
        "shm",
        quick,
        row="stream.shm.1MiB",
        name="TUs of 1 MiB from a rank by a ring, by a ring to a sink that checks and confirms",
        peer="one ring between two processes, copied in and out",
        theirs=lambda capacity, messages: engine.words(
            "ring", message=MESSAGE, capacity=capacity, messages=messages
        ),
        capacities=RING_CAPACITIES,
    )


def _line(
    engine: Engine,
    way: str,
    quick: bool,
    *,
    row: str,
    name: str,
    peer: str,
    theirs: Command,
    capacities: tuple[int, ...],
) -> Line:
    messages = ((64 << 20) if quick else MOVED) // MESSAGE

    def ours(capacity: int, messages: int) -> list[str]:
        return engine.words(
            "stream", way=way, message=MESSAGE, capacity=capacity, messages=messages
        )

    best = _best(ours, CAPACITIES[:1] if quick else CAPACITIES, messages // 4)
    other = _best(theirs, capacities[:1] if quick else capacities, messages // 4)
    turns = [
        (_once(ours(best, messages)), _once(theirs(other, messages)))
        for _ in range(2 if quick else RUNS)
    ]
    moved = messages * MESSAGE
    rates = [[moved / turn[side]["seconds"] / 1e6 for turn in turns] for side in range(2)]
    cost = [[turn[side]["cpu_s"] / moved * 1e9 for turn in turns] for side in range(2)]
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    memory = max(turn[0]["manager_bytes"] for turn in turns)
    if any(turn[0]["packets"] != messages for turn in turns):
        raise SystemExit(f"{row}: the sink did not find all packets right")
    return Line(
        id=row,
        name=name,
        ours=statistics.median(rates[0]),
        peer=statistics.median(rates[1]),
        unit="MB/s",
        ratio=statistics.median(ratios),
        command="python bench/run.py stream",
        detail={
            "peer": peer,
            "load_average": os.getloadavg()[0],
            "ratio": spread(ratios),
            "ours": _told(rates[0], cost[0])
            | {"capacity_bytes": best, "manager_memory_bytes": memory},
            "theirs": _told(rates[1], cost[1]) | {"capacity_bytes": other},
        },
        note="CPU s/GB: {:.3g}, peer {:.3g}; manager {:.3g} MB".format(
            *map(statistics.median, cost), memory / 1e6
        ),
    )


def _told(rates: list[float], cost: list[float]) -> dict[str, Any]:
    return {"rate_mb_per_s": spread(rates), "cpu_s_per_gb": spread(cost)}


def _once(command: list[str]) -> dict[str, float]:
    found: dict[str, float] = json.loads(run(command).output)
    return found


def _best(command: Command, capacities: tuple[int, ...], messages: int) -> int:
    """The quickest capacity, by the better of two runs each; the only one is not tried."""
    if len(capacities) == 1:
        return capacities[0]
    took = {
        capacity: min(_once(command(capacity, messages))["seconds"] for _ in range(2))
        for capacity in capacities
    }
    return min(took, key=lambda capacity: took[capacity])

"""A stream from a rank through the stream manager to a sink that checks and confirms.

Peers: the same bytes over loopback TCP between a plain writer and a plain reader, without manager,
sums or confirmations; ZeroMQ over TCP, PUSH to PULL, without these either; and the ring by itself,
from one process to another. Each is tried with several settings and takes turns in its best one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from measure import ROOT, Engine, Line, run, spread

SIZES = {"1MiB": 1 << 20, "64KiB": 64 << 10}
CAPACITIES = (1 << 20, 1 << 21, 1 << 22, 1 << 23)
RING_CAPACITIES = tuple(1 << power for power in range(16, 24))
ZEROMQ = ROOT / "bench" / ".peers" / "zeromq"
BUFFERS = ((0, 1), (1 << 20, 1), (4 << 20, 1), (4 << 20, 2))
"""Of ZeroMQ's sockets in bytes, 0 for the system's choice, with threads of its own."""
RUNS = 7
MOVED = 4 << 30
"""Bytes of a turn; a setting is tried with a quarter."""

Command = Callable[[Any, int], list[str]]


def stream(engine: Engine, quick: bool) -> Iterator[Line]:
    """Through the manager: by TCP beside raw TCP and ZeroMQ, by rings beside one ring."""
    by_tcp = "from a rank by a ring, by TCP to a sink that checks and confirms"
    message = SIZES["1MiB"]
    yield _line(
        engine,
        ("tcp", message),
        quick,
        row="stream.tcp.1MiB.raw",
        name=f"TUs of 1 MiB {by_tcp}",
        peer="raw loopback TCP, cubic: a plain writer and reader",
        theirs=lambda _, messages: engine.words(
            "stream", way="raw", message=message, messages=messages
        ),
        settings=(None,),
    )
    yield _line(
        engine,
        ("shm", message),
        quick,
        row="stream.shm.1MiB",
        name="TUs of 1 MiB from a rank by a ring, by a ring to a sink that checks and confirms",
        peer="one ring between two processes, copied in and out",
        theirs=lambda capacity, messages: engine.words(
            "ring", message=message, capacity=capacity, messages=messages
        ),
        settings=RING_CAPACITIES,
    )
    if not _zeromq_is_there(quick):
        sys.stdout.write("stream: ZeroMQ is left out, it is not installed\n")
        return
    for size, message in SIZES.items():
        yield _line(
            engine,
            ("tcp", message),
            quick,
            row=f"stream.tcp.{size}.zeromq",
            name=f"TUs of {size[:-3]} {size[-3:]} {by_tcp}",
            peer="ZeroMQ, PUSH to PULL over TCP, no copies in Python, nothing checked",
            theirs=partial(_push, message),
            settings=BUFFERS,
        )


def _push(message: int, setting: tuple[int, int], messages: int) -> list[str]:
    program = ROOT / "bench" / "zeromq" / "push.py"
    python = str(ZEROMQ / "bin" / "python")
    return [python, str(program), *map(str, (message, messages, *setting))]


def _zeromq_is_there(quick: bool) -> bool:
    """Whether ZeroMQ is installed; it is now, but for a short run."""
    if not (ZEROMQ / "bin" / "python").exists() and not quick:
        run([sys.executable, "-m", "venv", str(ZEROMQ)])
        run([str(ZEROMQ / "bin" / "python"), "-m", "pip", "install", "-q", "pyzmq"])
    return (ZEROMQ / "bin" / "python").exists()


def _line(
    engine: Engine,
    ours: tuple[str, int],
    quick: bool,
    *,
    row: str,
    name: str,
    peer: str,
    theirs: Command,
    settings: tuple[Any, ...],
) -> Line:
    way, message = ours
    messages = ((64 << 20) if quick else MOVED) // message

    def own(capacity: int, messages: int) -> list[str]:
        return engine.words(
            "stream", way=way, message=message, capacity=capacity, messages=messages
        )

    best = _best(own, CAPACITIES[:1] if quick else CAPACITIES, messages // 4)
    other = _best(theirs, settings[:1] if quick else settings, messages // 4)
    turns = [
        (_once(own(best, messages)), _once(theirs(other, messages)))
        for _ in range(2 if quick else RUNS)
    ]
    moved = messages * message
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
            "theirs": _told(rates[1], cost[1]) | {"setting": other},
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


def _best(command: Command, settings: tuple[Any, ...], messages: int) -> Any:
    """The quickest setting, by the better of two runs each; the only one is not tried."""
    if len(settings) == 1:
        return settings[0]
    took = {
        setting: min(_once(command(setting, messages))["seconds"] for _ in range(2))
        for setting in settings
    }
    return min(took, key=lambda setting: took[setting])

"""A stream from a rank through the stream manager to a sink that checks and confirms.

Peers: the same bytes over loopback TCP between a plain writer and a plain reader, without manager,
    checksums or confirmations; a plain relay between a rank and such a reader, which shows the
    limit for a manager on this machine; ZeroMQ over TCP, PUSH to PULL, and ADIOS2's SST over
    sockets, also without checksums and confirmations. Checksums by ranks are compared with those by
    the interface. Each peer is tried with several settings and runs in turns with its best one. All
    sockets use cubic, which becomes the system's default meanwhile if that is allowed.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from measure import ROOT, Engine, Line, quickest, report, run, spread, throughput
from rings import built

SMALL = 64
"""Number of bytes of a small ADU."""
SIZES = {"1MiB": 1 << 20, "64KiB": 64 << 10}
OURS = tuple(product((1 << 20, 1 << 22, 1 << 23), (True, False)))
"""Settings of isthmus to try: bytes of the rank's ring, and whether the rank computes checksums."""
RELAYS = tuple(product((1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25), (1 << 18, 1 << 20)))
"""Settings of a plain relay to try: bytes of its memory, and of a step."""
PEERS = ROOT / "bench" / ".peers"
CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
SCHEDULERS = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}
BUFFERS = ((0, 1), (1 << 20, 1), (4 << 20, 1), (4 << 20, 2))
"""Settings of ZeroMQ to try: bytes of its socket buffers (0 for the system's choice), and number of
threads.
"""
SST = (("1", "OFF"), ("2", "OFF"), ("4", "OFF"), ("4", "ON"))
"""Settings of ADIOS2's SST to try: number of queued steps, and whether data are sent before a
request.
"""
RUNS = 15
MOVED = 4 << 30
"""Number of bytes of a turn; each setting is tried with a quarter of it."""
MANY = 4_000_000
"""Maximum number of messages in a turn."""

Command = Callable[[Any, int], list[str]]


def stream(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure streams through the manager by TCP, beside raw TCP and messaging libraries."""
    with _cubic():
        yield from _rows(engine, quick)


def _rows(engine: Engine, quick: bool) -> Iterator[Line]:
    """Yield the lines of all comparisons of streams."""
    by_tcp = "from a rank by a ring, by TCP to a sink that checks and confirms"
    message = SIZES["1MiB"]
    line = partial(_line, engine, quick=quick)
    yield line(
        ("tcp", message),
        row="stream.tcp.1MiB.raw",
        name=f"TUs of 1 MiB {by_tcp}",
        peer="raw loopback TCP, cubic: a plain writer and reader",
        peers=lambda _, messages: engine.words(
            "stream", way="raw", message=message, messages=messages
        ),
        settings=(None,),
    )
    yield line(
        ("tcp", message),
        row="stream.tcp.1MiB.rank_sums",
        name=f"TUs of 1 MiB, summed by the rank, {by_tcp}",
        peer="the same, summed by the interface",
        settings_from=[one for one in OURS if one[1]],
        peers=partial(_own, engine, ("tcp", message)),
        settings=tuple(one for one in OURS if not one[1]),
    )
    yield line(
        ("plain", message),
        row="stream.tcp.plain",
        name="TUs of 1 MiB from a rank by a ring, as plain bytes by TCP to a reader",
        peer=f"the same {by_tcp[len('from a rank by a ring, ') :]}",
        peers=partial(_own, engine, ("tcp", message)),
        settings=OURS,
    )
    relay = built("relay")
    if relay is not None:
        yield line(
            ("tcp", message),
            row="stream.tcp.1MiB.relay",
            name=f"TUs of 1 MiB {by_tcp}",
            peer="a plain relay, in C: a copy to shared memory, written to TCP from there; "
            "nothing framed, summed or confirmed",
            peers=lambda setting, messages: [
                relay,
                *map(str, (message, setting[0], messages, setting[1])),
            ],
            settings=RELAYS,
        )
    if _is_there("zeromq", ["pyzmq"], quick):
        rows = [(f"tcp.{size}", f"{size[:-3]} {size[-3:]}", SIZES[size]) for size in SIZES]
        for part, size, message in [*rows, ("small", f"{SMALL} B", SMALL)]:
            yield line(
                ("tcp", message),
                row=f"stream.{part}.zeromq",
                name=f"TUs of {size} {by_tcp}",
                peer="ZeroMQ, PUSH to PULL over TCP, no copies in Python, nothing checked",
                peers=partial(_script, "zeromq", "push.py", message),
                settings=BUFFERS,
            )
    if _is_there("adios2", ["adios2", "numpy"], quick):
        message = SIZES["1MiB"]
        yield line(
            ("tcp", message),
            row="stream.tcp.1MiB.adios2",
            name=f"TUs of 1 MiB {by_tcp}",
            peer="ADIOS2, SST over sockets, a step a message, nothing checked",
            peers=partial(_script, "adios2", "steps.py", message),
            settings=SST,
        )


@contextmanager
def _cubic() -> Iterator[None]:
    """Set cubic as the congestion control of sockets that choose none, as those of the peers."""
    before = CONGESTION.read_text().strip()
    try:
        CONGESTION.write_text("cubic\n")
    except OSError:
        sys.stdout.write(f"stream: the system's sockets stay with {before}\n")
    try:
        yield
    finally:
        if CONGESTION.read_text().strip() != before:
            CONGESTION.write_text(f"{before}\n")


def _script(peer: str, program: str, message: int, setting: tuple[Any, ...], n: int) -> list[str]:
    """Return the command that measures a peer written in Python."""
    python = str(PEERS / peer / "bin" / "python")
    path = str(ROOT / "bench" / peer / program)
    return [python, path, *map(str, (message, n, *setting))]


def _own(
    engine: Engine, isthmus: tuple[str, int], setting: tuple[int, bool], messages: int
) -> list[str]:
    """Return the command that measures a stream of isthmus."""
    (way, message), (capacity, sums) = isthmus, setting
    values = {"message": message, "messages": messages, "capacity": capacity}
    return engine.words("stream", way=way, rank_sums=int(sums), **values)


def _is_there(peer: str, packages: list[str], quick: bool) -> bool:
    """Return whether a peer is installed; install it unless the run is quick."""
    place = PEERS / peer
    if not (place / "bin" / "python").exists() and not quick:
        run([sys.executable, "-m", "venv", str(place)])
        run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", *packages])
    there = (place / "bin" / "python").exists()
    if not there:
        sys.stdout.write(f"stream: {peer} is left out, it is not installed\n")
    return there


def _line(
    engine: Engine,
    isthmus: tuple[str, int],
    *,
    quick: bool,
    row: str,
    name: str,
    peer: str,
    peers: Command,
    settings: tuple[Any, ...],
    settings_from: Iterable[Any] = OURS,
) -> Line:
    """Measure isthmus and a peer in turns, each with its best setting; return the line."""
    message = isthmus[1]
    messages = min(((64 << 20) if quick else MOVED) // message, 100_000 if quick else MANY)

    own = partial(_own, engine, isthmus)
    tried = messages // 4
    best = quickest({one: own(one, tried) for one in tuple(settings_from)[: 1 if quick else None]})
    other = quickest({one: peers(one, tried) for one in settings[: 1 if quick else None]})
    turns = [
        (report(own(best, messages)), report(peers(other, messages)))
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
        isthmus=statistics.median(rates[0]),
        peer=statistics.median(rates[1]),
        unit="MB/s",
        ratio=statistics.median(ratios),
        detail={
            "peer": peer,
            "load_average": os.getloadavg()[0],
            "scheduler": SCHEDULERS.get(os.sched_getscheduler(0), "another"),
            "ratio": spread(ratios),
            "ours": throughput(rates[0], cost[0])  # codespell:ignore ours
            | {
                "capacity_bytes": best[0],
                "sums": "rank" if best[1] else "interface",
                "manager_memory_bytes": memory,
            },
            "theirs": throughput(rates[1], cost[1]) | {"setting": other},  # codespell:ignore theirs
        },
        note="CPU s/GB: {:.3g}, peer {:.3g}; manager {:.3g} MB".format(
            *map(statistics.median, cost), memory / 1e6
        ),
    )

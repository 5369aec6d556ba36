"""What does a server of files cost, and how fast is it? The I/O daemon beside diod.

Both export the same folder in memory. Four clients have a connection and files each. A row has two
ratios: work per CPU second of the server, and by wall clock. diod 1.0.24 takes at most 65,536 bytes
in a message, and the clients send as much to both.

A row of the cache has the CPU time of both ends: reads of data in the cache, beside bytes that a
server sends without a protocol.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Engine, Line, report, spread

RUNS = 11
MEMORY = Path("/dev/shm")
"""Folder in memory, in which the exported folder is made."""
TICKS = os.sysconf("SC_CLK_TCK")
WAIT_S = 10
"""Maximum time for a server to start, in s."""

ROWS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "iod.read.1MiB.diod": (
        "reads of 64 KiB, 1 MiB of them in flight",
        [{"operation": "read", "bytes": 65_512, "window": 16}],
    ),
    "iod.write.1MiB.diod": (
        "writes of 64 KiB, 1 MiB of them in flight",
        [{"operation": "write", "bytes": 65_512, "window": 16}],
    ),
    "iod.4KiB.diod": (
        "reads or writes of 4 KiB, 32 in flight",
        [
            {"operation": "read", "bytes": 4096, "window": 32},
            {"operation": "write", "bytes": 4096, "window": 32},
        ],
    ),
    "iod.metadata.diod": (
        "files created, read by stat, opened and removed, one by one or 32 at a time",
        [{"operation": "metadata", "window": 1}, {"operation": "metadata", "window": 32}],
    ),
}
"""Rows: what clients do, and its settings. A row has the setting with the least ratio."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    address: str

    def cpu_s(self) -> float:
        """Return the CPU seconds of the server so far, user and system together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def iod(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the I/O daemon beside diod."""
    diod = shutil.which("diod") or shutil.which("diod", path="/usr/sbin")
    if diod is None or os.geteuid() != 0 or not MEMORY.is_dir():
        sys.stdout.write("iod: left out, as it needs diod, root and /dev/shm\n")
        return
    with (
        tempfile.TemporaryDirectory(dir=MEMORY, prefix="isthmus-bench-") as folder,
        _isthmus(engine, folder) as own,
        _diod(diod, folder) as peer,
    ):
        yield _cached(engine, folder, quick)
        for row, (name, settings) in ROWS.items():
            measured = [_turns(engine, (own, peer), folder, each, quick) for each in settings]
            for each in ("cpu", "wall"):
                lines = [_line(row, name, each, turns) for turns in measured]
                yield min(lines, key=lambda line: line.ratio or 0)


@dataclass(frozen=True)
class Turns:
    """Requests or files for each CPU second of the server and for each second, from runs in turns:
    of the I/O daemon and of the peer.
    """

    setting: dict[str, Any]
    cpu: tuple[list[float], list[float]]
    wall: tuple[list[float], list[float]]


def _turns(
    engine: Engine,
    servers: tuple[Server, Server],
    folder: str,
    setting: dict[str, Any],
    quick: bool,
) -> Turns:
    """Let the clients work with both servers in turns."""
    turns = Turns(setting, ([], []), ([], []))
    seconds, file = (0.2, 4 << 20) if quick else (2, 64 << 20)
    for _ in range(1 if quick else RUNS):
        for server, cpu, wall in zip(servers, turns.cpu, turns.wall, strict=True):
            work = {
                "server": server.address,
                "export": folder,
                "seconds": seconds,
                "file": file,
                **setting,
            }
            before = server.cpu_s()
            found = report(engine.words("iod", **work))
            # A short run may take less than a tick of the system's clock.
            cpu.append(found["operations"] / max(server.cpu_s() - before, 1 / TICKS))
            wall.append(found["operations"] / found["seconds"])
    return turns


def _line(row: str, name: str, each: str, turns: Turns) -> Line:
    """Return a row by CPU time of the server, or by wall clock."""
    isthmus, peer = turns.cpu if each == "cpu" else turns.wall
    ratios = [a / b for a, b in zip(isthmus, peer, strict=True)]
    work = "files" if turns.setting["operation"] == "metadata" else "requests"
    return Line(
        id=row if each == "cpu" else f"{row}/wall",
        name=f"4 clients of the I/O daemon: {name}",
        isthmus=statistics.median(isthmus),
        peer=statistics.median(peer),
        unit=f"{work} per CPU second of the server" if each == "cpu" else f"{work} per second",
        ratio=statistics.median(ratios),
        detail={
            "peer": "diod, the same clients, messages of 64 KiB",
            "setting": turns.setting,
            "ratio": spread(ratios),
        },
    )


def _cached(engine: Engine, folder: str, quick: bool) -> Line:
    """Measure reads of cached data beside bytes over TCP."""
    seconds, file = (0.2, 4 << 20) if quick else (2, 64 << 20)
    work = {"seconds": seconds, "file": file, "bytes": 65_512, "window": 16}
    rates: tuple[list[float], list[float]] = ([], [])
    with (
        tempfile.TemporaryDirectory(dir=MEMORY, prefix="isthmus-bench-") as cache,
        _isthmus(engine, folder, cache=f"{cache}/cache") as own,
        _isthmus(engine) as peer,
    ):
        for _ in range(1 if quick else RUNS):
            for server, operation, rate in zip((own, peer), ("read", "tcp"), rates, strict=True):
                export = folder if server is own else ""
                words = {"server": server.address, "export": export, "operation": operation}
                found = report(engine.words("iod", pid=server.pid, **words, **work))
                rate.append(found["bytes"] / max(found["cpu_seconds"], 1 / TICKS) / 1e6)
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    return Line(
        id="iod.cached.1MiB",
        name="4 clients of the I/O daemon: reads of 64 KiB from its cache, 1 MiB of them in flight",
        isthmus=statistics.median(rates[0]),
        peer=statistics.median(rates[1]),
        unit="MB per CPU second of both ends",
        ratio=statistics.median(ratios),
        detail={
            "peer": "a server that writes 64 MiB to each of 4 sockets again and again",
            "ratio": spread(ratios),
        },
    )


@contextmanager
def _isthmus(engine: Engine, folder: str = "", **options: str) -> Iterator[Server]:
    """Run the I/O daemon; without a folder, a server that sends bytes."""
    command = engine.words("iod_server", export=folder, **options)
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield Server(process.pid, process.stdout.readline().strip())
        # The end of its standard input ends the server.
        process.communicate()


@contextmanager
def _diod(diod: str, folder: str) -> Iterator[Server]:
    """Run diod with the settings that suit it best here: no authentication, one user."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [diod, "-f", "-n", "-N", "-S", "-U", "root", "-l", f"127.0.0.1:{port}", "-e", folder]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            # diod may crash as it ends. It does not start with this limit.
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
            yield Server(process.pid, f"tcp:127.0.0.1:{port}")
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    """Wait until a server accepts connections."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return

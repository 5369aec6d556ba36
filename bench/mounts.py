"""What does a mount cost beside a client without one, and beside a file in memory?

A daemon without a cache serves a folder in memory over a Unix socket. A program reads a file through
``isthmus iod mount``: the first time, when the kernel has none of it, and again, when the kernel has
kept it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import daemons
from daemons import MIB, Program, beside
from measure import Engine, Line, report

RUNS = 11
FILE_MIB = 256
"""Size of the file that is read first."""
AGAIN_MIB = 64
"""Size of the file that is opened again and again."""
WINDOW = 16
"""Requests of 64 KiB that the client without a mount has in flight."""


def iod_fuse(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure reads through a mount: of a new file, and of one that the kernel has kept."""
    if why := daemons.missing():
        sys.stdout.write(f"iod_fuse is left out: {why}\n")
        return
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        export, mounted = folder / "files", folder / "mount"
        export.mkdir()
        address = f"unix:{folder}/socket"
        with (
            daemons.serve(export, listen=address) as daemon,
            daemons.mount(mounted, address) as client,
        ):
            yield from _first(engine, export, mounted, (daemon, client), quick)
            yield _again(export, mounted, quick)


def _first(
    engine: Engine, export: Path, mounted: Path, programs: tuple[Program, Program], quick: bool
) -> Iterator[Line]:
    """Measure the first read of a file through the mount and by the Rust client, in turns."""
    size, passes = (16 if quick else FILE_MIB) * MIB, 1 if quick else 4
    make(export / "file", size)
    load = {"clients": 1, "bytes": 65_512, "window": WINDOW, "file": size}
    walls: tuple[list[float], list[float]] = ([], [])
    cpus: tuple[list[float], list[float]] = ([], [])
    daemon, _ = programs
    for _ in range(1 if quick else RUNS):
        wall_s, cpu_s = _read_new(mounted / "file", passes, programs)
        walls[0].append(passes * size / wall_s / 1e6)
        cpus[0].append(passes * size / cpu_s / 1e6)
        words = {"server": daemon.address, "operation": "read", "pid": daemon.pid}
        found = report(engine.words("iod", seconds=0.1 if quick else 1, **words, **load))
        walls[1].append(found["bytes"] / found["seconds"] / 1e6)
        cpus[1].append(found["bytes"] / max(found["cpu_seconds"], 1 / daemons.TICKS) / 1e6)
    name = f"first read of a file of {size // MIB} MiB through a mount, 1 MiB at a time"
    peer = f"the Rust client, {WINDOW} reads of 64 KiB in flight"
    yield beside("iod.fuse/wall", name, "MB/s", *walls, peer=peer)
    unit = "MB per CPU second of all processes"
    yield beside("iod.fuse", name, unit, *cpus, peer=peer)


def _read_new(path: Path, passes: int, programs: tuple[Program, ...]) -> tuple[float, float]:
    """Read a file that the kernel has not, several times. Return wall-clock and CPU seconds of all
    processes.
    """
    cpu_s = [-sum(each.cpu_s() for each in programs) - time.process_time()]
    wall_s = 0.0
    for _ in range(passes):
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begin = time.perf_counter()
            read(file.fileno())
            wall_s += time.perf_counter() - begin
    cpu_s.append(sum(each.cpu_s() for each in programs) + time.process_time())
    return wall_s, max(sum(cpu_s), 1 / daemons.TICKS)


def _again(export: Path, mounted: Path, quick: bool) -> Line:
    """Measure the second open and read of an unchanged file, beside the same of the exported file."""
    size, times = (16 if quick else AGAIN_MIB) * MIB, 3 if quick else 20
    make(export / "again", size)
    paths = (mounted / "again", export / "again")
    rates: tuple[list[float], list[float]] = ([], [])
    for path in paths:
        _read_again(path, 1)
    for _ in range(1 if quick else RUNS):
        for path, rate in zip(paths, rates, strict=True):
            rate.append(times * size / _read_again(path, times) / 1e6)
    name = f"second open and read of a file of {size // MIB} MiB through a mount"
    return beside("iod.fuse.open", name, "MB/s", *rates, peer="the file in memory itself")


def _read_again(path: Path, times: int) -> float:
    """Open and read a file several times. Return the time in s."""
    begin = time.perf_counter()
    for _ in range(times):
        with path.open("rb", buffering=0) as file:
            read(file.fileno())
    return time.perf_counter() - begin


def read(descriptor: int) -> None:
    """Read a file to its end, 1 MiB at a time."""
    buffer = bytearray(MIB)
    while os.readv(descriptor, [buffer]):
        pass


def make(path: Path, size: int) -> None:
    """Write a file of random bytes."""
    piece = os.urandom(MIB)
    with path.open("wb", buffering=0) as file:
        for _ in range(size // MIB):
            file.write(piece)

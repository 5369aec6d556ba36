"""The cost of a mount beside clients without one, and beside a file in memory.

A daemon without a cache serves a folder in memory over a Unix socket. A program reads a file
through ``isthmus iod mount``, 1 MiB at a time, into a buffer of its own: the first time, when the
kernel has none of it, and again, when the kernel has kept it.

A first read costs two copies more than a client's: into the pages of the kernel, and from them. At
most 256 KiB are in flight, because the kernel allows a mount without root no more read-ahead.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
        fresh = folder / "fresh"
        with (
            daemons.serve(export, listen=address) as daemon,
            daemons.mount(mounted, address) as client,
            daemons.mount(fresh, address, "--fresh", "1 s"),
        ):
            yield from _first(engine, export, mounted, (daemon, client), quick)
            yield from _again(export, mounted, fresh, quick)


def _first(
    engine: Engine, export: Path, mounted: Path, programs: tuple[Program, Program], quick: bool
) -> Iterator[Line]:
    """Measure the first read of a file through the mount and by clients without one, in turns."""
    size, passes = (16 if quick else FILE_MIB) * MIB, 1 if quick else 4
    make(export / "file", size)
    daemon, _ = programs
    load = {"clients": 1, "bytes": 65_512, "window": WINDOW, "file": size, "pid": daemon.pid}
    load["copy"] = "true"
    mounts, rust, python = Rates([], []), Rates([], []), Rates([], [])
    for _ in range(1 if quick else RUNS):
        mounts.add(passes * size, *_read_new(mounted / "file", passes, programs))
        words = {"server": daemon.address, "operation": "read", **load}
        found = report(engine.words("iod", seconds=0.1 if quick else 1, **words))
        rust.add(found["bytes"], found["seconds"], found["cpu_seconds"])
        if importlib.util.find_spec("fsspec"):
            python.add(size, *_fetch(daemon, size))
    name = f"first read of a file of {size // MIB} MiB through a mount"
    peer = f"the Rust client, {WINDOW} reads of 64 KiB in flight, copied to a buffer of 1 MiB"
    cpu = "MB per CPU second of all processes"
    yield beside("iod.fuse", name, cpu, mounts.cpu, rust.cpu, peer=peer)
    yield beside("iod.fuse/wall", name, "MB/s", mounts.wall, rust.wall, peer=peer)
    if python.wall:
        name, peer = f"{name}, beside iod://", "cat_file of iod://, which returns the data"
        yield beside("iod.fuse.python", name, cpu, mounts.cpu, python.cpu, peer=peer)
        yield beside("iod.fuse.python/wall", name, "MB/s", mounts.wall, python.wall, peer=peer)


class Rates(NamedTuple):
    """Rates of runs."""

    wall: list[float]
    """In MB/s."""
    cpu: list[float]
    """In MB per CPU second of all processes."""

    def add(self, size: int, wall_s: float, cpu_s: float) -> None:
        """Add a run."""
        self.wall.append(size / wall_s / 1e6)
        # A short run may take less than a tick of the system's clock.
        self.cpu.append(size / max(cpu_s, 1 / daemons.TICKS) / 1e6)


def _read_new(path: Path, passes: int, programs: tuple[Program, ...]) -> tuple[float, float]:
    """Read a file that the kernel has not, several times. Return wall-clock and CPU seconds of all
    processes.
    """
    cpu_s = -sum(each.cpu_s() for each in programs)
    wall_s = 0.0
    for _ in range(passes):
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            # As cat and cp do: the kernel reads 256 KiB ahead, not 128 KiB.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            begin, cpu_begin = time.perf_counter(), time.process_time()
            read(file.fileno())
            wall_s += time.perf_counter() - begin
            cpu_s += time.process_time() - cpu_begin
    return wall_s, cpu_s + sum(each.cpu_s() for each in programs)


def _fetch(daemon: Program, size: int) -> tuple[float, float]:
    """Read a file by fsspec. Return wall-clock and CPU seconds of both processes."""
    import fsspec

    async def fetch() -> tuple[float, float]:
        words = {"asynchronous": True, "skip_instance_cache": True}
        files = fsspec.filesystem("iod", address=daemon.address, **words)
        begin, cpu_s = time.perf_counter(), daemon.cpu_s() + time.process_time()
        if len(await files._cat_file("file")) != size:
            raise SystemExit("a file was not read to its end")
        wall_s = time.perf_counter() - begin
        return wall_s, daemon.cpu_s() + time.process_time() - cpu_s

    return asyncio.run(fetch())


def _again(export: Path, mounted: Path, fresh: Path, quick: bool) -> Iterator[Line]:
    """Measure the second open and read of a file, beside the same of the exported file."""
    size, times = (16 if quick else AGAIN_MIB) * MIB, 3 if quick else 20
    make(export / "again", size)
    paths = (mounted / "again", fresh / "again", export / "again")
    rates: tuple[list[float], ...] = ([], [], [])
    for path in paths:
        _read_again(path, 1)
    for _ in range(1 if quick else RUNS):
        for path, rate in zip(paths, rates, strict=True):
            rate.append(times * size / _read_again(path, times) / 1e6)
    name = f"second open and read of a file of {size // MIB} MiB through a mount"
    peer = "the file in memory itself"
    yield beside("iod.fuse.open", name, "MB/s", rates[0], rates[2], peer=peer)
    name = f"{name} with --fresh 1s"
    yield beside("iod.fuse.open/fresh", name, "MB/s", rates[1], rates[2], peer=peer)


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

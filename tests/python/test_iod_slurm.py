"""The scripts for Slurm of the guide: a job with an I/O daemon is cancelled while it writes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tests/slurm"))

import cluster

pytestmark = [
    pytest.mark.skipif(bool(cluster.missing()), reason=cluster.missing() or "Slurm"),
    pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="this host has no /dev/fuse"),
]

PATIENCE_S = 120
PAGE = REPOSITORY / "docs/io-daemon-operators.md"

SIMULATION = """
import fsspec, os, sys, time
done, mount = sys.argv[1:]
files = fsspec.filesystem("iod")
step = 0
while True:
    data = bytes([step % 256]) * 100_000
    with open(f"{mount}/mount-{step}", "wb") as file:
        file.write(data)
    files.pipe_file(f"iod-{step}", data)
    with open(done, "a") as written:
        written.write(f"{step}\\n")
    step += 1
    time.sleep(0.05)
"""
"""A program that writes checkpoints through the mount and by ``iod://``, and lists those that are
written.
"""


def until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.1)
    return found


def scripts(folder):
    """Write the scripts of the page, with folders of this test in them. Return their paths."""
    command = shlex.join([sys.executable, "-m", "isthmus"])
    python = folder / "bin"
    python.mkdir()
    (python / "isthmus").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (python / "isthmus").chmod(0o755)
    (folder / "simulation.py").write_text(SIMULATION)
    found = {}
    page = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```bash title=\"(\w+)\"\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    places = {
        "/local": f"{folder}/local",
        "/scratch/project": f"{folder}/store",
        "/opt/isthmus/bin": str(python),
        # What is written is not stored before the job ends.
        '--cache "$node/cache" \\': '--cache "$node/cache" --dirty-age 1h \\',
        "./simulation": f"{sys.executable} {folder}/simulation.py {folder}/written",
    }
    for name, block in blocks:
        text = block
        for place, other in places.items():
            text = text.replace(place, other)
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        found[name] = path
    assert set(found) == {"prolog", "job", "epilog"}
    for place in ("local", "store"):
        (folder / place).mkdir()
    return found


def daemons(slurm):
    """Return the processes of I/O daemons of the cluster."""
    found = []
    for process in slurm._processes("node1"):
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"iod" in words and b"serve" in words and b"isthmus" in words:
                found.append(process)
    return found


def test_a_job_that_is_cancelled_loses_nothing_that_it_has_written():
    with cluster.cluster(nodes=1, cpus=2) as slurm:
        found = scripts(slurm.folder)
        slurm.configure(Prolog=found["prolog"], Epilog=found["epilog"])
        path = f"{slurm.folder}/bin:{slurm.environment['PATH']}"
        job = slurm.ask(
            "sbatch", "--parsable", f"--chdir={slurm.folder}", f"--export=PATH={path}", found["job"]
        ).strip()
        written = slurm.folder / "written"
        until(lambda: written.exists() and written.read_text().count("\n") > 20, "checkpoint")
        store = slurm.folder / "store"
        (daemon,) = daemons(slurm)
        os.kill(daemon, signal.SIGKILL)
        slurm.ask("scancel", job)
        until(lambda: not list((slurm.folder / "local").iterdir()), "end of the epilog")
        steps = [int(line) for line in written.read_text().splitlines()]
        assert len(steps) > 20
        for step in steps:
            for name in ("mount", "iod"):
                assert (store / f"{name}-{step}").read_bytes() == bytes([step % 256]) * 100_000

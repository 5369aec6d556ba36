"""The MPI implementations that programs of the benchmarks run on.

One belongs to this Python, or is on the path. Another one may be in the folder that ``MPICH``
names: the ``bin`` of an environment with mpich, mpi4py and isthmus's dependencies.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import ROOT, run, spread

HERE = ROOT / "bench" / "mpi"
BUILT = ROOT / "out" / "bench-mpi"
RANKS = 4
OURS = "ours"  # codespell:ignore ours
"""The name of isthmus in the results."""
VERSION = "from mpi4py import MPI; print(MPI.Get_library_version())"
# Environment variables that Open MPI requires for root, and for more ranks than cores. All ranks
# are on this machine: without the last one each start takes a second to look for fabrics.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_btl": "^ofi",
}


@dataclass(frozen=True)
class Mpi:
    """An MPI implementation: how to build and start programs for it."""

    name: str
    """Name of the implementation with its version."""
    python: str
    mpiexec: str
    mpicc: str
    scalapack: str | None
    """Path of a ScaLAPACK library for this MPI, if there is one."""

    @property
    def is_open_mpi(self) -> bool:
        """Whether this is Open MPI, which has options such as ``--mca``."""
        return self.name.startswith("Open MPI")

    def built(self, name: str, *linked: str) -> list[str]:
        """Compile a program of ``mpi/`` and return its command."""
        folder = BUILT / re.sub(r"[^a-z0-9.]+", "-", self.name.lower())
        folder.mkdir(parents=True, exist_ok=True)
        program = str(folder / name)
        compiler = [self.mpicc, "-O3", "-march=native", "-Wall", "-Wextra"]
        run([*compiler, str(HERE / f"{name}.c"), "-o", program, *linked])
        return [program]

    def python_program(self, name: str) -> list[str]:
        """Return the command of a Python program in ``mpi/``."""
        return [self.python, str(HERE / name)]

    def launch(self, *options: str) -> list[str]:
        """Return the command that starts the ranks of a program."""
        return [self.mpiexec, *options, "-n", str(RANKS)]


def installed() -> list[Mpi]:
    """Return installed MPIs, that of this Python first; none without mpi4py or a compiler."""
    found = [_mpi(Path(sys.executable).parent, sys.executable, os.environ.get("SCALAPACK"))]
    if folder := os.environ.get("MPICH"):
        other = Path(folder)
        mpi = _mpi(other, str(other / "python"), os.environ.get("SCALAPACK_MPICH"), alone=True)
        if mpi is None:
            raise SystemExit(
                f"MPICH={folder}: mpiexec, mpicc, and a python that has mpi4py, are wanted in it"
            )
        found.append(mpi)
    return [mpi for mpi in found if mpi is not None]


def _mpi(folder: Path, python: str, scalapack: str | None, *, alone: bool = False) -> Mpi | None:
    """Return the MPI in a folder for a Python; None if a program is missing or mpi4py does not
    work.
    """
    tools = [_found(folder, name, alone) for name in ("mpiexec", "mpicc")]
    if not all(tools) or not Path(python).exists():
        return None
    asked = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=False)
    words = re.match(r"(Open MPI|MPICH)\D*([\d.]+\w*)", asked.stdout)
    if asked.returncode or words is None:
        return None
    return Mpi(f"{words[1]} {words[2]}", python, str(tools[0]), str(tools[1]), scalapack)


def _found(folder: Path, name: str, alone: bool) -> str | None:
    """Return the path of a program in a folder; unless `alone`, else on the search path."""
    return shutil.which(name, path=str(folder)) or (None if alone else shutil.which(name))


Rows = dict[str, list[tuple[float, float]]]
"""Seconds of the slowest rank and CPU seconds, by measured quantity; ``""`` without a name."""


def launched(command: Sequence[str]) -> str:
    """Run a program and return its output.

    Raises:
        RuntimeError: the program failed; the message has its last output.

    """
    # Use the isthmus beside this file with any Python.
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def measured(command: Sequence[str]) -> Rows:
    """Run a program and parse its output: lines ``[WHAT ]SECONDS CPU``.

    Raises:
        RuntimeError: the program failed; the message has its last output.

    """
    rows: Rows = {}
    for line in launched(command).splitlines():
        *what, seconds, cpu = line.split()
        rows.setdefault(" ".join(what), []).append((float(seconds), float(cpu)))
    return rows


@dataclass
class Times:
    """Seconds and CPU seconds of a program, one value per turn."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, rows: list[tuple[float, float]]) -> None:
        """Add the times of a turn, the median of its runs."""
        self.seconds.append(statistics.median(row[0] for row in rows))
        self.cpu.append(statistics.median(row[1] for row in rows))

    def as_detail(self, moved: int) -> dict[str, Any]:
        """Return the rate for `moved` bytes, and the CPU time per gigabyte, as details of
        a line.
        """
        return {
            "rate_mb_per_s": spread([moved / took / 1e6 for took in self.seconds]),
            "cpu_s_per_gb": spread([took / moved * 1e9 for took in self.cpu]),
        }

    def rate(self, moved: int) -> float:
        """Return the median rate in MB/s."""
        return statistics.median(moved / took for took in self.seconds) / 1e6


def turns(commands: Mapping[Any, Sequence[str]], count: int) -> dict[Any, dict[str, Times]]:
    """Run programs in turns, and return their times by program and measured quantity."""
    times: dict[Any, dict[str, Times]] = {name: {} for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            try:
                rows = measured(command)
            except RuntimeError as error:
                raise SystemExit(str(error)) from None
            for what, found in rows.items():
                times[name].setdefault(what, Times()).add(found)
    return times


def ratios(isthmus: Times, peer: Times) -> list[float]:
    """Return the speed of isthmus relative to the peer, turn by turn."""
    return [b / a for a, b in zip(isthmus.seconds, peer.seconds, strict=True)]


def beside(isthmus: Times, peer: Times, moved: int) -> dict[str, Any]:
    """Return a comparison of isthmus with a peer on one MPI, for the stored results."""
    return {
        "ratio": spread(ratios(isthmus, peer)),
        "ours": isthmus.as_detail(moved),  # codespell:ignore ours
        "peer": peer.as_detail(moved),
    }

"""Redistribution of a matrix of doubles, from blocks over 2 x 2 ranks to panels of columns.

Peers: a plain copy by as many threads; Alltoallv by hand (``mpi/hand.c``); ScaLAPACK's ``pdgemr2d``
(``mpi/gemr2d.c``), if there is a ScaLAPACK for the MPI at hand: ``SCALAPACK`` names its library.
Ours and the peers take turns, on one MPI.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measure import ROOT, Engine, Line, run, spread

HERE = ROOT / "bench" / "mpi"
BUILT = ROOT / "out" / "bench-mpi"
RANKS = 4
COMMAND = "python bench/run.py redistribute"


def redistribute(engine: Engine, quick: bool) -> Iterator[Line]:
    """In one memory by threads, and between four ranks of an MPI program."""
    for block in (16,) if quick else (2, 16, 128):
        setting = {"megabytes": 32 if quick else 512, "block": block, "runs": 5 if quick else 11}
        report = engine.measure("redistribute", **setting)[0]
        yield Line(
            id=f"redistribute.nb{block}.threads",
            name=f"{setting['megabytes']} MiB, 4 ranks in one memory, blocks of {block}, 2 threads",
            ours=report["rate"]["median"] / 1e6,
            peer=report["memcpy_rate"]["median"] / 1e6,
            unit="MB/s",
            ratio=report["ratio"]["median"],
            command=COMMAND,
            detail={"peer": "a plain copy by 2 threads", **report},
        )
    mpi = _programs()
    if mpi is None:
        return
    for block in (16,) if quick else (2, 16, 128):
        yield from _ranks(mpi, f"nb{block}.mpi", 2048 if quick else 8192, block, 5 if quick else 11)
    yield from _ranks(mpi, "small", 256, 16, 5 if quick else 11, repeats=100)


def plan(engine: Engine, quick: bool) -> Iterator[Line]:
    """What one of 10,000 ranks does to know its messages of 10^12 elements."""
    report = engine.measure("plan", runs=5 if quick else 40)[0]
    yield Line(
        id="plan.huge",
        name="10^12 elements on 10^4 ranks, blocks of 2 to panels: the messages of one rank",
        ours=report["plan_s"]["median"] * 1e3,
        peer=None,
        unit="ms",
        ratio=None,
        command="python bench/run.py plan",
        detail=report,
    )


def _programs() -> dict[str, list[str]] | None:
    """By name the commands of ours and of the peers; nothing without an MPI."""
    folder = Path(sys.executable).parent
    tools = {name: _found(folder, name) for name in ("mpiexec", "mpicc")}
    if not all(tools.values()) or importlib.util.find_spec("mpi4py") is None:
        return None
    BUILT.mkdir(parents=True, exist_ok=True)
    found = {"ours": [sys.executable, str(HERE / "ours.py")]}
    compiler = [str(tools["mpicc"]), "-O3", "-march=native"]
    run([*compiler, str(HERE / "hand.c"), "-o", str(BUILT / "hand")])
    found["hand"] = [str(BUILT / "hand")]
    library = os.environ.get("SCALAPACK")
    if library:
        linked = [library, f"-Wl,-rpath,{Path(library).parent}", "-Wl,--allow-shlib-undefined"]
        run([*compiler, str(HERE / "gemr2d.c"), "-o", str(BUILT / "gemr2d"), *linked])
        found["gemr2d"] = [str(BUILT / "gemr2d")]
    # Open MPI asks for this where one is root, and where there are more ranks than cores.
    os.environ |= {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    launch = [str(tools["mpiexec"]), "-n", str(RANKS)]
    return {name: [*launch, *words] for name, words in found.items()}


def _found(folder: Path, name: str) -> str | None:
    return shutil.which(name, path=str(folder)) or shutil.which(name)


def _ranks(
    mpi: dict[str, list[str]], what: str, side: int, block: int, runs: int, repeats: int = 3
) -> Iterator[Line]:
    """Ours and each peer in turns: a run is the median of its repetitions."""
    seconds: dict[str, list[float]] = {name: [] for name in mpi}
    cpu: dict[str, list[float]] = {name: [] for name in mpi}
    for _ in range(runs):
        for name, words in mpi.items():
            form = ["window"] if name == "ours" else []
            done = subprocess.run(
                [*words, str(side), str(block), str(repeats), *form],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
            rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
            seconds[name].append(statistics.median(row[0] for row in rows))
            cpu[name].append(statistics.median(row[1] for row in rows))
    moved = side * side * 8
    for peer in (name for name in mpi if name != "ours"):
        ratios = [
            theirs / ours for ours, theirs in zip(seconds["ours"], seconds[peer], strict=True)
        ]
        rates = {name: [moved / took / 1e6 for took in seconds[name]] for name in ("ours", peer)}
        yield Line(
            id=f"redistribute.{what}.{peer}",
            name=f"{moved / 2**20:g} MiB, {RANKS} ranks of MPI, blocks of {block}, against {peer}",
            ours=statistics.median(rates["ours"]),
            peer=statistics.median(rates[peer]),
            unit="MB/s",
            ratio=statistics.median(ratios),
            command=COMMAND,
            detail={
                "ratio": spread(ratios),
                "rate": {name: spread(found) for name, found in rates.items()},
                "cpu_s_per_gb": {
                    name: spread([took / moved * 1e9 for took in cpu[name]])
                    for name in ("ours", peer)
                },
            },
        )

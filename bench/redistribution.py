"""Redistribution of a matrix of doubles, from blocks over 2 x 2 ranks to panels of columns.

Peers: a plain copy by as many threads; Alltoallv by hand (``mpi/hand.c``); ScaLAPACK's ``pdgemr2d``
(``mpi/gemr2d.c``), if there is a ScaLAPACK for an MPI at hand: ``SCALAPACK`` names its library,
``SCALAPACK_MPICH`` that for the MPI that ``MPICH`` names. isthmus and the peers take turns, on each
MPI; a line is of the MPI on which its peer is fastest, and keeps what it is on the others.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure import Engine, Line
from mpis import OURS, RANKS, Mpi, beside, installed, ratios, turns

Programs = dict[tuple[str, Mpi], list[str]]
"""The commands of isthmus and of the peers, on each MPI."""


def redistribute(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure redistribution in one memory by threads, and between four ranks of MPI."""
    for block in (16,) if quick else (2, 16, 128):
        setting = {"megabytes": 32 if quick else 512, "block": block, "runs": 2 if quick else 11}
        report = engine.measure("redistribute", **setting)[0]
        yield Line(
            id=f"redistribute.nb{block}.threads",
            name=f"{setting['megabytes']} MiB, 4 ranks in one memory, blocks of {block}, 2 threads",
            isthmus=report["rate"]["median"] / 1e6,
            peer=report["memcpy_rate"]["median"] / 1e6,
            unit="MB/s",
            ratio=report["ratio"]["median"],
            detail={"peer": "a plain copy by 2 threads", **report},
        )
    programs = {key: command for mpi in installed() for key, command in _programs(mpi).items()}
    if not programs:
        return
    # In short runs, name a form: calibration takes most of their time, and `prediction` has one.
    form = ("window",) if quick else ()
    side, runs = (1024, 1) if quick else (8192, 11)
    for block in (16,) if quick else (2, 16, 128):
        yield from _ranks(programs, f"nb{block}.mpi", side, block, runs, form)
    yield from _ranks(programs, "small", 256, 16, runs, form, repeats=10 if quick else 100)


def plan(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure how one of 10,000 ranks computes its messages of 10^12 elements."""
    report = engine.measure("plan", runs=5 if quick else 40)[0]
    yield Line(
        id="plan.huge",
        name="10^12 elements on 10^4 ranks, blocks of 2 to panels: the messages of one rank",
        isthmus=report["plan_s"]["median"] * 1e3,
        unit="ms",
        detail=report,
    )


def _programs(mpi: Mpi) -> Programs:
    """Return the commands of isthmus and of the peers, by name and MPI."""
    found = {OURS: mpi.python_program("redistribute.py"), "hand": mpi.built("hand")}
    if mpi.scalapack:
        folder = Path(mpi.scalapack).parent
        linked = [mpi.scalapack, f"-Wl,-rpath,{folder}", "-Wl,--allow-shlib-undefined"]
        found["gemr2d"] = mpi.built("gemr2d", *linked)
    return {(name, mpi): [*mpi.launch(), *words] for name, words in found.items()}


def _ranks(
    programs: Programs,
    what: str,
    side: int,
    block: int,
    runs: int,
    form: Sequence[str] = (),
    repeats: int = 3,
) -> Iterator[Line]:
    """Measure isthmus, in a form of the exchange or in the one that calibration chooses, and each
    peer in turns: a run is the median of its repetitions.
    """
    words = [str(side), str(block), str(repeats)]
    commands = {
        (name, mpi): [*command, *words, *(form if name == OURS else ())]
        for (name, mpi), command in programs.items()
    }
    times = turns(commands, runs)
    moved = side * side * 8
    for peer in dict.fromkeys(name for name, _ in programs if name != OURS):
        on = {mpi: found[""] for (name, mpi), found in times.items() if name == peer}
        best = max(on, key=lambda mpi: on[mpi].rate(moved))
        isthmus = {mpi: times[OURS, mpi][""] for mpi in on}
        yield Line(
            id=f"redistribute.{what}.{peer}",
            name=f"{moved / 2**20:g} MiB, {RANKS} ranks of MPI, blocks of {block}, against {peer}",
            isthmus=isthmus[best].rate(moved),
            peer=on[best].rate(moved),
            unit="MB/s",
            ratio=statistics.median(ratios(isthmus[best], on[best])),
            detail={
                "mpi": best.name,
                "by_mpi": {mpi.name: beside(isthmus[mpi], on[mpi], moved) for mpi in on},
            },
        )

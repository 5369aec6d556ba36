"""Write and read a matrix of doubles, in blocks over 2 x 2 ranks, to and from one file on tmpfs.

Peers: MPI's collectives through a view (``mpi/romio.c``), by ROMIO or Open MPI's OMPIO, and a
    shuffle by hand with large contiguous writes (``mpi/hand_file.c``). Each peer is tried in many
    forms, and its best form counts, on each MPI; a line is of the MPI with the fastest peer. The
    peers overwrite an existing file; so does isthmus with ``keep=False``, under a temporary name,
    so that a partial file never has the final name. Both cases are measured, with an existing file
    and without, and the peer's better one counts. For comparison each line has isthmus with its
    defaults, which leaves the old file intact on errors, and the machine's speed for data that is
    in order already (``mpi/plain.c``). On tmpfs isthmus copies its reads, and its writes with
    ``keep=False``, without rounds: no rank reshuffles for another.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import Engine, Line, rounded
from mpis import OURS, RANKS, Mpi, Times, beside, installed, measured, ratios, turns

BLOCK = 16
STATES = ("over", "new")
"""States of the file before the benchmark: it exists already, or it is new."""
MOUNTS = Path("/proc/mounts")

ALL = ("cb_config_list=*:4", "cb_nodes=4")
"""Hints that make all four ranks aggregators; ROMIO's default is one per node."""
HINTS: tuple[tuple[str, ...], ...] = (
    (),
    ("cb_buffer_size=4194304",),
    ALL,
    (*ALL, "striping_unit=4194304"),
    (*ALL, "romio_no_indep_rw=true"),
    ("romio_cb_read=disable",),
    ("romio_cb_read=disable", "ind_rd_buffer_size=67108864"),
)
PIECES = (("0", "write"), ("64", "write"), ("256", "write"), ("0", "map"), ("64", "map"))
"""Forms of the shuffle by hand: columns that are shuffled and written at a time (0 for all), and
the method of writing them.
"""


@dataclass(frozen=True)
class Form:
    """A program with its options, on one MPI."""

    program: str
    mpi: Mpi
    state: str
    words: tuple[str, ...]
    """Arguments of the program after the state of the file: hints, or the way of writing pieces."""
    options: tuple[str, ...] = ()
    """Options of ``mpiexec``."""

    def __str__(self) -> str:
        return " ".join((*self.options, *self.words)) or "nothing said"


@dataclass(frozen=True)
class Load:
    """The matrix, its file, and the commands that write and read it."""

    side: int
    path: Path
    commands: dict[tuple[str, Mpi], list[str]]

    @property
    def bytes(self) -> int:
        """Number of bytes of the matrix."""
        return self.side * self.side * 8

    def command(self, form: Form, runs: int) -> list[str]:
        """Return the command that measures a form `runs` times, after one warm-up run."""
        program = self.commands[form.program, form.mpi]
        words = [str(self.side), str(BLOCK), str(runs), str(self.path), form.state]
        return [*form.mpi.launch(*form.options), *program, *words, *form.words]


def array(_engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure one file, written and read by four ranks of an MPI program."""
    side, count = (1024, 1) if quick else (8192, 7)
    mpis = installed()
    # isthmus needs space for two files at a time, and the ranks' shared memory is on tmpfs as well.
    place = tmpfs(4 * side * side * 8)
    if not mpis or place is None:
        missing = "tmpfs with enough room" if mpis else "MPI with mpi4py and a compiler"
        sys.stdout.write(f"array: left out, there is no {missing}\n")
        return
    with tempfile.TemporaryDirectory(dir=place, prefix="isthmus-bench-") as folder:
        commands = {
            (name, mpi): command
            for mpi in mpis
            for name, command in {
                OURS: mpi.python_program("redistribute_file.py"),
                "romio": mpi.built("romio"),
                "hand": mpi.built("hand_file"),
                "plain": mpi.built("plain"),
            }.items()
        }
        yield from _lines(Load(side, Path(folder) / "matrix", commands), mpis, count, quick)


def tmpfs(room: int) -> Path | None:
    """Return the mount point of a tmpfs with enough free space, preferably ``/dev/shm``."""
    mounts = [line.split() for line in MOUNTS.read_text().splitlines()] if MOUNTS.exists() else []
    places = [Path(words[1]) for words in mounts if words[2] == "tmpfs"]
    for place in sorted(places, key=lambda place: place != Path("/dev/shm")):
        if os.access(place, os.W_OK) and _free(place) >= room:
            return place
    return None


def _free(place: Path) -> int:
    """Return the free bytes of a file system."""
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def _forms(mpi: Mpi, states: Sequence[str], quick: bool) -> Iterator[Form]:
    """Yield all forms of the peers to try. The best hints do not depend on whether the
    file exists.
    """
    romio = ("--mca", "io", "romio341") if mpi.is_open_mpi else ()
    for hints in HINTS[:1] if quick else HINTS:
        yield Form("romio", mpi, states[0], hints, romio)
    if mpi.is_open_mpi and not quick:
        yield Form("romio", mpi, states[0], (), ("--mca", "io", "ompio"))
    for state in states:
        for piece in PIECES[1:2] if quick else PIECES:
            yield Form("hand", mpi, state, piece)


Tried = dict[Form, dict[str, float]]
"""Seconds of writing and reading by form; empty for a form that failed."""


def _tried(load: Load, forms: Iterable[Form], runs: int) -> Tried:
    """Return the time of each form; a form that fails has none."""
    tried: Tried = {}
    for form in forms:
        load.path.unlink(missing_ok=True)
        try:
            rows = measured(load.command(form, runs))
        except RuntimeError:
            # Some versions reject some hints; leave that form out.
            rows = {}
        tried[form] = {
            what: statistics.median(took for took, _ in found) for what, found in rows.items()
        }
    return tried


def _best(tried: Tried, program: str, what: str, mpi: Mpi, state: str) -> Form:
    """Return the form of a peer with the shortest time."""
    came = {
        form: took[what]
        for form, took in tried.items()
        if (form.program, form.mpi) == (program, mpi) and what in took
        if program == "romio" or form.state == state
    }
    if not came:
        raise SystemExit(f"{program} fails on {mpi.name} in each of its forms")
    return replace(min(came, key=lambda form: came[form]), state=state)


ASKED = (("romio", "write"), ("romio", "read"), ("hand", "write"))


def _lines(load: Load, mpis: list[Mpi], count: int, quick: bool) -> Iterator[Line]:
    """Yield the lines of isthmus and the best form of each peer, measured in turns."""
    # In short runs, use the state that needs no existing file.
    states = STATES[1:] if quick else STATES
    tried = _tried(
        load, (form for mpi in mpis for form in _forms(mpi, states, quick)), 1 if quick else 3
    )
    places = [(mpi, state) for mpi in mpis for state in states]
    isthmus = {(mpi, state): Form(OURS, mpi, state, ()) for mpi, state in places}
    best = {(*asked, *place): _best(tried, *asked, *place) for asked in ASKED for place in places}
    kept = {mpi: Form(OURS, mpi, "over", ("keep",)) for mpi in mpis}
    plain = {(mpi, state): Form("plain", mpi, state, ()) for mpi, state in places}
    # A form that is the best in several cases is measured only once.
    forms = dict.fromkeys([*isthmus.values(), *best.values(), *kept.values(), *plain.values()])
    times = turns({form: load.command(form, 1) for form in forms}, count)
    for program, what in ASKED:
        found = {place: best[(program, what, *place)] for place in places}
        rows = {
            place: {
                "form": str(form),
                **_beside(times[isthmus[place]], times[form], what, load.bytes),
                "kept": beside(times[kept[place[0]]][what], times[form][what], load.bytes),
                "plain_mb_per_s": rounded(times[plain[place]][what].rate(load.bytes)),
            }
            for place, form in found.items()
        }
        at = max(places, key=lambda place: times[found[place]][what].rate(load.bytes))
        own, peer = times[isthmus[at]][what], times[found[at]][what]
        yield Line(
            id=f"array.{what}.nb{BLOCK}.{program}",
            name=f"{load.bytes / 2**20:g} MiB in blocks of {BLOCK}, {RANKS} ranks of MPI, one file "
            f"on tmpfs: {what}, against {program}",
            isthmus=own.rate(load.bytes),
            peer=peer.rate(load.bytes),
            unit="MB/s",
            ratio=statistics.median(ratios(own, peer)),
            detail={
                "mpi": at[0].name,
                "file": at[1],
                "form": str(found[at]),
                "by_mpi": {mpi.name: {state: rows[mpi, state] for state in states} for mpi in mpis},
                "tried_mb_per_s": {
                    f"{form.mpi.name}, {form.state}: {form}": rounded(load.bytes / took[what] / 1e6)
                    if took
                    else "failed"
                    for form, took in tried.items()
                    if form.program == program
                },
            },
        )


def _beside(
    isthmus: dict[str, Times], peer: dict[str, Times], what: str, moved: int
) -> dict[str, Any]:
    """Compare the time from opening to closing the file, and the call alone if both report it."""
    call = f"{what}_call"
    detail = beside(isthmus[what], peer[what], moved)
    return detail | ({"call": beside(isthmus[call], peer[call], moved)} if call in peer else {})

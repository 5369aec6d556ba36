"""What points and searches will take: from those that are done, else from a few that are tried."""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import groupby, islice, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isthmus.core import parse_toml
from isthmus.owned.mark import JOURNAL
from isthmus.progress import Progress
from isthmus.sweeps.left import SEARCH_POINTS
from isthmus.sweeps.selection import Selection, Unit
from isthmus.sweeps.shared import EXPIRY_S, do_part
from isthmus.sweeps.workers import Took, read_workers

if TYPE_CHECKING:
    from isthmus.execution import Job

TRIED_S = 10.0
"""Most seconds for which points are tried."""
SHARE = 0.02
"""Of what all will take, what trying a few may take."""
SAMPLE = 64
"""Most units that are tried."""
LEAST = 4
"""Fewest durations that are enough."""
REFERENCES = 500
"""Most durations with which a unit is compared."""
_ENTRY = re.compile(r"(point|search)-([0-9]{1,18})")


class _Enough(Exception):  # noqa: N818 - nothing went wrong
    """Enough units were tried."""


def predicted(
    job: Job,
    folder: Path,
    missing: Selection,
    *,
    keep: bool = True,
    known: bool = True,
    expiry_s: float = EXPIRY_S,
) -> list[float]:
    """What each unit that is missing will take, points first, in seconds of one thread.

    That is what the one nearest to it in the sweep took, of those that are known. Where too few are
    known, a few are done first, within a bounded time.

    Args:
        job: the run.
        folder: its folder.
        missing: what is to be predicted.
        keep: whether what is done for it may be kept in the folder.
        known: whether what was done in the folder counts; not if that is to be removed.
        expiry_s: after which what others were at in the folder is taken over.

    """
    units = missing.units
    seconds = finished(folder) if known else {}
    if len(seconds) < min(LEAST, len(units)):
        with tempfile.TemporaryDirectory(prefix="isthmus-") as place:
            spare = Path(place)
            done_in = folder if keep else spare / "tried"
            _try(job, done_in, units, expiry_s, quick=job.quick)
            seconds = {**seconds, **finished(done_in)}
            if len(seconds) < min(LEAST, len(units)):
                # They take longer than that; shorter runs tell at least how they compare.
                _try(job, spare / "quick", units, expiry_s, quick=True)
                seconds = _scaled(finished(spare / "quick"), seconds)
    return _nearest(units, seconds, _lengths(job))


def finished(folder: Path) -> dict[Unit, float]:
    """What units that are done take one thread, as the processes that did them have said; lines
    that say something else are left out.
    """
    found: dict[Unit, float] = {}
    of_process = attrgetter("process")
    for _, all_ in groupby(read_workers(folder / JOURNAL).took, of_process):
        took = list(all_)
        for each, seconds in zip(took, _by_one_thread(took), strict=True):
            entry = _ENTRY.fullmatch(each.entry)
            if entry:
                found[entry[1], int(entry[2])] = seconds
    return found


def _by_one_thread(took: Sequence[Took]) -> list[float]:
    """What one thread would have needed at most for each of what a process did, in seconds.

    Replications are simulated side by side: where a process is at fewer units than it has threads,
    these share the threads, as the last ones of a part do.
    """
    starts = np.sort([each.ended_s - each.seconds for each in took])
    ends = np.sort([each.ended_s for each in took])
    times = np.unique([starts, ends])
    at_work = np.searchsorted(starts, times, "right") - np.searchsorted(ends, times, "right")
    threads = np.maximum(took[0].threads / np.maximum(at_work, 1), 1.0)
    spent = np.concatenate([[0.0], np.cumsum(np.diff(times) * threads[:-1])])
    began = np.interp([each.ended_s - each.seconds for each in took], times, spent)
    ended = np.interp([each.ended_s for each in took], times, spent)
    # Of numbers so large little is left behind the point.
    return [max(each.seconds, float(b - a)) for each, a, b in zip(took, began, ended, strict=True)]


def _try(job: Job, folder: Path, units: Sequence[Unit], expiry_s: float, *, quick: bool) -> None:
    """Do units that are spread over all of them, until that is enough."""
    points = spread([at for kind, at in units if kind == "point"])
    searches = spread([at for kind, at in units if kind == "search"])
    of_each = zip_longest(islice(points, SAMPLE), islice(searches, SAMPLE))
    pairs = list(islice(of_each, SAMPLE))
    part = Selection(
        tuple(point for point, _ in pairs if point is not None),
        tuple(search for _, search in pairs if search is not None),
    )
    began = None

    def watch(progress: Progress) -> None:
        nonlocal began
        now, done = time.monotonic(), progress.points_done
        if began is None and progress.phase == "simulating":
            # Building a large machine may take longer than all that is tried.
            began = now
        told(replace(progress, state="a few are tried first"))
        if began is None:
            return
        spent = now - began
        whole = spent / done * len(units) if done else math.inf
        if spent > TRIED_S or (done >= LEAST and spent > SHARE * whole):
            raise _Enough

    told = job.watch
    # A copy: a new job would build all machines to be checked.
    tried = copy(job)
    tried.watch, tried.jobs, tried.quick = watch, 1, quick
    try:
        do_part(tried, folder, part, expiry_s)
    except _Enough:
        return


def _scaled(quick: Mapping[Unit, float], known: Mapping[Unit, float]) -> dict[Unit, float]:
    """Durations of short runs made those of full ones: of the units that were not done in the time
    that they had, the shortest is taken to take just that.
    """
    longer = [seconds for unit, seconds in quick.items() if unit not in known]
    if not longer:
        return dict(known)
    factor = max(1.0, TRIED_S / max(min(longer), 1e-3))
    return {**{unit: seconds * factor for unit, seconds in quick.items()}, **known}


def spread(positions: Sequence[int]) -> Iterator[int]:
    """All positions, each once, so that however many are taken they are spread over all: by bits
    in reverse order (van der Corput).
    """
    bits = max(len(positions) - 1, 0).bit_length()
    for i in range(1 << bits):
        at = int(f"{i:0{bits}b}"[::-1], 2) if bits else 0
        if at < len(positions):
            yield positions[at]


def _lengths(job: Job) -> tuple[int, ...]:
    """Values of each axis of the sweep."""
    sweep = parse_toml(job.canonical, job.file).get("sweep", {})
    return tuple(len(values) for values in sweep.values())


def _nearest(
    units: Sequence[Unit], known: Mapping[Unit, float], lengths: tuple[int, ...]
) -> list[float]:
    """What the nearest known unit of the same kind took, for each of these."""
    found: list[float] = []
    for kind in ("point", "search"):
        wanted = [at for each, at in units if each == kind]
        if not wanted:
            continue
        of_kind = [at for each, at in known if each == kind]
        of_kind = list(islice(spread(sorted(of_kind)), REFERENCES))
        if not of_kind:
            seconds = sum(known.values()) / len(known) if known else 1.0
            times = SEARCH_POINTS if kind == "search" else 1 / SEARCH_POINTS
            found += [seconds * times] * len(wanted)
            continue
        axes = lengths if kind == "point" and math.prod(lengths) > max(wanted + of_kind) else ()
        there, here = _places(of_kind, axes), _places(wanted, axes)
        for place in here:
            nearest = int(np.abs(there - place).sum(axis=1).argmin())
            found.append(known[kind, of_kind[nearest]])
    return found


def _places(positions: Sequence[int], axes: tuple[int, ...]) -> np.ndarray:
    """Where units are in the sweep, each axis from 0 to 1; in a row where there are no axes."""
    if not axes:
        return np.asarray(positions, dtype=float)[:, None]
    found: np.ndarray = np.stack(np.unravel_index(positions, axes), axis=1) / np.asarray(axes)
    return found

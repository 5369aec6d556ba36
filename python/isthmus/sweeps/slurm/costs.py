"""Predicted durations of points and searches, from finished ones or from a small sample."""

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
from isthmus.sweeps.remaining import SEARCH_POINTS
from isthmus.sweeps.selection import Selection, Unit
from isthmus.sweeps.shared import EXPIRY_S, do_part
from isthmus.sweeps.workers import Timing, read_workers

if TYPE_CHECKING:
    from isthmus.execution import Job

TRIED_S = 10.0
"""Maximum number of seconds for which the sample of points and searches runs."""
SHARE = 0.02
"""The maximum share of the whole run's time that the sample may take."""
SAMPLE = 64
"""The maximum number of points and searches in the sample."""
LEAST = 4
"""The minimum number of known durations that a prediction needs."""
REFERENCES = 500
"""The maximum number of known durations that a point or search is compared with."""
_ENTRY = re.compile(r"(point|search)-([0-9]{1,18})")


class _SampleComplete(Exception):  # noqa: N818 - nothing went wrong
    """Exception that ends the sample run because it has measured enough durations."""


def predicted(
    job: Job,
    folder: Path,
    missing: Selection,
    *,
    keep: bool = True,
    known: bool = True,
    expiry_s: float = EXPIRY_S,
) -> list[float]:
    """Predict the duration of each missing point or search, points first, in seconds of one thread.

    The prediction is the duration of the nearest unit of the sweep whose duration is known. If too
    few are known, a sample of units runs first, within a bounded time.

    Args:
        job: the run.
        folder: its folder.
        missing: the units to predict.
        keep: whether the results of the sample may be kept in the folder.
        known: whether durations in the folder count; false if the folder is to be cleared.
        expiry_s: seconds after which expired leases in the folder are taken over.

    """
    units = missing.units
    seconds = finished(folder) if known else {}
    if len(seconds) < min(LEAST, len(units)):
        with tempfile.TemporaryDirectory(prefix="isthmus-") as place:
            spare = Path(place)
            done_in = folder if keep else spare / "tried"
            _sample(job, done_in, units, expiry_s, quick=job.quick)
            seconds = {**seconds, **finished(done_in)}
            if len(seconds) < min(LEAST, len(units)):
                # Each point takes longer than the limit, so run them in quick mode for their
                # relative durations.
                _sample(job, spare / "quick", units, expiry_s, quick=True)
                seconds = _scaled(finished(spare / "quick"), seconds)
    return _nearest(units, seconds, _lengths(job))


def finished(folder: Path) -> dict[Unit, float]:
    """Return the durations of finished points and searches in seconds of one thread, from the
    records of workers.

    Records with unknown entries are ignored.
    """
    found: dict[Unit, float] = {}
    of_process = attrgetter("process")
    for _, all_ in groupby(read_workers(folder / JOURNAL).timings, of_process):
        timings = list(all_)
        for each, seconds in zip(timings, _single_thread_s(timings), strict=True):
            entry = _ENTRY.fullmatch(each.entry)
            if entry:
                found[entry[1], int(entry[2])] = seconds
    return found


def _single_thread_s(timings: Sequence[Timing]) -> list[float]:
    """Return an upper bound on the time of one thread for each point or search of a process, in
    seconds.

    Replications run in parallel: if a process has fewer units than threads, as at the end of a
    part, the units share the threads.
    """
    starts = np.sort([each.ended_s - each.seconds for each in timings])
    ends = np.sort([each.ended_s for each in timings])
    times = np.unique([starts, ends])
    at_work = np.searchsorted(starts, times, "right") - np.searchsorted(ends, times, "right")
    threads = np.maximum(timings[0].threads / np.maximum(at_work, 1), 1.0)
    spent = np.concatenate([[0.0], np.cumsum(np.diff(times) * threads[:-1])])
    began = np.interp([each.ended_s - each.seconds for each in timings], times, spent)
    ended = np.interp([each.ended_s for each in timings], times, spent)
    # Large timestamps leave few digits behind the decimal point, so clamp to the duration.
    return [max(t.seconds, float(b - a)) for t, a, b in zip(timings, began, ended, strict=True)]


def _sample(job: Job, folder: Path, units: Sequence[Unit], expiry_s: float, *, quick: bool) -> None:
    """Run a sample of points and searches, spread over all of them, until it is large enough."""
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
        """Show the progress of the sample run, and end the run when it has measured enough."""
        nonlocal began
        now, done = time.monotonic(), progress.points_done
        if began is None and progress.phase == "simulating":
            # Start the clock after the machines are built, which may take longer than the sample
            # itself.
            began = now
        watch_job(replace(progress, state="a few are tried first"))
        if began is None:
            return
        spent = now - began
        whole = spent / done * len(units) if done else math.inf
        if spent > TRIED_S or (done >= LEAST and spent > SHARE * whole):
            raise _SampleComplete

    watch_job = job.watch
    # Copy the job: a new one would build all machines to check them.
    tried = copy(job)
    tried.watch, tried.jobs, tried.quick = watch, 1, quick
    try:
        do_part(tried, folder, part, expiry_s)
    except _SampleComplete:
        return


def _scaled(quick: Mapping[Unit, float], known: Mapping[Unit, float]) -> dict[Unit, float]:
    """Scale the measured durations of short runs to those of full runs.

    The shortest of the points and searches whose full run exceeded the time limit is assumed to
    take just the limit.
    """
    longer = [seconds for unit, seconds in quick.items() if unit not in known]
    if not longer:
        return dict(known)
    factor = max(1.0, TRIED_S / max(min(longer), 1e-3))
    return {**{unit: seconds * factor for unit, seconds in quick.items()}, **known}


def spread(positions: Sequence[int]) -> Iterator[int]:
    """Yield each position once, so that every prefix is spread over the whole range.

    The order is that of the van der Corput sequence: bits reversed.
    """
    bits = max(len(positions) - 1, 0).bit_length()
    for i in range(1 << bits):
        at = int(f"{i:0{bits}b}"[::-1], 2) if bits else 0
        if at < len(positions):
            yield positions[at]


def _lengths(job: Job) -> tuple[int, ...]:
    """Return the number of values on each axis of the sweep."""
    sweep = parse_toml(job.canonical, job.file).get("sweep", {})
    return tuple(len(values) for values in sweep.values())


def _nearest(
    units: Sequence[Unit], known: Mapping[Unit, float], lengths: tuple[int, ...]
) -> list[float]:
    """Return the duration of the nearest known point or search of the same kind, for each point or
    search.
    """
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
        there, here = _coordinates(of_kind, axes), _coordinates(wanted, axes)
        for place in here:
            nearest = int(np.abs(there - place).sum(axis=1).argmin())
            found.append(known[kind, of_kind[nearest]])
    return found


def _coordinates(positions: Sequence[int], axes: tuple[int, ...]) -> np.ndarray:
    """Return the coordinates of points or searches in the sweep, from 0 to 1 on each axis.

    Without `axes`, the only coordinate is the position itself.
    """
    if not axes:
        return np.asarray(positions, dtype=float)[:, None]
    found: np.ndarray = np.stack(np.unravel_index(positions, axes), axis=1) / np.asarray(axes)
    return found

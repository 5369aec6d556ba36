"""A redistribution carried out here on made-up data: checked, and how fast it was."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isthmus.arrays import made_up
from isthmus.arrays.calibration import calibrate_threads
from isthmus.arrays.costs import THREADS, Rates
from isthmus.arrays.descriptions import Description
from isthmus.errors import IsthmusError, RunFailedError
from isthmus.wording import quantity

if TYPE_CHECKING:
    from isthmus.arrays.layouts import Layout

COPIED_MAX = 1 << 28
"""Most bytes that are copied to see how fast memory is."""
BUFFERS = 64 << 20
"""Bytes that a rank of MPI sets aside for messages, at most."""
LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
"""What launchers of MPI put into the environment of a rank."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """How a redistribution went."""

    ranks: int
    threads: int
    """Threads, or ranks of MPI, that moved data."""
    form: str
    """``threads``, or the form of an exchange of MPI."""
    bytes: int
    """Of the array."""
    checked: int
    """Elements that were looked at, all of them where they belong."""
    seconds: tuple[float, ...]
    """Of each time."""
    cpu_s_per_gb: float
    """Of all threads or ranks, for each 10^9 bytes of the array."""
    copy_bytes_per_s: float
    """At which as many threads or ranks copy memory, each its own."""
    predicted_s: float
    """What it was to take by what was measured of this machine."""
    rates: Rates

    @property
    def bytes_per_s(self) -> float:
        """Median over the times."""
        return self.bytes / statistics.median(self.seconds)


def launched() -> bool:
    """Whether a launcher of MPI has started this process."""
    return any(name in os.environ for name in LAUNCHERS)


def held_bytes(layout: Layout, itemsize: int, ranks: list[int] | None = None) -> int:
    """Bytes of what ranks hold, all of them if none are given."""
    return itemsize * sum(
        math.prod(extents)
        for rank in (layout.ranks if ranks is None else ranks)
        for extents in layout.extents(rank)
    )


def afford(told: Description, bound: int | None, *, buffers: bool) -> None:
    """Refuse what does not fit into memory, before any of it is taken.

    Args:
        told: what is to be moved, all of its ranks on this machine.
        bound: bytes; half of what the process may use if `None`.
        buffers: whether messages lie in memory of their own as well.

    Raises:
        IsthmusError: it does not; both sizes.

    """
    from isthmus import _core

    before = held_bytes(told.from_, told.dtype.itemsize)
    after = held_bytes(told.to, told.dtype.itemsize)
    need = before + after + BUFFERS * len(told.ranks) * buffers
    limit = _core.memory_bound() if bound is None else bound
    if need > limit:
        raise IsthmusError(
            f"{told.file}: arrays before and after{' and messages' if buffers else ''} take "
            f"{quantity(need, 'B')}, and {quantity(limit, 'B')} may be taken; make array.shape "
            "smaller, or give --memory where there is more"
        )


def by_threads(
    told: Description, *, threads: int, repeat: int, tell: Tell, rates: Rates | None = None
) -> Trial:
    """Move made-up data in this process; without rates they are measured before.

    Raises:
        RunFailedError: an element is not where it belongs.

    """
    kind, order = made_up.element(told.dtype.itemsize), told.order
    if rates is None:
        tell("measuring this machine")
        rates = calibrate_threads(threads)
    tell("making data")
    before = [told.from_.empty(rank, kind, order=order) for rank in told.from_.ranks]
    for rank, parts in zip(told.from_.ranks, before, strict=True):
        made_up.fill(told.from_, rank, parts, order)
    after = [told.to.empty(rank, kind, order=order) for rank in told.to.ranks]
    for parts in after:
        for part in parts:
            part[...] = np.zeros((), kind)
    plan = told.plan
    seconds, cpu = [], 0.0
    for number in range(repeat):
        tell(f"moving, {number + 1} of {repeat}")
        used, begun = time.process_time(), time.perf_counter()
        plan.redistribute(before, after, threads=threads)
        seconds.append(time.perf_counter() - begun)
        cpu += time.process_time() - used
    tell("checking")
    checked = sum(
        made_up.check(told.to, rank, parts, order)
        for rank, parts in zip(told.to.ranks, after, strict=True)
    )
    del before, after
    tell("copying memory")
    return Trial(
        ranks=len(told.ranks),
        threads=threads,
        form="threads",
        bytes=told.bytes,
        checked=checked,
        seconds=tuple(seconds),
        cpu_s_per_gb=cpu / repeat / (told.bytes / 1e9),
        copy_bytes_per_s=_copy_rate(threads, told.bytes // threads),
        predicted_s=rates.predict(plan, kind, orders=(order, order), form=THREADS),
        rates=rates,
    )


def by_ranks(
    comm: Any,
    told: Description,
    *,
    form: Any,
    repeat: int,
    tell: Tell,
    rates: Rates | None = None,
) -> Trial | None:
    """Move made-up data between the ranks of MPI; what came of it on rank 0.

    Without rates they are measured before, of the form or of those that can be the quickest.

    Raises:
        IsthmusError: on all ranks alike.

    """
    from mpi4py import MPI

    from isthmus.arrays.mpi import Exchange, Ranks, calibrate

    kind, order, rank = made_up.element(told.dtype.itemsize), told.order, comm.rank
    plan = told.plan
    tell("making data")
    before = told.from_.empty(rank, kind, order=order) if rank in told.from_.ranks else None
    if before is not None:
        made_up.fill(told.from_, rank, before, order)
    with Ranks(comm) as ranks:
        if rates is None:
            tell("measuring this machine")
            calibrate(ranks, forms=None if form is None else [form])
        else:
            ranks.rates = rates
        exchange = Exchange(ranks, plan, kind, order=order, form=form)
        tell(f"moving, {repeat} times")
        after = exchange(before)
        seconds, cpu = [], 0.0
        for _ in range(repeat):
            comm.Barrier()
            used, begun = time.process_time(), time.perf_counter()
            exchange(before, after or None)
            comm.Barrier()
            seconds.append(time.perf_counter() - begun)
            cpu += time.process_time() - used
        exchange.close()
        used_form, rates = exchange.form, ranks.rates
    assert rates is not None
    tell("checking")
    problem, checked = "", 0
    try:
        checked = made_up.check(told.to, rank, after, order) if after else 0
    except IsthmusError as error:
        problem = str(error)
    for found in comm.allgather(problem):
        if found:
            raise RunFailedError(found)
    del before, after
    tell("copying memory")
    comm.Barrier()
    rate = comm.allreduce(_copy_rate(1, told.bytes // comm.size), op=MPI.SUM)
    total, cpu = comm.allreduce(checked), comm.allreduce(cpu)
    if rank != 0:
        return None
    return Trial(
        ranks=len(told.ranks),
        threads=comm.size,
        form=used_form,
        bytes=told.bytes,
        checked=total,
        seconds=tuple(seconds),
        cpu_s_per_gb=cpu / repeat / (told.bytes / 1e9),
        copy_bytes_per_s=rate,
        predicted_s=rates.predict(plan, kind, orders=(order, order), form=used_form),
        rates=rates,
    )


def _copy_rate(threads: int, bytes_each: int) -> float:
    """Bytes per second at which so many threads copy memory, each its own; the median of five."""
    size = max(1, min(bytes_each, COPIED_MAX // threads))
    pairs = [(np.ones(size, np.uint8), np.zeros(size, np.uint8)) for _ in range(threads)]
    rounds = max(1, (1 << 24) // (size * threads))

    def copy(pair: tuple[Any, Any]) -> None:
        for _ in range(rounds):
            np.copyto(pair[1], pair[0])

    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy, pairs))
        for _ in range(5):
            begun = time.perf_counter()
            list(pool.map(copy, pairs))
            seconds.append(time.perf_counter() - begun)
    return size * threads * rounds / statistics.median(seconds)

"""A redistribution of synthetic data on this machine: correctness and speed."""

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
"""Maximum bytes that are copied to measure memory bandwidth."""
BUFFERS = 64 << 20
"""Maximum bytes that a rank of MPI allocates for messages."""
LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
"""Environment variables that MPI launchers set for a rank."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """The result of a redistribution of synthetic data on this machine."""

    ranks: int
    threads: int
    """Threads, or ranks of MPI, that moved data."""
    form: str
    """How data were moved: ``threads``, or the form (method) of an exchange of MPI."""
    bytes: int
    """Bytes of the array."""
    checked: int
    """Number of checked elements, all correct."""
    seconds: tuple[float, ...]
    """Seconds of each repetition."""
    cpu_s_per_gb: float
    """CPU seconds of all threads or ranks for 10^9 bytes of the array."""
    copy_bytes_per_s: float
    """Memory copy bandwidth of the same number of threads or ranks together."""
    predicted_s: float
    """Predicted seconds from the measured rates of this machine."""
    rates: Rates

    @property
    def bytes_per_s(self) -> float:
        """Bytes of the array divided by the median time."""
        return self.bytes / statistics.median(self.seconds)


def launched() -> bool:
    """Return whether a launcher of MPI has started this process."""
    return any(name in os.environ for name in LAUNCHERS)


def held_bytes(layout: Layout, itemsize: int, ranks: list[int] | None = None) -> int:
    """Return the bytes that the given ranks hold; the default is all ranks."""
    return itemsize * sum(
        math.prod(extents)
        for rank in (layout.ranks if ranks is None else ranks)
        for extents in layout.extents(rank)
    )


def afford(task: Description, bound: int | None, *, buffers: bool) -> None:
    """Refuse a redistribution that does not fit into memory, before it is allocated.

    Args:
        task: the redistribution, with all of its ranks on this machine.
        bound: limit in bytes; `None` means half of the memory that the process may use.
        buffers: whether messages need memory of their own.

    Raises:
        IsthmusError: it does not fit; the message gives both sizes.

    """
    from isthmus import _core

    before = held_bytes(task.from_, task.dtype.itemsize)
    after = held_bytes(task.to, task.dtype.itemsize)
    need = before + after + BUFFERS * len(task.ranks) * buffers
    limit = _core.memory_bound() if bound is None else bound
    if need > limit:
        raise IsthmusError(
            f"{task.file}: arrays before and after{' and messages' if buffers else ''} take "
            f"{quantity(need, 'B')}, and {quantity(limit, 'B')} may be taken; make array.shape "
            "smaller, or give --memory where there is more"
        )


def by_threads(
    task: Description, *, threads: int, repeat: int, tell: Tell, rates: Rates | None = None
) -> Trial:
    """Move synthetic data between layouts with threads of this process, and check the result.

    Without `rates`, the copy rates of this machine are measured first.

    Raises:
        RunFailedError: an element is wrong afterwards.

    """
    kind, order = made_up.element(task.dtype.itemsize), task.order
    if rates is None:
        tell("measuring this machine")
        rates = calibrate_threads(threads)
    tell("making data")
    before = [task.from_.empty(rank, kind, order=order) for rank in task.from_.ranks]
    for rank, parts in zip(task.from_.ranks, before, strict=True):
        made_up.fill(task.from_, rank, parts, order)
    after = [task.to.empty(rank, kind, order=order) for rank in task.to.ranks]
    for parts in after:
        for part in parts:
            part[...] = np.zeros((), kind)
    plan = task.plan
    seconds, cpu = [], 0.0
    for number in range(repeat):
        tell(f"moving, {number + 1} of {repeat}")
        used, start = time.process_time(), time.perf_counter()
        plan.redistribute(before, after, threads=threads)
        seconds.append(time.perf_counter() - start)
        cpu += time.process_time() - used
    tell("checking")
    checked = sum(
        made_up.check(task.to, rank, parts, order)
        for rank, parts in zip(task.to.ranks, after, strict=True)
    )
    del before, after
    tell("copying memory")
    return Trial(
        ranks=len(task.ranks),
        threads=threads,
        form="threads",
        bytes=task.bytes,
        checked=checked,
        seconds=tuple(seconds),
        cpu_s_per_gb=cpu / repeat / (task.bytes / 1e9),
        copy_bytes_per_s=_copy_rate(threads, task.bytes // threads),
        predicted_s=rates.predict(plan, kind, orders=(order, order), form=THREADS),
        rates=rates,
    )


def by_ranks(
    comm: Any,
    task: Description,
    *,
    form: Any,
    repeat: int,
    tell: Tell,
    rates: Rates | None = None,
) -> Trial | None:
    """Move synthetic data between the ranks of MPI; return the result on rank 0, `None` on others.

    Without `rates`, the rates of the exchange form `form` are measured first; if `form` is `None`,
    those of all forms.

    Raises:
        IsthmusError: the ranks cannot do this redistribution. All ranks raise the same error.

    """
    from mpi4py import MPI

    from isthmus.arrays.mpi import Exchange, Ranks, calibrate

    kind, order, rank = made_up.element(task.dtype.itemsize), task.order, comm.rank
    plan = task.plan
    tell("making data")
    before = task.from_.empty(rank, kind, order=order) if rank in task.from_.ranks else None
    if before is not None:
        made_up.fill(task.from_, rank, before, order)
    with Ranks(comm) as ranks:
        ranks.admit(plan)
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
            used, start = time.process_time(), time.perf_counter()
            exchange(before, after or None)
            comm.Barrier()
            seconds.append(time.perf_counter() - start)
            cpu += time.process_time() - used
        exchange.close()
        used_form, rates = exchange.form, ranks.rates
    assert rates is not None
    tell("checking")
    problem, checked = "", 0
    try:
        checked = made_up.check(task.to, rank, after, order) if after else 0
    except IsthmusError as error:
        problem = str(error)
    for found in comm.allgather(problem):
        if found:
            raise RunFailedError(found)
    del before, after
    tell("copying memory")
    comm.Barrier()
    rate = comm.allreduce(_copy_rate(1, task.bytes // comm.size), op=MPI.SUM)
    total, cpu = comm.allreduce(checked), comm.allreduce(cpu)
    if rank != 0:
        return None
    return Trial(
        ranks=len(task.ranks),
        threads=comm.size,
        form=used_form,
        bytes=task.bytes,
        checked=total,
        seconds=tuple(seconds),
        cpu_s_per_gb=cpu / repeat / (task.bytes / 1e9),
        copy_bytes_per_s=rate,
        predicted_s=rates.predict(plan, kind, orders=(order, order), form=used_form),
        rates=rates,
    )


def _copy_rate(threads: int, bytes_each: int) -> float:
    """Return the bytes per second of concurrent memory copies; the median of five."""
    size = max(1, min(bytes_each, COPIED_MAX // threads))
    pairs = [(np.ones(size, np.uint8), np.zeros(size, np.uint8)) for _ in range(threads)]
    rounds = max(1, (1 << 24) // (size * threads))

    def copy(pair: tuple[Any, Any]) -> None:
        """Copy one array to another repeatedly."""
        for _ in range(rounds):
            np.copyto(pair[1], pair[0])

    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy, pairs))
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(copy, pairs))
            seconds.append(time.perf_counter() - start)
    return size * threads * rounds / statistics.median(seconds)

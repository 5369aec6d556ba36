"""Predict the time of a plan from measurements of the machine.

The time of an exchange has three parts: a fixed cost, a cost for each byte (lower for bytes that
stay on their rank), and an extra cost for each byte of short runs. Small blocks are expensive
because each run is a separate copy (Steenkiste, section 6.3 and Figure 11, cost per word against
message size). All parts are measured by exchanges of matrices of several sizes between cyclic
blocks and panels, in both directions. Other sizes are interpolated.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isthmus.arrays.elements import type_of
from isthmus.errors import IsthmusError
from isthmus.files import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isthmus.arrays.plans import Plan

    Orders = tuple[Literal["C", "F"], Literal["C", "F"]]

THREADS = "threads"
"""The form of a plan that threads execute in one process; all other forms are those of MPI."""
VERSION = 2
LONG = 1 << 20
"""Number of contiguous bytes in an array from which the cost of starting a separate copy is
negligible.
"""


@dataclass(frozen=True)
class Measured:
    """The measured time of one redistribution, with about the same amount of data on each rank."""

    size: int
    """Bytes of the exchanged array on all ranks together."""
    moved: int
    """Bytes that go from one rank to another."""
    packed: int
    """Length of a contiguous run in bytes when the sender packs it."""
    unpacked: int
    """Length of a contiguous run in bytes when the receiver unpacks it."""
    seconds: float


@dataclass
class CopyWork:
    """The numbers of bytes that a rank copies to pack, or to unpack, its messages."""

    kept: int = 0
    """Bytes of the array that stay on the rank."""
    moved: float = 0.0
    """Bytes of this rank's messages; half of each counts for the sender, half for the receiver."""
    runs: dict[int, int] = field(default_factory=dict)
    """Number of bytes in contiguous runs, by the length of a run in bytes."""

    @property
    def size(self) -> float:
        """Bytes that the rank copies."""
        return self.kept + self.moved


@dataclass
class Work:
    """The numbers of bytes that a rank copies in an exchange, to pack and to unpack."""

    packing: CopyWork = field(default_factory=CopyWork)
    unpacking: CopyWork = field(default_factory=CopyWork)

    @property
    def size(self) -> float:
        """Bytes that the rank copies."""
        return self.packing.size + self.unpacking.size


@dataclass(frozen=True)
class Rates:
    """The measured costs of redistributions on a machine, by form (threads, or a method of MPI).


    `isthmus.arrays.mpi.calibrate` measures ranks of MPI, `calibrate_threads` threads.
    """

    ranks: int
    """Number of ranks, or of threads, in the measured exchanges."""
    processors: int
    """Number of processors that these ranks, or threads, used."""
    forms: dict[str, list[Measured]]

    def predict(
        self, plan: Plan, dtype: Any, *, orders: Orders = ("C", "C"), form: str | None = None
    ) -> float:
        """Return the predicted seconds of an exchange.

        Args:
            plan: the plan of the exchange.
            dtype: type of the elements.
            orders: memory orders of source and target arrays.
            form: form (method) of the exchange; the default is the fastest.

        Raises:
            IsthmusError: the form has not been measured, or the plan has more ranks.

        """
        if form is None:
            return next(iter(self.all(plan, dtype, orders=orders).values()))
        return self.all(plan, dtype, orders=orders, forms=[form])[form]

    def all(
        self,
        plan: Plan,
        dtype: Any,
        *,
        orders: Orders = ("C", "C"),
        forms: Iterable[str] | None = None,
    ) -> dict[str, float]:
        """Return the predicted seconds of an exchange by form (method), the fastest first.

        Args:
            plan: the plan of the exchange.
            dtype: type of the elements.
            orders: memory orders of source and target arrays.
            forms: forms to predict; the default is all measured forms.

        Raises:
            IsthmusError: a form has not been measured, or the plan has more ranks.

        """
        if not self.forms:
            raise IsthmusError("rates: no form has been measured")
        seconds: dict[str, float] = {}
        # Compute the work of all ranks once for all forms of MPI, because the walk over all
        # messages takes most of the time.
        todo: dict[bool, dict[int, Work]] = {}
        for form in self.forms if forms is None else forms:
            direct = form == THREADS
            if not direct:
                self.refuse_more_ranks(plan)
            if direct not in todo:
                todo[direct] = work(plan, dtype, orders, direct=direct)
            size = sum(one.size for one in todo[direct].values())
            spent = [self.spent(form, size, one) for one in todo[direct].values()]
            sums, most = zip(
                *((sum(each), max(each)) for each in zip(*spent, strict=True)), strict=True
            )
            seconds[form] = self.seconds(form, sums, most)
        return dict(sorted(seconds.items(), key=lambda one: one[1]))

    def best(self, plan: Plan, dtype: Any, *, orders: Orders = ("C", "C")) -> str:
        """Return the form (method) of an exchange with the shortest predicted time.

        Raises:
            IsthmusError: no form has been measured, or the plan has more ranks.

        """
        return next(iter(self.all(plan, dtype, orders=orders)))

    def refuse_more_ranks(self, plan: Plan) -> None:
        """Refuse a plan with more ranks than were measured.

        Raises:
            IsthmusError: the plan has more ranks.

        """
        most = 1 + max(max(layout.ranks) for layout in (plan.from_, plan.to))
        if most > self.ranks:
            raise IsthmusError(
                f"rates: measured between {self.ranks} ranks; the plan has {most}, measure with as "
                "many"
            )

    def spent(self, form: str, size: float, one: Work) -> tuple[float, float]:
        """Return a rank's seconds to pack, and to unpack, in an exchange of `size` bytes in total.

        Raises:
            IsthmusError: the form has not been measured.

        """
        return self._table(form).spent(max(1, round(size)), one)

    def seconds(self, form: str, sums: Sequence[float], most: Sequence[float]) -> float:
        """Return the predicted duration of an exchange in seconds.

        Args:
            form: form of the exchange.
            sums: sum over all ranks of the seconds to pack, and to unpack.
            most: maximum over all ranks of the seconds to pack, and to unpack.

        Raises:
            IsthmusError: the form has not been measured.

        """
        # The model: all ranks pack, then all unpack, and all wait for the rank with the most work.
        # A rank runs at most at the speed of one processor, measured while all of them work.
        together = min(self.ranks, self.processors)
        spent = zip(sums, most, strict=True)
        return self._table(form).fixed + sum(max(each, together * one) for each, one in spent)

    def _table(self, form: str) -> _Table:
        """Return the costs of a form, derived from its measurements."""
        measured = self.forms.get(form)
        if not measured:
            raise IsthmusError(f"form: {form!r} has not been measured, but {', '.join(self.forms)}")
        return _Table(measured)

    def save(self, path: str | Path) -> None:
        """Write the rates to a JSON file.

        Raises:
            IsthmusError: the file cannot be written.

        """
        document = {"isthmus_rates": VERSION, **asdict(self)}
        write_text(Path(path), json.dumps(document, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Rates:
        """Read rates that `save` has written.

        Raises:
            IsthmusError: the file does not exist, or holds no rates.

        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document.pop("isthmus_rates") != VERSION:
                raise ValueError
            forms = {
                form: [Measured(**one) for one in measured]
                for form, measured in document.pop("forms").items()
            }
            if not forms or not all(forms.values()):
                raise ValueError
            numbers = [document["ranks"], document["processors"]]
            for one in (one for measured in forms.values() for one in measured):
                numbers += [one.size, one.packed, one.unpacked, one.seconds, one.moved + 1]
            # Other types than numbers raise TypeError here.
            if not all(0 < number < math.inf for number in numbers):
                raise ValueError
            return cls(**document, forms=forms)
        except OSError as error:
            raise IsthmusError(f"{path}: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise IsthmusError(f"{path}: no rates as `Rates.save` writes them") from None


def work(plan: Plan, dtype: Any, orders: Orders, *, direct: bool) -> dict[int, Work]:
    """Return the bytes that each rank copies in a plan; with `direct`, only receivers copy data."""
    ranks = dict.fromkeys((*plan.from_.ranks, *plan.to.ranks))
    return {rank: work_of(plan, rank, dtype, orders, direct=direct) for rank in ranks}


def work_of(plan: Plan, rank: int, dtype: Any, orders: Orders, *, direct: bool = False) -> Work:
    """Return the bytes that a rank copies in a plan; with `direct`, senders copy none. A rank that
    is not in the plan copies none.
    """
    item = type_of("dtype", dtype).itemsize
    before, after = (order == "F" for order in orders)
    one = Work()
    for message in plan.sends(rank) if rank in plan.from_.ranks and not direct else ():
        if message.to_rank != rank:
            pair = (rank, message.to_rank)
            one.packing.moved += message.elements * item / 2
            _add(one.packing.runs, plan._core.runs(pair, item, (before, after), True))
    for message in plan.receives(rank) if rank in plan.to.ranks else ():
        pair, size = (message.from_rank, rank), message.elements * item
        if message.from_rank == rank:
            one.unpacking.kept += size
        else:
            one.unpacking.moved += size if direct else size / 2
        if direct or message.from_rank == rank:
            _add(one.unpacking.runs, plan._core.runs(pair, item, (before, after)))
        else:
            _add(one.unpacking.runs, plan._core.runs(pair, item, (after, after), False))
    return one


def _add(found: dict[int, int], runs: Iterable[tuple[int, int]]) -> None:
    """Add the bytes of runs to a table of bytes by run length."""
    for length, times in runs:
        found[length] = found.get(length, 0) + length * times


@dataclass(frozen=True)
class _Costs:
    """The costs of exchanges of arrays of one total size, in seconds per byte."""

    kept: float
    moved: float
    packed: list[tuple[int, float]]
    """Extra seconds per byte to pack short runs: pairs of run length in bytes and seconds."""
    unpacked: list[tuple[int, float]]

    @classmethod
    def of(cls, measured: list[Measured], fixed: float) -> _Costs:
        """Derive the costs from measured exchanges of one size."""
        # Subtract the fixed cost, which does not depend on the number of bytes.
        spent = [max(one.seconds - fixed, 1e-3 * one.seconds) for one in measured]
        cost = {one: seconds / one.size for one, seconds in zip(measured, spent, strict=True)}
        moving = [one for one in measured if one.moved] or measured
        in_place = [cost[one] for one in measured if not one.moved]
        least = min(cost[one] for one in moving)
        # A byte that stays on its rank never costs more than a moved byte; if the measurements say
        # otherwise, that is noise.
        kept = min([*in_place, least])
        share = moving[0].moved / moving[0].size
        packed = sorted((one.packed, cost[one]) for one in moving if one.packed < one.unpacked)
        unpacked = sorted((one.unpacked, cost[one]) for one in moving if one.packed > one.unpacked)
        return cls(
            kept=kept,
            moved=(least - kept * (1 - share)) / share if share else least,
            packed=[(run, each - least) for run, each in packed] + [(LONG, 0.0)],
            unpacked=[(run, each - least) for run, each in unpacked] + [(LONG, 0.0)],
        )

    def spent(self, one: Work) -> tuple[float, float]:
        """Return the seconds in which a rank packs, and the seconds in which it unpacks."""
        return self._copy_seconds(one.packing, self.packed), self._copy_seconds(
            one.unpacking, self.unpacked
        )

    def _copy_seconds(self, work: CopyWork, short: list[tuple[int, float]]) -> float:
        """Return the seconds that a rank needs to pack or unpack, including the extra time of short
        runs.
        """
        more = sum(size * _interpolate(short, run) for run, size in work.runs.items())
        return work.kept * self.kept + work.moved * self.moved + more


class _Table:
    """The costs of exchanges in one form (method), by total size of the array."""

    def __init__(self, measured: list[Measured]) -> None:
        """Derive the costs from the measured exchanges of one form."""
        self.fixed = min(one.seconds for one in measured)
        sizes = sorted({one.size for one in measured})
        # Compute the costs for each size but the smallest, which was measured only for the fixed
        # cost.
        self.costs = {
            size: _Costs.of([one for one in measured if one.size == size], self.fixed)
            for size in sizes[1:] or sizes
        }

    def spent(self, size: int, one: Work) -> tuple[float, float]:
        """Return the seconds in which a rank packs, and unpacks, in an exchange of `size` bytes in
        total.
        """
        found = [(each, costs.spent(one)) for each, costs in self.costs.items()]
        packing, unpacking = ([(each, both[half]) for each, both in found] for half in (0, 1))
        return _interpolate(packing, size), _interpolate(unpacking, size)


def _interpolate(points: list[tuple[int, float]], at: int) -> float:
    """Interpolate on a logarithmic scale; beyond the ends use the nearest point."""
    place = bisect_left(points, (at, -math.inf))
    if place == 0 or place == len(points):
        return points[min(place, len(points) - 1)][1]
    (low, before), (high, behind) = points[place - 1], points[place]
    return before + (behind - before) * math.log(at / low) / math.log(high / low)

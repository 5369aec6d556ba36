"""How long a plan takes on a machine that has been measured.

The time of an exchange is a fixed part, which grows with what has to be waited for, a part for each
byte, less for those that stay where they are, and one for each byte of short runs: what makes small
blocks dear is that each run is a copy of its own (Steenkiste, section 6.3 and Figure 11, cost per
word against message size). All are measured by exchanges of matrices between blocks that go round
and panels, of some sizes, there and back, and read off between them.
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
"""What a plan is carried out by in one process; beside it the forms of MPI."""
VERSION = 2
LONG = 1 << 20
"""Bytes of runs so long that each being a copy of its own does not matter."""


@dataclass(frozen=True)
class Measured:
    """An exchange that has been measured, between layouts in which all ranks hold about as much."""

    size: int
    """Bytes that all ranks together hold."""
    moved: int
    """Those of them that go from one rank to another."""
    packed: int
    """Bytes of a run when it is packed."""
    unpacked: int
    """Bytes of a run when it is unpacked."""
    seconds: float


@dataclass
class Half:
    """What a rank has to do to pack, or to unpack, its messages."""

    kept: int = 0
    """Bytes that it has already."""
    moved: float = 0.0
    """Bytes of messages, each half its sender's and half its receiver's work."""
    runs: dict[int, int] = field(default_factory=dict)
    """Bytes by length of runs."""

    @property
    def size(self) -> float:
        """Bytes that it has to do with."""
        return self.kept + self.moved


@dataclass
class Work:
    """What a rank has to do in an exchange."""

    packing: Half = field(default_factory=Half)
    unpacking: Half = field(default_factory=Half)

    @property
    def size(self) -> float:
        """Bytes that it has to do with."""
        return self.packing.size + self.unpacking.size


@dataclass(frozen=True)
class Rates:
    """What exchanges cost on a machine, by form.

    Made by `isthmus.arrays.mpi.calibrate` for ranks of MPI, by `calibrate_threads` for threads.
    """

    ranks: int
    """Of the exchanges that were measured; for threads how many there were."""
    processors: int
    """That these ranks, or threads, run on."""
    forms: dict[str, list[Measured]]

    def predict(
        self, plan: Plan, dtype: Any, *, orders: Orders = ("C", "C"), form: str | None = None
    ) -> float:
        """Seconds that an exchange takes.

        Args:
            plan: from one layout to another.
            dtype: of the elements.
            orders: in memory, of arrays before and after.
            form: in which data go; without it the quickest.

        Raises:
            IsthmusError: the form has not been measured, or there were fewer ranks.

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
        """By form the seconds that an exchange takes, the quickest first.

        Args:
            plan: from one layout to another.
            dtype: of the elements.
            orders: in memory, of arrays before and after.
            forms: without them all that have been measured.

        Raises:
            IsthmusError: a form has not been measured, or there were fewer ranks.

        """
        if not self.forms:
            raise IsthmusError("rates: no form has been measured")
        seconds: dict[str, float] = {}
        # Going over all messages takes longer than all else, and is the same for all of MPI.
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
        """The form in which an exchange takes the least time.

        Raises:
            IsthmusError: none has been measured, or there were fewer ranks.

        """
        return next(iter(self.all(plan, dtype, orders=orders)))

    def refuse_more_ranks(self, plan: Plan) -> None:
        """Refuse a plan between more ranks than were measured.

        Raises:
            IsthmusError: it is one.

        """
        most = 1 + max(max(layout.ranks) for layout in (plan.from_, plan.to))
        if most > self.ranks:
            raise IsthmusError(
                f"rates: measured between {self.ranks} ranks; the plan has {most}, measure with as "
                "many"
            )

    def spent(self, form: str, size: float, one: Work) -> tuple[float, float]:
        """Seconds that a rank packs, and unpacks, in an exchange of so many bytes in all.

        Raises:
            IsthmusError: the form has not been measured.

        """
        return self._table(form).spent(max(1, round(size)), one)

    def seconds(self, form: str, sums: Sequence[float], most: Sequence[float]) -> float:
        """Seconds of an exchange.

        Args:
            form: in which data go.
            sums: seconds that all ranks together pack, and unpack.
            most: those of the rank that does so for the longest.

        Raises:
            IsthmusError: the form has not been measured.

        """
        # All pack, then all unpack. Ranks that have more to do than others are waited for: a rank
        # goes at most as fast as a processor, which is what was measured with all of them at work.
        together = min(self.ranks, self.processors)
        spent = zip(sums, most, strict=True)
        return self._table(form).fixed + sum(max(each, together * one) for each, one in spent)

    def _table(self, form: str) -> _Table:
        measured = self.forms.get(form)
        if not measured:
            raise IsthmusError(f"form: {form!r} has not been measured, but {', '.join(self.forms)}")
        return _Table(measured)

    def save(self, path: str | Path) -> None:
        """Write them to a file, as JSON.

        Raises:
            IsthmusError: it cannot be written.

        """
        told = {"isthmus_rates": VERSION, **asdict(self)}
        write_text(Path(path), json.dumps(told, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Rates:
        """Read what `save` has written.

        Raises:
            IsthmusError: there is no such file, or it is something else.

        """
        try:
            told = json.loads(Path(path).read_text(encoding="utf-8"))
            if told.pop("isthmus_rates") != VERSION:
                raise ValueError
            forms = {
                form: [Measured(**one) for one in measured]
                for form, measured in told.pop("forms").items()
            }
            if not forms or not all(forms.values()):
                raise ValueError
            numbers = [told["ranks"], told["processors"]]
            for one in (one for measured in forms.values() for one in measured):
                numbers += [one.size, one.packed, one.unpacked, one.seconds, one.moved + 1]
            # What is no number has no such comparison.
            if not all(0 < number < math.inf for number in numbers):
                raise ValueError
            return cls(**told, forms=forms)
        except OSError as error:
            raise IsthmusError(f"{path}: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise IsthmusError(f"{path}: no rates as `Rates.save` writes them") from None


def work(plan: Plan, dtype: Any, orders: Orders, *, direct: bool) -> dict[int, Work]:
    """By rank what it has to do; with `direct` data are copied once, by who gets them."""
    ranks = dict.fromkeys((*plan.from_.ranks, *plan.to.ranks))
    return {rank: work_of(plan, rank, dtype, orders, direct=direct) for rank in ranks}


def work_of(plan: Plan, rank: int, dtype: Any, orders: Orders, *, direct: bool = False) -> Work:
    """What a rank has to do, which need not be one of the plan's."""
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
    for length, times in runs:
        found[length] = found.get(length, 0) + length * times


@dataclass(frozen=True)
class _Costs:
    """Seconds for a byte where all ranks together hold so many."""

    kept: float
    moved: float
    packed: list[tuple[int, float]]
    """What it takes more in short runs, by their length."""
    unpacked: list[tuple[int, float]]

    @classmethod
    def of(cls, measured: list[Measured], fixed: float) -> _Costs:
        """What is behind exchanges of one size."""
        # What even next to nothing takes is no cost of bytes.
        spent = [max(one.seconds - fixed, 1e-3 * one.seconds) for one in measured]
        cost = {one: seconds / one.size for one, seconds in zip(measured, spent, strict=True)}
        moving = [one for one in measured if one.moved] or measured
        in_place = [cost[one] for one in measured if not one.moved]
        least = min(cost[one] for one in moving)
        # To leave bytes where they are is no dearer than to move them, whatever noise says.
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
        """Seconds that a rank packs, and unpacks."""
        return self._half(one.packing, self.packed), self._half(one.unpacking, self.unpacked)

    def _half(self, half: Half, short: list[tuple[int, float]]) -> float:
        more = sum(size * _between(short, run) for run, size in half.runs.items())
        return half.kept * self.kept + half.moved * self.moved + more


class _Table:
    """What has been measured of exchanges in one form."""

    def __init__(self, measured: list[Measured]) -> None:
        self.fixed = min(one.seconds for one in measured)
        sizes = sorted({one.size for one in measured})
        # The smallest tells what even next to nothing takes.
        self.costs = {
            size: _Costs.of([one for one in measured if one.size == size], self.fixed)
            for size in sizes[1:] or sizes
        }

    def spent(self, size: int, one: Work) -> tuple[float, float]:
        """Seconds that a rank packs, and unpacks, where all ranks together have so many bytes."""
        found = [(each, costs.spent(one)) for each, costs in self.costs.items()]
        packing, unpacking = ([(each, both[half]) for each, both in found] for half in (0, 1))
        return _between(packing, size), _between(unpacking, size)


def _between(points: list[tuple[int, float]], at: int) -> float:
    """What lies between points, evenly on a logarithmic scale, or at the nearest of them beyond."""
    place = bisect_left(points, (at, -math.inf))
    if place == 0 or place == len(points):
        return points[min(place, len(points) - 1)][1]
    (low, before), (high, behind) = points[place - 1], points[place]
    return before + (behind - before) * math.log(at / low) / math.log(high / low)

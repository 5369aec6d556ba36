"""How long a plan takes on a machine that has been measured.

The time of an exchange is a fixed part, which grows with what has to be waited for, and a part for
each byte that is packed or unpacked, which depends on how long the runs are that lie in one piece:
what makes small blocks dear is that each run is a copy of its own (Steenkiste, section 6.3 and
Figure 11, cost per word against message size). Both are measured by exchanges of matrices between
blocks that go round and panels, of some sizes, there and back, and read off between them.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isthmus.errors import IsthmusError
from isthmus.files import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isthmus.arrays.plans import Plan

    Orders = tuple[Literal["C", "F"], Literal["C", "F"]]

THREADS = "threads"
"""What a plan is carried out by in one process; beside it the forms of MPI."""
VERSION = 1
LONGEST = 1 << 62


@dataclass(frozen=True)
class Measured:
    """An exchange that has been measured, between layouts in which all ranks hold as much."""

    size: int
    """Bytes that all ranks together hold."""
    packed: int
    """Bytes of a run when it is packed."""
    unpacked: int
    """Bytes of a run when it is unpacked."""
    seconds: float


@dataclass
class Work:
    """What a rank has to do in an exchange: bytes by length of runs."""

    packs: dict[int, int] = field(default_factory=dict)
    unpacks: dict[int, int] = field(default_factory=dict)
    both: dict[int, int] = field(default_factory=dict)
    """Of messages that are packed and unpacked, by the longer of what a run has at either end."""


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
            form = self.best(plan, dtype, orders=orders)
        measured = self.forms.get(form)
        if not measured:
            raise IsthmusError(f"form: {form!r} has not been measured, but {', '.join(self.forms)}")
        most = 1 + max(max(layout.ranks) for layout in (plan.from_, plan.to))
        if form != THREADS and most > self.ranks:
            raise IsthmusError(
                f"rates: measured between {self.ranks} ranks; the plan has {most}, measure with as "
                "many"
            )
        return self._of(_Table(measured), work(plan, dtype, orders, direct=form == THREADS))

    def all(self, plan: Plan, dtype: Any, *, orders: Orders = ("C", "C")) -> dict[str, float]:
        """By form the seconds that an exchange takes, the quickest first."""
        seconds = {form: self.predict(plan, dtype, orders=orders, form=form) for form in self.forms}
        return dict(sorted(seconds.items(), key=lambda one: one[1]))

    def best(self, plan: Plan, dtype: Any, *, orders: Orders = ("C", "C")) -> str:
        """The form in which an exchange takes the least time."""
        return next(iter(self.all(plan, dtype, orders=orders)))

    def _of(self, table: _Table, todo: dict[int, Work]) -> float:
        size = max(1, sum(sum(one.unpacks.values()) for one in todo.values()))
        spent = [table.spent(size, one) for one in todo.values()]
        # Ranks that have more to do than others are waited for: a rank goes at most as fast as a
        # processor, which is what was measured with all of them at work.
        together = min(self.ranks, self.processors)
        return table.fixed + max(sum(spent), together * max(spent, default=0.0))

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
            return cls(**told, forms=forms)
        except OSError as error:
            raise IsthmusError(f"{path}: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise IsthmusError(f"{path}: no rates as `Rates.save` writes them") from None


def work(plan: Plan, dtype: Any, orders: Orders, *, direct: bool) -> dict[int, Work]:
    """By rank what it has to do; with `direct` data are copied once, by who gets them."""
    item = np.dtype(dtype).itemsize
    before, after = (order == "F" for order in orders)
    todo: dict[int, Work] = {}
    for message in plan.messages():
        pair = (message.from_rank, message.to_rank)
        if direct or pair[0] == pair[1]:
            runs = plan._core.runs(pair, item, (before, after))
            _add(todo.setdefault(pair[1], Work()).unpacks, runs)
        else:
            packed = plan._core.runs(pair, item, (before, after), True)
            _add(todo.setdefault(pair[0], Work()).packs, packed)
            unpacked = plan._core.runs(pair, item, (after, after), False)
            taken = todo.setdefault(pair[1], Work())
            _add(taken.unpacks, unpacked)
            size = message.elements * item
            # A message has the fewer runs, the longer they are.
            fewest = min(sum(times for _, times in runs) for runs in (packed, unpacked))
            longer = max(1, size // max(1, fewest))
            taken.both[longer] = taken.both.get(longer, 0) + size
    return todo


def _add(found: dict[int, int], runs: Iterable[tuple[int, int]]) -> None:
    for length, times in runs:
        found[length] = found.get(length, 0) + length * times


class _Table:
    """Seconds for a byte, between what has been measured, on logarithmic scales."""

    def __init__(self, measured: list[Measured]) -> None:
        self.fixed = min(one.seconds for one in measured)
        smallest = min(one.size for one in measured)
        # What even next to nothing takes is no cost of bytes.
        slopes: dict[int, dict[str, list[tuple[int, float]]]] = {}
        for one in measured:
            if one.size == smallest:
                continue
            cost = max(one.seconds - self.fixed, 1e-3 * one.seconds) / one.size
            at = slopes.setdefault(one.size, {"packed": [], "unpacked": [], "both": []})
            if one.packed > one.unpacked:
                at["unpacked"].append((one.unpacked, cost))
            elif one.unpacked > one.packed:
                at["packed"].append((one.packed, cost))
            else:
                at["both"].append((one.packed, cost))
        self.sizes = sorted(slopes)
        self.costs = {
            size: {side: sorted(points) for side, points in sides.items()}
            for size, sides in slopes.items()
        }

    def spent(self, size: int, one: Work) -> float:
        """Seconds that a rank's bytes take where all ranks together have so many."""
        base = self._base(size)
        total = 0.0
        for length, unpacked in one.unpacks.items():
            total += unpacked * self._at(size, "unpacked", length)
        for length, packed in one.packs.items():
            total += packed * max(self._at(size, "packed", length) - base, 0.0)
        for length, moved in one.both.items():
            total += moved * self._more(size, length)
        return total

    def _base(self, size: int) -> float:
        """What runs as long as can be cost, which is part of all that was measured."""
        return min(self._at(size, side, LONGEST) for side in ("packed", "unpacked"))

    def _more(self, size: int, length: int) -> float:
        """What a byte costs, in short runs at both ends, above the sum of what either end does.

        Neither end moves on through memory then, so that no cache helps with what the other does.
        """
        if not all(self.costs[each]["both"] for each in self.sizes):
            return 0.0
        apart = self._at(size, "packed", length) + self._at(size, "unpacked", length)
        longest = max(at for at, _ in self.costs[self.sizes[-1]]["both"])
        # Where runs are longer than any that were measured at both ends, nothing is known of it.
        if length > longest:
            return 0.0
        return self._at(size, "both", length) - (apart - self._base(size))

    def _at(self, size: int, side: str, length: int) -> float:
        points = [(each, _between(self.costs[each][side], length)) for each in self.sizes]
        return _between(points, size)


def _between(points: list[tuple[int, float]], at: int) -> float:
    """What lies between points, or at the nearest of them beyond."""
    place = bisect_left(points, (at, -math.inf))
    if place == 0 or place == len(points):
        return points[min(place, len(points) - 1)][1]
    (low, before), (high, behind) = points[place - 1], points[place]
    share = math.log(at / low) / math.log(high / low)
    return before * math.exp(share * math.log(behind / before))

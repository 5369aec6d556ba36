"""How long a redistribution takes on a machine that is described, and whether it pays.

Compared are two ways of an array to the I/O servers of a machine: each rank sends what it holds
straight to them, in the requests that its layout allows; or the array is redistributed first, and
then sent in larger ones. One follows the other: nothing overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from isthmus.arrays import requests
from isthmus.arrays.descriptions import Description
from isthmus.arrays.layouts import Layout
from isthmus.arrays.machine_job import Machine, Message, Time, to_servers
from isthmus.errors import IsthmusError
from isthmus.wording import number

MESSAGES_MAX = 100_000
"""Most messages of a round that are simulated."""
BYTES_MAX = 1 << 26
"""Most bytes of a round that are simulated, unless more are asked for."""

Verdict = Literal["reshuffle", "direct", "none"]


@dataclass(frozen=True)
class Prediction:
    """A redistribution on a machine."""

    ranks: int
    move: Time
    """The redistribution."""
    copy_s: float
    """Packing and unpacking, of the rank that has most of it."""
    direct: Time | None
    """All ranks send what they hold to the I/O servers; nothing without `[io]`."""
    after: Time | None
    """The same once it is redistributed."""

    @property
    def whole(self) -> Time | None:
        """Redistribution and what follows, one after the other."""
        if self.after is None:
            return None
        first, then, more = self.move, self.after, self.copy_s
        return Time(
            first.seconds + then.seconds + more,
            first.low + then.low + more,
            first.high + then.high + more,
            first.messages + then.messages,
            first.bytes + then.bytes,
            min(first.share, then.share),
        )

    @property
    def verdict(self) -> Verdict:
        """Which way is sooner; neither where the intervals have something in common."""
        whole, direct = self.whole, self.direct
        if whole is None or direct is None:
            return "none"
        if whole.high < direct.low:
            return "reshuffle"
        return "direct" if direct.high < whole.low else "none"

    @property
    def sentence(self) -> str:
        """The answer, in words."""
        whole, direct = self.whole, self.direct
        if whole is None or direct is None:
            return ""
        if self.verdict == "none":
            return "no difference shown"
        if self.verdict == "reshuffle":
            return f"reshuffle: {number(direct.seconds / whole.seconds, 2)} times sooner"
        return f"send directly: {number(whole.seconds / direct.seconds, 2)} times sooner"


def predict(told: Description, machine: Machine, *, bytes_max: int = BYTES_MAX) -> Prediction:
    """Run a redistribution as a job on a machine.

    Raises:
        IsthmusError: the machine has too few nodes, or no I/O servers where the file has `[io]`.

    """
    ranks = told.ranks
    if len(machine.nodes) < len(ranks):
        raise IsthmusError(
            f"{machine.file}: {len(machine.nodes)} nodes for the {len(ranks)} ranks of "
            f"{told.file}; give a larger machine, or layouts of fewer ranks"
        )
    if told.io is not None and not machine.servers:
        raise IsthmusError(
            f"{machine.file}: there are no I/O servers, and {told.file} has [io]; set "
            "workload.servers.placement and workload.servers.count"
        )
    places = {rank: place for place, rank in enumerate(ranks)}
    overhead_s = told.costs.message_s
    messages, copied = _moved(told, places)

    def moved(share: float) -> list[Message]:
        return [(a, b, math.ceil(size * share), times) for a, b, size, times in messages]

    total = sum(size for _, _, size, _ in messages)
    share = min(1.0, bytes_max / max(total, 1))

    def move(part: float) -> Time:
        return machine.round(moved(part), overhead_s=overhead_s)

    rate = told.costs.copy_bytes_per_s
    return Prediction(
        ranks=len(ranks),
        move=_drawn_on(move, share, len(messages), total),
        copy_s=0.0 if rate is None else copied / rate,
        direct=_sent(told, told.from_, machine, places, bytes_max),
        after=_sent(told, told.to, machine, places, bytes_max),
    )


def _moved(told: Description, places: dict[int, int]) -> tuple[list[Message], int]:
    """The messages of the plan, each rank's to those after it first, and the most bytes that a rank
    copies.

    Raises:
        IsthmusError: there are more than can be simulated.

    """
    plan, size = told.plan, told.dtype.itemsize
    pairs = len(plan.from_.ranks) * len(plan.to.ranks)
    copied = dict.fromkeys(places, 0)
    found: list[Message] = []
    for rank in plan.from_.ranks:
        sends = plan.sends(rank)
        for message in sorted(
            sends, key=lambda m: (places[m.to_rank] - places[rank]) % len(places)
        ):
            data = message.elements * size
            copied[message.from_rank] += data
            if message.to_rank != rank:
                copied[message.to_rank] += data
                found.append((places[rank], places[message.to_rank], data, 1))
        if len(found) > MESSAGES_MAX:
            raise IsthmusError(
                f"{told.file}: a plan between {pairs:,} pairs of ranks has more than "
                f"{MESSAGES_MAX:,} messages, which are the most that are simulated; give layouts "
                "of fewer ranks"
            )
    return found, max(copied.values(), default=0)


def _sent(
    told: Description, layout: Layout, machine: Machine, places: dict[int, int], bytes_max: int
) -> Time | None:
    """All of an array to the I/O servers."""
    io = told.io
    if io is None:
        return None
    count = requests.count(told, layout, io)
    share = min(1.0, bytes_max / told.bytes, MESSAGES_MAX / count)

    def send(part: float) -> Time:
        rows = requests.rows(told, layout, io, places, len(machine.servers), part)
        return machine.round(
            to_servers(rows), overhead_s=told.costs.message_s, outstanding=io.outstanding
        )

    return _drawn_on(send, share, count, told.bytes)


def _drawn_on(time_of: Callable[[float], Time], share: float, messages: int, size: int) -> Time:
    """The time of all, from that of a part and of half of it where all is too much to simulate."""
    if share >= 1:
        return time_of(1.0)
    all_of, half = time_of(share), time_of(share / 2)
    # T(1) = T(s) + (T(s) - T(s/2)) / (s/2) (1 - s), and the same of the ends that lie apart most.
    more = (1 - share) / (share / 2)
    mean = all_of.seconds + (all_of.seconds - half.seconds) * more
    spread = math.hypot(
        (1 + more) * (all_of.high - all_of.low) / 2, more * (half.high - half.low) / 2
    )
    return Time(mean, mean - spread, mean + spread, messages, size, share)


def with_blocks(
    told: Callable[[Sequence[str]], Description],
    machine: Machine,
    blocks: Sequence[int],
    **how: Any,
) -> list[tuple[int, Description, Prediction]]:
    """The same with other blocks of the layout that data come from, one size along all dimensions.

    Raises:
        IsthmusError: that layout has no blocks.

    """
    found = []
    for size in blocks:
        rank = len(told(()).from_.shape)
        of = told([f"from.blocks={[size] * rank}"])
        found.append((size, of, predict(of, machine, **how)))
    return found


def crossover(found: Sequence[tuple[int, Description, Prediction]]) -> str:
    """In words from which blocks on redistribution does not pay any more."""
    pays = [size for size, _, of in found if of.verdict == "reshuffle"]
    does_not = [size for size, _, of in found if of.verdict != "reshuffle"]
    if not pays:
        return "reshuffling pays at none of these blocks"
    if not does_not:
        return "reshuffling pays at all of these blocks"
    if max(pays) < min(does_not):
        return f"reshuffling pays up to blocks of {max(pays)}, and not from {min(does_not)} on"
    return f"reshuffling pays at blocks of {', '.join(map(str, pays))} only"

"""The predicted time of a redistribution on a machine, and whether the redistribution pays.

Two routes of an array to the I/O servers of a machine are compared. Either each rank sends its
parts directly, in the requests that its layout allows. Or the array is redistributed first and then
sent in larger requests, without overlap of both steps.
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
"""Largest number of messages that are simulated for a prediction; more are extrapolated or
refused.
"""
BYTES_MAX = 1 << 26
"""Largest number of bytes that are simulated for a prediction, unless the user sets another;
more are extrapolated.
"""

Verdict = Literal["reshuffle", "direct", "none"]


@dataclass(frozen=True)
class Prediction:
    """The predicted times of a redistribution on a machine."""

    ranks: int
    move: Time
    """Predicted time of the redistribution alone, without a transfer to the I/O servers."""
    copy_s: float
    """Time in seconds that the rank with the most data needs to pack and unpack its messages."""
    direct: Time | None
    """Predicted time in which all ranks send their parts of the array directly to the I/O
    servers; None without the table `[io]` in the file.
    """
    after: Time | None
    """Predicted time in which all ranks send their parts of the array to the I/O servers after
    the redistribution; None without the table `[io]` in the file.
    """

    @property
    def whole(self) -> Time | None:
        """Predicted time of the redistribution followed by the transfer to the I/O servers;
        None if it is not predicted.
        """
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
        """The faster method for the transfer to the I/O servers: to redistribute first, or to
        send parts directly. It is ``"none"`` if the confidence intervals overlap or a time is
        missing.
        """
        whole, direct = self.whole, self.direct
        if whole is None or direct is None:
            return "none"
        if whole.high < direct.low:
            return "reshuffle"
        return "direct" if direct.high < whole.low else "none"

    @property
    def sentence(self) -> str:
        """One sentence that advises whether to redistribute first, or to send directly to the
        I/O servers.
        """
        whole, direct = self.whole, self.direct
        if whole is None or direct is None:
            return ""
        if self.verdict == "none":
            return "no difference shown"
        if self.verdict == "reshuffle":
            return f"reshuffle: {number(direct.seconds / whole.seconds, 2)} times sooner"
        return f"send directly: {number(whole.seconds / direct.seconds, 2)} times sooner"


def predict(task: Description, machine: Machine, *, bytes_max: int = BYTES_MAX) -> Prediction:
    """Simulate a redistribution as a job on a machine; return its predicted times.

    Raises:
        IsthmusError: the machine has too few nodes, or no I/O servers where the file has `[io]`.

    """
    ranks = task.ranks
    if len(machine.nodes) < len(ranks):
        raise IsthmusError(
            f"{machine.file}: {len(machine.nodes)} nodes for the {len(ranks)} ranks of "
            f"{task.file}; give a larger machine, or layouts of fewer ranks"
        )
    if task.io is not None and not machine.servers:
        raise IsthmusError(
            f"{machine.file}: there are no I/O servers, and {task.file} has [io]; set "
            "workload.servers.placement and workload.servers.count"
        )
    places = {rank: place for place, rank in enumerate(ranks)}
    overhead_s = task.costs.message_s
    messages, copied = _messages(task, places)

    def moved(share: float) -> list[Message]:
        """Return the messages, each with its length reduced to this share."""
        return [(a, b, math.ceil(size * share), times) for a, b, size, times in messages]

    total = sum(size for _, _, size, _ in messages)
    share = min(1.0, bytes_max / max(total, 1))

    def move(part: float) -> Time:
        """Return the time of a simulated redistribution of the fraction `part` of the data."""
        return machine.round(moved(part), overhead_s=overhead_s)

    rate = task.costs.copy_bytes_per_s
    return Prediction(
        ranks=len(ranks),
        move=_extrapolate(move, share, len(messages), total),
        copy_s=0.0 if rate is None else copied / rate,
        direct=_time_to_servers(task, task.from_, machine, places, bytes_max),
        after=_time_to_servers(task, task.to, machine, places, bytes_max),
    )


def _messages(task: Description, places: dict[int, int]) -> tuple[list[Message], int]:
    """Return the messages of the plan, and the maximum over all ranks of the bytes that a rank
    copies within its memory.

    Raises:
        IsthmusError: there are too many messages to simulate.

    """
    plan, size = task.plan, task.dtype.itemsize
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
                f"{task.file}: a plan between {pairs:,} pairs of ranks has more than "
                f"{MESSAGES_MAX:,} messages, which are the most that are simulated; give layouts "
                "of fewer ranks"
            )
    return found, max(copied.values(), default=0)


def _time_to_servers(
    task: Description, layout: Layout, machine: Machine, places: dict[int, int], bytes_max: int
) -> Time | None:
    """Return the predicted time of the transfer of the whole array in this layout to the I/O
    servers; None if the task has no I/O.
    """
    io = task.io
    if io is None:
        return None
    count = requests.count(task, layout, io)
    share = min(1.0, bytes_max / task.bytes, MESSAGES_MAX / count)

    def send(part: float) -> Time:
        """Return the time of a simulated transfer of the fraction `part` of the data to the I/O
        servers.
        """
        rows = requests.rows(task, layout, io, places, len(machine.servers), part)
        return machine.round(
            to_servers(rows), overhead_s=task.costs.message_s, outstanding=io.outstanding
        )

    return _extrapolate(send, share, count, task.bytes)


def _extrapolate(time_of: Callable[[float], Time], share: float, messages: int, size: int) -> Time:
    """Return the time of all messages. If `share` is below 1, extrapolate it from the times of
    this share of the messages and of half of it.
    """
    if share >= 1:
        return time_of(1.0)
    all_of, half = time_of(share), time_of(share / 2)
    # Extrapolate the time T from the shares s and s/2 of the messages to all of them: T(1) = T(s) +
    # (T(s) - T(s/2)) / (s/2) (1 - s).
    more = (1 - share) / (share / 2)
    mean = all_of.seconds + (all_of.seconds - half.seconds) * more
    spread = math.hypot(
        (1 + more) * (all_of.high - all_of.low) / 2, more * (half.high - half.low) / 2
    )
    return Time(mean, mean - spread, mean + spread, messages, size, share)


def with_blocks(
    describe: Callable[[Sequence[str]], Description],
    machine: Machine,
    blocks: Sequence[int],
    **how: Any,
) -> list[tuple[int, Description, Prediction]]:
    """Predict the times of a redistribution for other block sizes of its source layout. A block
    size holds for all dimensions.

    Raises:
        IsthmusError: the layout has no blocks.

    """
    found = []
    for size in blocks:
        rank = len(describe(()).from_.shape)
        of = describe([f"from.blocks={[size] * rank}"])
        found.append((size, of, predict(of, machine, **how)))
    return found


def crossover(found: Sequence[tuple[int, Description, Prediction]]) -> str:
    """Return a sentence on the block sizes for which redistribution before the transfer to the I/O
    servers is faster.
    """
    pays = [size for size, _, of in found if of.verdict == "reshuffle"]
    does_not = [size for size, _, of in found if of.verdict != "reshuffle"]
    if not pays:
        return "reshuffling pays at none of these blocks"
    if not does_not:
        return "reshuffling pays at all of these blocks"
    if max(pays) < min(does_not):
        return f"reshuffling pays up to blocks of {max(pays)}, and not from {min(does_not)} on"
    return f"reshuffling pays at blocks of {', '.join(map(str, pays))} only"

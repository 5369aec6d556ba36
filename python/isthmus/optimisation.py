"""Process optimisation by the stream manager, and up to how many cells its interface suffices.

Steenkiste 1996, section 7.1: four quadrants of cells, in each 15 that compute samples and one that
forwards them to the interface, in SUs of 16 KB that make TUs of 64 KB. `live` carries that out with
threads; `growth` simulates the interface with what more cells compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from isthmus.core import ask_json, processors
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import isthmus

QUADRANTS, NODES = 4, 15
"""Quadrants, and cells that compute in each."""
CELLS = QUADRANTS * (NODES + 1)
"""Of the paper's machine."""
RATE = "23.33 /ms"
"""Samples that one cell computes in a time, if nobody says otherwise: the paper's."""
RATE_PER_S = 1.4e6 / (QUADRANTS * NODES)
"""Samples that one cell computes in a second: 1,400 Ksamples/s by all."""
SAMPLE_BYTES = 4
"""The paper's 6 MB/s over 1,400 Ksamples/s, as a whole number of bytes."""
GROWTH = (64, 128, 256, 512, 1024)
"""Cells of the machines that are looked at."""
CARRIED = 0.97
"""Part of what is offered that counts as carried: the rest is the ends of a run."""
BUSY = 0.6
"""Part of all processors from which on computing is what keeps them busy."""
TUS = 256
"""TUs of a simulated run."""


@dataclass(frozen=True)
class Live:
    """How it went on threads, with the real manager."""

    samples: int
    """Samples that came to the sink."""
    checked: int
    """Of these computed again there, and found the same."""
    seconds: float
    """Until the last was confirmed."""
    nodes: tuple[float, float]
    """Parts of time in which nodes computed, and waited for their forwarder."""
    forwarders: tuple[float, float]
    """Parts of time in which forwarders waited for samples, and sent or waited to."""
    busy: float | None
    """Part of all processors that computing took; none where nodes had a rate to keep."""

    @property
    def samples_per_s(self) -> float:
        """The rate of samples."""
        return self.samples / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """The rate of data."""
        return SAMPLE_BYTES * self.samples_per_s

    @property
    def limit(self) -> str:
        """What it is limited by: who waits for whom, if it is not that there are few processors."""
        if self.busy is not None and self.busy >= BUSY:
            return "the processors of this machine"
        return "computing" if self.forwarders[0] > self.nodes[1] else "communication"

    def as_json(self) -> dict[str, Any]:
        """Values for a document; parts of time from 0 to 1."""
        return {
            "samples": self.samples,
            "checked": self.checked,
            "seconds": self.seconds,
            "samples_per_second": self.samples_per_s,
            "bytes_per_second": self.bytes_per_s,
            "nodes": {"computed": self.nodes[0], "waited": self.nodes[1]},
            "forwarders": {"waited": self.forwarders[0], "sent": self.forwarders[1]},
            "processors_busy": self.busy,
            "limit": self.limit,
        }


@dataclass(frozen=True)
class Point:
    """A machine of so many cells, simulated."""

    cells: int
    offered: float
    """MB/s that its cells compute."""
    carried: float
    """MB/s that the interface sends."""

    @property
    def limit(self) -> str:
        """What it is limited by."""
        return "computing" if self.carried >= CARRIED * self.offered else "communication"


@dataclass(frozen=True)
class Growth:
    """Machines of more and more cells before one interface."""

    points: tuple[Point, ...]
    most: float
    """MB/s that the interface sends if there is always something to send."""
    cells: float
    """Cells that compute so much."""

    def as_json(self) -> dict[str, Any]:
        """Values for a document."""
        points = [{**asdict(point), "limit": point.limit} for point in self.points]
        return {"unit": "MB/s", "points": points, "most": self.most, "cells_at_limit": self.cells}


def live(*, time: str = "5 s", nodes: int = NODES, rate: str | None = RATE) -> Live:
    """Compute samples on threads and send them by the stream manager to a sink that checks.

    Args:
        time: how long.
        nodes: threads that compute, in each quadrant.
        rate: samples of one of these in a time; none: as many as it can.

    Raises:
        IsthmusError: something of that cannot be; what came is not what was sent.

    """
    from isthmus import _core

    if not hasattr(_core, "optimise"):
        raise IsthmusError("the stream manager runs on Linux alone")
    reply = ask_json(_core.optimise, {"time": time, "nodes": nodes, "rate": rate})
    computed, waited = reply.pop("nodes")
    # Threads that wait for a processor count as computing: it can be above what there is.
    busy = None if rate else min(1.0, computed * QUADRANTS * nodes / processors())
    return Live(
        **{**reply, "forwarders": tuple(reply["forwarders"])}, nodes=(computed, waited), busy=busy
    )


def growth(cells: Sequence[int] = GROWTH, *, outside: str = "100 MB/s") -> Growth:
    """Simulate the interface with what machines of more cells compute.

    The machine is the four forwarding cells at the links of the interface. What lies behind them is
    how much they are given: 15 of 16 cells compute, each as fast as the paper's.

    Args:
        cells: of each machine.
        outside: what the network outside carries; 100 MB/s is HIPPI, 40 MB/s what the paper's
            programs reached to the Cray.

    """
    import isthmus

    interface = isthmus.TransmitPipe(network=outside)
    machine = isthmus.NetworkInterface(rows=1, columns=QUADRANTS, interface=interface)
    work = isthmus.StreamWorkload(
        reshuffle="streaming",
        protocol="udp",
        stripes=QUADRANTS,
        tu="64 KiB",
        adu="64 KiB",
        adus=TUS,
    )
    each = RATE_PER_S * SAMPLE_BYTES / 1e6 * NODES / (NODES + 1)
    (most,) = _accepted(isthmus.simulate(machine, work, progress=False))
    offered = [count * each for count in cells]
    loads = [f"{load:.6f} MB/s" for load in offered]
    results = isthmus.simulate(machine, work, sweep={"load": loads}, progress=False)
    rows = zip(cells, offered, _accepted(results), strict=True)
    points = tuple(Point(count, load, carried) for count, load, carried in rows)
    return Growth(points, most, most / each)


def _accepted(results: isthmus.Results) -> list[float]:
    """MB/s of each point."""
    table = results.table
    rows = table.filter((table["measure"] == "accepted") & (table["statistic"] == "mean"))
    return [float(value) for value in rows.sort("point")["value"]]

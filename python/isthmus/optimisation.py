"""Process optimisation with the stream manager, and the number of cells that its interface
supports.

Steenkiste 1996, section 7.1: in each of four quadrants 15 cells compute samples, and one forwards
them to the interface in SUs of 16 KB, which form TUs of 64 KB. `live` runs this with threads;
`growth` simulates the interface with the data of more cells.
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
"""Number of quadrants of the machine, and of computing cells (processors) in each quadrant."""
RATE = "23.33 /ms"
"""Default rate at which one cell (processor) computes samples, as in the paper."""
RATE_PER_S = 1.4e6 / (QUADRANTS * NODES)
"""Samples per second that one cell (processor) computes; all cells compute 1,400 Ksamples/s."""
SAMPLE_BYTES = 4
"""Size of a sample in bytes: the paper's 6 MB/s divided by 1,400 Ksamples/s, as an integer."""
GROWTH = (64, 128, 256, 512, 1024)
"""Numbers of cells (processors) of the machines that `growth` simulates by default."""
CARRIED = 0.97
"""Carried fraction of the offered load from which the load counts as fully carried. The start and
the end of a run account for the rest.
"""
BUSY = 0.6
"""Used fraction of all processors above which computing limits the throughput."""
TUS = 256
"""Number of transfer units (pieces in which the interface moves data) of a simulated run."""


@dataclass(frozen=True)
class Live:
    """Result of `live`: threads compute samples and send them with the real stream manager."""

    samples: int
    """Number of samples that arrived at the sink."""
    checked: int
    """Number of received samples that the sink computed again and found equal to the result."""
    seconds: float
    """Seconds until the sink confirmed the last samples."""
    nodes: tuple[float, float]
    """Fractions of time in which computing threads computed, and waited for their forwarder."""
    forwarders: tuple[float, float]
    """Fractions of time in which the forwarding threads waited for samples, and sent them."""
    busy: float | None
    """Fraction of the computer's processors that computed, 0 to 1; None if the rate is fixed."""

    @property
    def samples_per_s(self) -> float:
        """Samples per second that arrived at the sink, the receiver that checks them."""
        return self.samples / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second that arrived at the sink, the receiver that checks the samples."""
        return SAMPLE_BYTES * self.samples_per_s

    @property
    def limit(self) -> str:
        """The part that limits the throughput of the run: the processors, or the part that others
        wait for.
        """
        if self.busy is not None and self.busy >= BUSY:
            return "the processors of this machine"
        return "computing" if self.forwarders[0] > self.nodes[1] else "communication"

    def as_json(self) -> dict[str, Any]:
        """Return the measured values as a dictionary for JSON; shares of time are 0 to 1."""
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
    """Offered and carried load in the simulation of a machine with this number of cells."""

    cells: int
    offered: float
    """Offered load in MB/s: the samples that the cells compute."""
    carried: float
    """Carried load in MB/s: the samples that the interface sends."""

    @property
    def limit(self) -> str:
        """The part that limits the throughput of the machine, in words."""
        return "computing" if self.carried >= CARRIED * self.offered else "communication"


@dataclass(frozen=True)
class Growth:
    """Simulations of one network interface with growing numbers of cells (processors) behind it."""

    points: tuple[Point, ...]
    most: float
    """Maximum load in MB/s that the interface sends, measured under permanent load."""
    cells: float
    """Number of cells (processors) that together produce the load `most`."""

    def as_json(self) -> dict[str, Any]:
        """Return the simulated values as a dictionary for JSON; loads are in MB/s."""
        points = [{**asdict(point), "limit": point.limit} for point in self.points]
        return {"unit": "MB/s", "points": points, "most": self.most, "cells_at_limit": self.cells}


def live(*, time: str = "5 s", nodes: int = NODES, rate: str | None = RATE) -> Live:
    """Compute samples on threads and send them with the stream manager to a checking sink.

    Args:
        time: duration of the run.
        nodes: computing threads in each quadrant.
        rate: samples of one thread per time; None means as fast as possible.

    Raises:
        IsthmusError: an argument is invalid, or the received data differ from the sent data.

    """
    from isthmus import _core

    if not hasattr(_core, "optimise"):
        raise IsthmusError("the stream manager runs on Linux alone")
    reply = ask_json(_core.optimise, {"time": time, "nodes": nodes, "rate": rate})
    computed, waited = reply.pop("nodes")
    # Limit the fraction to 1: threads that wait for a free processor also count as computing.
    busy = None if rate else min(1.0, computed * QUADRANTS * nodes / processors())
    return Live(
        **{**reply, "forwarders": tuple(reply["forwarders"])}, nodes=(computed, waited), busy=busy
    )


def growth(cells: Sequence[int] = GROWTH, *, outside: str = "100 MB/s") -> Growth:
    """Simulate the interface with the data of machines with more cells.

    Only the network interface and the four cells that forward data to it are simulated. The other
    cells determine the offered load: 15 of 16 cells compute, each as fast as in the paper.

    Args:
        cells: number of cells of each machine.
        outside: bandwidth of the external network; 100 MB/s is HIPPI, 40 MB/s is the paper's
            measured rate to the Cray.

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
    """Return the accepted load (simulated mean throughput) of each point of a sweep, in MB/s."""
    table = results.table
    rows = table.filter((table["measure"] == "accepted") & (table["statistic"] == "mean"))
    return [float(value) for value in rows.sort("point")["value"]]

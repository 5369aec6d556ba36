"""Compare mean latencies of isthmus, CAMINOS and BookSim2 on two networks under uniform traffic.

All use one definition of latency: from the request of a message to the arrival of its tail, where a
head crosses a link in one cycle and nothing else takes time. On an idle network that is one cycle
per link and one per further flit. A peer's pipeline adds cycles to each hop, and it counts from
another edge of a cycle. Both offsets follow from its configuration, are checked against its idle
runs, and are subtracted at all loads.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import booksim
import caminos
import plot
from measure import EQUAL, ROOT, Engine, Line, apart, rounded

KEPT = ROOT / "bench" / "results" / "crosscheck.json"
FIGURE = ROOT / "docs" / "images" / "crosscheck"
SEEDS = 5
"""Number of runs of a peer at each load."""

# The 97.5% quantile of Student's t with n - 1 degrees of freedom, for n runs.
STUDENT = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262, 20: 2.093}


@dataclass(frozen=True)
class Network:
    """A network that all simulators simulate."""

    name: str
    links: float
    """Links of the mean path, including the links of both nodes."""
    flits: int
    loads: tuple[float, ...]
    """Loads in flits per cycle and node."""
    warm_up: int
    measured: int

    @property
    def idle(self) -> float:
        """Mean latency without other messages."""
        return self.links + self.flits - 1

    def converted(self, latency: float, hop: int, offset: int) -> float:
        """Return a peer's mean latency in the common definition."""
        return latency - (hop - 1) * self.links - offset


CUBE = Network(
    name="7-cube",
    # Each dimension differs for 64 of the 127 other nodes.
    links=2 + 7 * 64 / 127,
    flits=32,
    loads=(0.01, 0.1, 0.2, 0.3, 0.4),
    warm_up=8_000,
    measured=40_000,
)
TREE = Network(
    name="64-node fat tree",
    # 3 nodes at the same leaf switch, 12 more below the same switches, 48 beyond.
    links=(3 * 2 + 12 * 4 + 48 * 6) / 63,
    flits=160,
    loads=(0.1, 0.3, 0.5),
    warm_up=16_000,
    measured=96_000,
)


@dataclass(frozen=True)
class Point:
    """The mean latency of one simulator at one load, in the common definition."""

    network: str
    simulator: str
    load: float
    accepted: float
    latency: float
    half_width: float
    """Half-width of the 95% interval, from the spread of the runs."""
    runs: int


def point(
    network: Network, simulator: str, load: float, accepted: float, each: list[float]
) -> Point:
    """Return a point from the mean latencies of several runs."""
    runs = len(each)
    return Point(
        network=network.name,
        simulator=simulator,
        load=load,
        accepted=round(accepted, 5),
        latency=round(statistics.mean(each), 3),
        half_width=round(STUDENT[runs] * statistics.stdev(each) / runs**0.5, 3),
        runs=runs,
    )


def own_points(engine: Engine, network: Network, load: float, quick: bool) -> list[Point]:
    """Measure isthmus; on the tree with either ascent."""
    window = {"warm_up": network.warm_up, "measured": network.measured, "runs": 2 if quick else 20}
    if network is CUBE:
        setting = {"offered": load, "length": network.flits, **window}
        found = [("isthmus", engine.measure("uniform", **setting)[0])]
    else:
        found = [
            (name, engine.measure("tree", offered=load, random=random, **window)[0])
            for name, random in (("isthmus", 0), ("isthmus, random ascent", 1))
        ]
    return [
        point(network, name, load, report["accepted"], report["latency_each"])
        for name, report in found
    ]


def described(network: Network) -> dict[str, Any]:
    """Return the description of a network and the peers' settings, as the file of results stores
    it.
    """
    cube = network is CUBE
    peers = {
        caminos.NAME: caminos.CUBE if cube else caminos.TREE,
        booksim.NAME: booksim.CUBE if cube else booksim.TREE,
    }
    return {
        "name": network.name,
        "flits": network.flits,
        "links": rounded(network.links),
        "idle": rounded(network.idle),
        "cycles": {"warm_up": network.warm_up, "measured": network.measured},
        "peers": {
            name: {"buffer_flits": peer.buffer, "hop": peer.hop, "offset": peer.offset}
            for name, peer in peers.items()
        },
    }


def kept(network: Network) -> list[Point]:
    """Return the stored points with equal settings; the peers' runs are deterministic."""
    if not KEPT.exists():
        return []
    content = json.loads(KEPT.read_text())
    if described(network) not in content["networks"]:
        return []
    points = [Point(**at) for at in content["points"]]
    return [at for at in points if at.network == network.name]


def peer_points(network: Network, load: float, quick: bool) -> list[Point]:
    """Measure the installed peers, except at points that are stored already."""
    window = {"warm_up": network.warm_up, "measured": network.measured}
    seeds = range(1, (2 if quick else SEEDS) + 1)
    cube = network is CUBE
    found = [
        at
        for at in kept(network)
        if at.simulator not in OWN and (at.load, at.runs) == (load, len(seeds))
    ]
    known = {at.simulator for at in found}
    peers: list[tuple[str, Any, Any]] = []
    if caminos.is_installed() and caminos.NAME not in known:
        peer: Any = caminos.CUBE if cube else caminos.TREE
        queue = caminos.OPEN
        each = [
            caminos.measure(caminos.Setting(peer, seed, load, queue=queue, **window), timed=False)
            for seed in seeds
        ]
        peers.append((caminos.NAME, peer, each))
    if booksim.is_installed() and booksim.NAME not in known:
        peer = booksim.CUBE if cube else booksim.TREE
        each = [
            booksim.measure(booksim.Setting(peer, seed, load, drained=True, **window), timed=False)
            for seed in seeds
        ]
        peers.append((booksim.NAME, peer, each))
    for name, peer, each in peers:
        latencies = [network.converted(run.latency, peer.hop, peer.offset) for run in each]
        accepted = statistics.mean(run.accepted for run in each)
        found.append(point(network, name, load, accepted, latencies))
    return found


def beside(points: list[Point], network: Network, peer: str) -> list[tuple[Point, Point]]:
    """Return the points of isthmus and of a peer at each load; on the tree BookSim2 ascends at
    random.
    """
    random = network is TREE and peer == booksim.NAME
    here = [at for at in points if at.network == network.name]
    own = {at.load: at for at in here if at.simulator == OWN[random]}
    return [(own[at.load], at) for at in here if at.simulator == peer]


OWN = ("isthmus", "isthmus, random ascent")


def crosscheck(engine: Engine, quick: bool) -> Iterator[Line]:
    """Compare mean latencies with the peers; the line of each peer is at the largest difference.
    Results are stored load by load, so that an interrupted run can continue.

    What is measured is kept load by load: a run that was cut short goes on where it was.
    """
    # A full run can use the peers' stored figures.
    if quick and not (caminos.is_installed() or booksim.is_installed()):
        sys.stdout.write("crosscheck is left out: neither CAMINOS nor BookSim2 is installed\n")
        return
    points: list[Point] = []
    for network in (CUBE, TREE):
        for load in network.loads[1:2] if quick else network.loads:
            points += own_points(engine, network, load, quick) + peer_points(network, load, quick)
            if not quick:
                later = [at for of in (CUBE, TREE) for at in kept(of)]
                done = {(at.network, at.simulator, at.load) for at in points}
                write(
                    points + [at for at in later if (at.network, at.simulator, at.load) not in done]
                )
        for peer in (caminos.NAME, booksim.NAME):
            if pairs := beside(points, network, peer):
                yield _line(network, peer, pairs)


def table(points: list[Point]) -> Iterator[str]:
    """Yield the rows of the guide's table."""
    for network in (CUBE, TREE):
        for peer in (caminos.NAME, booksim.NAME):
            for own, other in beside(points, network, peer):
                means = (f"{at.latency:.2f} ± {at.half_width:.2f}" for at in (own, other))
                off = other.latency / own.latency - 1
                cells = [network.name, f"{own.load:g}", peer, *means, f"{off:+.1%}"]
                yield f"| {' | '.join(cells)} |"


def write(points: list[Point]) -> None:
    """Store the points and draw them."""
    networks = [described(network) for network in (CUBE, TREE)]
    content = {"unit": "cycles", "networks": networks, "points": [asdict(at) for at in points]}
    KEPT.write_text(json.dumps(content, indent=2) + "\n")
    plot.crosscheck(content, Path(FIGURE))


def _line(network: Network, peer: str, pairs: list[tuple[Point, Point]]) -> Line:
    """Return the line of a peer, at the load with the largest difference."""
    own, other = max(pairs, key=lambda pair: abs(pair[1].latency / pair[0].latency - 1))
    loads = f"{pairs[0][0].load:.0%} to {pairs[-1][0].load:.0%}"
    note = (
        f"{own.latency:.1f} ± {own.half_width:.1f} and {other.latency:.1f} ± "
        f"{other.half_width:.1f}, {other.latency / own.latency - 1:+.1%}"
    )
    unequal = [a.load for a, b in pairs if apart([a.accepted], [b.accepted]) > EQUAL]
    if unequal:
        note += f"; accepted loads differ at {', '.join(f'{load:.0%}' for load in unequal)}"
    return Line(
        id=f"crosscheck/{network.name.replace(' ', '-')}-{peer.partition(' ')[0]}",
        name=f"{network.name}, {peer}: mean latency at {own.load:.0%}, where of {loads} "
        "they are furthest apart",
        isthmus=own.latency,
        peer=other.latency,
        unit="cycles",
        ratio=None,  # of two latencies, not of two speeds: the note has it
        note=note,
        detail={"points": [[asdict(a), asdict(b)] for a, b in pairs]},
    )

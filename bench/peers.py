"""Speed compared with simulators that move flits: CAMINOS and BookSim2 on equal networks and loads.

A line has a ratio only if both accept the same load, to within `measure.EQUAL`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import booksim
import caminos
from measure import EQUAL, Engine, Line, Window, apart, rounded, spread

# Loads above this one saturate the 7-cube with one lane (accepted 0.466 flits per cycle and node).
SATURATION = 0.46
# Number of flits that CAMINOS moves as one in coarse runs: messages of 256 phits instead of 4096 on
# the cube, packets of 10 instead of 160 on the tree.
GRAIN = 16
FINE, COARSE = "equal latency resolution", "the peer's cheapest setting"

Run = Callable[[], dict[str, Any]]


def _pairs(engine: Run, peers: Callable[[int], Window], count: int) -> tuple[list[Any], list[Any]]:
    """Run isthmus and the peer in alternation, `count` times; the peer's seeds start at 1."""
    found = [(peers(pair + 1), engine()) for pair in range(count)]
    return [own for _, own in found], [peer for peer, _ in found]


def beside(
    row: str,
    name: str,
    isthmus: list[dict[str, Any]],
    peers: list[Window],
    *,
    peer: str,
    unit: str,
    **detail: Any,
) -> Line:
    """Return a line from paired runs; it has a ratio if both accept the same load."""
    accepted = [run["accepted"] for run in isthmus], [run.accepted for run in peers]
    gap = apart(*accepted)
    ratios = [a["rate_per_s"] / b.rate_per_s for a, b in zip(isthmus, peers, strict=True)]
    own, other = (statistics.median(each) for each in accepted)
    note = f"accepted {own:.3f} and {other:.3f}: no ratio" if gap > EQUAL else ""
    return Line(
        id=row,
        name=name,
        isthmus=statistics.median(run["rate_per_s"] for run in isthmus),
        peer=statistics.median(run.rate_per_s for run in peers),
        unit=unit,
        ratio=None if note else statistics.median(ratios),
        note=note,
        detail={
            "peer": peer,
            "ratio": None if note else spread(ratios),
            "ours": spread([run["rate_per_s"] for run in isthmus]),  # codespell:ignore ours
            "theirs": spread([run.rate_per_s for run in peers]),  # codespell:ignore theirs
            "accepted_ours": spread(accepted[0]),  # codespell:ignore ours
            "accepted_theirs": spread(accepted[1]),  # codespell:ignore theirs
            "accepted_apart": rounded(gap),
            "latency_theirs": spread([run.latency for run in peers]),  # codespell:ignore theirs
            **detail,
        },
    )


def coarse(line: Line, fine: list[Window], grained: list[Window]) -> Line:
    """Return a copy of `line`, the result of coarse-grained runs, with the error in mean latency
    due to the grain.
    """
    exact = statistics.median(run.latency for run in fine)
    error = statistics.median(run.latency for run in grained) / exact - 1
    note = f"the peer's mean latency is off by {error:+.1%}"
    return replace(
        line,
        note="; ".join(filter(None, [line.note, note])),
        detail=line.detail | {"grain": GRAIN, "latency_error": rounded(error)},
    )


def peer(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the hypercube under uniform traffic, with short and with long messages."""
    unit = "delivered messages per CPU second"
    for flits, warm_up, measured in (
        (32, 2_000, 8_000),
        (4096, 20_000, 20_000 if quick else 60_000),
    ):
        window = {"warm_up": warm_up, "measured": measured}
        for load in (0.3, 0.6, 0.9):
            row = f"peer/{flits}-flits-{100 * load:.0f}"
            name = f"7-cube, uniform, {flits} flits, {load:.0%} load"
            isthmus = {"length": flits, "offered": load, "runs": 50, **window}
            grains = (1, GRAIN) if flits > GRAIN**2 else (1,)
            network = caminos.cube(flits)
            if load > SATURATION:
                own = partial(_isthmus, engine, "uniform", isthmus | {"sources": caminos.BOUNDED})
                setting = caminos.Setting(network, 1, load, **window)
                yield from _caminos(row, name, own, setting, grains, quick, unit)
            unbounded = ("-unbounded", ", unbounded sources") if load > SATURATION else ("", "")
            own = partial(_isthmus, engine, "uniform", isthmus | {"sources": 0})
            setting = caminos.Setting(network, 1, load, queue=caminos.OPEN, **window)
            names = (row + unbounded[0], name + unbounded[1])
            yield from _caminos(
                *names, own, setting, grains[:1] if unbounded[0] else grains, quick, unit
            )
            if booksim.is_installed() and flits == booksim.CUBE.flits:
                other = booksim.Setting(booksim.CUBE, 1, load, **window)
                yield _booksim(row, name, own, other, quick, unit)


def fat_tree_peer(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure the fat tree under uniform traffic of single packets, with open sources."""
    unit = "packets per CPU second"
    window = {"warm_up": 8_000, "measured": 16_000 if quick else 64_000}
    for load in (0.3, 0.6):
        row = f"fat_tree_peer/64-nodes-{100 * load:.0f}"
        name = f"64-node fat tree, uniform, packets of 160 flits, {load:.0%} load"
        isthmus = {"offered": load, "runs": 20, **window}
        own = partial(_isthmus, engine, "tree", isthmus)
        setting = caminos.Setting(caminos.TREE, 1, load, queue=caminos.OPEN, **window)
        yield from _caminos(row, name, own, setting, (1, GRAIN), quick, unit)
        if booksim.is_installed():
            own = partial(_isthmus, engine, "tree", isthmus | {"random": 1})
            other = booksim.Setting(booksim.TREE, 1, load, **window)
            yield _booksim(row, f"{name}, random ascent", own, other, quick, unit)


def _isthmus(engine: Engine, what: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Measure isthmus once and return its report."""
    return engine.measure(what, **setting)[0]


def _caminos(
    row: str,
    name: str,
    own: Run,
    setting: caminos.Setting,
    grains: tuple[int, ...],
    quick: bool,
    unit: str,
) -> Iterator[Line]:
    """Yield a line for each grain of the peer."""
    fine: list[Window] = []
    for grain in grains:
        grained = replace(setting, grain=grain)
        isthmus, peers = _pairs(
            own,
            lambda seed, at=grained: caminos.measure(replace(at, seed=seed)),
            1 if quick else 5,
        )
        line = beside(
            row if grain == 1 else f"{row}-coarse",
            name if grain == 1 else f"{name}, {setting.network.flits // grain} phits: {COARSE}",
            isthmus,
            peers,
            peer=caminos.NAME,
            unit=unit,
            setting=FINE if grain == 1 else COARSE,
            sources="open" if setting.queue == caminos.OPEN else f"{setting.queue} messages a node",
            cycles={"warm_up": setting.warm_up, "measured": setting.measured},
        )
        fine = fine or peers
        yield line if grain == 1 else coarse(line, fine, peers)


def _booksim(
    row: str, name: str, own: Run, setting: booksim.Setting, quick: bool, unit: str
) -> Line:
    """Return a line beside BookSim2, which moves single flits only."""
    isthmus, peers = _pairs(
        own, lambda seed: booksim.measure(replace(setting, seed=seed)), 1 if quick else 3
    )
    return beside(
        f"{row}-booksim",
        f"{name}, BookSim2",
        isthmus,
        peers,
        peer=booksim.NAME,
        unit=unit,
        setting=FINE,
        sources="open",
        cycles={"warm_up": setting.warm_up, "measured": setting.measured},
    )

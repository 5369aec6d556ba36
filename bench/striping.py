"""A stream from a rank over one and over four TCP links to the manager, each link shaped.

The rank is at the near end of the links, manager and sink at the far one. ``tbf`` shapes each link
to 1 Gbit/s at the rank's end.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator

import links
from measure import Engine, Line, report, spread, throughput

LINKS = 4
RATE_GBIT = 1
SHAPE = ("rate", f"{RATE_GBIT}gbit", "burst", "256kb", "limit", "4mb")
"""Parameters of ``tbf``, which shapes a link. Data beyond the rate waits; 4 MB avoid losses."""
MESSAGE = 1 << 20
MESSAGES = 400
"""Number of TUs of a turn for each link, which take 3.4 s."""
RUNS = 5
WANTED = 3.8


def striping(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure four links beside one, in turns."""
    if why := links.missing():
        sys.stdout.write(f"striping is left out: {why}\n")
        return
    with links.network(LINKS, SHAPE):
        messages = MESSAGES // 10 if quick else MESSAGES
        turns = [
            (_once(engine, LINKS, LINKS * messages), _once(engine, 1, messages))
            for _ in range(1 if quick else RUNS)
        ]
    sizes = (LINKS * messages * MESSAGE, messages * MESSAGE)
    rates = [
        [size / turn[side]["seconds"] / 1e6 for turn in turns] for side, size in enumerate(sizes)
    ]
    cost = [[turn[side]["cpu_s"] / size * 1e9 for turn in turns] for side, size in enumerate(sizes)]
    ratios = [many / one for many, one in zip(*rates, strict=True)]
    memory = max(turn[0]["manager_bytes"] for turn in turns)
    yield Line(
        id="stream.striping.4",
        name=f"TUs of 1 MiB from a rank over {LINKS} TCP links of {RATE_GBIT} Gbit/s each, striped "
        "in SUs of 256 KiB, through the manager to a sink that checks and confirms",
        isthmus=statistics.median(rates[0]),
        peer=statistics.median(rates[1]),
        unit="MB/s",
        ratio=statistics.median(ratios),
        detail={
            "peer": "the same over one of these links",
            "load_average": os.getloadavg()[0],
            "ratio": spread(ratios),
            "ours": throughput(rates[0], cost[0])  # codespell:ignore ours
            | {"manager_memory_bytes": memory},
            "theirs": throughput(rates[1], cost[1]),  # codespell:ignore theirs
            "shape": " ".join(("tbf", *SHAPE)),
        },
        note="CPU s/GB: {:.3g}, one link {:.3g}; manager {:.3g} MB; {} wanted".format(
            *map(statistics.median, cost), memory / 1e6, WANTED
        ),
    )


def _once(engine: Engine, count: int, messages: int) -> dict[str, float]:
    """Measure one stream over this number of links."""
    sizes = {"message": MESSAGE, "messages": messages}
    command = engine.words("striping", links=count, ranks=links.NAMES.near, **sizes)
    found = report(links.inside(links.NAMES.far, command))
    if found["packets"] != messages:
        raise SystemExit("striping: the sink did not find all packets right")
    return found

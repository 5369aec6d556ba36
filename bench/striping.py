"""A stream from a rank over one and over four TCP links to the manager, each link shaped.

The links are pairs of ``veth`` between two network namespaces that this program makes and removes:
one for the rank, one for manager and sink. ``tbf`` shapes each link to 1 Gbit/s at the rank's end.
This requires root, ``ip`` and ``tc`` (iproute2).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from measure import Engine, Line, report, run, spread, throughput

LINKS = 4
RATE_GBIT = 1
SHAPE = ("rate", f"{RATE_GBIT}gbit", "burst", "256kb", "limit", "4mb")
"""Parameters of ``tbf``, which shapes a link. Data beyond the rate waits; 4 MB avoid losses."""
MESSAGE = 1 << 20
MESSAGES = 400
"""Number of TUs of a turn for each link, which take 3.4 s."""
RUNS = 5
WANTED = 3.8
NAMES = (f"isthmus-ranks-{os.getpid()}", f"isthmus-nic-{os.getpid()}")


def striping(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure four links beside one, in turns."""
    if why := _missing():
        sys.stdout.write(f"striping is left out: {why}\n")
        return
    with _network():
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


def _once(engine: Engine, links: int, messages: int) -> dict[str, float]:
    """Measure one stream over this number of links."""
    ranks, interface = NAMES
    command = engine.words("striping", links=links, message=MESSAGE, messages=messages, ranks=ranks)
    found = report(["ip", "netns", "exec", interface, *command])
    if found["packets"] != messages:
        raise SystemExit("striping: the sink did not find all packets right")
    return found


def _missing() -> str | None:
    """Return what is missing to make networks, if anything."""
    if os.geteuid() != 0:
        return "only root makes networks"
    if missing := [tool for tool in ("ip", "tc") if not shutil.which(tool)]:
        return f"{' and '.join(missing)} of iproute2 missing: apt-get install iproute2"
    tried = subprocess.run(["ip", "netns", "add", NAMES[0]], capture_output=True, check=False)
    if tried.returncode != 0:
        return f"the system makes no networks: {tried.stderr.decode().strip()}"
    _ip("netns", "del", NAMES[0])
    return None


@contextmanager
def _network() -> Iterator[None]:
    """Make two namespaces with shaped links between them, which exist during the ``with`` block."""
    try:
        for name in NAMES:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for link in range(LINKS):
            _join(link)
        yield
    finally:
        # The links disappear with the namespaces.
        for name in NAMES:
            _remove(name)


def _remove(name: str) -> None:
    """Remove a namespace; a process in it may need a moment to end."""
    for _ in range(50):
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False)
        if name not in listed.stdout.decode():
            return
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        time.sleep(0.1)
    sys.stdout.write(f"striping: the network {name} is left: ip netns del {name}\n")


def _join(link: int) -> None:
    """Make a shaped link between the two namespaces."""
    ranks, interface = NAMES
    ends = (f"rank{link}", f"nic{link}")
    peer = ("peer", "name", ends[1], "netns", interface)
    _ip("link", "add", ends[0], "netns", ranks, "type", "veth", *peer)
    for name, end, host in ((ranks, ends[0], 2), (interface, ends[1], 1)):
        _ip("-n", name, "address", "add", f"10.77.{link}.{host}/24", "dev", end)
        _ip("-n", name, "link", "set", end, "up")
    run(["tc", "-n", ranks, "qdisc", "add", "dev", ends[0], "root", "tbf", *SHAPE])


def _ip(*words: str) -> None:
    """Run the command ``ip``."""
    run(["ip", *words])

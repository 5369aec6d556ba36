"""What do four I/O daemons give that one does not? Each is behind a link of its own.

The clients are at the near end of four links of 1 Gbit/s, which ``tbf`` shapes in both directions.
Each daemon listens at the far end of one, over TLS with a token: no other address than that of the
machine itself is served without.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import daemons
import links
from daemons import MIB, beside
from measure import Engine, Line, report

UNITS = 4
CLIENTS = 4
RUNS = 5
SHAPE = ("rate", "1gbit", "burst", "256kb", "limit", "4mb")
"""Parameters of ``tbf``. Data beyond the rate waits; 4 MB avoid losses."""


def iod_units(engine: Engine, quick: bool) -> Iterator[Line]:
    """Measure four daemons beside one of them, in turns."""
    if why := daemons.missing(mount=False, shaped=True):
        sys.stdout.write(f"iod_units is left out: {why}\n")
        return
    with (
        tempfile.TemporaryDirectory(dir=daemons.MEMORY, prefix="isthmus-bench-") as name,
        links.network(UNITS, SHAPE, both=True) as ends,
        ExitStack() as stack,
    ):
        folder = Path(name)
        made = daemons.certificate(folder, UNITS)
        addresses = []
        for unit in range(UNITS):
            export = folder / f"files-{unit}"
            export.mkdir()
            address = f"tls:10.77.{unit}.1:{daemons.PORT}"
            serve = daemons.serve(export, *made.server(), listen=address, namespace=ends.far)
            stack.enter_context(serve)
            addresses.append(address)
        for operation in ("read", "write"):
            yield _line(engine, operation, addresses, made, quick)


def _line(
    engine: Engine,
    operation: str,
    addresses: list[str],
    made: daemons.Certificate,
    quick: bool,
) -> Line:
    """Measure reads or writes of the same clients, of all daemons and of one."""
    rates: tuple[list[float], list[float]] = ([], [])
    load: dict[str, Any] = {
        "operation": operation,
        "clients": CLIENTS,
        "bytes": 65_512,
        "window": 32,
        "file": (2 if quick else 16) * MIB,
        "seconds": 0.3 if quick else 4,
        "token_file": str(made.token),
        "tls_ca": str(made.certificate),
    }
    for _ in range(1 if quick else RUNS):
        for servers, rate in zip((addresses, addresses[:1]), rates, strict=True):
            words = engine.words("iod", server=",".join(servers), **load)
            found = report(links.inside(links.NAMES.near, words))
            rate.append(found["bytes"] / found["seconds"] / 1e6)
    name = (
        f"{CLIENTS} clients of {UNITS} I/O daemons, each behind a link of 1 Gbit/s, over TLS: "
        f"{operation}s of 64 KiB, 2 MiB of them in flight"
    )
    row = f"iod.units.{UNITS}/{operation}"
    peer = "the same clients of one of these daemons"
    return beside(row, name, "MB/s", *rates, peer=peer, shape=" ".join(("tbf", *SHAPE)))

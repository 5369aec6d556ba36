"""The part of ``isthmus topology`` that describes fabrics of SCI rings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from isthmus.cli.streams import document
from isthmus.errors import IsthmusError
from isthmus.wording import counted

FABRICS = [
    "ring",
    "counter-rotating",
    "torus",
    "bidirectional-torus",
    "uniform-ring-torus",
    "manhattan",
    "rings",
]
ENTRIES = 12
"""Maximum number of entries in the printed list of path lengths."""
WIDTHS = [factor * 10**power for power in range(6) for factor in (1, 2, 5)]
"""Possible widths of the ranges of path lengths, in links."""
SMALL = 0.005
"""Share of packets below which a rounded percentage would print zero."""
ROUTINGS = ["dimension-order", "fixed", "random", "fewest-changes"]


class Rings(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Type of an option whose value is rings as lists of nodes: ``0,1,2/2,3,4``."""

    name = "rings"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the form of the argument for the help."""
        return "N,N,.../N,N,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[list[int]]:
        """Convert the argument of the option to lists of nodes."""
        if isinstance(value, list):
            return value
        try:
            rings = value.replace(" ", "").split("/")
            return [[int(word) for word in ring.split(",")] for ring in rings]
        except ValueError:
            self.fail(f"{value!r} is not a list of rings such as 0,1,2/2,3,4", param, ctx)


def describe_fabric(
    fabric: str,
    size: str | None,
    rings: list[list[int]] | None,
    routing: str | None,
    failed_nodes: list[int] | None,
    failed_links: list[list[int]] | None,
) -> dict[str, Any]:
    """Return summary and ring data of one fabric, from `isthmus._core.rings`.

    Raises:
        IsthmusError: the fabric is invalid; the message gives the correction.

    """
    from isthmus.networks import topology
    from isthmus.objects import Fabric, RingFaults

    if fabric == "rings" and rings is None:
        raise IsthmusError("--fabric rings: say which; for example --rings 0,1,2/2,3,4")
    if fabric != "rings" and size is None:
        example = "8" if fabric in ("ring", "counter-rotating") else "6x6"
        raise IsthmusError(f"--fabric {fabric}: say how large; for example --size {example}")
    faults = RingFaults(
        nodes=failed_nodes or [],
        links=[(a, b) for a, b in failed_links or []],
        cut_off="leave-out",
    )
    given: dict[str, Any] = {"fabric": fabric, "size": size, "rings": rings, "routing": routing}
    try:
        return topology(fabric=Fabric(**given, faults=faults))
    except IsthmusError as error:
        given = {"--failed-nodes": failed_nodes, "--failed-links": failed_links}
        shape = "--size" if rings is None else "--rings"
        named = [option for option, value in given.items() if value]
        raise IsthmusError(_by_option(str(error), shape, named)) from error


def print_fabric(data: dict[str, Any], draw: Path | None, as_json: bool) -> None:
    """Print a fabric as a list of names and values or as JSON, and draw it."""
    from isthmus.cli.console import print_facts
    from isthmus.machines import read_fabric

    summary = read_fabric(data["summary"])
    if draw is not None:
        from isthmus.plots.graph import draw_fabric, save

        save(draw_fabric(summary), draw)
    if as_json:
        document(json.dumps(data))
        return
    facts = [
        ("fabric", summary.title),
        ("rings", _rings(data)),
        ("distances", _distances(data["distances"])),
        *((name.lower(), value) for name, value in summary.facts),
    ]
    print_facts(facts)
    if draw is not None:
        click.echo(f"Drawn: {draw}")


def _by_option(message: str, shape: str, faults: list[str]) -> str:
    """Rewrite an error about a scenario field so that it names the option that sets the field:
    `shape` for the machine as a whole, `faults` for its failed parts.
    """
    plain = re.sub(r"^scenario: <python>:\d+: machine: ", f"{shape}: ", message)
    plain = re.sub(r"^scenario: <python>:\d+: machine\.", "--", plain)
    for field, option in (
        ("--faults.nodes", "--failed-nodes"),
        ("--faults.links", "--failed-links"),
    ):
        plain = plain.replace(field, option)
    return plain.replace("--faults:", f"{', '.join(faults)}:") if faults else plain


def _rings(data: dict[str, Any]) -> str:
    """Return the rings of a fabric in words: their lengths, and rings per node."""
    lengths = ", ".join(
        f"{count:,} of {counted(length, 'node')}" for length, count in data["ring_lengths"]
    )
    fewest, most = data["rings_per_node"]
    span = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{lengths}; each node on {span}; {counted(data['links'], 'directed link')}"


def _distances(shares: list[float]) -> str:
    """Return the shares of packets by path length as text, in equal ranges if there are many."""
    found = [links for links, share in enumerate(shares) if share]
    if not found:
        return "links of a packet's path: none"
    first, last = found[0], found[-1]
    wide = next(width for width in WIDTHS if first + ENTRIES * width > last)
    parts = []
    for low in range(first, last + 1, wide):
        high = min(low + wide - 1, last)
        share = sum(shares[low : high + 1])
        if share:
            part = "<1%" if share < SMALL else f"{share:.0%}"
            parts.append(f"{low}: {part}" if low == high else f"{low} to {high}: {part}")
    return f"links of a packet's path: {', '.join(parts)}"

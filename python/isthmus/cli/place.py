"""``isthmus place``: placement of I/O nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from isthmus.cli.machine_options import coverage, machine_options, numbers, one_of_two
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced
from isthmus.wording import counted


@click.command(
    name="place",
    cls=Voiced,
    help="""Place I/O nodes on a hypercube or on any graph.

\b
  isthmus place --dimension 7                      Hamming code words: perfect
  isthmus place --dimension 5 --method dominating  fewest within one hop
  isthmus place --dimension 6 --method stride --count 8
  isthmus place --graph net.txt                    minimum dominating set
  isthmus place --dimension 4 --draw places.png
""",
)
@machine_options
@click.option("--draw", type=click.Path(path_type=Path), help="Draw it to FILE (.png or .svg).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    dimension: int | None,
    graph: Path | None,
    method: str | None,
    count: int | None,
    pes: list[int] | None,
    draw: Path | None,
    as_json: bool,
) -> None:
    """Place I/O nodes and print the quality of the placement."""
    from isthmus.cli.waiting import waiting
    from isthmus.networks import place, topology

    one_of_two(dimension, graph)
    with waiting("Placing the I/O nodes"):
        data = place(dimension, graph, method=method, count=count, pes=pes)
    if draw is not None:
        from isthmus.plots.graph import draw_topology, save

        placed = data["io_nodes"]
        picture = topology(dimension, graph, method="list", pes=placed, io_network=False)
        save(draw_topology(picture), draw)
    if as_json:
        document(json.dumps(data))
        return
    _print(data)
    if draw is not None:
        click.echo(f"Drawn: {draw}")


def _print(data: dict[str, Any]) -> None:
    """Print a placement of I/O nodes as a list of names and values."""
    from isthmus.cli.console import print_facts

    names = data.get("names")
    places = (
        ", ".join(names[pe] for pe in data["io_nodes"][:48]) if names else numbers(data["io_nodes"])
    )
    fewest, most = data["pes_per_io_node"]
    facts = [
        ("placement", data["method"]),
        ("I/O nodes", f"{len(data['io_nodes']):,} for {counted(data['pes'], 'PE')}, at {places}"),
        ("PEs", coverage(data["coverage"])),
        ("each serves", _span(fewest, most)),
        ("quality", _quality(data)),
    ]
    if data.get("note"):
        facts.append(("note", data["note"]))
    print_facts(facts)


def _span(fewest: int, most: int) -> str:
    """Return the number of PEs per I/O node in words, as a range if it differs."""
    return counted(most, "PE") if fewest == most else f"{fewest} to {counted(most, 'PE')}"


def _quality(data: dict[str, Any]) -> str:
    """Return the quality of a placement in words: distances, and whether fewer I/O nodes
    suffice.
    """
    bound = data["lower_bound"]
    if not data["dominating"]:
        return "some PEs are more than one hop from an I/O node"
    if data["optimal"]:
        return "all PEs within one hop, and no placement needs fewer I/O nodes"
    if data["optimal"] is None:
        fewest = counted(bound, "I/O node")
        return f"all PEs within one hop; no placement can do with fewer than {fewest}"
    return f"all PEs within one hop; {counted(bound, 'I/O node')} would do"

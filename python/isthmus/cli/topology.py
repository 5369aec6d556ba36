"""``isthmus topology``: the networks of a machine and their freedom from deadlock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from isthmus.cli.fabric import FABRICS, ROUTINGS, Rings, describe_fabric, print_fabric
from isthmus.cli.machine_options import (
    Links,
    Numbers,
    coverage,
    machine_options,
    numbers,
    one_of_two,
)
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError
from isthmus.wording import counted

LISTED_IO_NODES = 4096
"""Maximum number of I/O nodes for which the Rust core lists the links of their network."""


@click.command(
    name="topology",
    cls=Voiced,
    help="""Describe and draw a machine's networks.

\b
  isthmus topology --dimension 7
  isthmus topology --dimension 4 --draw cube.svg
  isthmus topology --dimension 7 --failed-links 0-1 --failed-io-nodes 3
  isthmus topology --graph net.graphml --draw net.png
  isthmus topology --fabric bidirectional-torus --size 6x6
  isthmus topology --fabric torus --size 4x4 --failed-links 0-1 --draw t.svg
  isthmus topology --fabric rings --rings 0,1,2,3/3,4,5

Of a hypercube or a graph: nodes, I/O nodes and whom they serve, distances, broadcast steps, and a
proof that routing cannot deadlock or the cycle in which it can. Of a fabric of SCI rings: rings and
nodes per ring, distances, changes of ring, whether queues can wait for one another in a circle.
""",
)
@machine_options
@click.option(
    "--fabric",
    type=click.Choice(FABRICS),
    metavar="NAME",
    help=f"A fabric of SCI rings instead: {', '.join(FABRICS[:-1])} or {FABRICS[-1]}.",
)
@click.option("--size", help="Its nodes in each dimension, x first: 8, 6x6, 4x4x4.")
@click.option("--rings", type=Rings(), help="Its rings, node by node (rings).")
@click.option("--routing", type=click.Choice(ROUTINGS), help="Which shortest path packets take.")
@click.option("--failed-nodes", type=Numbers(), help="Nodes of a fabric that have failed.")
@click.option(
    "--io-network/--no-io-network",
    default=None,
    help="Whether I/O nodes have a network of their own [hypercubes do, graphs do not].",
)
@click.option("--failed-pes", type=Numbers(), help="PEs that have failed.")
@click.option("--failed-io-nodes", type=Numbers(), help="I/O nodes that have failed, by number.")
@click.option(
    "--failed-links",
    type=Links(),
    help="Failed links between PEs; of a fabric, from a node to the next.",
)
@click.option("--failed-io-links", type=Links(), help="Failed links between I/O nodes.")
@click.option("--draw", type=click.Path(path_type=Path), help="Draw it to FILE (.png or .svg).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    dimension: int | None,
    graph: Path | None,
    method: str | None,
    count: int | None,
    pes: list[int] | None,
    fabric: str | None,
    size: str | None,
    rings: list[list[int]] | None,
    routing: str | None,
    failed_nodes: list[int] | None,
    io_network: bool | None,
    failed_pes: list[int] | None,
    failed_io_nodes: list[int] | None,
    failed_links: list[list[int]] | None,
    failed_io_links: list[list[int]] | None,
    draw: Path | None,
    as_json: bool,
) -> None:
    """Describe a hypercube, a graph or a fabric of rings."""
    from isthmus.cli.waiting import waiting
    from isthmus.networks import topology

    of_cubes = {
        "--dimension": dimension,
        "--graph": graph,
        "--method": method,
        "--count": count,
        "--pes": pes,
        "--io-network": io_network,
        "--failed-pes": failed_pes,
        "--failed-io-nodes": failed_io_nodes,
        "--failed-io-links": failed_io_links,
    }
    of_fabrics = {
        "--size": size,
        "--rings": rings,
        "--routing": routing,
        "--failed-nodes": failed_nodes,
    }
    if fabric is not None:
        _refuse(of_cubes, "--fabric")
        with waiting("Walking the fabric"):
            data = describe_fabric(fabric, size, rings, routing, failed_nodes, failed_links)
        print_fabric(data, draw, as_json)
        return
    _refuse(of_fabrics, "hypercubes and graphs; --fabric names a fabric of rings")
    if dimension is None and graph is None:
        raise IsthmusError(
            "give --dimension N for a hypercube, --graph FILE for any graph "
            "or --fabric NAME --size N for rings"
        )
    one_of_two(dimension, graph)
    network = graph is None if io_network is None else io_network
    with waiting("Walking the network"):
        data = topology(
            dimension,
            graph,
            method=method,
            count=count,
            pes=pes,
            io_network=network,
            failed_pes=failed_pes or (),
            failed_io_nodes=failed_io_nodes or (),
            failed_links=[(a, b) for a, b in failed_links or ()],
            failed_io_links=[(a, b) for a, b in failed_io_links or ()],
        )
    if draw is not None:
        from isthmus.plots.graph import draw_topology, save

        save(draw_topology(data), draw)
    if as_json:
        document(json.dumps(data))
        return
    _print(data, network)
    if draw is not None:
        click.echo(f"Drawn: {draw}")


def _refuse(options: dict[str, Any], where: str) -> None:
    """Refuse options that do not apply to the kind of machine."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise IsthmusError(f"{', '.join(given)}: not with {where}")


def _print(data: dict[str, Any], io_network: bool) -> None:
    """Print the networks of a machine as a list of names and values."""
    from isthmus.cli.console import print_facts

    facts = [
        ("network", _size(data)),
        ("distances", _histogram(data["distances"])),
        ("I/O nodes", f"{len(data['io_nodes'])} at PEs {numbers(data['io_nodes'])}"),
        ("PEs", coverage(data["coverage"])),
    ]
    if io_network:
        facts.append(("I/O network", _io_network(data)))
    facts.append(("deadlock", _deadlock(data["deadlock"])))
    if data["deadlock"]["free"] and (cycle := data["deadlock"]["cycle"]):
        facts.append(("in one layer", f"possible: {' → '.join(cycle)}"))
    if other := data["deadlock"]["alternative"]:
        facts.append(("instead", _deadlock({**other, "channels": data["deadlock"]["channels"]})))
    if broadcast := data.get("broadcast"):
        facts.append(
            (
                "broadcast",
                f"{counted(broadcast['steps'], 'step')} from node {broadcast['root']} "
                f"(no scheme needs fewer than {broadcast['lower_bound']})",
            )
        )
    if data["faults"]:
        facts.append(("faults", "; ".join(data["faults"])))
    if data["unreachable"]:
        facts.append(("cut off", numbers(data["unreachable"])))
    print_facts(facts)


def _size(data: dict[str, Any]) -> str:
    """Return the size of a network in words: nodes, links, diameter."""
    kind = (
        data["kind"] if data["dimension"] is None else f"{data['dimension']}-dimensional hypercube"
    )
    state = "" if data["connected"] else ", not connected"
    diameter = "not computed" if data["diameter"] is None else data["diameter"]
    nodes, links = counted(data["nodes"], "node"), counted(data["links"], "link")
    size = f"{nodes}, {links}, diameter {diameter}"
    return f"{kind}: {size}{state}"


def _io_network(data: dict[str, Any]) -> str:
    """Return the network between I/O nodes in words: links and distances."""
    edges, distances = data["io_edges"], data["io_distances"]
    # Links are listed up to 4096 nodes only; above, an empty list has no meaning.
    listed = edges or len(data["io_nodes"]) <= LISTED_IO_NODES
    links = f"{counted(len(edges), 'link')}; " if listed else ""
    return links + _histogram(distances)


def _histogram(counts: list[int] | None) -> str:
    """Return the mean and the distribution of distances in words."""
    if not counts:
        return "not computed for a network of this size"
    total = sum(counts[1:])
    if not total:
        return "–"
    mean = sum(d * c for d, c in enumerate(counts)) / total
    shares = ", ".join(f"{d}: {c / total:.0%}" for d, c in enumerate(counts) if d and c)
    return f"mean {mean:.2f} {'hop' if mean == 1 else 'hops'} ({shares})"


def _deadlock(verdict: dict[str, Any]) -> str:
    """Return whether routing can deadlock, in words, with the proof or a cycle."""
    size = counted(verdict["channels"], "channel")
    if (dependencies := verdict.get("dependencies")) is not None:
        size += f", {counted(dependencies, 'dependency', 'dependencies')}"
    if verdict["free"]:
        layers = verdict.get("layers", 1)
        where = f" in {layers} layers of virtual channels" if layers > 1 else ""
        return f"free{where} ({verdict['routing']}): {verdict['proof']}; {size}"
    return f"possible ({verdict['routing']}): {' → '.join(verdict['cycle'])}; {size}"

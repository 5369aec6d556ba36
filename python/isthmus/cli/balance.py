"""``isthmus balance``: how much I/O a machine needs for an application."""

from __future__ import annotations

import json
from typing import Any

import click

from isthmus.wording import number


@click.command(
    name="balance",
    help="""Size the I/O side for an application (section 3 of the hypercube paper).

\b
  isthmus balance sorting --pes 128
  isthmus balance matrix-product --pes 1024 --memory "8 MB"
  isthmus balance sorting --pes 128 --io-bandwidth "5 MB/s" --json

By how much the I/O bandwidth must grow with the number of PEs, and how many I/O nodes that takes.
""",
)
@click.argument("application", type=click.Choice(["sorting", "matrix-product"]))
@click.option("--pes", type=click.IntRange(min=1), required=True, help="Number of PEs.")
@click.option("--memory", default="8 MB", show_default=True, help="Memory of one PE.")
@click.option("--mips", type=float, help="Speed of one PE in million instructions per second.")
@click.option("--io-bandwidth", help="I/O bandwidth of one PE or I/O node, such as '5 MB/s'.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    application: str,
    pes: int,
    memory: str,
    mips: float | None,
    io_bandwidth: str | None,
    as_json: bool,
) -> None:
    """Compute the scaling factor and the number of I/O nodes."""
    from isthmus import _core
    from isthmus.core import ask_json

    spec = {
        "application": application,
        "pes": pes,
        "memory": memory,
        "compute": mips,
        "io_bandwidth": io_bandwidth,
    }
    told = ask_json(_core.balance, spec)
    if as_json:
        click.echo(json.dumps(told))
        return
    _print(told)


def _print(told: dict[str, Any]) -> None:
    from isthmus.cli.console import print_facts

    facts = [
        ("application", f"{told['application']} on {told['pes']:,} PEs"),
        ("I/O must grow by", f"{number(told['factor'])} times that of one PE: {told['law']}"),
        ("by the simple law", f"{number(told['simple_factor'])} times: {told['simple_law']}"),
        (
            "I/O nodes",
            f"{told['io_nodes']:,}, each for {number(told['pes_per_io_node'])} PEs",
        ),
    ]
    if told.get("io_bandwidth_mb_per_s") is not None:
        facts.append(("I/O bandwidth", f"{number(told['io_bandwidth_mb_per_s'])} MB/s in all"))
    if told.get("compute_mips") is not None:
        facts.append(("computation", f"{number(told['compute_mips'])} MIPS in all"))
    facts.append(("source", told["source"]))
    print_facts(facts)

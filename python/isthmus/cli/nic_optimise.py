"""``isthmus nic optimise``: the paper's process optimisation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.optimisation import Growth, Live

NODES_MOST = 256
"""Maximum number of nodes that compute in each of the four quadrants of the application."""


@click.command(
    name="optimise",
    cls=Voiced,
    help="""Compute samples of a plant, and send them by the stream manager.

The paper's process optimisation: in each of four quadrants 15 nodes compute,
and one forwards SUs of 16 KB, which make TUs of 64 KB. Nodes are threads
here, as fast as the paper's; a sink checks what comes. Then the interface is
simulated with what more and more cells compute:

\b
  isthmus nic optimise
  isthmus nic optimise --time "30 s" --json
  isthmus nic optimise --free                  as fast as this machine can
  isthmus nic optimise --outside "40 MB/s"     what the paper's Cray took
""",
)
@click.option(
    "--time", "wanted", metavar="TIME", default="5 s", show_default=True, help="How long."
)
@click.option(
    "--nodes",
    type=click.IntRange(1, NODES_MOST),
    default=15,
    show_default=True,
    help="That compute, in each quadrant.",
)
@click.option(
    "--rate",
    metavar="RATE",
    help="Samples of one node; 60 make the paper's 1,400 Ksamples/s.  [default: 23.33 /ms]",
)
@click.option("--free", is_flag=True, help="As many samples as nodes can compute.")
@click.option(
    "--outside",
    default="100 MB/s",
    show_default=True,
    help="What the network carries in the simulation.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    wanted: str, nodes: int, rate: str | None, free: bool, outside: str, as_json: bool
) -> None:
    """Run the application, simulate its growth, and print both."""
    from isthmus.cli.streams import document
    from isthmus.errors import IsthmusError
    from isthmus.given import Given
    from isthmus.optimisation import RATE, growth, live

    if free and rate is not None:
        raise IsthmusError("--rate: with --free nodes compute what they can; give one of the two")
    Given("--time", "", "text", wanted).quantity("a time", 1e-3)
    Given("--outside", "", "text", outside).quantity("a bandwidth", 1)
    # The simulations take seconds, the application takes the whole --time. They come first, so that
    # their errors appear early.
    grown = growth(outside=outside)
    voice().step(f"computing for {wanted}")
    went = live(time=wanted, nodes=nodes, rate=None if free else RATE if rate is None else rate)
    if as_json:
        answer = {"live": went.as_json(), "growth": grown.as_json()}
        document(json.dumps(answer))
        return
    _print(went, grown, outside)


def _print(went: Live, grown: Growth, outside: str) -> None:
    """Print the measured run in four lines and the simulation as a table."""
    from isthmus.cli.console import console, new_table
    from isthmus.wording import number

    out = console()
    out.print(
        f"{went.samples_per_s / 1e3:,.0f} Ksamples/s, {went.bytes_per_s / 1e6:.1f} MB/s for "
        f"{went.seconds:.1f} s: {went.samples:,} samples came, {went.checked:,} were computed "
        "again and are the same",
        soft_wrap=True,
    )
    computed, waited = went.nodes
    out.print(f"nodes: computed {computed:.0%}, waited for their forwarder {waited:.0%}")
    waited, sent = went.forwarders
    out.print(f"forwarders: waited for samples {waited:.0%}, sent {sent:.0%}")
    out.print(f"the limit is {went.limit}")
    table = new_table("cells", "computed\n(MB/s)", "carried\n(MB/s)", justify="right")
    table.title = f"simulated, {outside} outside"
    table.add_column("limit")
    for point in grown.points:
        figures = (number(point.offered), number(point.carried))
        table.add_row(str(point.cells), *figures, point.limit)
    out.print(table)
    out.print(
        f"communication is the limit from {grown.cells:,.0f} cells on, with {grown.most:.1f} MB/s",
        soft_wrap=True,
    )

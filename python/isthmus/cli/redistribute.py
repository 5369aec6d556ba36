"""``isthmus redistribute``: plans of distributed arrays, on this or a simulated machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.group import Group
from isthmus.cli.voice import Voiced

if TYPE_CHECKING:
    from isthmus.arrays.descriptions import Description

_LAZY_COMMANDS = {"run": "redistribute_run", "predict": "redistribute_predict"}
"""Subcommands, with the names of their modules. A module is imported only when its subcommand
is called.
"""


@click.group(
    name="redistribute",
    cls=Group,
    later=_LAZY_COMMANDS,
    help="""Move a distributed array from one layout to another.

A file says what the array is, who holds what now, and who will then:

\b
  [array]
  shape = [4096, 4096]
  dtype = "float64"
  [from]
  kind = "block-cyclic"
  grid = [2, 2]
  blocks = [16, 16]
  [to]
  kind = "row-swath"
  ranks = 4

\b
  isthmus examples redistribute-panels > panels.toml   one to start from
  isthmus redistribute plan panels.toml                who sends what to whom
  isthmus redistribute run panels.toml                 moved here, and checked
  isthmus redistribute predict panels.toml --machine tree.toml
""",
)
def command() -> None:
    """Group of the subcommands."""


def described(file: Path, changes: tuple[str, ...]) -> Description:
    """Read the file that describes a redistribution, which was named on the command line, and apply
    the changes to it.

    Raises:
        IsthmusError: the file cannot be read or is invalid.

    """
    from isthmus.arrays.descriptions import read
    from isthmus.cli.source import read_scenario
    from isthmus.core import overrides

    text, name = read_scenario(file)
    return read(text, name, overrides(changes))


@command.command(
    name="plan",
    cls=Voiced,
    help="""Say who sends what to whom.

FILE describes a redistribution, - for standard input. Fields are changed by
key=value:

\b
  isthmus redistribute plan examples/redistribute-panels.toml
  isthmus redistribute plan panels.toml from.blocks='[2, 2]' to.ranks=8
  isthmus redistribute plan panels.toml --plot panels.png
  isthmus redistribute plan panels.toml --json | jq .pairs
  isthmus redistribute plan panels.toml --rates here.json

With --rates the file that "run" has kept of this machine predicts how long
it takes here.
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Draw it to FILE (.png or .svg): before, moved, after.",
)
@click.option("--rates", type=click.Path(path_type=Path), help="What was measured of this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    file: Path, changes: tuple[str, ...], plot: Path | None, rates: Path | None, as_json: bool
) -> None:
    """Print a plan."""
    from isthmus.arrays import Rates, summary
    from isthmus.cli.console import print_facts
    from isthmus.cli.streams import document
    from isthmus.cli.waiting import waiting

    task = described(file, changes)
    with waiting("Planning"):
        of = summary.summary(task)
        words = str(task.plan)
        known = None if rates is None else Rates.load(rates)
        orders = (task.order, task.order)
        took = (
            {} if known is None or of is None else known.all(task.plan, task.dtype, orders=orders)
        )
    if plot is not None:
        from isthmus.arrays.drawing import draw_redistribution
        from isthmus.plots.graph import save

        with waiting("Drawing"):
            save(draw_redistribution(task), plot)
    if as_json:
        found = summary.as_json(task, of) | ({"predicted_s": took} if took else {})
        document(json.dumps(found, ensure_ascii=False))
        return
    click.echo(words)
    print_facts([*summary.facts(task, of), *summary.times(took)])
    if plot is not None:
        click.echo(f"Drawn: {plot}")

"""``isthmus nic measure``: measurements of a scenario's points on this machine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.live import Measured

TURNS_MAX = 1000


@click.command(
    name="measure",
    cls=Voiced,
    help="""Carry out the points of a scenario here, and say how fast.

FILE is a scenario of machine.kind = "interface", - is standard input. Threads
stand for cells, rings in shared memory for links; the stream manager sends to
a sink that checks what comes, over TCP on this machine:

\b
  isthmus init interface iface.toml
  isthmus nic measure iface.toml
  isthmus nic measure iface.toml workload.tu="256 KiB" --turns 11
  isthmus nic measure iface.toml --pace described
  isthmus nic measure iface.toml --out live.json

With --pace described each link is as slow as the scenario says, and not this
machine but the links are the limit. Points whose work cannot be done here
are left out and named. Turns of all points alternate.
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--pace",
    type=click.Choice(["free", "described"]),
    default="free",
    show_default=True,
    help="Links as fast as memory, or as the scenario says.",
)
@click.option(
    "--turns",
    type=click.IntRange(1, TURNS_MAX),
    default=5,
    show_default=True,
    help="Turns of each point.",
)
@click.option(
    "--time", "least", default="200 ms", show_default=True, help="How long a turn takes at least."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Keep it in this file, beside other scenarios."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: Path,
    changes: tuple[str, ...],
    pace: str,
    turns: int,
    least: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure and print."""
    from isthmus.cli.source import read_scenario
    from isthmus.cli.streams import document
    from isthmus.core import overrides
    from isthmus.files import ready_folder
    from isthmus.given import Given
    from isthmus.live import keep, kept, measure
    from isthmus.progress import Progress

    seconds = Given("--time", "", "text", least).quantity("a time", 1e-3)
    text, name = read_scenario(file)
    question = {"scenario": text, "file": name, "overrides": overrides(changes)}
    if out is not None:
        # Check before the measurement that the output file can be written, or its results are lost.
        kept(out)
        ready_folder(out.absolute().parent)
    with voice().progress() as watch:
        found = measure(
            question,
            pace=pace,
            turns=turns,
            seconds=seconds,
            tell=lambda done, of: watch(Progress("measuring", step=done, steps=of, title=name)),
        )
    options = ["--pace", pace, "--turns", str(turns), "--time", least]
    line = shlex.join(["isthmus", "nic", "measure", file.name, *changes, *options])
    if out is not None:
        keep(out, found, line)
        voice().step(f"kept in {out}")
    for why, count in found.left_out.items():
        voice().note(f"{count} of {len(found.points)} points left out: {why}")
    if as_json:
        document(json.dumps({"name": found.name, **found.as_json(line)}, ensure_ascii=False))
        return
    _print(found)


def _print(found: Measured) -> None:
    """Print a table of axis values, median, minimum and maximum."""
    from isthmus.cli.console import console, new_table
    from isthmus.wording import number

    table = new_table()
    points = found.carried_out
    for key in points[0].at:
        table.add_column(key.rsplit(".", 1)[-1], no_wrap=True)
    for head in ("median\n(MB/s)", "least", "most"):
        table.add_column(head, justify="right")
    for point in points:
        figures = (point.median, min(point.each), max(point.each))
        table.add_row(*point.at.values(), *(number(value) for value in figures))
    console().print(table)

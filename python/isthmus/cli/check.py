"""``isthmus check``: read a scenario and say what it would run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

MACHINES = 8
"""Most machines that are described one by one."""


@click.command(
    name="check",
    help="""Read a scenario and say what it would run, without running it.

\b
  isthmus check examples/hypercube-128.toml
  isthmus check examples/hypercube-128.toml machine.dimension=5
  isthmus check examples/fat-tree-jobs.toml --resolved
  isthmus check --fields                every field a scenario may have, with its default

A mistake is told with file, line, field and what would be right; exit status 2.
""",
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--fields", is_flag=True, help="List every field with type, default and range.")
@click.option(
    "--effective",
    is_flag=True,
    help="Print the scenario with all changes made; fields left at their defaults are not shown.",
)
@click.option(
    "--resolved",
    is_flag=True,
    help="Print every value that counts and where it is from: given, preset, default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: Path | None,
    changes: tuple[str, ...],
    fields: bool,
    effective: bool,
    resolved: bool,
    as_json: bool,
) -> None:
    """Validate a scenario or list the fields of one."""
    from isthmus import _core
    from isthmus.cli.capacity import print_resolved
    from isthmus.cli.waiting import waiting
    from isthmus.core import ask, overrides, read_text

    if fields:
        listed = _core.fields()
        if as_json:
            click.echo(listed)
        else:
            _print_fields(json.loads(listed))
        return
    if file is None:
        raise click.UsageError("Missing FILE (or --fields)", click.get_current_context())
    with waiting("Building the machines"):
        text = ask(_core.check, read_text(file), str(file), overrides(changes))
    if as_json:
        click.echo(text)
    elif effective:
        click.echo(json.loads(text)["canonical"].rstrip())
    elif resolved:
        print_resolved(json.loads(text)["resolved"])
    else:
        _print_summary(json.loads(text), file)
    for warning in json.loads(text)["warnings"]:
        click.echo(f"isthmus: {file}: {warning}", err=True)


def _print_fields(fields: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    from isthmus.cli.console import console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("key", "type", "default", "range", "meaning"):
        table.add_column(name, overflow="fold")
    for each in fields:
        row = (each.get(name) for name in ("key", "type", "default", "range", "meaning"))
        table.add_row(*("" if cell is None else str(cell).replace("[", "\\[") for cell in row))
    console().print(table)


def _print_summary(summary: dict[str, Any], file: Path) -> None:
    from isthmus.cli.capacity import print_capacity
    from isthmus.cli.console import print_facts
    from isthmus.results.schema import read_machines

    facts = [("scenario", f"{summary['name']} – {summary['title']}")]
    for axis in summary["axes"]:
        facts.append((axis["label"], _values(axis["values"])))
    for machine in read_machines(summary["machines"][:MACHINES]):
        facts.append(("machine", machine.title))
        facts += [(name.lower(), value) for name, value in machine.facts]
    if len(summary["machines"]) > MACHINES:
        facts.append(("machines", f"{len(summary['machines'])} in all"))
    facts.append(("to run", f"{summary['points']} points, {summary['searches']} searches"))
    print_facts(facts)
    print_capacity(summary["capacity"])
    click.echo(f"{file}: well formed")


def _values(values: list[str], limit: int = 12) -> str:
    if len(values) <= limit:
        return ", ".join(values)
    return f"{', '.join(values[:3])}, …, {values[-1]} ({len(values)} values)"

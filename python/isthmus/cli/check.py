"""``isthmus check``: read a scenario and describe its run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from isthmus.cli.console import console, new_table, print_facts
from isthmus.cli.source import read_scenario
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced, voice

MACHINES = 8
"""Maximum number of machines of a scenario that the summary describes."""


@click.command(
    name="check",
    cls=Voiced,
    help="""Read a scenario and say what it would run, without running it.

\b
  isthmus check examples/hypercube-128.toml
  isthmus check examples/hypercube-128.toml machine.dimension=5
  isthmus init sci | isthmus check -    a scenario from standard input
  isthmus check examples/fat-tree-jobs.toml --resolved
  isthmus check --fields                all fields there are, with defaults
  isthmus check --fields lanes          those with "lanes" in their key
  isthmus check --fields 'machine.*.seek'

An error names file, line and field, and says what to write instead; exit status 2.
""",
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option(
    "--fields",
    metavar="[PATTERN]",
    is_flag=False,
    flag_value="*",
    help="List the fields with type, default and range: all, or those whose key PATTERN matches.",
)
@click.option(
    "--effective",
    is_flag=True,
    help="Print the scenario with all changes made; fields left at their defaults are not shown.",
)
@click.option(
    "--resolved",
    is_flag=True,
    help="Print every value that counts at the first point and where it is from: given, preset, "
    "default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: Path | None,
    changes: tuple[str, ...],
    fields: str | None,
    effective: bool,
    resolved: bool,
    as_json: bool,
) -> None:
    """Validate a scenario or list the fields of one."""
    from isthmus import _core
    from isthmus.cli.capacity import print_resolved
    from isthmus.cli.waiting import waiting
    from isthmus.core import ask, overrides

    if fields is not None:
        listed = _matching(fields)
        if as_json:
            document(json.dumps(listed, ensure_ascii=False))
        else:
            _print_fields(listed)
        return
    if file is None:
        raise click.UsageError("Missing FILE (or --fields)", click.get_current_context())
    scenario, name = read_scenario(file)
    voice().step("building machines")
    with waiting("Building the machines"):
        text = ask(_core.check, scenario, name, overrides(changes))
    if as_json:
        document(text)
    elif effective:
        document(json.loads(text)["canonical"])
    elif resolved:
        print_resolved(json.loads(text)["resolved"])
    else:
        _print_summary(json.loads(text), name)
    for warning in json.loads(text)["warnings"]:
        voice().note(f"{name}: {warning}")


def _matching(pattern: str) -> list[dict[str, Any]]:
    """Return the scenario fields that match a pattern; errors name the option ``--fields``."""
    from isthmus.errors import IsthmusError
    from isthmus.networks import fields

    try:
        return fields(pattern)
    except IsthmusError as error:
        raise IsthmusError(f"--fields: {error}") from error


def _print_fields(fields: list[dict[str, Any]]) -> None:
    """Print a table of scenario fields."""
    names = ("key", "type", "default", "range", "meaning")
    table = new_table(*names, overflow="fold")
    for each in fields:
        row = (each.get(name) for name in names)
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console().table(table)


def _print_summary(summary: dict[str, Any], file: str) -> None:
    """Print the summary of a checked scenario as a list of names and values."""
    from isthmus.cli.capacity import print_capacity
    from isthmus.machines import read_machines
    from isthmus.results.schema import FieldChange
    from isthmus.wording import counted

    facts = [("scenario", f"{summary['name']} – {summary['title']}")]
    if summary["changes"]:
        changes = [
            FieldChange(each["key"], each["from"], each["to"]) for each in summary["changes"]
        ]
        facts.append(("changed", ", ".join(change.words for change in changes)))
    for axis in summary["axes"]:
        facts.append((axis["label"], _values(axis["values"])))
    for machine in read_machines(summary["machines"][:MACHINES]):
        facts.append(("machine", machine.title))
        facts += [(name.lower(), value) for name, value in machine.facts]
    if len(summary["machines"]) > MACHINES:
        facts.append(("machines", f"{len(summary['machines'])} in all"))
    points = counted(summary["points"], "point")
    searches = counted(summary["searches"], "search", "searches")
    facts.append(("to run", f"{points}, {searches}"))
    print_facts(facts)
    print_capacity(summary)
    click.echo(f"{file}: well formed")


def _values(values: list[str], limit: int = 12) -> str:
    """Return values as text, separated by commas; if there are more than `limit`, only the first
    three, the last and their number.
    """
    if len(values) <= limit:
        return ", ".join(values)
    return f"{', '.join(values[:3])}, …, {values[-1]} ({len(values)} values)"

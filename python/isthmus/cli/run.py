"""``isthmus run``: a scenario from file to report."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(
    name="run",
    help="""Run a scenario: analysis, simulation, tables, plots and a report.

FILE is a scenario. Fields are changed by key=value, swept by sweep.key='[value, ...]':

\b
  isthmus run examples/hypercube-128.toml
  isthmus run examples/hypercube-128.toml --quick sweep.machine.lanes.io_link='[0, 1, 2]'
  isthmus run examples/hypercube-128.toml --seed 7 --out out/again
  isthmus run examples/hypercube-128.toml --json | jq .searches

Interrupted by Ctrl-C, finished points are kept; the same command goes on from there.
The folder then holds report.html, results.csv and .parquet, plots/ and provenance.json.
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results [out/NAME].")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads [all cores].")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    help="Master seed; the same seed gives the same numbers [the scenario's].",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that simulations may take, such as '4 GB' [half of what there is].",
)
@click.option("--quick", is_flag=True, help="All points, by shorter runs with wider intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, nothing else.")
@click.option("--fresh", is_flag=True, help="Replace whatever results the folder holds.")
def command(
    file: Path,
    changes: tuple[str, ...],
    out: Path | None,
    jobs: int | None,
    seed: int | None,
    memory: str | None,
    quick: bool,
    as_json: bool,
    fresh: bool,
) -> int:
    """Run a scenario and write its folder."""
    from isthmus.core import overrides, read_text
    from isthmus.errors import IsthmusError
    from isthmus.execution import Job, Stopped

    if out is not None and not os.fspath(out).strip("."):
        raise IsthmusError("--out: results need a folder of their own; give its name")

    job = Job(
        text=read_text(file),
        file=str(file),
        overrides=overrides(changes),
        seed=seed,
        jobs=jobs or os.cpu_count() or 1,
        quick=quick,
        memory=memory,
    )
    folder = out or Path("out") / (job.name + ("-quick" if quick else ""))
    from isthmus.cli.progress import shown

    try:
        results = job.run_into(folder, fresh=fresh, watch=shown)
    except Stopped as stop:
        click.echo(
            f"isthmus: interrupted; {stop.done} of {stop.total} points are kept in {folder}; "
            "run the same command again to go on from there",
            err=True,
        )
        return 130
    if as_json:
        click.echo(results.json)
        return 0
    from isthmus.cli.console import print_answer

    print_answer(results.answer)
    click.echo(f"Report: {folder / 'report.html'}")
    return 0

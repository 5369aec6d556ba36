"""``isthmus run``: a scenario from file to report."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.running import jobs_option, memory_option, seed_option
from isthmus.cli.voice import Voiced


@click.command(
    name="run",
    cls=Voiced,
    help="""Run a scenario: analysis, simulation, tables and a report.

FILE is a scenario, - for standard input. Fields are changed by key=value, swept by
sweep.key='[value, ...]':

\b
  isthmus run examples/hypercube-128.toml
  isthmus run examples/hypercube-128.toml sweep.machine.dimension='[5, 6]'
  isthmus run examples/hypercube-128.toml --seed 7 --out out/again
  isthmus run examples/hypercube-128.toml --json | jq .searches

Interrupted by Ctrl-C, finished points are kept; the same command goes on from there.
The folder then holds report.html, results.csv and .parquet, and provenance.json; with
--plots also plots/.

Parts of a run, done by many processes and machines that share the folder:

\b
  isthmus run FILE --part 3/40 --out OUT     every 40th point, beginning with the 3rd
  isthmus run FILE --points 0:100 --out OUT  the first hundred points
  isthmus status OUT
  isthmus collect OUT
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results [out/NAME].")
@jobs_option
@seed_option("Master seed; the same seed gives the same numbers [the scenario's].")
@memory_option
@click.option("--quick", is_flag=True, help="All points, by shorter runs with wider intervals.")
@plots_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, nothing else.")
@click.option("--part", metavar="K/N", help="Do the K-th of N parts; --out is shared by all.")
@click.option("--points", metavar="LIST", help="Do these points only, such as 0:100,205.")
@click.option("--searches", metavar="LIST", help="Do these searches only, such as 0:3.")
@click.option(
    "--expiry",
    metavar="TIME",
    help="What a process was at that gives no sign of life for so long is taken over [60 s].",
)
@click.option("--fresh", is_flag=True, help="Remove what isthmus wrote to the folder first.")
def command(
    file: Path,
    changes: tuple[str, ...],
    out: Path | None,
    jobs: int | None,
    seed: int | None,
    memory: str | None,
    quick: bool,
    plots: tuple[str, ...],
    as_json: bool,
    part: str | None,
    points: str | None,
    searches: str | None,
    expiry: str | None,
    fresh: bool,
) -> int:
    """Run a scenario and write its folder."""
    from isthmus.cli.run_part import Asked
    from isthmus.cli.running import folder_given, interrupted, threads
    from isthmus.cli.source import read_scenario
    from isthmus.cli.streams import document
    from isthmus.cli.voice import voice

    given = folder_given(out)
    asked = Asked(part, points, searches, expiry)
    asked.check(given, fresh=fresh, plots=bool(plots), as_json=as_json)
    text, name = read_scenario(file)
    with voice().progress() as watch:
        from isthmus.core import overrides
        from isthmus.execution import Job, Stopped

        job = Job(
            text=text,
            file=name,
            overrides=overrides(changes),
            seed=seed,
            jobs=threads(jobs),
            quick=quick,
            watch=watch,
            memory=memory,
        )
        if asked:
            return asked.run(job, given)
        folder = given or Path("out") / (job.name + ("-quick" if quick else ""))
        stopped = None
        try:
            results = job.run_into(folder, fresh=fresh, plots=plots)
        except Stopped as stop:
            stopped = stop
    for warning in job.warnings:
        voice().note(f"{job.file}: {warning}")
    if stopped:
        return interrupted(folder, stopped.reached)
    voice().step(f"results are in {folder}")
    if as_json:
        document(results.json)
        return 0
    from isthmus.cli.console import print_answer

    print_answer(results.answer)
    click.echo(f"Report: {folder / 'report.html'}")
    return 0

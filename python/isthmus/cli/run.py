"""``isthmus run``: a scenario from file to report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.run_on import ClusterOptions, on_options
from isthmus.cli.running import jobs_option, memory_option, seed_option
from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.sweeps.source import Source


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
  isthmus run FILE --part 3/40 --out OUT     every 40th point, from the 3rd
  isthmus run FILE --points 0:100 --out OUT  the first hundred points
  isthmus status OUT
  isthmus collect OUT

\b
On a cluster with Slurm, whose nodes share the folder:

\b
  isthmus run FILE --on slurm --dry-run   the job that would be submitted
  isthmus run FILE --on slurm --time 1h   submitted, waited for, collected
  isthmus run FILE --on slurm --detach; isthmus status out/NAME
  isthmus run FILE --on slurm --partition long --sbatch=--qos=low

\b
On a cluster of Dask, whose workers need isthmus and nothing else:

\b
  isthmus run FILE --on dask=tcp://10.0.0.1:8786  by this scheduler's workers
  isthmus run FILE --on dask                      by processes of this machine

FILE may also be the folder of a run: what it is of is known there, and --out is it.
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
@on_options
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
    **on: Any,
) -> int:
    """Run a scenario and write its folder."""
    from isthmus.cli.run_part import RequestedPart
    from isthmus.cli.running import ended, folder_given, threads

    given = folder_given(file if out is None and file.is_dir() else out)
    elsewhere = ClusterOptions(**on)
    asked = RequestedPart(part, points, searches, expiry)
    asked.check(given, fresh=fresh, plots=bool(plots), as_json=as_json, on=elsewhere.on)
    source = source_of(file, changes, seed, quick)
    with voice().progress() as watch:
        from isthmus.execution import Job

        job = Job(
            text=source.text,
            file=source.file,
            overrides=list(source.overrides),
            seed=source.seed,
            jobs=elsewhere.threads(jobs) if elsewhere else threads(jobs),
            quick=source.quick,
            watch=watch,
            memory=memory,
        )
        folder = given or Path("out") / (job.name + ("-quick" if source.quick else ""))
        if asked:
            ending = asked.run(job, given)
        elif elsewhere:
            ending = elsewhere.run(
                job,
                folder,
                fresh=fresh,
                plots=plots,
                as_json=as_json,
                expiry_s=asked.expiry_s,
                workers=jobs,
            )
        else:
            ending = ended(
                lambda: job.run_into(folder, fresh=fresh, plots=plots), job, folder, as_json=as_json
            )
    return ending()


def source_of(file: Path, changes: tuple[str, ...], seed: int | None, quick: bool) -> Source:
    """Return the source of a run: a scenario file, or the scenario of an existing folder.

    Raises:
        IsthmusError: the source cannot be read, or changes are given for a folder.

    """
    from isthmus.cli.source import read_scenario
    from isthmus.core import overrides
    from isthmus.errors import IsthmusError
    from isthmus.sweeps.source import Source

    if not file.is_dir():
        text, name = read_scenario(file)
        return Source(name, text, tuple(overrides(changes)), seed, quick)
    source = Source.read(file)
    if changes or seed is not None or quick:
        raise IsthmusError(
            f"{file}: the run of this folder is what it was started with; leave changes, --seed "
            "and --quick out, or give the scenario and another folder"
        )
    return source

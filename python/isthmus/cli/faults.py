"""``isthmus faults``: what failures leave of fabrics of rings."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(
    name="faults",
    help="""Study what failures leave of fabrics of SCI rings.

Every single failure of a link or a node, and pairs of failures drawn at random: which nodes are cut
off, what throughput and latency remain.

\b
  isthmus faults fabric.toml
  isthmus faults uniform-ring.toml bidirectional.toml --double 100
  isthmus faults fabric.toml sweep.machine.fabric='["torus", "bidirectional-torus"]'

FILEs are scenarios of machine.kind = "sci". Each value of an axis over machines, and each FILE, is
a fabric of the study; loads, stop, verdict and seed are those of the first FILE. Latency is
compared at the lowest load; throughput is the highest accepted load over all values of the load
axis at which the fabric does not collapse; give loads beyond saturation. The folder then holds
report.html, faults.csv and faults-cases.csv, plots/ and all results.
""",
)
@click.argument("files", metavar="FILE... [KEY=VALUE]...", nargs=-1, required=True)
@click.option(
    "--double", type=click.IntRange(min=0), default=0, help="Pairs of failures to draw [0]."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results [out/NAME].")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads [all cores].")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    help="Seed of the pairs and of the runs [the first scenario's].",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that simulations may take, such as '4 GB' [half of what there is].",
)
@click.option("--quick", is_flag=True, help="All cases, by shorter runs with wider intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON, nothing else.")
@click.option("--fresh", is_flag=True, help="Replace whatever results the folder holds.")
def command(
    files: tuple[str, ...],
    double: int,
    out: Path | None,
    jobs: int | None,
    seed: int | None,
    memory: str | None,
    quick: bool,
    as_json: bool,
    fresh: bool,
) -> int:
    """Plan the study, run it, write its folder."""
    from isthmus.cli.progress import shown
    from isthmus.core import overrides, read_text
    from isthmus.errors import IsthmusError
    from isthmus.execution import Job, Stopped
    from isthmus.faults import outcomes, plan, summaries
    from isthmus.faults.page import study_json, write_study
    from isthmus.scenario import Scenario

    if out is not None and not os.fspath(out).strip("."):
        raise IsthmusError("--out: results need a folder of their own; give its name")
    named = [word for word in files if "=" not in word or Path(word).is_file()]
    changes = tuple(overrides(tuple(word for word in files if word not in named)))
    if not named:
        raise IsthmusError("no scenario; give the FILE of one or more")
    scenarios = [Scenario(read_text(Path(file)), file, changes) for file in named]
    study = plan(scenarios, double, seed)
    if study.left_out:
        click.echo(f"isthmus: {study.left_out}", err=True)
    job = Job(
        text=study.text,
        file=f"study of {', '.join(named)}",
        seed=study.seed,
        jobs=jobs or os.cpu_count() or 1,
        quick=quick,
        memory=memory,
    )
    folder = out or Path("out") / (job.name + ("-quick" if quick else ""))
    try:
        results = job.run_into(
            folder,
            fresh=fresh,
            watch=shown,
            write=lambda where, found: write_study(where, study, found),
        )
    except Stopped as stop:
        click.echo(
            f"isthmus: interrupted; {stop.done} of {stop.total} points are kept in {folder}; "
            "run the same command again to go on from there",
            err=True,
        )
        return 130
    found = outcomes(study, results.run)
    told = summaries(study, found)
    if as_json:
        click.echo(study_json(study, found, told))
        return 0
    from isthmus.cli.console import print_study

    print_study(study, told)
    click.echo(f"Report: {folder / 'report.html'}")
    return 0

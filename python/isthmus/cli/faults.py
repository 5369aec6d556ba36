"""``isthmus faults``: the performance of fabrics of rings after failures."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.running import jobs_option, memory_option, seed_option
from isthmus.cli.voice import Voiced, voice

DOUBLE_MAX = 2**32 - 1
"""Largest number of double failures that the core accepts; no fabric has as many pairs."""


@click.command(
    name="faults",
    cls=Voiced,
    help="""Study what failures leave of fabrics of SCI rings.

Every single failure of a link or a node, and pairs of failures drawn at random: which nodes are cut
off, what throughput and latency remain.

\b
  isthmus faults fabric.toml
  isthmus faults uniform-ring.toml bidirectional.toml --double 100
  isthmus faults fabric.toml sweep.machine.size='["4x4", "6x6"]'

FILEs are scenarios of machine.kind = "sci"; - is standard input. Each value of an axis over
machines, and each FILE, is a fabric of the study; loads, stop, verdict and seed are those of the
first FILE. Latency is compared at the lowest load; throughput is the highest accepted load over all
values of the load axis at which the fabric does not collapse; give loads beyond saturation. The
folder then holds report.html, faults.csv and faults-cases.csv and all results; with --plots also
plots/.
""",
)
@click.argument("files", metavar="FILE... [KEY=VALUE]...", nargs=-1, required=True)
@click.option(
    "--double", type=click.IntRange(0, DOUBLE_MAX), default=0, help="Pairs of failures to draw [0]."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results [out/NAME].")
@jobs_option
@seed_option("Seed of the pairs and of the runs [the first scenario's].")
@memory_option
@click.option("--quick", is_flag=True, help="All cases, by shorter runs with wider intervals.")
@plots_option
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON, nothing else.")
@click.option("--fresh", is_flag=True, help="Remove what isthmus wrote to the folder first.")
def command(
    files: tuple[str, ...],
    double: int,
    out: Path | None,
    jobs: int | None,
    seed: int | None,
    memory: str | None,
    quick: bool,
    plots: tuple[str, ...],
    as_json: bool,
    fresh: bool,
) -> int:
    """Plan the study, run it, write its folder."""
    from isthmus.cli.running import folder_given, interrupted, threads
    from isthmus.cli.source import STDIN, read_scenario
    from isthmus.cli.streams import document
    from isthmus.core import overrides
    from isthmus.errors import IsthmusError

    given = folder_given(out)
    named = [word for word in files if "=" not in word or Path(word).is_file()]
    changes = tuple(overrides(tuple(word for word in files if word not in named)))
    if not named:
        raise IsthmusError("no scenario; give the FILE of one or more")
    if named.count(STDIN) > 1:
        raise IsthmusError("-: standard input can be read once only")
    texts = [read_scenario(file) for file in named]
    with voice().progress() as watch:
        from isthmus.execution import Job, Stopped
        from isthmus.faults import outcomes, plan, summaries
        from isthmus.faults.page import STUDY, study_json, write_study
        from isthmus.progress import Progress
        from isthmus.scenario import Scenario

        watch(Progress("building", title=", ".join(named)))
        study = plan([Scenario(text, name, changes) for text, name in texts], double, seed)
        job = Job(
            text=study.text,
            file=f"study of {', '.join(named)}",
            seed=study.seed,
            jobs=threads(jobs),
            quick=quick,
            watch=watch,
            memory=memory,
        )
        folder = given or Path("out") / (job.name + ("-quick" if quick else ""))
        stopped = None
        try:
            results = job.run_into(
                folder,
                fresh=fresh,
                write=lambda where, found, tell: write_study(
                    where, study, found, tell, plots=plots
                ),
                also={STUDY: study.as_json()},
            )
        except Stopped as stop:
            stopped = stop
    if study.left_out:
        voice().note(study.left_out)
    for warning in job.warnings:
        voice().note(f"{job.file}: {warning}")
    if stopped:
        return interrupted(folder, stopped.reached)
    voice().step(f"results are in {folder}")
    found = outcomes(study, results.run)
    by_kind = summaries(study, found)
    if as_json:
        document(study_json(study, found, by_kind))
        return 0
    from isthmus.cli.console import print_study

    print_study(study, by_kind)
    click.echo(f"Report: {folder / 'report.html'}")
    return 0

"""``isthmus report``: tables and report of a finished run, built again."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.voice import Voiced


@click.command(
    name="report",
    cls=Voiced,
    help="""Build the tables and the report of a finished run again.

\b
  isthmus report out/hypercube-128
  isthmus report out/hypercube-128 --plots png,svg
""",
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@plots_option
def command(directory: Path, plots: tuple[str, ...]) -> None:
    """Read DIR/result.json and write all other files again."""
    from isthmus.cli.console import print_answer, print_study
    from isthmus.faults import outcomes, summaries
    from isthmus.faults.page import read_study, write_study
    from isthmus.results.collection import Results
    from isthmus.results.folder import opened_for, write_results

    results = Results.load(directory)
    with opened_for(directory, results, adopt=True) as folder:
        if study := read_study(directory):
            write_study(folder, study, results, plots=plots)
        else:
            write_results(folder, results, plots=plots)
    if study:
        print_study(study, summaries(study, outcomes(study, results.run)))
    else:
        print_answer(results.answer)
    click.echo(f"Report: {directory / 'report.html'}")

"""``isthmus collect``: the results of a run that was done in parts."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.voice import Voiced


@click.command(
    name="collect",
    cls=Voiced,
    help="""Write results and report of a run that was done in parts.

OUT is the folder that the parts have in common:

\b
  isthmus run FILE --part 1/2 --out OUT      on one machine
  isthmus run FILE --part 2/2 --out OUT      on another one
  isthmus collect OUT

If points are missing it says which and why, and ends with 1; nothing is computed here. The
results have the bytes of a run in one piece.
""",
)
@click.argument("directory", metavar="OUT", type=click.Path(path_type=Path))
@plots_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, nothing else.")
def command(directory: Path, plots: tuple[str, ...], as_json: bool) -> int:
    """Collect the results of a folder."""
    from isthmus import sweeps
    from isthmus.cli.running import interrupted, told
    from isthmus.cli.voice import voice
    from isthmus.execution import Job, Stopped
    from isthmus.sweeps.source import Source

    with voice().progress() as watch:

        def work(source: Source) -> Job:
            return Job(
                text=source.text,
                file=source.file,
                overrides=list(source.overrides),
                seed=source.seed,
                quick=source.quick,
                watch=watch,
            )

        try:
            results = sweeps.collect(directory, work, plots)
        except Stopped as stop:
            return interrupted(directory, stop.reached)
    return told(results, directory, as_json=as_json)

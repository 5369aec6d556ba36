"""``isthmus collect``: the results of a run that was done in parts."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.plots_option import plots_option
from isthmus.cli.voice import Voiced, voice


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
    from isthmus.cli.running import ended
    from isthmus.core import processors
    from isthmus.execution import Job
    from isthmus.sweeps.source import Source

    source = Source.read(directory)
    with voice().progress() as watch:
        job = Job(
            text=source.text,
            file=source.file,
            overrides=list(source.overrides),
            seed=source.seed,
            jobs=processors(),
            quick=source.quick,
            watch=watch,
        )
        ending = ended(
            lambda: sweeps.collect(directory, job, plots), job, directory, as_json=as_json
        )
    return ending()

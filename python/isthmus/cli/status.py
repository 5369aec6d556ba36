"""``isthmus status``: the progress of a run in other processes."""

from __future__ import annotations

from pathlib import Path

import click

from isthmus.cli.voice import Voiced

SHOWN = 10
"""Maximum number of printed lines about running points, and about failed points."""


@click.command(
    name="status",
    cls=Voiced,
    help="""Say how far a run is: what is done, who is at what, what failed and why.

OUT is the folder of a run, whether it is done in one piece or in parts. Nothing there is changed or
held up:

\b
  isthmus status out/study
  isthmus status out/study --json | jq .done
""",
)
@click.argument("directory", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, nothing else.")
def command(directory: Path, as_json: bool) -> None:
    """Print the state of a folder."""
    import json

    from isthmus.cli.streams import document
    from isthmus.sweeps.state import state_of, with_job

    state = with_job(state_of(directory), directory)
    if as_json:
        document(json.dumps(state.as_json()))
        return
    from isthmus.sweeps.words import status_lines

    for line in status_lines(state, directory, SHOWN):
        click.echo(line)

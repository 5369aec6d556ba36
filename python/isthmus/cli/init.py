"""``isthmus init``: a scenario with comments, to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from isthmus.cli.voice import Voiced, voice

STARTS = files("isthmus").joinpath("starts")
"""A scenario for each kind of machine."""
KINDS = sorted(each.name[:-5] for each in STARTS.iterdir() if each.name.endswith(".toml"))


@click.command(
    name="init",
    cls=Voiced,
    help="""Write a scenario with comments, to start from.

\b
  isthmus init > mine.toml              a hypercube
  isthmus init sci fabric.toml          rings of SCI, to a new file
  isthmus init fat-tree | isthmus run - --quick
  isthmus init graph torus.toml         switches joined in any form

KIND is the kind of machine; hypercube if left out. `isthmus check --fields` lists what else a
scenario may say.
""",
)
@click.argument("kind", type=click.Choice(KINDS), default="hypercube")
@click.argument("file", type=click.Path(path_type=Path), required=False)
def command(kind: str, file: Path | None) -> None:
    """Print a scenario, or write it where nothing is."""
    text = STARTS.joinpath(f"{kind}.toml").read_text(encoding="utf-8")
    if file is None or str(file) == "-":
        from isthmus.cli.streams import document

        document(text)
        return
    from isthmus.errors import IsthmusError
    from isthmus.files import write_new

    try:
        write_new(file, text.encode())
    except FileExistsError:
        raise IsthmusError(f"{file}: there is one already; give another name") from None
    voice().note(f"written to {file}; isthmus check {file} says what it would run")

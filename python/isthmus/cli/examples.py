"""``isthmus examples``: scenarios that come with the package."""

from __future__ import annotations

import json
from pathlib import Path

import click

from isthmus.cli.voice import Voiced


@click.command(
    name="examples",
    cls=Voiced,
    help="""List, print or copy the examples that come with the package.

\b
  isthmus examples                                 list them
  isthmus examples hypercube-128                   print one
  isthmus examples --copy examples                 copy all into a folder
  isthmus examples hypercube-128 --copy .          copy one
  isthmus run examples/hypercube-128.toml --quick  and run it

A file that is there with other content is left alone.
""",
)
@click.argument("name", required=False)
@click.option("--copy", "folder", type=click.Path(path_type=Path), help="Copy into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects as JSON.")
def command(name: str | None, folder: Path | None, as_json: bool) -> None:
    """List all examples, or print or copy what was asked for."""
    from isthmus import bundled
    from isthmus.cli.streams import document

    chosen = [bundled.example(name)] if name is not None else bundled.examples()
    copied = bundled.copy(chosen, folder) if folder is not None else []
    if as_json:
        places = copied or [each.path for each in chosen]
        pairs = zip(chosen, places, strict=True)
        rows = [{"name": e.name, "title": e.title, "file": str(p)} for e, p in pairs]
        document(json.dumps(rows, indent=2, ensure_ascii=False))
    elif folder is not None:
        for path in copied:
            click.echo(path)
    elif name is not None:
        document(chosen[0].text)
    else:
        from isthmus.cli.console import print_facts

        print_facts([(each.path.name, each.title) for each in chosen])

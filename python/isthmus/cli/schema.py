"""``isthmus schema``: the fields of a scenario as a JSON Schema, for editors."""

from __future__ import annotations

import json

import click

from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced


@click.command(
    name="schema",
    cls=Voiced,
    help="""Print the JSON Schema of scenario files, by which editors complete and check them.

\b
  isthmus schema > scenario.schema.json

Editors with a TOML language server (Taplo, Tombi, "Even Better TOML") find it by the first line of
a scenario: #:schema ./scenario.schema.json

What it refuses, `isthmus check` refuses, but for keys of several parts in quotation marks that are
not the whole key of an axis; what depends on the machine as a whole only the latter can tell.
""",
)
def command() -> None:
    """Print the schema that the core makes of its own fields."""
    from isthmus import _core

    schema = json.loads(_core.json_schema())
    document(json.dumps(schema, ensure_ascii=False, indent=1))

"""``isthmus iod abandon``: gives up data that cannot be stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli import daemons
from isthmus.cli.iod_daemon import ask
from isthmus.cli.voice import Voiced, voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.iod.client import Client
    from isthmus.iod.operators import Unstored


@click.command(
    name="abandon",
    cls=Voiced,
    help="""Drop data that is not stored, for good.

\b
  isthmus iod status --address unix:/tmp/iod.sock      which files there are
  isthmus iod abandon /scratch/job/step-1.bin --address unix:/tmp/iod.sock

The paths are those that isthmus iod status shows. What the store has of the
files stays there. Clients that wait until such a file is stored get an error.
""",
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--all", "all_", is_flag=True, help="All files with data that is not stored.")
@daemons.targets()
def command(paths: tuple[str, ...], all_: bool, **given: Any) -> None:
    """Drop the data of each file."""
    from isthmus.cli.streams import document
    from isthmus.wording import counted

    if all_ == bool(paths):
        raise IsthmusError("name the files whose data is to be dropped, or give --all")
    daemon = daemons.target(given)
    dropped, unknown = ask(daemon, lambda client: _abandon(client, paths))
    for file, count in dropped:
        document(f"{file.path}: {counted(count, 'byte')} dropped\n")
    for path in unknown:
        voice().note(f"{path}: nothing of it waits to be stored; see isthmus iod status")
    if unknown:
        sys.exit(1)


async def _abandon(
    client: Client, paths: tuple[str, ...]
) -> tuple[list[tuple[Unstored, int]], list[str]]:
    """Drop the data of files; of all without paths. Return what was dropped, and the paths of no
    such file.
    """
    from isthmus.iod.operators import unstored

    files = await unstored(client)
    by_path = {file.path: file for file in files}
    unknown = [path for path in paths if path not in by_path]
    chosen = [by_path[path] for path in paths if path in by_path] if paths else files
    dropped = []
    for file in chosen:
        try:
            dropped.append((file, await client.abandon(file.number)))
        except FileNotFoundError:
            # It was stored meanwhile.
            unknown.append(file.path)
    return dropped, unknown

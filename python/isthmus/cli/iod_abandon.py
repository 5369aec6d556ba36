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
    help="""Drop data that is not stored. It cannot be brought back.

\b
  isthmus iod status --address unix:/tmp/iod.sock      which files there are
  isthmus iod abandon /scratch/job/step-1.bin --address unix:/tmp/iod.sock

The paths are those that isthmus iod status shows. What the store has of the
files stays there. Clients that wait until such a file is stored get an error.
""",
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--number",
    "numbers",
    type=int,
    multiple=True,
    metavar="NUMBER",
    help="A file by its number in isthmus iod status; several may be given.",
)
@click.option("--all", "all_", is_flag=True, help="All files with data that is not stored.")
@daemons.targets()
def command(paths: tuple[str, ...], numbers: tuple[int, ...], all_: bool, **given: Any) -> None:
    """Drop the data of each file."""
    from isthmus.cli.streams import document
    from isthmus.wording import counted

    if [bool(paths), bool(numbers), all_].count(True) != 1:
        raise IsthmusError("name the files whose data is to be dropped, or give --number or --all")
    daemon = daemons.target(given)
    dropped, unknown = ask(daemon, lambda client: _abandon(client, paths, numbers))
    for file, count in dropped:
        document(f"{file.path}: {counted(count, 'byte')} dropped\n")
    for path in unknown:
        voice().note(f"{path}: isthmus iod status shows no unstored data under this path")
    if unknown:
        sys.exit(1)


async def _abandon(
    client: Client, paths: tuple[str, ...], numbers: tuple[int, ...]
) -> tuple[list[tuple[Unstored, int]], list[str]]:
    """Drop the data of files; of all without paths and numbers.

    Returns:
        What was dropped, and the paths and numbers of no such file.

    """
    from isthmus.iod.operators import unstored

    files = await unstored(client)
    unknown = [path for path in paths if all(file.path != path for file in files)]
    chosen = [file for file in files if not paths or file.path in paths]
    if numbers:
        unknown += [str(each) for each in numbers if all(file.number != each for file in files)]
        chosen = [file for file in files if file.number in numbers]
    for path in paths:
        same = [str(file.number) for file in chosen if file.path == path]
        if len(same) > 1:
            which = " or ".join(same)
            text = f"{path}: {len(same)} files had this path; give --number {which}"
            raise IsthmusError(f"{text}: isthmus iod status has their sizes and errors")
    dropped = []
    for file in chosen:
        try:
            dropped.append((file, await client.abandon(file.number, file.path)))
        except FileNotFoundError:
            # It was stored meanwhile.
            unknown.append(file.path)
    return dropped, unknown

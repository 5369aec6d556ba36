"""``isthmus iod prefetch``: files into the cache of an I/O daemon, before they are needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from isthmus.cli import daemons
from isthmus.cli.voice import Voiced, voice
from isthmus.errors import IsthmusError

SHOWN = 10
"""Maximum number of files that could not be read whose names are printed."""


@click.command(
    name="prefetch",
    cls=Voiced,
    help="""Have an I/O daemon read files into its cache.

\b
  isthmus iod prefetch epoch.txt --address unix:/tmp/iod.sock
  find train -name '*.npy' | isthmus iod prefetch - \\
      --address unix:/tmp/iod.sock

LIST has a path in each line, from the root of the export; of a folder, all
files in it are read. - is standard input.

The daemon reads many files at a time, and drops those that were not used for
the longest time when --cache-size is reached. The command ends with status 0
once all files are in the cache, and with 1 if some could not be read.
""",
)
@click.argument("list_", type=click.Path(path_type=Path, allow_dash=True), metavar="LIST")
@daemons.targets
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(list_: Path, as_json: bool, **given: Any) -> None:
    """Have the daemon read the files."""
    import asyncio
    import json

    from isthmus.cli.streams import document
    from isthmus.iod.prefetch import prefetch
    from isthmus.progress import Progress
    from isthmus.wording import counted

    daemon = daemons.target(given)
    paths = _paths(list_, daemon["export"])
    with voice().progress() as watch:

        def show(done: int, of: int) -> None:
            watch(Progress("reading", step=done, steps=of, title=str(list_)))

        try:
            done = asyncio.run(prefetch(daemon, paths, show))
        except OSError as error:
            raise IsthmusError(error.strerror or str(error)) from None
    if as_json:
        document(json.dumps({"files": done.files, "failed": done.failed}, ensure_ascii=False))
    else:
        document(f"{counted(done.files, 'file')} in the cache\n")
    for path, why in list(done.failed.items())[:SHOWN]:
        voice().note(f"{path}: {why}")
    if len(done.failed) > SHOWN:
        voice().note(f"and {len(done.failed) - SHOWN} others could not be read")
    if done.failed:
        sys.exit(1)


def _paths(list_: Path, export: str) -> list[str]:
    """Return the paths in a list, from the root of the export.

    Raises:
        IsthmusError: the list cannot be read, or is empty.

    """
    try:
        data = sys.stdin.buffer.read() if str(list_) == "-" else list_.read_bytes()
    except OSError as error:
        raise IsthmusError(
            f"{list_}: {error.strerror}; give a file with a path in each line"
        ) from None
    prefix = export.rstrip("/") + "/"
    lines = (os.fsdecode(line) for line in data.splitlines())
    paths = [
        "/".join(name for name in line.removeprefix(prefix).split("/") if name not in ("", "."))
        for line in lines
        if line.strip()
    ]
    if not paths:
        raise IsthmusError(f"{list_}: it has no path; give a file with a path in each line")
    return paths

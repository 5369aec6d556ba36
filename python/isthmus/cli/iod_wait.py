"""``isthmus iod wait``: until files are stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli import daemons
from isthmus.cli.iod_daemon import ask
from isthmus.cli.voice import Voiced, voice

if TYPE_CHECKING:
    from isthmus.iod.client import Client


@click.command(
    name="wait",
    cls=Voiced,
    help="""Wait until files are stored.

\b
  isthmus iod wait results/step-1.bin --address unix:/tmp/iod.sock

The paths are from the root of the export. The command ends with status 0
once all of them are synced in the store, and with 1 if some cannot be stored:
the daemon keeps their data and tries again.
""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@daemons.targets()
def command(paths: tuple[str, ...], **given: Any) -> None:
    """Wait for each file."""
    daemon = daemons.target(given)
    failed = ask(daemon, lambda client: _wait(client, paths))
    for path, why in failed.items():
        voice().note(f"{path}: {why}")
    if failed:
        sys.exit(1)


async def _wait(client: Client, paths: tuple[str, ...]) -> dict[str, str]:
    """Wait for files. Return those that are not stored, and why."""
    import asyncio
    import errno
    import os

    async def wait(path: str) -> None:
        resolved = await client.resolved("/".join(name for name in path.split("/") if name))
        file = client.open(resolved, os.O_RDONLY)
        try:
            if (await file.attributes()).is_directory:
                text = "a directory; name its files, or use isthmus iod drain"
                raise IsADirectoryError(errno.EISDIR, text, path)
            await file.commit(2)
        finally:
            file.close()

    results = await asyncio.gather(*map(wait, paths), return_exceptions=True)
    failed = {}
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, OSError):
            failed[path] = result.strerror or str(result)
        elif result is not None:
            raise result
    return failed

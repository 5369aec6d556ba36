"""``isthmus iod mount``: the files of an I/O daemon in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isthmus.cli import daemons
from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError


@click.command(
    name="mount",
    cls=Voiced,
    help="""Mount the files of an I/O daemon in a folder, without root.

\b
  isthmus iod mount /tmp/job --address unix:/tmp/iod.sock
  isthmus iod mount /tmp/job --address tls:io3:5641 --tls-ca cert.pem \\
      --token-file token --export /scratch/job

The folder must exist and be empty. Programs then use the files in it as any
others. Only the user who runs this command sees them.

It prints a line once the folder is mounted, and runs until SIGTERM, Ctrl-C
or `fusermount3 -u DIR`. After a signal, files that are in use fail.

A daemon that ends and is started again is a pause: requests wait for it,
for --timeout. Then they fail with EIO until it is back.
""",
)
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@daemons.targets
@click.option("--read-only", is_flag=True, help="Refuse changes.")
@daemons.times("--fresh", "0 s", "Time for which attributes are not asked for again.")
@daemons.as_json()
def command(as_json: bool, **given: Any) -> None:
    """Mount, print the folder, and wait for a signal."""
    given["fresh_ns"] = daemons.nanoseconds(given, "fresh")
    given["daemon"] = daemons.target(given)
    if not given["directory"].name:
        raise IsthmusError("DIR: name a folder that exists, such as /tmp/job")
    given["directory"] = str(given["directory"].absolute())
    daemons.run(daemons.start("iod mount", "mount_files", given), as_json=as_json)

"""``isthmus iod``: commands of the I/O daemon."""

from __future__ import annotations

import click

from isthmus.cli.group import Group

_LAZY_COMMANDS = {
    "abandon": "iod_abandon",
    "drain": "iod_drain",
    "mount": "iod_mount",
    "prefetch": "iod_prefetch",
    "serve": "iod_serve",
    "status": "iod_status",
    "top": "iod_top",
    "wait": "iod_wait",
}
"""Subcommands with modules of their own, which are imported when they are called."""


@click.group(
    name="iod",
    cls=Group,
    later=_LAZY_COMMANDS,
    help="""Serve files to the processes of a job: the I/O daemon.

\b
  isthmus iod serve --export /scratch/job --listen unix:/tmp/iod.sock
                                   a folder, at a socket of your own
  isthmus iod mount /tmp/job --address unix:/tmp/iod.sock
                                   its files in a folder of this host
  isthmus iod prefetch LIST --address unix:/tmp/iod.sock
                                   files into its cache, ahead of time
  isthmus iod status --address unix:/tmp/iod.sock
                                   what is not stored yet; top shows it live
  isthmus iod drain --address unix:/tmp/iod.sock
                                   stores everything, or names the rest
""",
)
def command() -> None:
    """Group of the subcommands."""

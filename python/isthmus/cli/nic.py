"""``isthmus nic``: commands of the stream manager."""

from __future__ import annotations

import click

from isthmus.cli.group import Group

_LAZY_COMMANDS = {
    "measure": "nic_measure",
    "mri": "nic_mri",
    "optimise": "nic_optimise",
    "serve": "nic_serve",
    "sink": "nic_sink",
    "top": "nic_top",
    "vcr": "nic_vcr",
}
"""Subcommands with modules of their own, which are imported when they are called."""


@click.group(
    name="nic",
    cls=Group,
    later=_LAZY_COMMANDS,
    help="""Run streams for real, and what is built on them.

\b
  isthmus nic measure iface.toml   a scenario of an interface, carried out
  isthmus nic optimise             samples of a plant, computed and sent
  isthmus nic mri                  the surface of a brain, from rank to rank
  isthmus nic vcr                  four moving images in step, in a browser
  isthmus nic serve --listen unix:/run/isthmus.sock
                                   the operator's daemon
  isthmus nic sink 127.0.0.1:5000  what takes streams, to try them with
  isthmus nic top                  its connections and streams, live
""",
)
def command() -> None:
    """Group of the subcommands."""

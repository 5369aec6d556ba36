"""``isthmus nic``: the stream manager for real."""

from __future__ import annotations

from importlib import import_module

import click

from isthmus.cli.voice import Voiced
from isthmus.errors import meant

_LATER = {"measure": "nic_measure"}
"""Subcommands with modules of their own, which are imported when they are called."""


class _Nic(Voiced, click.Group):
    """The group, with the options that all commands have."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _LATER:
            return super().get_command(ctx, cmd_name)
        found = import_module(f"isthmus.cli.{_LATER[cmd_name]}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; say which one was meant where there is none."""
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        told = meant(args[0].lower(), known, f"there are {', '.join(known)}", likeness=0.5)
        raise click.UsageError(f"no command {args[0]!r}; {told}", ctx)


@click.group(
    name="nic",
    cls=_Nic,
    help="""Run streams for real, and what is built on them.

\b
  isthmus nic measure iface.toml     a scenario of kind "interface", carried out
""",
)
def command() -> None:
    """Group of the subcommands."""

"""Groups of commands: subcommands in modules of their own, and what is said of one that is not."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from isthmus.cli.voice import Voiced
from isthmus.errors import meant


class Group(Voiced, click.Group):
    """A group with the options that all commands have. Alone it prints its help."""

    def __init__(self, *args: Any, later: Mapping[str, str] | None = None, **options: Any) -> None:
        """Take names of subcommands and of the modules that have them, imported when needed."""
        super().__init__(*args, **options)
        self.later = dict(later or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all subcommands, of this module and of others."""
        return [*super().list_commands(ctx), *self.later]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a subcommand, if it has one."""
        if cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        found = import_module(f"isthmus.cli.{self.later[cmd_name]}").command
        assert isinstance(found, click.Command)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help where nothing is asked for."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; say which one was meant where there is none."""
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        told = meant(args[0].lower(), known, f"there are {', '.join(known)}", likeness=0.5)
        raise click.UsageError(f"no command {args[0]!r}; {told}", ctx)

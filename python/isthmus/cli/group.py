"""Groups of commands: lazily imported subcommands, and suggestions for unknown ones."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from isthmus.cli.voice import Voiced
from isthmus.errors import meant


class Group(Voiced, click.Group):
    """A click group with the options -q and -v. Without a subcommand it prints its help."""

    def __init__(self, *args: Any, later: Mapping[str, str] | None = None, **options: Any) -> None:
        """Create a group; `later` maps names of subcommands to their modules, which are imported
        when needed.
        """
        super().__init__(*args, **options)
        self.later = dict(later or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands, imported or not."""
        return [*super().list_commands(ctx), *self.later]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand; import its module if necessary."""
        if cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        found = import_module(f"isthmus.cli.{self.later[cmd_name]}").command
        assert isinstance(found, click.Command)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the command group; print its help if there are none."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; suggest a similar one if it does not exist."""
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        hint = meant(args[0].lower(), known, f"there are {', '.join(known)}", likeness=0.5)
        raise click.UsageError(f"no command {args[0]!r}; {hint}", ctx)

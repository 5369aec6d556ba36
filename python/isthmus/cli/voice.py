"""The verbosity of a command: the options -q and -v, and the progress bar."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import click

from isthmus.progress import Watch, bar, ignore_progress
from isthmus.progress.terminal import lines, say

_KEY = "isthmus.voice"


@dataclass
class Voice:
    """The verbosity of messages on standard error; errors are always printed."""

    quiet: bool = False
    verbose: bool = False

    def note(self, text: str) -> None:
        """Print a notice, except with -q."""
        if not self.quiet:
            say(text)

    def step(self, text: str) -> None:
        """Print the name of a step of the work, only with -v."""
        if self.verbose:
            say(text)

    def progress(self) -> AbstractContextManager[Watch]:
        """Show the progress: a bar on a terminal, lines with -v, nothing with -q."""
        if self.quiet:
            return nullcontext(ignore_progress)
        return lines() if self.verbose else bar()


def voice() -> Voice:
    """Return the verbosity of the running command."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Voice()
    found = context.meta.setdefault(_KEY, Voice())
    assert isinstance(found, Voice)
    return found


def _quiet(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Make the command quiet, if the option -q is given."""
    if wanted:
        said: Voice = ctx.meta.setdefault(_KEY, Voice())
        said.quiet, said.verbose = True, False


def _verbose(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Make the command verbose, if the option -v is given."""
    if wanted:
        said: Voice = ctx.meta.setdefault(_KEY, Voice())
        said.quiet, said.verbose = False, True


class Voiced(click.Command):
    """A command with the options -q and -v."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the command, and add the options -q and -v."""
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_quiet,
                help="Say nothing but errors beside the answer; no bar.",
            ),
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=_verbose,
                help="Say what is going on, one line each on standard error.",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; usage errors name the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # Set the context here, because click does not set it for an option without a value.
            error.ctx = error.ctx or ctx
            raise

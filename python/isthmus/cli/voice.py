"""How much a command says beside its answer: -q, -v, and the bar."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import click

from isthmus.progress import Watch, bar, unwatched
from isthmus.progress.terminal import lines, say

_KEY = "isthmus.voice"


@dataclass
class Voice:
    """What may be said on standard error; errors always may."""

    quiet: bool = False
    verbose: bool = False

    def note(self, text: str) -> None:
        """Print what a user should know, unless asked to be quiet."""
        if not self.quiet:
            say(text)

    def step(self, text: str) -> None:
        """Print what is going on, if asked to."""
        if self.verbose:
            say(text)

    def progress(self) -> AbstractContextManager[Watch]:
        """Show how far it is: a bar on a terminal, a line each with -v, nothing with -q."""
        if self.quiet:
            return nullcontext(unwatched)
        return lines() if self.verbose else bar()


def voice() -> Voice:
    """The voice of the command that is running."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Voice()
    found = context.meta.setdefault(_KEY, Voice())
    assert isinstance(found, Voice)
    return found


def _quiet(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        said: Voice = ctx.meta.setdefault(_KEY, Voice())
        said.quiet, said.verbose = True, False


def _verbose(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        said: Voice = ctx.meta.setdefault(_KEY, Voice())
        said.quiet, said.verbose = False, True


class Voiced(click.Command):
    """A command with -q and -v."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
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
        """Parse the words of the command line; whatever is wrong with them names the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # Of an option without its value click does not say whose it is.
            error.ctx = error.ctx or ctx
            raise

"""The option ``--plots`` of all commands that write results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def read(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Convert the value of --plots, such as ``png,svg``, to a tuple without duplicates."""
    words = [word.strip().lower() for word in (value or "").split(",") if word.strip()]
    from isthmus.arguments import FORMS

    for word in words:
        if word not in FORMS:
            raise click.BadParameter(f"{word!r} is no form of plots; give png, svg or png,svg")
    return tuple(dict.fromkeys(words))


def plots_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --plots to a command, which receives the suffixes of plot files as a tuple."""
    return click.option(
        "--plots",
        metavar="png,svg",
        callback=read,
        help="Also draw every plot as files, for papers and slides.",
    )(command)

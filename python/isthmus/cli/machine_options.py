"""Options for a hypercube or a graph, and a placement on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from isthmus.errors import IsthmusError

F = TypeVar("F", bound=Callable[..., Any])

METHODS = ["combined", "hamming", "dominating", "stride", "clustered", "list"]


class Numbers(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Type of an option whose value is a list of numbers: ``0,7,9``."""

    name = "numbers"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the form of the argument for the help."""
        return "N,N,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """Convert the argument of the option to a list of numbers."""
        if isinstance(value, list):
            return value
        try:
            return [int(word) for word in value.replace(" ", "").split(",") if word]
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as 0,7,9", param, ctx)


class Links(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Type of an option whose value is a list of links: ``0-1,4-6``."""

    name = "links"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the form of the argument for the help."""
        return "A-B,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[list[int]]:
        """Convert the argument of the option to a list of links, each with two nodes."""
        if isinstance(value, list):
            return value
        try:
            pairs = [word.split("-") for word in value.replace(" ", "").split(",") if word]
            return [[int(a), int(b)] for a, b in pairs]
        except ValueError:
            self.fail(f"{value!r} is not a list of links such as 0-1,4-6", param, ctx)


def machine_options(command: F) -> F:
    """Add the options --dimension, --graph and those of a placement to a command."""
    options = [
        click.option("-d", "--dimension", type=int, help="A hypercube of 2^d nodes (1 to 20)."),
        click.option(
            "--graph",
            type=click.Path(path_type=Path),
            help="Any graph instead: GraphML (.graphml) or an edge list, two names a line. "
            "Every vertex is a PE; roles and widths count in scenarios only (isthmus init graph).",
        ),
        click.option("--method", type=click.Choice(METHODS), help="How I/O nodes are placed."),
        click.option("--count", type=int, help="Number of I/O nodes (stride, clustered)."),
        click.option("--pes", type=Numbers(), help="PEs with an I/O node (list)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def one_of_two(dimension: int | None, graph: Path | None) -> None:
    """Require exactly one of --dimension and --graph.

    Raises:
        IsthmusError: neither or both were given.

    """
    if (dimension is None) == (graph is None):
        raise IsthmusError(
            "give either --dimension N for a hypercube or --graph FILE for any graph"
        )


def numbers(values: list[int], limit: int = 48) -> str:
    """Return a list of numbers as text; after `limit` numbers the rest is left out."""
    text = ", ".join(map(str, values[:limit]))
    return text + (f", … ({len(values)} in all)" if len(values) > limit else "")


def coverage(counts: list[int]) -> str:
    """Return a text with the number of PEs at each distance from their I/O node: ``4 at 1 hop``."""
    parts = []
    for distance, count in enumerate(counts):
        if count:
            hops = "1 hop" if distance == 1 else f"{distance} hops"
            where = "with an I/O node" if distance == 0 else f"at {hops}"
            parts.append(f"{count} {where}")
    return ", ".join(parts)

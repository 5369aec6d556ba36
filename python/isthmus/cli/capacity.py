"""The output of `isthmus check`: demand and supply, and the origin of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isthmus.cli.console import console, new_table, styled

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

VARIANTS = 12
"""Maximum number of listed variants besides the one with the highest demand."""
TIGHT = 0.7
"""Utilisation (demand / supply) from which a machine part is highlighted."""


def print_capacity(summary: dict[str, Any]) -> None:
    """Print demand and supply of all machine parts for the variant with the highest demand, and the
    bottleneck of every other variant.

    `summary` is the result of a scenario check.
    """
    axes = (axis for i, axis in enumerate(summary["axes"]) if i != summary["load_axis"])
    labels = [axis["label"] for axis in axes]
    shown = [v for v in summary["capacity"] if v["parts"] or v["remarks"]]
    if not shown:
        return
    out = console()
    unlike: list[dict[str, Any]] = []
    for variant in shown:
        alike = (variant["parts"], variant["remarks"])
        if all((other["parts"], other["remarks"]) != alike for other in unlike):
            unlike.append(variant)
    unlike.sort(key=lambda v: max(map(_share, v["parts"]), default=0.0), reverse=True)
    out.text(styled(_title(unlike[0], labels if len(unlike) > 1 else []), "bold"))
    out.table(_table(unlike[0]))
    for remark in unlike[0]["remarks"]:
        out.text(remark)
    if len(unlike) > 1:
        out.text("")
        out.table(_fullest(unlike[1 : 1 + VARIANTS], labels))
    if len(unlike) > 1 + VARIANTS:
        out.text(f"{len(unlike) - 1 - VARIANTS} more variants ask for less; --json has all.")


def print_resolved(rows: list[dict[str, str]]) -> None:
    """Print the effective value of every scenario field, and its origin."""
    table = new_table("field", "value", "from", overflow="fold")
    for row in rows:
        origin = f"{row['from']}: {row['source']}" if row["source"] else row["from"]
        table.add_row(row["key"], row["value"], origin)
    console().table(table)


def _title(variant: dict[str, Any], labels: list[str]) -> str:
    """Return the title of the table of a variant."""
    name = _name(variant, labels)
    return f"asked for and possible: {name}" if name else "asked for and possible"


def _name(variant: dict[str, Any], labels: list[str]) -> str:
    """Return the axis values of a variant with short labels: ``b = 2``."""
    from isthmus.results.schema import AxisValue
    from isthmus.results.series import value_text

    values = zip(labels, variant["variant"], strict=False)
    return ", ".join(value_text(label, AxisValue(**value)) for label, value in values)


def _table(variant: dict[str, Any]) -> Table:
    """Return a table with demand and supply of each machine part in one variant."""
    table = new_table("part")
    for name in ("asked for", "possible", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("because")
    for part in variant["parts"]:
        style, asked, can, share = _shares(part)
        cells = (part["name"], asked, can, share, part["basis"])
        table.add_row(*_styled(cells, style))
    return table


def _fullest(variants: list[dict[str, Any]], labels: list[str]) -> Table:
    """Return a table with the bottleneck of each variant."""
    table = new_table("other variants", "fullest part")
    for name in ("asked for", "possible", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    for variant in variants:
        part = max(variant["parts"], key=_share, default=None)
        if part is None:
            continue
        style, asked, can, share = _shares(part)
        cells = (_name(variant, labels), part["name"], asked, can, share)
        table.add_row(*_styled(cells, style))
    return table


def _styled(cells: tuple[str, ...], style: str) -> list[Text]:
    """Return table cells as texts in a style of rich, such as ``bold red``."""
    return [styled(cell, style) for cell in cells]


def _shares(part: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the style of a row, and demand, supply and utilisation of the part."""
    from isthmus.wording import quantity

    demand, supply, ratio = part["demand"], part["supply"], part["share"]
    share, style = "–", ""
    if ratio is not None:
        share = f"{ratio:.0%}" if ratio < 10 else f"{ratio:.0f} x"
        style = "bold red" if ratio > 1 else "yellow" if ratio >= TIGHT else ""
    asked = "–" if demand is None else quantity(demand, part["unit"])
    if part["at_most"] and demand is not None:
        asked = f"≤ {asked}"
    return style, asked, "any" if supply is None else quantity(supply, part["unit"]), share


def _share(part: dict[str, Any]) -> float:
    """Return the utilisation of a part; 0 if unknown."""
    return part["share"] or 0.0

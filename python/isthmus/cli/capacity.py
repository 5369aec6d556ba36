"""What `isthmus check` says before any simulation: demand and supply, and whence values are."""

from __future__ import annotations

from typing import Any

VARIANTS = 4
"""Most variants whose parts are listed one by one."""
TIGHT = 0.7
"""Share of a supply from which a part is worth a look."""


def print_capacity(variants: list[dict[str, Any]]) -> None:
    """Print a small table for each variant; of many, those that ask for most."""
    from isthmus.cli.console import console

    shown = [v for v in variants if v["parts"] or v["remarks"]]
    if not shown:
        return
    out = console()
    unlike: list[dict[str, Any]] = []
    for variant in shown:
        alike = (variant["parts"], variant["remarks"])
        if all((other["parts"], other["remarks"]) != alike for other in unlike):
            unlike.append(variant)
    unlike.sort(key=_tightest, reverse=True)
    for variant in unlike[:VARIANTS]:
        out.print(_table(variant, named=len(unlike) > 1))
        for remark in variant["remarks"]:
            out.print(_plain(remark))
    if len(unlike) > VARIANTS:
        rest = len(unlike) - VARIANTS
        out.print(f"{rest} more variants ask for less; --json has all.")


def print_resolved(rows: list[dict[str, str]]) -> None:
    """Print every value that counts and where it is from."""
    from rich import box
    from rich.table import Table

    from isthmus.cli.console import console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("field", "value", "from"):
        table.add_column(name, overflow="fold")
    for row in rows:
        origin = f"{row['from']}: {row['source']}" if row["source"] else row["from"]
        table.add_row(*(_plain(cell) for cell in (row["key"], row["value"], origin)))
    console().print(table)


def _table(variant: dict[str, Any], *, named: bool) -> Any:
    from rich import box
    from rich.table import Table

    title = "asked for and possible"
    if named and variant["variant"]:
        title += f": {', '.join(variant['variant'])}"
    table = Table(
        title=_plain(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        header_style="bold",
    )
    table.add_column("part")
    for name in ("asked for", "possible", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("because")
    for part in variant["parts"]:
        demand, supply = part["demand"], part["supply"]
        share, style = "–", ""
        if demand is not None and supply:
            ratio = demand / supply
            share = f"{ratio:.0%}" if ratio < 10 else f"{ratio:.0f} x"
            style = "bold red" if ratio > 1 else "yellow" if ratio >= TIGHT else ""
        asked = "–" if demand is None else _amount(demand, part["unit"])
        if part["at_most"] and demand is not None:
            asked = f"≤ {asked}"
        can = "any" if supply is None else _amount(supply, part["unit"])
        cells = (part["name"], asked, can, share, part["basis"])
        table.add_row(*(_plain(cell) for cell in cells), style=style)
    return table


def _tightest(variant: dict[str, Any]) -> float:
    shares = [p["demand"] / p["supply"] for p in variant["parts"] if p["demand"] and p["supply"]]
    return max(shares, default=0.0)


def _amount(value: float, unit: str) -> str:
    if unit == "MB/s" and value >= 1e4:
        value, unit = value / 1e3, "GB/s"
    return f"{value:.4g} {unit}" if value < 1e4 else f"{value:,.0f} {unit}"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)

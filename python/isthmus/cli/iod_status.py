"""``isthmus iod status``: what an I/O daemon has in its cache, and what is not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from isthmus.cli import daemons
from isthmus.cli.iod_daemon import ask
from isthmus.cli.voice import Voiced
from isthmus.wording import counted, quantity

if TYPE_CHECKING:
    from rich.table import Table

    from isthmus.iod.client import Client
    from isthmus.iod.operators import Unstored

FILES = 20
"""Maximum number of files in the table."""

ESTIMATE_S = 86400
"""Longest time in s that is printed as an estimate: with a longer one, the store has stopped."""

Look = tuple[dict[str, int], list["Unstored"]]
"""The state of a daemon, and the files that are not stored."""


@click.command(
    name="status",
    cls=Voiced,
    help="""Show what an I/O daemon has in its cache, and what is not stored.

\b
  isthmus iod status --address unix:/tmp/iod.sock
  isthmus iod status --address unix:/tmp/iod.sock --json | jq .unstored

Files that could not be stored come first, then those that have waited for
the longest time. JSON has all files; sizes are in bytes, times in ms or s.
""",
)
@daemons.targets()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool, **given: Any) -> None:
    """Look once, and print."""
    import json

    from isthmus.cli.console import console
    from isthmus.cli.streams import document

    daemon = daemons.target(given)
    status, files = ask(daemon, look)
    if as_json:
        found = {"daemon": status, "unstored": [file.as_json() for file in files]}
        document(json.dumps(found, ensure_ascii=False))
        return
    out = console()
    out.text("\n".join(lines(daemon["address"], status)))
    if files:
        out.table(table(files[:FILES]))
    if len(files) > FILES:
        out.text(f"and {len(files) - FILES} more files; --json has all")


async def look(client: Client) -> Look:
    """Return the state of a daemon and its files that are not stored, the most important first."""
    from isthmus.iod.operators import unstored

    files = await unstored(client)
    files.sort(key=lambda file: (file.error is None, -file.age_s))
    return await client.status(), files


def lines(address: str, status: dict[str, int]) -> list[str]:
    """Return the state of a daemon, a line for each part."""
    found = [
        f"{address}, up {quantity(status['up_ms'] * 1e6, 'ns')}: "
        f"{counted(status['clients'], 'client')}, {counted(status['open_files'], 'open file')}, "
        f"{quantity(status['read'], 'B')} read, {quantity(status['written'], 'B')} written"
    ]
    if not status["has_cache"]:
        return [*found, "no cache: written data is with the host's kernel until fsync"]
    found.append(
        f"cache: {quantity(status['bytes'], 'B')} of {quantity(status['cache_bytes'], 'B')}, "
        f"{counted(status['files'], 'file')}; {quantity(status['misses'], 'B')} read from the store"
    )
    if not status["unstored"]:
        return [*found, f"everything is stored, {quantity(status['stored'], 'B')} so far"]
    rate = status["rate"]
    left = ""
    if rate and status["unstored"] / rate < ESTIMATE_S:
        left = f": {quantity(status['unstored'] / rate * 1e9, 'ns')} left"
    failed = f", {status['failed_files']} with errors" if status["failed_files"] else ""
    found.append(
        f"not stored: {quantity(status['unstored'], 'B')} of "
        f"{counted(status['unstored_files'], 'file')}{failed}, for "
        f"{quantity(status['oldest_ms'] * 1e6, 'ns')}; at most "
        f"{quantity(status['dirty_bytes'], 'B')}"
    )
    found.append(f"storing {quantity(rate, 'B')}/s{left}")
    return found


def table(files: list[Unstored]) -> Table:
    """Return a table of files that are not stored."""
    from isthmus.cli.console import new_table

    shown = new_table()
    shown.add_column("number", justify="right")
    shown.add_column("not stored")
    shown.add_column("bytes", justify="right")
    shown.add_column("age", justify="right")
    shown.add_column("error")
    for file in files:
        age = quantity(file.age_s * 1e9, "ns")
        shown.add_row(str(file.number), file.path, str(file.bytes), age, file.error or "")
    return shown

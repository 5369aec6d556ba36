"""``isthmus iod top``: the state of an I/O daemon, live."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from isthmus.cli import daemons
from isthmus.cli.iod_daemon import ask
from isthmus.cli.iod_status import lines, look, table
from isthmus.cli.voice import Voiced
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from isthmus.cli.iod_status import Look
    from isthmus.cli.layout import Output
    from isthmus.iod.client import Client


@click.command(
    name="top",
    cls=Voiced,
    help="""Show the state of an I/O daemon live.

\b
  isthmus iod top --address unix:/tmp/iod.sock

It shows what isthmus iod status shows, every second, until Ctrl-C. In a pipe
use isthmus iod status.
""",
)
@daemons.targets()
@daemons.times("--every", "1 s", "Time between two looks.")
def command(**given: Any) -> None:
    """Refresh a live view."""
    from isthmus.cli.console import console
    from isthmus.cli.process import ended

    seconds = daemons.nanoseconds(given, "every", 1e-2) / 1e9
    daemon = daemons.target(given)
    if not sys.stdout.isatty():
        raise IsthmusError("iod top needs a terminal: use isthmus iod status")
    out = console()
    try:
        ask(daemon, lambda client: _show(client, out, daemon["address"], seconds))
    except KeyboardInterrupt:
        ended()


async def _show(client: Client, out: Output, address: str, seconds: float) -> None:
    """Ask for the state and show it until the user ends the command."""
    import asyncio

    from rich.live import Live

    while out.is_dumb_terminal:
        # This terminal cannot replace text: print each state below the previous one.
        out.show(_screen(out, address, await look(client)))
        out.text("")
        await asyncio.sleep(seconds)
    screen = _screen(out, address, await look(client))
    with Live(screen, console=out, screen=True, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(seconds)
            live.update(_screen(out, address, await look(client)), refresh=True)


def _screen(out: Output, address: str, now: Look) -> RenderableType:
    """Return the content of the screen: as many files as there is room for."""
    from rich.console import Group
    from rich.text import Text

    status, files = now
    head = Text("\n".join(lines(address, status)))
    room = out.height - len(out.render_lines(head)) - 1
    rows = min(len(files), max(room - 2, 0))
    while rows and len(out.render_lines(table(files[:rows]))) > room:
        rows -= 1
    shown: list[RenderableType] = [head]
    if rows:
        shown += [Text(""), table(files[:rows])]
    return Group(*shown)

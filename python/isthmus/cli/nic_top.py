"""``isthmus nic top``: connections and streams of a daemon, live."""

from __future__ import annotations

import sys
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isthmus import arguments
from isthmus.cli.console import console, new_table
from isthmus.cli.voice import Voiced
from isthmus.wording import counted, number, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from isthmus.cli.layout import Output
    from isthmus.control import Control

ROOMY = 72
"""Minimum width of the terminal in columns for tables; a narrower one gets one text line per row.
"""
TIMEOUT_S = 10.0
"""Seconds within which the daemon must answer."""


@click.command(
    name="top",
    cls=Voiced,
    help="""Show connections and streams of a daemon live.

\b
  isthmus nic top                                  at unix:/run/isthmus.sock
  isthmus nic top --address tcp:127.0.0.1:7000 --token-file operator
  isthmus nic top --once --json | jq .rates

Rates are those since the last look. In a pipe, or with --once, it looks twice
and prints what it saw; a terminal that only prints (TERM=dumb) gets each look
below the last. The token is the operator's; where the daemon has none,
its own user looks through its Unix socket. Ctrl-C ends it.
""",
)
@click.option(
    "--address",
    default="unix:/run/isthmus.sock",
    show_default=True,
    help="unix:/PATH, tcp:HOST:PORT or tls:HOST:PORT.",
)
@click.option("--token-file", type=click.Path(path_type=Path), help="The operator's token.")
@click.option("--tls-ca", type=click.Path(path_type=Path), help="Certificates to trust, in PEM.")
@click.option("--every", default="1 s", show_default=True, metavar="TIME", help="Between looks.")
@click.option("--once", is_flag=True, help="Look twice, print, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; implies --once.")
def command(
    address: str,
    token_file: Path | None,
    tls_ca: Path | None,
    every: str,
    once: bool,
    as_json: bool,
) -> None:
    """Refresh a live view, or print one snapshot."""
    from isthmus.cli.process import ended
    from isthmus.control import Control, Endpoint
    from isthmus.given import Given

    seconds = Given("--every", "", "text", every).quantity("a time", 1e-3)
    token = arguments.token("--token-file", token_file) if token_file else None
    endpoint = Endpoint(address, token, tls_ca, TIMEOUT_S)
    try:
        with Control(endpoint, "isthmus nic top") as control:
            if once or as_json or not sys.stdout.isatty():
                _print_snapshot(control, address, seconds, as_json=as_json)
            else:
                _show_live(control, address, seconds)
    except KeyboardInterrupt:
        ended()


@dataclass(frozen=True)
class _Snapshot:
    """The state of the daemon at one time, with rates since the previous snapshot."""

    overview: dict[str, Any]
    rates: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Bytes per second sent and received, by number, for ``connections`` and ``streams``."""

    @property
    def names(self) -> dict[int, str]:
        """Return the names of applications by number."""
        return dict(self.overview["applications"])

    def rate(self, what: str, number: int) -> list[float]:
        """Return the bytes per second sent and received of a connection or stream."""
        return self.rates.get(what, {}).get(str(number), [0.0, 0.0])


def _bytes_moved(overview: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    """Return the bytes sent and received of each connection and stream."""
    connections = {
        str(each["connection"]): list(each["moved_bytes"]) for each in overview["connections"]
    }
    streams = {
        str(each["stream"]): [
            each["bytes"] * (each["direction"] == way) for way in ("transmit", "receive")
        ]
        for each in overview["streams"]
    }
    return {"connections": connections, "streams": streams}


def _look(control: Control, before: _Snapshot | None) -> _Snapshot:
    """Query the daemon; compute rates relative to the snapshot `before`."""
    overview = control.overview()
    if before is None:
        return _Snapshot(overview)
    nanoseconds = overview["counts"]["up_ns"] - before.overview["counts"]["up_ns"]
    past = _bytes_moved(before.overview)
    rates = {
        what: {
            number: [
                max(0, now - then) / nanoseconds * 1e9
                for now, then in zip(moved, past[what].get(number, [0, 0]), strict=True)
            ]
            for number, moved in each.items()
        }
        for what, each in _bytes_moved(overview).items()
    }
    return _Snapshot(overview, rates)


def _print_snapshot(control: Control, address: str, seconds: float, *, as_json: bool) -> None:
    """Print one snapshot with rates over some seconds, as tables or JSON."""
    import json

    from isthmus.cli.streams import document

    first = _look(control, None)
    time.sleep(seconds)
    look = _look(control, first)
    if as_json:
        overview = {**look.overview, "rates": look.rates}
        document(json.dumps(overview, ensure_ascii=False))
        return
    _print(console(), look, address)


def _print(out: Output, look: _Snapshot, address: str) -> None:
    """Print the tables of all connections and streams of a snapshot."""
    out.text(_head(look, address))
    for part in _parts(look):
        out.text(f"\n{part.title}")
        out.table(part.table(part.rows, _Form.PAPER))


def _show_live(control: Control, address: str, seconds: float) -> None:
    """Show snapshots on the terminal until Ctrl-C."""
    from rich.live import Live

    out = console()
    look = _look(control, None)
    if out.is_dumb_terminal:
        while True:
            time.sleep(seconds)
            look = _look(control, look)
            _print(out, look, address)
            out.text("")
    with Live(_screen(out, look, address), console=out, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            look = _look(control, look)
            live.update(_screen(out, look, address), refresh=True)


class _Form(Enum):
    """The possible layouts of a table, from wide to compact."""

    PAPER = auto()
    """Layout with a border."""
    SCREEN = auto()
    BRIEF = auto()
    """Compact layout: each row is one line."""


@dataclass(frozen=True)
class _Part:
    """A part of the screen: the table of connections or of streams, most important rows first."""

    title: str
    rows: list[dict[str, Any]]
    table: Callable[[list[dict[str, Any]], _Form], Table]
    """Function that returns a table of some rows in a layout."""
    order: tuple[int, ...]
    """Order of columns in a one-line form, most important first, as the rest may be cut off."""

    def lines(self, most: int) -> list[Text]:
        """Return the first rows in one-line form."""
        from rich.text import Text

        table = self.table(self.rows[:most], _Form.BRIEF)
        in_order = [table.columns[at] for at in self.order]
        columns = [list(column.cells) for column in in_order]
        heads = [str(column.header).split("\n") for column in in_order]
        found = []
        for row in zip(*columns, strict=True):
            words = []
            for head, cell in zip(heads, row, strict=True):
                # Name the column only in cells with a unit (rates and sizes), whose heading has two
                # lines.
                named = f"{head[0]} {cell} {head[1].strip('()')}" if len(head) > 1 else str(cell)
                words.append(named)
            found.append(Text(", ".join(word for word in words if word)))
        return found

    def shown(self, out: Output, lines: int, form: _Form | None) -> list[RenderableType]:
        """Return as many rows as fit, as a table or in one-line form, and the number of omitted
        rows.
        """
        from rich.text import Text

        if form is None:
            rows = max(0, min(len(self.rows), lines - 1))
            return [self._title(rows), *self.lines(rows)]
        counts = range(1, 1 + min(len(self.rows), max(lines, 0)))
        fits = bisect_right(counts, lines, key=lambda rows: self.height(out, rows, form))
        return [Text(""), self._title(fits), self.table(self.rows[:fits], form)]

    def height(self, out: Output, rows: int, form: _Form) -> int:
        """Return the height of a table of `rows`, with a blank line and a title."""
        return 2 + len(out.render_lines(self.table(self.rows[:rows], form)))

    def _title(self, rows: int) -> Text:
        """Return the title of the table, with the number of omitted rows."""
        from rich.text import Text

        more = len(self.rows) - rows
        left = f": {rows} shown, ... {more} more" if more else ""
        return Text(f"{self.title}{left}", "bold")


def _screen(out: Output, look: _Snapshot, address: str) -> RenderableType:
    """Return the content of the screen, divided between connections and streams."""
    from rich.console import Group
    from rich.text import Text

    parts = _parts(look)
    head = Text(_head(look, address), "bold")
    wrapped = len(out.render_lines(head))
    room = out.height - wrapped
    form = _form(out, parts, room)
    if form is None:
        # Rows and headings are one line each.
        head.no_wrap, head.overflow = True, "ellipsis"
        room = out.height - 2
    shown: list[RenderableType] = [head]
    wanted = [
        part.height(out, len(part.rows[: out.height]), form) if form else 1 + len(part.rows)
        for part in parts
    ]
    least = [part.height(out, 1, form) if form else 2 for part in parts]
    for part, lines in zip(parts, _shares(room, wanted, least), strict=True):
        shown += part.shown(out, lines, form)
    for each in shown:
        if form is None and isinstance(each, Text):
            each.no_wrap, each.overflow = True, "ellipsis"
    return Group(*shown)


def _shares(room: int, wanted: list[int], least: list[int]) -> list[int]:
    """Return the number of screen lines of each part. The table of streams gets more, as its rows
    show the resources that streams wait for; unused lines go to the other part.
    """
    if len(wanted) < 2:
        return [room] * len(wanted)
    first = min(wanted[0], max(room - wanted[1], 2 * room // 5, least[0]))
    first = max(0, min(first, room - least[1]))
    return [first, room - first]


def _form(out: Output, parts: list[_Part], room: int) -> _Form | None:
    """Return the widest table layout that fits; None for the one-line form."""
    if out.width < ROOMY:
        return None
    rows = [len(part.rows[: out.height]) for part in parts]
    heights = [
        part.height(out, count, _Form.SCREEN) for part, count in zip(parts, rows, strict=True)
    ]
    if sum(heights) <= room:
        return _Form.SCREEN
    least = sum(part.height(out, 1, _Form.BRIEF) for part in parts)
    return _Form.BRIEF if least <= room else None


def _head(look: _Snapshot, address: str) -> str:
    """Return the state of the daemon in two lines."""
    counts = look.overview["counts"]
    live = sum(not each["over"] for each in look.overview["streams"])
    links = sum(each["attached"] for each in look.overview["links"])
    cut = sum(each.get("cut", False) for each in look.overview["links"])
    memory = []
    for what in ("staging", "network"):
        used = [quantity(each[0], "B") for each in counts[f"{what}_bytes"]]
        has = quantity(counts[f"{what}_bytes"][0][1], "B")
        memory.append(f"{what} {used[0]} out, {used[1]} in, of {has}")
    left_out = look.overview.get("left_out", 0)
    return (
        f"{address}, up {quantity(counts['up_ns'], 'ns')}: "
        f"{counted(len(look.names), 'application')}, "
        f"{counted(len(look.overview['connections']), 'connection')}, "
        f"{counted(live, 'stream')}, {counted(links, 'link')}"
        + (f" and {cut} cut" if cut else "")
        + "\n"
        + "; ".join(memory)
        + (f"; {left_out} more are not shown" if left_out else "")
    )


def _parts(look: _Snapshot) -> list[_Part]:
    """Return the tables of connections and of streams that are not empty."""
    found = []
    connections = sorted(
        look.overview["connections"],
        key=lambda each: each["gone"] is not None if "gone" in each else False,
    )
    if connections:
        found.append(
            _Part("connections", connections, partial(_connections, look), tuple(range(7)))
        )
    streams = sorted(look.overview["streams"], key=lambda each: (each["over"], -each["stream"]))
    if streams:
        found.append(_Part("streams", streams, partial(_streams, look), (0, 3, 6, 1, 2, 4, 5)))
    return found


def _table(*heads: str, form: _Form) -> Table:
    """Return an empty table in this layout."""
    table = new_table()
    table.show_edge = form is _Form.PAPER
    for head in heads:
        right = head.endswith(("\n(MB/s)", "\n(kB)")) or head in ("", "ADUs")
        table.add_column(
            head,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right and form is _Form.BRIEF,
        )
    return table


def _cell(text: str, form: _Form, style: str = "") -> Text:
    """Return a table cell, in one line if the form requires it."""
    from rich.text import Text

    if form is not _Form.BRIEF:
        return Text(text, style)
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _connections(look: _Snapshot, rows: list[dict[str, Any]], form: _Form) -> Table:
    """Return a table of connections in this layout."""
    table = _table("", "of", "to", "state", "out\n(MB/s)", "in\n(MB/s)", "kept\n(kB)", form=form)
    for each in rows:
        rates = look.rate("connections", each["connection"])
        gone = each.get("gone")
        state = "open" if each["open"] else f"gone: {gone}" if gone else "opening"
        table.add_row(
            str(each["connection"]),
            _cell(look.names.get(each["application"], "–"), form),
            _cell(each["destination"], form),
            _cell(state, form, "dim" if gone else "" if each["open"] else "yellow"),
            *(number(rate / 1e6) for rate in rates),
            number((each["transmit_bytes"] + each["receive_bytes"]) / 1e3),
        )
    return table


STYLES = {"failed": "red", "cancelled": "dim", "done": "dim", "active": "green"}


def _streams(look: _Snapshot, rows: list[dict[str, Any]], form: _Form) -> Table:
    """Return a table of streams in this layout."""
    from rich.text import Text

    table = _table("", "of", "over", "state", "ADUs", "rate\n(MB/s)", "waits for", form=form)
    for each in rows:
        way = "out" if each["direction"] == "transmit" else "in"
        whole = "" if each.get("adus") is None else f"/{each['adus']}"
        why = each.get("reason") or "; ".join(each["waits"])
        table.add_row(
            str(each["stream"]),
            _cell(look.names.get(each["application"], "–"), form),
            f"{each['connection']} {way}",
            Text(each["state"], STYLES.get(each["state"], "yellow")),
            f"{each['done']}{whole}",
            number(sum(look.rate("streams", each["stream"])) / 1e6),
            _cell(why, form),
        )
    return table

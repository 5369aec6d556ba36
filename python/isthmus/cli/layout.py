"""Tables and text on standard output of any width: no cell is cut, no line ends in blanks.

A table that does not fit with whole words and numbers is printed as a list, row by row. A `str` is
never read as markup, as user texts may contain brackets; styled texts are `Text` objects.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 200
"""Default width of output that is not a terminal."""
NARROW = 40
"""Minimum width of printed tables and text, in columns."""
WIDE = 100_000
"""A width in columns into which every table fits."""
SQUEEZED = 2
"""Maximum ratio of table width to page width at which text is wrapped to fit."""
UNBREAKABLE = "\ue000"
"""Placeholder for a blank at which a line must not be broken."""


class Output(Console):
    """A console for standard output without trailing blanks."""

    def __init__(self) -> None:
        """Open the console with the width of the terminal, or of `_env_width` for a file or
        pipe.
        """
        stream = sys.stdout
        width = None if stream.isatty() else _env_width()
        super().__init__(file=stream, width=width, highlight=False, soft_wrap=False)
        self.width = max(self.width, NARROW)

    def text(self, *parts: str | Text) -> None:
        """Print a paragraph."""
        self.show(Text.assemble(*parts))

    def show(self, what: RenderableType) -> None:
        """Print any object that rich can print."""
        self.print(_Trimmed(what), end="")

    def table(self, table: Table) -> None:
        """Print a table, or a list if it is too wide."""
        whole = [
            _unbreakable_cells(column.justify, column.no_wrap, column.cells)
            for column in table.columns
        ]
        shown = Table(box=table.box, pad_edge=table.pad_edge, header_style=table.header_style)
        for column in table.columns:
            # In narrow output, cells of text are wrapped; cells of numbers never are.
            whole_cells = column.justify == "right" or column.no_wrap
            header = _text(column.header)
            shown.add_column(
                _unbreakable(header) if whole_cells else header,
                justify=column.justify,
                overflow="fold",
                no_wrap=whole_cells,
            )
        for row in zip(*whole, strict=True):
            shown.add_row(*row)
        wanted = Measurement.get(self, self.options.update_width(WIDE), shown)
        most = WIDE if self.width >= PLAIN_WIDTH else SQUEEZED * self.width
        if wanted.minimum <= self.width and wanted.maximum <= most:
            self.show(shown)
        else:
            self._list([_line(column.header) for column in table.columns], whole)

    def facts(self, facts: Sequence[tuple[str, str | Text]], indent: int = 0) -> None:
        """Print names and values in two columns."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", overflow="fold", max_width=max(16, self.width // 2))
        grid.add_column(overflow="fold")
        for name, value in facts:
            grid.add_row(_text(name), _text(value))
        self.show(Padding(grid, (0, 0, 0, indent)))

    def _list(self, heads: list[str], columns: list[list[Text]]) -> None:
        """Print a table as a list: each row becomes a heading with its cells below."""
        for row in zip(*columns, strict=True):
            name, *cells = ((_words(cell)) for cell in row)
            self.show(Text.assemble("\n", name, style="bold"))
            rows = [(head, cell) for head, cell in zip(heads[1:], cells, strict=True) if cell.plain]
            self.facts(rows, indent=2)
        self.print()


class _Trimmed:
    """Wrapper of an object that rich can print: the object is printed without trailing blanks."""

    def __init__(self, inner: RenderableType) -> None:
        """Wrap a renderable object of rich."""
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the inner object without trailing blanks."""
        for line in console.render_lines(self._inner, options, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.rstrip():
                kept.pop()
            if kept:
                last = kept.pop()
                kept.append(Segment(last.text.rstrip(), last.style))
            for text, style, control in kept:
                yield Segment(text.replace(UNBREAKABLE, " "), style, control)
            yield Segment.line()


def _env_width() -> int:
    """Return the width that the environment variable ``COLUMNS`` sets, or the default."""
    cols = os.environ.get("COLUMNS", "")
    return int(cols) if cols.isdecimal() and 0 < int(cols[:6]) <= 100_000 else PLAIN_WIDTH


def _unbreakable_cells(justify: str, whole: bool, cells: Iterable[RenderableType]) -> list[Text]:
    """Return cells as text; numbers and `whole` cells get no line breaks."""
    in_one_piece = justify == "right" or whole
    return [_unbreakable(_text(cell)) if in_one_piece else _text(cell) for cell in cells]


def _unbreakable(text: Text) -> Text:
    """Return a copy of a text whose blanks permit no line break."""
    text = text.copy()
    text.plain = text.plain.replace(" ", UNBREAKABLE)
    return text


def _text(words: RenderableType) -> Text:
    """Return a text without markup, or a styled text unchanged."""
    text = Text(words) if isinstance(words, str) else words
    assert isinstance(text, Text)
    return text


def _line(head: RenderableType) -> str:
    """Return a column heading in one line; words that were broken at a hyphen are joined."""
    return " ".join(str(head).replace("-\n", "").split())


def _words(cell: Text) -> Text:
    """Return a cell of several lines as one line."""
    plain = cell.copy()
    plain.plain = plain.plain.replace(UNBREAKABLE, " ")
    lines = [line for line in plain.split("\n") if line.plain.strip()]
    return Text(", ").join(lines)

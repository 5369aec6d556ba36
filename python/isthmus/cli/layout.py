"""Tables and text on standard output, whatever its width: no cell is cut, no line ends in blanks.

A table that does not fit with whole words and numbers is printed as a list, row by row. Nothing
that is a `str` is read as markup: the user's words may have brackets. What is styled is a `Text`.
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
"""Columns where nobody says how wide the output is."""
NARROW = 40
"""Fewest columns that we set a page for."""
WIDE = 100_000
"""Columns that are never too few."""
SQUEEZED = 2
"""How much wider than the page a table may be that is squeezed into it by breaking its text."""
GLUE = "\ue000"
"""Stands for a blank at which a cell is not broken."""


class Output(Console):
    """A console for standard output whose lines end where their text does."""

    def __init__(self) -> None:
        stream = sys.stdout
        width = None if stream.isatty() else _told_width()
        super().__init__(file=stream, width=width, highlight=False, soft_wrap=False)
        self.width = max(self.width, NARROW)

    def text(self, *parts: str | Text) -> None:
        """Print a paragraph."""
        self.show(Text.assemble(*parts))

    def show(self, what: RenderableType) -> None:
        """Print anything."""
        self.print(_Trimmed(what), end="")

    def table(self, table: Table) -> None:
        """Print a table, as a list where it is too wide."""
        whole = [_glued(column.justify, column.no_wrap, column.cells) for column in table.columns]
        shown = Table(box=table.box, pad_edge=table.pad_edge, header_style=table.header_style)
        for column in table.columns:
            # Columns of text give way where the page is narrow, those of numbers never.
            whole_cells = column.justify == "right" or column.no_wrap
            header = _text(column.header)
            shown.add_column(
                _in_one_piece(header) if whole_cells else header,
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
        """Each row of a table with a head of its own, its cells below it."""
        for row in zip(*columns, strict=True):
            name, *cells = ((_words(cell)) for cell in row)
            self.show(Text.assemble("\n", name, style="bold"))
            told = [(head, cell) for head, cell in zip(heads[1:], cells, strict=True) if cell.plain]
            self.facts(told, indent=2)
        self.print()


class _Trimmed:
    """Something to print without the blanks at the ends of its lines."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._inner, options, pad=False):
            kept = list(line)
            while kept and not kept[-1].text.rstrip():
                kept.pop()
            if kept:
                last = kept.pop()
                kept.append(Segment(last.text.rstrip(), last.style))
            for text, style, control in kept:
                yield Segment(text.replace(GLUE, " "), style, control)
            yield Segment.line()


def _told_width() -> int:
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and 0 < int(told[:6]) <= 100_000 else PLAIN_WIDTH


def _glued(justify: str, whole: bool, cells: Iterable[RenderableType]) -> list[Text]:
    """Cells as text; those of numbers, and those that must stay whole, in one piece a line."""
    in_one_piece = justify == "right" or whole
    return [_in_one_piece(_text(cell)) if in_one_piece else _text(cell) for cell in cells]


def _in_one_piece(text: Text) -> Text:
    text = text.copy()
    text.plain = text.plain.replace(" ", GLUE)
    return text


def _text(words: RenderableType) -> Text:
    """Words as they are, or what is styled already."""
    text = Text(words) if isinstance(words, str) else words
    assert isinstance(text, Text)
    return text


def _line(head: RenderableType) -> str:
    """A head of a column in one line; words that were broken at a hyphen are whole again."""
    return " ".join(str(head).replace("-\n", "").split())


def _words(cell: Text) -> Text:
    """A cell of several lines in one."""
    plain = cell.copy()
    plain.plain = plain.plain.replace(GLUE, " ")
    lines = [line for line in plain.split("\n") if line.plain.strip()]
    return Text(", ").join(lines)

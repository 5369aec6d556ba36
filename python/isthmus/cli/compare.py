"""``isthmus compare``: the differences between two results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli.console import console, new_table, print_facts, styled
from isthmus.cli.streams import document
from isthmus.cli.voice import Voiced
from isthmus.wording import counted, interval, number, sentence, unit_label

if TYPE_CHECKING:
    from rich.table import Table

    from isthmus.results.comparison import Comparison, Row

SHOWN = 24
"""Maximum number of printed rows; `--json` has all."""


@click.command(
    name="compare",
    cls=Voiced,
    help="""Say what differs between two results.

A and B are folders that `isthmus run` wrote:

\b
  isthmus run examples/hypercube-128.toml --out out/a
  isthmus run examples/hypercube-128.toml machine.flit="2 B" --out out/b
  isthmus compare out/a out/b
  isthmus compare out/a out/b --measure read.network --statistic p99
  isthmus compare out/a out/b --json | jq '.rows[] | select(.differs)'

Points are compared that have the same settings, but for those that are one thing all over A and
another all over B. Where both drew the same random numbers they are compared replication by
replication. What is printed differs with the confidence of the runs, for all that was compared
together: the more is compared, the larger a difference must be. Exit status 0 whether anything
differs or not.
""",
)
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--measure", "measures", multiple=True, help="Only this measure; may be repeated.")
@click.option("--statistic", "statistics", multiple=True, help="Only mean, p50, p99, ...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all rows, whether they differ.")
def command(
    first: Path,
    second: Path,
    measures: tuple[str, ...],
    statistics: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare two folders of results."""
    from isthmus.results import Results
    from isthmus.results.comparison import compare

    both = [Results.load(folder) for folder in (first, second)]
    if measures or statistics:
        only = {"measure": measures or None, "statistic": statistics or None}
        both = [results.sel(**only) for results in both]
    found = compare(*both)
    if as_json:
        document(_as_json(found, first, second))
    else:
        _print(found, first, second)


def _as_json(found: Comparison, first: Path, second: Path) -> str:
    """Return the comparison as a JSON document."""
    document = {
        "a": str(first),
        "b": str(second),
        "changes": [{"key": c.key, "a": c.from_, "b": c.to} for c in found.changes],
        "confidence": found.confidence,
        "points": len(found.pairs),
        "unpaired": {"a": found.unpaired[0], "b": found.unpaired[1]},
        "compared": found.judged,
        "differing": len(found.differing),
        "rows": found.table.to_dicts(),
    }
    return json.dumps(document, ensure_ascii=False)


def _print(found: Comparison, first: Path, second: Path) -> None:
    """Print the comparison of two results as lists of names and values, and tables."""
    changes = ", ".join(change.words for change in found.changes)
    facts = [
        ("A", f"{first} – {found.first.title}"),
        ("B", f"{second} – {found.second.title}"),
        ("changed", changes or "nothing"),
        ("compared", counted(len(found.pairs), "point") + _left_out_note(found)),
    ]
    print_facts(facts)
    out = console()
    out.text("\n", styled(sentence(found.conclusion), "bold"))
    rows = found.differing
    if rows:
        out.table(_table(found, rows))
    more = len({(row.measure, row.statistic) for row in rows}) - SHOWN
    if more > 0:
        out.text(f"{counted(more, 'row')} more with smaller changes; --json has all.")
    for a, b in found.verdicts[:SHOWN]:
        pairs = zip(found.first.axes, a.values, strict=True)
        where = ", ".join(value.text for axis, value in pairs if axis.key in found.keys)
        place = f" at {where}" if where else ""
        out.text(f"• {a.verdict.verdict} → {b.verdict.verdict}{place}")


def _left_out_note(found: Comparison) -> str:
    """Return a note on points without a counterpart in the other result; an empty text if none."""
    texts = [
        f"{counted(count, 'point')} of {name} left out"
        for name, count in zip("AB", found.unpaired, strict=True)
        if count
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _table(found: Comparison, rows: list[Row]) -> Table:
    """Return a table with a row for each measure and statistic that differs: the number of points
    at which it differs, and the point with the largest change.
    """
    table = new_table("differs")
    table.add_column("points", justify="right", no_wrap=True)
    for head in ("A", "B", "B / A", "most at"):
        table.add_column(head, justify="right", no_wrap=head != "most at")
    asked = Counter((row.measure, row.statistic) for row in found.rows if row.found)
    differ = Counter((row.measure, row.statistic) for row in rows)
    largest = {(row.measure, row.statistic): row for row in reversed(rows)}
    for name in list(dict.fromkeys((row.measure, row.statistic) for row in rows))[:SHOWN]:
        row = largest[name]
        measure = row.measure if row.statistic == "mean" else f"{row.measure} {row.statistic}"
        ratio = row.found.ratio if row.found else None
        table.add_row(
            f"{measure} ({unit_label(row.unit)})",
            f"{differ[name]} of {asked[name]}",
            *(number(value.value) for value in row.values),
            _factor(ratio.value, ratio.low, ratio.high) if ratio else "–",
            ", ".join(text or "–" for text in row.texts) or "–",
        )
    return table


def _factor(value: float | None, low: float | None, high: float | None) -> str:
    """Return a ratio with its interval: ``1.12 (1.10–1.14)``, or ``1.12 (≥ 1.10)`` if open."""
    if value is None:
        return "–"
    if low is None:
        return number(value)
    return f"{number(value)} ({interval(low, high)})"

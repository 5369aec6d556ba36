"""The generated parts of a paper's README: counts and tables of the kept verdicts.

``isthmus papers run NAME --keep`` keeps a full run: it stores the verdicts as ``verdicts.json`` in
the paper's folder. The README has two kinds of marks. ``isthmus papers readme`` writes the text
between each mark and the next ``<!-- end -->``:

``<!-- counts -->``
    Counts of verdicts by the roles of the rows.
``<!-- claims -->``
    Table of the rows whose `section` is the heading above.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isthmus.core import read_text
from isthmus.errors import IsthmusError
from isthmus.files import write_bytes, write_text
from isthmus.owned.mark import sha256
from isthmus.papers.counts import counted
from isthmus.papers.folder import Paper, Row
from isthmus.papers.page import unit_shown
from isthmus.papers.verdict import Outcome, with_unit

END = "<!-- end -->"
Kept = dict[str, Any]
"""A row of ``verdicts.json``: the row of ``isthmus papers run --json``, and the digest of its
inputs.
"""


def keep(paper: Paper, outcomes: Sequence[Outcome]) -> None:
    """Write the verdicts of a full run to the paper's folder.

    Raises:
        IsthmusError: the folder is not writable.

    """
    listed = [{**o.as_json(), "judged_by": inputs_digest(paper, o.row)} for o in outcomes]
    write_text(paper.kept, json.dumps(listed, indent=1, ensure_ascii=False) + "\n")


def keep_figures(paper: Paper, out: Path) -> None:
    """Copy the PNG figures that the README shows from a run into the paper's folder.

    Raises:
        IsthmusError: the folder is not writable.

    """
    text = read_text(paper.readme)
    for drawn in sorted((out / "figures").glob("*.png")):
        if f"(figures/{drawn.name})" in text:
            write_bytes(paper.folder / "figures" / drawn.name, drawn.read_bytes())


def kept(paper: Paper) -> dict[str, Kept]:
    """Return the rows of the last saved run, by id; empty if no run was saved.

    Raises:
        IsthmusError: the file is invalid.

    """
    if not paper.kept.is_file():
        return {}
    try:
        return {row["id"]: row for row in json.loads(read_text(paper.kept))}
    except (ValueError, TypeError, KeyError) as error:
        raise IsthmusError(f"{paper.kept}: not a list of verdicts: {error}") from error


def inputs_digest(paper: Paper, row: Row) -> str:
    """Return a digest of all inputs by which a row of a paper is judged, except isthmus itself.

    The inputs are the row's expected values and rules, its scenario and the paper's checks.
    """
    scenario = read_text(paper.scenario(row.scenario)) if row.scenario else ""
    cells = (row.expected, row.tolerance, row.rule, row.set, row.select, row.at, row.under)
    text = json.dumps([*cells, row.role, row.same_as, row.unit, scenario, paper.checks.text])
    return sha256(text.encode())[:16]


def written(paper: Paper) -> str:
    """Return the README with its generated parts up to date.

    Raises:
        IsthmusError: a row or its scenario has changed since its verdict, a row is in no table, or
            one of the README's marks (HTML comments that enclose generated text) is wrong.

    """
    rows, found = paper.rows(), kept(paper)
    again = f"run `isthmus papers run {paper.name} --keep`"
    for row in rows:
        if row.id not in found:
            raise IsthmusError(f"{paper.kept}: no verdict for row {row.id!r}; {again}")
        if found[row.id].get("judged_by") != inputs_digest(paper, row):
            raise IsthmusError(
                f"{paper.kept}: row {row.id!r} or its scenario has changed since; {again}"
            )
    shown: set[str] = set()
    text = "\n".join(_lines(paper, rows, found, shown)) + "\n"
    for row in rows:
        if row.id not in shown:
            raise IsthmusError(
                f"{paper.table}:{row.line}: section: no table below a heading {row.section!r} in "
                f"{paper.readme.name}"
            )
    return text


def write(paper: Paper) -> bool:
    """Write the generated parts of the README; return whether the file changed.

    Raises:
        IsthmusError: see `written`.

    """
    text = written(paper)
    if text == read_text(paper.readme):
        return False
    write_text(paper.readme, text)
    return True


def check(paper: Paper) -> None:
    """Check that the README is up to date.

    Raises:
        IsthmusError: it is out of date; see also `written`.

    """
    if written(paper) != read_text(paper.readme):
        raise IsthmusError(
            f"{paper.readme}: its tables are out of date; run `isthmus papers readme {paper.name}`"
        )


def _lines(paper: Paper, rows: list[Row], found: dict[str, Kept], shown: set[str]) -> Iterator[str]:
    """Yield the lines of the README with its generated parts filled in."""
    heading, skipping = "", False
    for number, line in enumerate(read_text(paper.readme).splitlines(), 1):
        if line.startswith("## "):
            heading = line[3:].strip()
        mark = line.strip()
        if skipping and mark != END:
            if mark.startswith(("## ", "<!-- ")):
                raise IsthmusError(f"{paper.readme}:{number}: no {END} before this line")
            continue
        skipping = mark in ("<!-- counts -->", "<!-- claims -->")
        yield line
        if mark == "<!-- counts -->":
            yield from ["", *(f"- {each}" for each in kept_counts(rows, found)), ""]
        elif mark == "<!-- claims -->":
            mine = [row for row in rows if row.section == heading]
            if not mine:
                raise IsthmusError(f"{paper.readme}:{number}: no row has the section {heading!r}")
            shown |= {row.id for row in mine}
            yield from ["", *_table(mine, found), ""]
    if skipping:
        raise IsthmusError(f"{paper.readme}: no {END} at the end")


def kept_counts(rows: list[Row], found: dict[str, Kept]) -> list[str]:
    """Return the counts of verdicts in the saved run, a line for each role."""
    return counted((row, str(found[row.id]["verdict"])) for row in rows if row.id in found)


def _table(rows: list[Row], found: dict[str, Kept]) -> Iterator[str]:
    """Yield the lines of a Markdown table of the paper's claims and their verdicts."""
    yield "| id | role | claim | paper | here | verdict |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        yield _line(row, found[row.id])


def _line(row: Row, kept: Kept) -> str:
    """Return the line of the table for one claim."""
    unit = unit_shown(row)
    claim = row.quantity + (f" ({row.conditions})" if row.conditions else "")
    if row.same_as:
        claim += f"; repeats `{row.same_as}`"
    paper = f"{row.expected} {unit}".strip()
    if row.role == "beyond":
        paper = f"({paper})"
    here = with_unit(kept["detail"], kept["measured"], unit)
    if row.rule == "is" and kept["detail"] == row.expected and len(row.expected) > 20:
        here = "the same"
    if kept.get("other"):
        here += f" (the other reading: {kept['other']} {unit}".rstrip() + ")"
    verdict = kept["verdict"]
    if verdict not in ("reproduced", "fitted", "as set", "not comparable"):
        verdict = f"**{verdict}**"
    cells = (f"`{row.id}`", row.role, claim, paper, here.replace(" ~ ", " ≈ "), verdict)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

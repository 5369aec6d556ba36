"""The folders of papers: search, list and read them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

from isthmus.bundled import PAPERS
from isthmus.core import read_text, read_toml
from isthmus.errors import IsthmusError
from isthmus.papers import tolerance
from isthmus.papers.checks import Checks

ENVIRONMENT = "ISTHMUS_PAPERS"
"""Environment variable that names the folder of papers."""


ROLES = ("prediction", "equation", "fitted", "setting", "beyond")
"""Roles of rows in their paper; predictions come first wherever rows are counted."""


@dataclass(frozen=True)
class Row:
    """One claim of a paper; see `isthmus.papers` for the columns."""

    id: str
    where: str
    quantity: str
    conditions: str
    expected: str
    tolerance: str
    unit: str
    rule: str
    scenario: str
    set: str
    select: str
    at: str
    under: str
    note: str
    role: str = ROLES[0]
    """Role of the row in its paper; one of `ROLES`."""
    section: str = ""
    """Heading of the README section whose table contains the row."""
    same_as: str = ""
    """Id of the row with the same claim, or of the row whose number implies this claim; empty if
    there is none.
    """
    reason: str = field(default="", compare=False)
    """Reason for the tolerance, if it is one of the paper's classes."""
    line: int = field(default=0, compare=False)
    """Line number of the row in its file, for error messages."""


COLUMNS = [f.name for f in fields(Row) if f.name not in ("reason", "line")]
OPTIONAL = ("role", "section", "same_as")
"""Columns that a table may omit."""


@dataclass(frozen=True)
class Paper:
    """A published paper: a folder with scenarios and their expected results."""

    folder: Path
    title: str
    authors: str
    year: str
    published: str

    @property
    def name(self) -> str:
        """Name on the command line, which is the folder's name."""
        return self.folder.name

    @property
    def table(self) -> Path:
        """Path of `expected.csv`, the table of the claims of this paper."""
        return self.folder / "expected.csv"

    @property
    def readme(self) -> Path:
        """Path of the page about the paper, whose tables are generated; it may be missing."""
        return self.folder / "README.md"

    @property
    def kept(self) -> Path:
        """Path of the file with the saved verdicts on the claims, from the last full run that was
        saved; the file may be missing.
        """
        return self.folder / "verdicts.json"

    @cached_property
    def checks(self) -> Checks:
        """Checks of the paper's rows, with the functions of ``checks.py``, which may be missing."""
        return Checks(self.folder / "checks.py")

    def scenario(self, name: str) -> Path:
        """Return the path of the scenario file with this name."""
        return self.folder / "scenarios" / f"{name}.toml"

    def rows(self) -> list[Row]:
        """Read the claims.

        Raises:
            IsthmusError: a column or a scenario is missing, or two rows have the same id.

        """
        # A row of the file may span several lines; DictReader counts the lines.
        reader = csv.DictReader(io.StringIO(read_text(self.table), newline=""))
        try:
            return self._rows(reader)
        except csv.Error as error:
            line = reader.line_num + 1
            raise IsthmusError(f"{self.table}:{line}: not CSV: {error}") from error

    def _rows(self, reader: csv.DictReader[str]) -> list[Row]:
        """Read and check the rows of the table of claims."""
        have = reader.fieldnames or []
        missing = [c for c in COLUMNS if c not in have and c not in OPTIONAL]
        if missing:
            raise IsthmusError(f"{self.table}:1: no column {missing[0]!r}; {', '.join(COLUMNS)}")
        classes = tolerance.read(self.folder / "tolerances.toml")
        rows, seen = [], set()
        for cells in reader:
            line = reader.line_num
            if None in cells:
                many = len(have)
                raise IsthmusError(f"{self.table}:{line}: more cells than the {many} columns")
            row = Row(**{c: (cells.get(c) or "").strip() for c in COLUMNS}, line=line)
            row = replace(row, role=row.role or ROLES[0])
            if row.role not in ROLES:
                known = ", ".join(ROLES)
                raise IsthmusError(
                    f"{self.table}:{line}: role: no role {row.role!r}; there are {known}"
                )
            if row.id in seen:
                raise IsthmusError(f"{self.table}:{line}: id {row.id!r} comes twice")
            if row.scenario and not self.scenario(row.scenario).is_file():
                raise IsthmusError(
                    f"{self.table}:{line}: scenario: no file {self.scenario(row.scenario)}"
                )
            try:
                close = tolerance.named(row.tolerance, classes)
            except IsthmusError as error:
                raise IsthmusError(f"{self.table}:{line}: tolerance: {error}") from error
            seen.add(row.id)
            rows.append(replace(row, tolerance=close.value, reason=close.reason))
        firsts = {row.id for row in rows if not row.same_as}
        for row in rows:
            if row.same_as and row.same_as not in firsts:
                raise IsthmusError(
                    f"{self.table}:{row.line}: same_as: {row.same_as!r} is no row that stands "
                    "for itself"
                )
        return rows


def homes() -> Iterator[Path]:
    """Yield folders that may contain papers: the one that the environment names; else the current
    folder, its parents and the package's own folder.
    """
    if named := os.environ.get(ENVIRONMENT):
        yield Path(named)
        return
    here = Path.cwd()
    for parent in (here, *here.parents):
        yield parent / "papers"
    yield PAPERS


def papers() -> list[Paper]:
    """Return all papers in the first of the searched folders that contains any."""
    for home in homes():
        found = sorted(home.glob("*/paper.toml"))
        if found:
            return [read(path.parent) for path in found]
    return []


def some_papers() -> list[Paper]:
    """Return all papers, at least one.

    Raises:
        IsthmusError: there are none.

    """
    if known := papers():
        return known
    raise IsthmusError(
        f"no papers found; set {ENVIRONMENT} to a folder that has some, or unset it for those "
        "of the package"
    )


def find(name: str) -> Paper:
    """Return the paper with this name, or in the folder with this path.

    Raises:
        IsthmusError: there is no such paper.

    """
    if (Path(name) / "paper.toml").is_file():
        return read(Path(name))
    known = some_papers()
    for paper in known:
        if paper.name == name:
            # The checks of the paper are executed, so a paper of another user in a parent folder is
            # refused.
            chosen = os.environ.get(ENVIRONMENT) or paper.folder.parent == PAPERS
            trusted = (0, os.geteuid(), Path.cwd().stat().st_uid)
            if not chosen and paper.folder.parent.lstat().st_uid not in trusted:
                raise IsthmusError(
                    f"{paper.folder.parent}: belongs to another user, and checks in it would be "
                    "run; give the path of the paper if you trust them"
                )
            return paper
    raise IsthmusError(f"no paper {name!r}; there is {', '.join(p.name for p in known)}")


def read(folder: Path) -> Paper:
    """Return the paper in a folder, read from its ``paper.toml``."""
    header = read_toml(folder / "paper.toml")
    words = [str(header.get(name, "")) for name in ("title", "authors", "year", "published")]
    return Paper(folder, *words)

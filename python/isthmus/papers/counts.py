"""Counts of a paper's verdicts by role of the rows, predictions first."""

from __future__ import annotations

from collections.abc import Iterable

from isthmus.papers.folder import ROLES, Row
from isthmus.papers.verdict import VERDICTS

NAMES = {
    "prediction": ("prediction", "predictions"),
    "equation": ("row that follows from equations", "rows that follow from equations"),
    "fitted": ("fitted row", "fitted rows"),
    "setting": ("setting", "settings"),
    "beyond": ("row beyond the paper", "rows beyond the paper"),
}
"""Names of the roles that a row of a paper can have, in singular and plural."""


def counted(rows: Iterable[tuple[Row, str]]) -> list[str]:
    """Return a line for each role: ``28 predictions: 12 reproduced, 9 not reproduced, 7
    undecided``.

    Rows that repeat another row are counted only in a line of their own, and so are rows without a
    comparison. Rows that meet their rule by construction are called fitted or as set, never
    reproduced.
    """
    given = list(rows)
    comparable = [(row, verdict) for row, verdict in given if verdict != "not comparable"]
    lines = []
    for role in ROLES:
        verdicts = [verdict for row, verdict in comparable if row.role == role and not row.same_as]
        if verdicts:
            name = NAMES[role][len(verdicts) > 1]
            lines.append(f"{len(verdicts)} {name}: {_by_verdict(verdicts)}")
    repeats = [verdict for row, verdict in comparable if row.same_as]
    if repeats:
        many = len(repeats) > 1
        name = "rows that repeat others" if many else "row that repeats another"
        lines.append(f"{len(repeats)} {name}, not counted above: {_by_verdict(repeats)}")
    if left := len(given) - len(comparable):
        name = "rows that cannot" if left > 1 else "row that cannot"
        lines.append(f"{left} {name} be compared, not counted above: {left} not comparable")
    return lines


def _by_verdict(verdicts: list[str]) -> str:
    """Return the number of rows with each verdict, as text: ``12 reproduced, 9 not reproduced``."""
    parts = []
    for verdict in VERDICTS:
        if number := verdicts.count(verdict):
            words = verdict.replace("differs", "differ") if number > 1 else verdict
            parts.append(f"{number} {words}")
    return ", ".join(parts)

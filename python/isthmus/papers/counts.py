"""How many rows of a paper come out, by what they are to it: predictions first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from isthmus.papers.folder import ROLES
from isthmus.papers.verdict import VERDICTS, Outcome

NAMES = {
    "prediction": ("prediction", "predictions"),
    "equation": ("row that follows from equations", "rows that follow from equations"),
    "fitted": ("fitted row", "fitted rows"),
    "setting": ("setting", "settings"),
    "beyond": ("row beyond the paper", "rows beyond the paper"),
}
"""Roles, as people name one row and several."""


class Told(NamedTuple):
    """What is counted of a row."""

    role: str
    verdict: str
    repeats: bool
    """Whether it repeats what another row says."""


def told_of(outcome: Outcome) -> Told:
    """What is counted of an outcome."""
    return Told(outcome.row.role, outcome.verdict, bool(outcome.row.same_as))


def counted(rows: Iterable[Told]) -> list[str]:
    """A line for each role: ``28 predictions: 12 reproduced, 9 not reproduced, 7 undecided``.

    Rows that repeat another one are in a line of their own and nowhere else, and so are those that
    compare nothing. Rows that are met by construction are called fitted or as set, never
    reproduced.
    """
    given = list(rows)
    told = [row for row in given if row.verdict != "not comparable"]
    lines = []
    for role in ROLES:
        verdicts = [row.verdict for row in told if row.role == role and not row.repeats]
        if verdicts:
            name = NAMES[role][len(verdicts) > 1]
            lines.append(f"{len(verdicts)} {name}: {_by_verdict(verdicts)}")
    repeats = [row.verdict for row in told if row.repeats]
    if repeats:
        many = len(repeats) > 1
        name = "rows that repeat others" if many else "row that repeats another"
        lines.append(f"{len(repeats)} {name}, not counted above: {_by_verdict(repeats)}")
    if left := len(given) - len(told):
        name = "rows that cannot" if left > 1 else "row that cannot"
        lines.append(f"{left} {name} be compared, not counted above: {left} not comparable")
    return lines


def _by_verdict(verdicts: list[str]) -> str:
    parts = []
    for verdict in VERDICTS:
        if number := verdicts.count(verdict):
            words = verdict.replace("differs", "differ") if number > 1 else verdict
            parts.append(f"{number} {words}")
    return ", ".join(parts)

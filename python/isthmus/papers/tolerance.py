"""Classes of tolerance of a paper, each with its reason.

``tolerances.toml`` of a paper has one table for each class::

    [peaks]
    value = "5%"
    reason = "Single runs at saturation, of which the paper does not say how long they are."

``value`` is a share of the expected value (``5%``), an amount in the row's unit (``0.05``), or
``last digit``: half a unit of the last printed digit. The cell `tolerance` of ``expected.csv``
names a class. In a paper without this file the cell is the value itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from isthmus.core import read_toml
from isthmus.errors import IsthmusError, meant
from isthmus.papers.cells import number

LAST_DIGIT = "last digit"


@dataclass(frozen=True)
class Tolerance:
    """An accepted difference from the expected value."""

    share: float = 0.0
    """Accepted relative difference: a share of the expected value, or of the larger of two values
    that should be alike.
    """
    amount: float = 0.0
    """Accepted difference as an amount in the unit of the row."""

    def around(self, wanted: float) -> tuple[float, float]:
        """Return the accepted range around an expected number."""
        reach = self.amount + self.share * abs(wanted)
        return wanted - reach, wanted + reach


@dataclass(frozen=True)
class Class:
    """A class of tolerance: a tolerance with a reason, to which table rows refer by its name."""

    name: str
    value: str
    reason: str


def read(path: Path) -> dict[str, Class]:
    """Return the classes of a paper by name; empty if the file does not exist.

    Raises:
        IsthmusError: the file is invalid.

    """
    if not path.is_file():
        return {}
    found = {}
    for name, entry in read_toml(path).items():
        cells = entry if isinstance(entry, dict) else {}
        value, reason = cells.get("value"), cells.get("reason")
        if set(cells) != {"value", "reason"} or not (value and reason):
            raise IsthmusError(f"{path}: {name}: write a table with a value and a reason")
        try:
            parsed(str(value), "1")
        except IsthmusError as error:
            raise IsthmusError(f"{path}: {name}: {error}") from error
        found[name] = Class(name, str(value), " ".join(str(reason).split()))
    return found


def named(cell: str, classes: dict[str, Class]) -> Class:
    """Return the tolerance class that a table cell names.

    If a paper has no classes, or the cell is empty, the cell is the value of a class without name.

    Raises:
        IsthmusError: there is no class of this name.

    """
    if not classes or not cell:
        return Class("", cell, "")
    if cell not in classes:
        hint = meant(cell, classes, f"there are {', '.join(classes)}")
        raise IsthmusError(f"no tolerance {cell!r} in tolerances.toml; {hint}")
    return classes[cell]


def parsed(text: str, expected: str) -> Tolerance:
    """Parse a tolerance for an expected value, which is given as printed in the paper.

    Raises:
        IsthmusError: the text is not a tolerance.

    """
    if not text:
        return Tolerance()
    if text == LAST_DIGIT:
        if number(expected) is None:
            raise IsthmusError(f"tolerance {text!r}: {expected!r} is no number with a last digit")
        places = Decimal(expected.strip().replace("−", "-")).as_tuple().exponent
        return Tolerance(amount=0.5 * 10.0 ** int(places))
    amount = number(text.removesuffix("%"))
    if amount is None or amount < 0 or (text.endswith("%") and amount >= 100):
        raise IsthmusError(
            f"tolerance {text!r}: write 3%, an amount such as 0.05, or `{LAST_DIGIT}`"
        )
    return Tolerance(share=amount / 100) if text.endswith("%") else Tolerance(amount=amount)

"""Results of a scenario without a simulation.

They are its settings, and the queueing model of section 6 of the hypercube paper under its named
readings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isthmus.core import ask_json, parse_toml
from isthmus.errors import IsthmusError
from isthmus.results.schema import RunResult
from isthmus.scenario import Scenario


@dataclass(frozen=True)
class Model:
    """The model at the points of a scenario, evaluated on first use."""

    scenario: Scenario

    @cached_property
    def run(self) -> RunResult:
        """The points of the scenario with only the model's values."""
        return self.scenario.analyze().run

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """The core's model values for each point, in the order of the scenario."""
        from isthmus import _core

        text, file = self.scenario.text, self.scenario.file
        spec = {"scenario": text, "file": file, "overrides": list(self.scenario.changes)}
        answer: list[dict[str, Any]] = ask_json(_core.model, spec)["points"]
        return answer

    def reading(self, point: int, name: str) -> dict[str, Any]:
        """Return the model's values at a point under one reading (interpretation) of section 6 of
        the hypercube paper.

        Raises:
            IsthmusError: there is no such reading, or the model does not cover the point.

        """
        readings = self.points[point]["readings"]
        if readings is None:
            raise IsthmusError(
                f"{self.scenario.file}: the queueing model does not cover this point"
            )
        if name not in readings:
            raise IsthmusError(f"{name!r}: no such reading; there are {', '.join(readings)}")
        found: dict[str, Any] = readings[name]
        return found

    def setting(self, key: str, unit: str) -> float | str:
        """Return a number from the scenario in this unit, or ``not stated`` if it is missing.

        Raises:
            IsthmusError: the scenario has the value in another unit, or it is not a number.

        """
        found: Any = parse_toml(self.scenario.check()["canonical"], self.scenario.file)
        for part in key.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found is None:
            return "not stated"
        amount, _, own_unit = str(found).partition(" ")
        try:
            number = float(amount)
        except ValueError:
            raise IsthmusError(f"setting {key}: {found!r} is not a number") from None
        if own_unit.strip() != unit:
            asked = f"in {unit}" if unit else "without a unit"
            raise IsthmusError(f"setting {key}: {found!r} is not {asked}")
        return number

"""Every setting at every point of a run: what was given, preset, derived or left at its default."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from isthmus.core import ask, ask_json, parse_toml
from isthmus.errors import IsthmusError
from isthmus.scenario_fields import toml_value

if TYPE_CHECKING:
    from isthmus.results.schema import RunResult

WORDS = ("version", "name", "title", "description")
"""Fields that decide nothing."""
OF_RUN = ("seed", "quick")
"""Settings that a run may have from elsewhere than its scenario."""


@dataclass(frozen=True)
class Setting:
    """One setting at every point."""

    key: str
    """Its key in the scenario file, such as ``machine.dimension``."""
    texts: list[str | None] = field(repr=False)
    """Its value at each point, as a file has it; None where it means nothing."""
    given: bool = True
    """Whether anybody has given it: the file, an override, an axis."""
    load: bool = False
    """Whether it decides how much is asked of the machine."""

    def at(self, points: Sequence[int]) -> Setting:
        """The same at some of the points."""
        return replace(self, texts=[self.texts[i] for i in points])

    @property
    def constant(self) -> bool:
        """Whether it is the same at all points."""
        return len(set(self.texts)) < 2


Settings = dict[str, Setting]
"""Settings by their key, in the order of the reference."""


@dataclass(frozen=True)
class Column:
    """Values of one setting as a column: numbers of one unit, or texts."""

    unit: str | None
    numbers: list[float | None] | None
    """None unless all values that are there are numbers of one dimension."""


def columns(texts: Sequence[Sequence[str | None]]) -> list[Column]:
    """Lists of values as numbers in the unit of the first of each, by the core."""
    from isthmus import _core

    told = ask(_core.quantities, json.dumps({"texts": texts}))
    return [Column(**each) for each in json.loads(told)]


def of_result(run: RunResult) -> Settings:
    """What a result says of its own settings, without its scenario: axes, seed and form."""
    found = {
        axis.key: Setting(axis.key, [p.values[i].text for p in run.points], load=i == run.load_axis)
        for i, axis in enumerate(run.axes)
    }
    return {**{name: _of_run(name, run) for name in OF_RUN}, **found}


def _of_run(name: str, run: RunResult) -> Setting:
    return Setting(name, [json.dumps(getattr(run, name))] * len(run.points))


@dataclass(frozen=True)
class Sweep:
    """The axes of a run with their values as the effective scenario has them."""

    run: RunResult = field(repr=False)
    canonical: str = field(repr=False)
    """The effective scenario, as TOML."""

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of each axis, by its key.

        Raises:
            IsthmusError: the scenario is not the one of the run.

        """
        sweep = parse_toml(self.canonical, "scenario.toml").get("sweep", {})
        if list(sweep) != [axis.key for axis in self.run.axes]:
            raise _foreign()
        return dict(sweep)

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """For each point the positions of its values; the first axis varies slowest."""
        places = list(product(*(range(len(each)) for each in self.values.values())))
        if len(places) < len(self.run.points):
            raise _foreign()
        return places[: len(self.run.points)]

    def pinned(self, place: Sequence[int | None]) -> list[str]:
        """Overrides that leave one value of each axis but those whose position is None."""
        told = zip(self.values.items(), place, strict=True)
        return [_override(key, [of[at]]) for (key, of), at in told if at is not None]

    def settings(self) -> Settings:
        """Ask the core for every setting at every point.

        Raises:
            IsthmusError: the scenario is not the one of the run.

        """
        try:
            told = self._asked([self.pinned(place) for place in self.places])
        except IsthmusError:
            # What has an effect at other points only is refused at a point without them.
            told = self._asked([self._begun(place) for place in self.places])
        if told["digest"] != self.run.digest:
            raise _foreign()
        found = {each["key"]: Setting(**each) for each in told["settings"]}
        for name in WORDS:
            found.pop(name, None)
        of_run = {name: _of_run(name, self.run) for name in OF_RUN}
        # An axis of variants is no field, and tells more than any.
        return {**of_run, **of_result(self.run), **found, **of_run}

    def allows(self, points: list[list[str]]) -> bool:
        """Whether the scenario makes sense with each of these lists of overrides by itself."""
        try:
            self._asked(points)
        except IsthmusError:
            return False
        return True

    def _begun(self, place: Sequence[int]) -> list[str]:
        """All values, those of one point in front: of that the core tells the settings."""
        told = zip(self.values.items(), place, strict=True)
        return [_override(key, [*of[at:], *of[:at]]) for (key, of), at in told]

    def _asked(self, points: list[list[str]]) -> dict[str, Any]:
        from isthmus import _core

        question = {"scenario": self.canonical, "file": "scenario.toml", "points": points}
        return ask_json(_core.settings, question)


def _override(key: str, values: list[Any]) -> str:
    return f"sweep.{key}={toml_value(values)}"


def _foreign() -> IsthmusError:
    return IsthmusError(
        "scenario.toml: not the scenario of this result; give the folder as `isthmus run` wrote "
        "it, or the result without a scenario"
    )

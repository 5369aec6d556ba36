"""Every setting at every point of a run, including presets, derived values and defaults."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from isthmus import _core
from isthmus.core import ask, ask_json, parse_toml
from isthmus.errors import IsthmusError
from isthmus.scenario_fields import toml_value

if TYPE_CHECKING:
    from isthmus.results.schema import RunResult

WORDS = ("version", "name", "title", "description")
"""Fields of a scenario that do not affect the results."""
OF_RUN = ("seed", "quick")
"""Settings that command-line options or arguments may set instead of the scenario file."""


@dataclass(frozen=True)
class Setting:
    """The values of one setting of the scenario at every point."""

    key: str
    """Key of the setting in the scenario file, such as ``machine.dimension``."""
    texts: list[str | None] = field(repr=False)
    """Value of the setting at each point, as written in a file; None if it does not apply."""
    given: bool = True
    """Whether a file, an override or an axis sets the value, rather than a default."""
    load: bool = False
    """Whether the setting decides the load of the machine."""

    def at(self, points: Sequence[int]) -> Setting:
        """Return the setting at some of the points."""
        return replace(self, texts=[self.texts[i] for i in points])

    @property
    def constant(self) -> bool:
        """Whether the setting has the same value at all points of the run."""
        return len(set(self.texts)) < 2


Settings = dict[str, Setting]
"""Settings by key, in the order in which the reference of scenario files lists them."""


@dataclass(frozen=True)
class Column:
    """Values of one setting as a column: numbers of one unit, or texts."""

    unit: str | None
    numbers: list[float | None] | None
    """Values as numbers; None unless all present values are numbers of one dimension."""


def columns(texts: Sequence[Sequence[str | None]]) -> list[Column]:
    """Parse lists of values as numbers with the Rust core, each in the unit of its first value."""
    answer = ask(_core.quantities, json.dumps({"texts": texts}))
    return [Column(**each) for each in json.loads(answer)]


def of_result(run: RunResult) -> Settings:
    """Return the settings that a result contains without its scenario: axes, seed and `quick`."""
    found = {
        axis.key: Setting(axis.key, [p.values[i].text for p in run.points], load=i == run.load_axis)
        for i, axis in enumerate(run.axes)
    }
    return {**{name: _of_run(name, run) for name in OF_RUN}, **found}


def _of_run(name: str, run: RunResult) -> Setting:
    """Return a setting of the whole run, such as its seed, with its value at each point."""
    return Setting(name, [json.dumps(getattr(run, name))] * len(run.points))


@dataclass(frozen=True)
class Sweep:
    """The axes of a run with their values from the effective scenario."""

    run: RunResult = field(repr=False)
    canonical: str = field(repr=False)
    """The effective scenario, as TOML."""

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of each axis, by its key.

        Raises:
            IsthmusError: the scenario is not that of the run.

        """
        sweep = parse_toml(self.canonical, "scenario.toml").get("sweep", {})
        if list(sweep) != [axis.key for axis in self.run.axes]:
            raise _foreign_scenario_error()
        return dict(sweep)

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """The positions of the axis values of each point; the first axis varies slowest."""
        places = list(product(*(range(len(each)) for each in self.values.values())))
        if len(places) < len(self.run.points):
            raise _foreign_scenario_error()
        return places[: len(self.run.points)]

    def _overrides_for(self, place: Sequence[int]) -> list[str]:
        """Return overrides that reduce each axis to one value, at the positions `place`."""
        axes = zip(self.values.items(), place, strict=True)
        return [_override(key, [of[at]]) for (key, of), at in axes]

    def settings(self) -> Settings:
        """Return every setting at every point, as the core computes it.

        Raises:
            IsthmusError: the scenario is not that of the run.

        """
        try:
            answer = self._ask_core([self._overrides_for(place) for place in self.places])
        except IsthmusError:
            # The core refuses a setting that has no effect at any point of a query. So query each
            # point together with all other points of the sweep.
            answer = self._ask_core([self._overrides_from(place) for place in self.places])
        if answer["digest"] != self.run.digest:
            raise _foreign_scenario_error()
        found = {each["key"]: Setting(**each) for each in answer["settings"]}
        for name in WORDS:
            found.pop(name, None)
        of_run = {name: _of_run(name, self.run) for name in OF_RUN}
        # The core lists only scenario fields. An axis of variants is not a field, so add the axes
        # of the result.
        return {**of_run, **of_result(self.run), **found, **of_run}

    def _overrides_from(self, place: Sequence[int]) -> list[str]:
        """Return overrides that set each axis to all of its values, those of the point at `place`
        first: the core reports only the first point.
        """
        axes = zip(self.values.items(), place, strict=True)
        return [_override(key, [*of[at:], *of[:at]]) for (key, of), at in axes]

    def _ask_core(self, points: list[list[str]]) -> dict[str, Any]:
        """Return the core's values of all settings after each list of overrides."""
        question = {"scenario": self.canonical, "file": "scenario.toml", "points": points}
        return ask_json(_core.settings, question)


def _override(key: str, values: list[Any]) -> str:
    """Return the override that sets the values of an axis."""
    return f"sweep.{key}={toml_value(values)}"


def _foreign_scenario_error() -> IsthmusError:
    """Return the error that a scenario file does not belong to the result."""
    return IsthmusError(
        "scenario.toml: not the scenario of this result; give the folder as `isthmus run` wrote "
        "it, or the result without a scenario"
    )

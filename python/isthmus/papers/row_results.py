"""The results of a row's scenario, as used in checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from isthmus.errors import IsthmusError
from isthmus.machines import MachineSummary
from isthmus.papers.cells import Conditions, number
from isthmus.papers.compare import Claim, alike, all_of, each_with_next, greater
from isthmus.papers.model import Model
from isthmus.papers.quantity import Operand, Quantity, quantity
from isthmus.papers.tolerance import Tolerance
from isthmus.results.schema import AxisValue, Measure, Percentile, PointResult, RunResult
from isthmus.value import Value


class NotSimulatedError(Exception):
    """Error: a check needs a simulation, and its scenario has not been simulated yet."""


@dataclass(frozen=True)
class RowResults:
    """The results of a row's scenario: `r` in its cells `select` and `under`.

    The keywords `at` of all methods fix axes of the sweep, in addition to the row's `at`:
    ``r.mean("read.network", io_link=1)``. Keys may be shortened to their last words (``io_link``
    for ``machine.lanes.io_link``).

    A simulated value has an interval. A side without a bound supports no claim.
    """

    run: RunResult | None = None
    fixed: Conditions = field(default_factory=dict)
    tolerance: Tolerance = field(default_factory=Tolerance)
    scenario: Model | None = None

    @property
    def simulated(self) -> RunResult:
        """The result of the simulation, never model values. Raises `NotSimulatedError` if nothing
        was simulated.
        """
        if self.run is None:
            self._model()
            raise NotSimulatedError
        return self.run

    @property
    def evaluated(self) -> RunResult:
        """The result of the simulation; if nothing was simulated, a result with the model's values
        only.
        """
        return self.run or self._model().run

    def _model(self) -> Model:
        """Return the scenario's model and settings; refuse a row without a scenario."""
        if self.scenario is None:
            raise IsthmusError("this check needs a scenario")
        return self.scenario

    def __getattr__(self, name: str) -> Any:
        """Raise an error that lists the methods of results, for an unknown method."""
        raise AttributeError(no_result(name))

    def points(self, **at: object) -> list[PointResult]:
        """Return the points whose axes have the values `at`."""
        return points(self.simulated, self._at(at))

    def point(self, **at: object) -> PointResult:
        """Return the single point whose axes have the values `at`; refuse none and several."""
        return _point(self.simulated, self._at(at))

    def _at(self, given: dict[str, object]) -> Conditions:
        """Return the axis values that this row fixes, together with those that a call gives."""
        return {**self.fixed, **{key: str(value) for key, value in given.items()}}

    def mean(self, measure: str, **at: object) -> Quantity:
        """Return the simulated mean of a measure at a point."""
        return self.value(_measured(self.simulated, measure, self._at(at)))

    def value(self, found: Measure | Percentile | None) -> Quantity:
        """Return a simulated mean or percentile with its interval and its values in the single
        replications.
        """
        value = quantity(Value.of(found, self.simulated.confidence))
        return value if value.value is None else unbounded(value)

    def analytic(self, measure: str, **at: object) -> Quantity:
        """Return the value of the queueing model for `measure` as the plots show it, also where the
        model is not valid.
        """
        found = _measured(self.evaluated, measure, self._at(at))
        return quantity(found and found.model_anywhere)

    def model(self, reading: str, **at: object) -> dict[str, Any]:
        """Return the queueing model's values as JSON; `reading` names one of the interpretations of
        section 6 of the hypercube paper.
        """
        point = _point(self.evaluated, self._at(at))
        return self._model().reading(point.index, reading)

    def growth(self, **at: object) -> Quantity:
        """Return the growth of the backlog per offered demand, which decides the verdict on
        saturation.
        """
        verdict = self.point(**at).verdict
        return unbounded(Quantity(verdict.growth, verdict.growth_low, verdict.growth_high))

    def saturation(self, **at: object) -> Quantity:
        """Return the bracket of the saturation search, in messages/ms."""
        run = self.simulated
        fits = _matcher(run, self._at(at))
        found = [search for search in run.searches if fits(search.values)]
        if len(found) != 1:
            raise IsthmusError(
                f"{len(found)} saturation searches of scenario {run.name!r} fit, one must"
            )
        low, high = found[0].highest_stable, found[0].lowest_saturated
        middle = None if low is None or high is None else (low + high) / 2
        return Quantity(middle, low, high, bracket=True)

    def curve(self, measure: str, along: str, **at: object) -> dict[float, Quantity]:
        """Return the simulated means along an axis, by the values of the axis."""
        run = self.simulated
        axis = _axis(run, along)
        found = []
        for point in points(run, self._at(at)):
            x, mean = point.values[axis].number, point.measure(measure)
            if x is not None and mean and mean.mean is not None:
                found.append((x, self.value(mean)))
        curve = dict(sorted(found, key=lambda pair: pair[0]))
        if len(found) < 2 or len(curve) != len(found):
            raise IsthmusError(
                f"{measure} along {along}: needs two or more points that differ in {along} only, "
                f"found {len(found)}"
            )
        return curve

    def largest(self, measure: str, along: str, **at: object) -> Quantity:
        """Return the largest simulated mean along an axis. Its interval runs from the largest lower
        end to the largest upper end of all points.
        """
        return _extreme(max, self.curve(measure, along, **at).values())

    def smallest(self, measure: str, along: str, **at: object) -> Quantity:
        """Return the smallest simulated mean along an axis. Its interval runs from the smallest
        lower end to the smallest upper end of all points.
        """
        return _extreme(min, self.curve(measure, along, **at).values())

    def machine(self, **at: object) -> MachineSummary:
        """Return the description of the machine at a point."""
        run = self.evaluated
        return run.machines[_point(run, self._at(at)).machine]

    def setting(self, key: str, unit: str = "") -> Quantity:
        """Return a number from the scenario in this unit, or ``not stated`` if it is missing."""
        return quantity(self._model().setting(key, unit))

    def greater(self, *values: Operand) -> Claim:
        """Claim that each value is above the next one."""
        return each_with_next(">", greater, *values)

    def less(self, *values: Operand) -> Claim:
        """Claim that each value is below the next one."""
        return each_with_next("<", lambda a, b: greater(b, a), *values)

    def alike(self, *values: Operand) -> Claim:
        """Claim that each value and the next one are alike, within the tolerance of the row."""
        return each_with_next("~", lambda a, b: alike(a, b, self.tolerance), *values)

    def falls(self, measure: str, along: str, **at: object) -> Claim:
        """Claim that the simulated mean falls from each value of an axis to the next."""
        values = self.curve(measure, along, **at)
        holds = all_of(greater(before, after) for before, after in pairwise(values.values()))
        return Claim(holds, " → ".join(value.text for value in values.values()))

    def rises(self, measure: str, along: str, **at: object) -> Claim:
        """Claim that the simulated mean rises from each value of an axis to the next."""
        values = self.curve(measure, along, **at)
        holds = all_of(greater(after, before) for before, after in pairwise(values.values()))
        return Claim(holds, " → ".join(value.text for value in values.values()))

    def all_are(self, verdict: str, **at: object) -> Claim:
        """Claim that every matching point has a verdict; ``live`` is any verdict except
        ``collapsed``.
        """
        found: list[str] = [p.verdict.verdict for p in self.points(**at)] or ["no such point"]
        if verdict == "live":
            found = [verdict if v in ("stable", "saturated", "undecided") else v for v in found]
        open_ = verdict in ("stable", "saturated") and "undecided" in found
        share = found.count(verdict)
        others = len(found) - share - (found.count("undecided") if open_ else 0)
        holds = False if others else None if open_ else True
        return Claim(holds, found[0] if len(found) == 1 else f"{share} of {len(found)} {verdict}")


READS = [name for name in dir(RowResults) if not name.startswith("_")]
"""Names of the methods that the expressions of checks may call on results."""


def no_result(name: str) -> str:
    """Return the error message that results have no such method, with a list of their methods."""
    return f"no r.{name}; there are r.{', r.'.join(READS)}"


def unbounded(value: Quantity) -> Quantity:
    """Return a simulated value with infinity (`-inf`, `inf`) for each unknown interval end."""
    if value.value is None:
        return Quantity(None)
    low, high = (-math.inf if value.low is None else value.low), value.high
    return replace(value, low=low, high=math.inf if high is None else high)


def _matches(value: AxisValue, wanted: str, unit: str | None) -> bool:
    """Return whether an axis value is the wanted one, as text or as a number in the axis' unit."""
    if value.text == wanted:
        return True
    word, _, wanted_unit = wanted.partition(" ")
    same_unit = not wanted_unit or wanted_unit.strip() == (unit or "")
    amount = number(word)
    if value.number is None or not same_unit or amount is None:
        return False
    return math.isclose(value.number, amount, rel_tol=1e-9, abs_tol=1e-12)


def _axis(run: RunResult, name: str) -> int:
    """Return the position of the axis whose key is `name` or ends with it. Refuse a name without
    exactly one such axis.
    """
    found = [i for i, a in enumerate(run.axes) if a.key == name or a.key.endswith(f".{name}")]
    if len(found) != 1:
        have = ", ".join(a.key for a in run.axes) or "none"
        raise IsthmusError(f"{name!r}: not an axis of scenario {run.name!r}; it has {have}")
    return found[0]


def _matcher(run: RunResult, fixed: Conditions) -> Callable[[Sequence[AxisValue | None]], bool]:
    """Return a predicate that is true for points whose values of the fixed axes match."""
    wanted = {_axis(run, name): text for name, text in fixed.items()}

    def fits(values: Sequence[AxisValue | None]) -> bool:
        """Return whether a point with these axis values has all wanted values."""
        return all(
            (value := values[i]) is None or _matches(value, text, run.axes[i].unit)
            for i, text in wanted.items()
        )

    return fits


def points(run: RunResult, fixed: Conditions) -> list[PointResult]:
    """Return the points with these values of the axes."""
    fits = _matcher(run, fixed)
    return [point for point in run.points if fits(point.values)]


def _point(run: RunResult, fixed: Conditions) -> PointResult:
    """Return the single point with these values of the axes."""
    found = points(run, fixed)
    if len(found) != 1:
        said = "; ".join(f"{k}={v}" for k, v in fixed.items()) or "no condition"
        raise IsthmusError(
            f"{said}: {len(found)} points of scenario {run.name!r} fit, one must; "
            f"axes: {', '.join(a.key for a in run.axes)}"
        )
    return found[0]


def _measured(run: RunResult, name: str, fixed: Conditions) -> Measure | None:
    """Return the measure `name` at a point; None if only other points have it. Refuse a name that
    no point has.
    """
    point = _point(run, fixed)
    found = point.measure(name)
    if found is None and not any(p.measure(name) for p in run.points):
        known = ", ".join(each.name for each in point.measures)
        raise IsthmusError(f"no measure {name!r}; there are {known}")
    return found


def _extreme(pick: Callable[[Iterable[float]], float], values: Collection[Quantity]) -> Quantity:
    """Return the largest or smallest of some values, as `pick` is `max` or `min`.
    Its interval runs from the `pick` of all lower ends to the `pick` of all upper ends.
    """
    middles = [v.value for v in values if v.value is not None]
    return Quantity(pick(middles), pick(v.ends[0] for v in values), pick(v.ends[1] for v in values))

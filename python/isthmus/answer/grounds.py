"""Criteria that compare variants: saturation bracket, highest accepted load, ratios of measures."""

from __future__ import annotations

from dataclasses import dataclass

from isthmus.results.schema import Measure, SearchResult
from isthmus.results.series import Series, View
from isthmus.value import Value
from isthmus.wording import estimate, interval, number

SAME = 0.05
"""Two latencies are about the same if the interval of their ratio is within this distance of 1."""
LOST = ("saturated", "collapsed")
"""Verdicts on points whose offered load the machine cannot carry."""


@dataclass(frozen=True)
class Bracket:
    """The saturation load of a series: stable up to `low`, saturated from `high`."""

    low: float | None
    high: float | None
    searched: bool
    """Whether a search found the bracket; otherwise it follows from the points of the sweep."""
    analytic: float | None = None
    undecided: tuple[float, float] | None = None
    """Lowest and highest load in the bracket whose verdict is ``undecided``; None if there is
    none.
    """
    missed: float | None = None
    """The requested relative width of the bracket, if the search did not reach it; else None."""

    @property
    def text(self) -> str:
        """The bracket as text without unit: ``11.5–11.9``, ``above 12.8``."""
        if self.low is None and self.high is None:
            return "undecided" if self.undecided else "–"
        if self.high is None:
            return f"above {number(self.low)}"
        if self.low is None:
            return f"below {number(self.high)}"
        if self.low == self.high:
            return number(self.low)
        return interval(self.low, self.high)

    def against(self, other: Bracket) -> str | None:
        """Compare with the bracket of another series: return whether this series saturates
        ``earlier``, ``later`` or ``alike``; None if unknown.
        """
        if self.high is not None and other.low is not None and self.high <= other.low:
            return "earlier"
        if self.low is not None and other.high is not None and self.low >= other.high:
            return "later"
        if None in (self.low, self.high, other.low, other.high):
            return None
        return "alike"


@dataclass(frozen=True)
class Ratio:
    """The ratio of a measure to that of the baseline at the same point of the sweep."""

    measure: str
    own: Measure
    base: Measure
    value: float
    low: float
    high: float

    @property
    def tendency(self) -> str:
        """The conclusion from the interval of the ratio: ``same`` (the whole interval is near 1),
        ``unclear`` (it contains 1 but is wider), ``longer`` or ``shorter``.
        """
        if self.low >= 1 - SAME and self.high <= 1 + SAME:
            return "same"
        if self.low <= 1 <= self.high:
            return "unclear"
        return "longer" if self.value > 1 else "shorter"

    @property
    def is_rate(self) -> bool:
        """Whether the measure is a rate, such as an accepted load, so that a higher value is
        better.
        """
        return self.measure.rpartition(".")[2] == "accepted"

    @property
    def better(self) -> int:
        """1 if the variant is better than the baseline, -1 if it is worse, 0 if that is unknown."""
        sign = {"longer": 1, "shorter": -1}.get(self.tendency, 0)
        return sign if self.is_rate else -sign

    @property
    def factor(self) -> str:
        """The ratio or its inverse, whichever is above 1."""
        times = max(self.value, 1 / self.value)
        return number(times, 2 if times >= 1.1 else 3)

    @property
    def text(self) -> str:
        """The ratio as text, for example ``2.4 × as long``."""
        more, less = ("as much", "less") if self.is_rate else ("as long", "shorter")
        if self.tendency == "longer":
            return f"{self.factor} × {more}"
        if self.tendency == "shorter":
            return f"{self.factor} × {less}"
        if self.tendency != "same":
            return "unknown"
        percent = 100 * (self.value - 1)
        if self.low < self.high or percent == 0:
            return "about the same"
        # These results have no random error, so even a small difference is real and the text states
        # it.
        times = ("more", "less") if self.is_rate else ("longer", "shorter")
        return f"about the same ({number(abs(percent), 2)}% {times[percent < 0]})"


@dataclass(frozen=True)
class Peak:
    """The highest accepted load of any point of a series."""

    measure: Measure
    """The accepted load at the point of the series where it is highest."""
    more: bool
    """Whether the series is stable at the highest load of the sweep, so that it may carry more."""

    @property
    def text(self) -> str:
        """The peak with its half-width: ``8.94 ± 0.02``."""
        return ("≥ " if self.more else "") + estimate(*self.measure.best)

    def against(self, base: Peak, confidence: float) -> Ratio | None:
        """Return the ratio of this peak to the baseline's peak; None if a peak is not known because
        the sweep did not reach it.
        """
        found = ratio("accepted", self.measure, base.measure, confidence)
        if found is None or not (self.more or base.more):
            return found
        certain = "longer" if not base.more else "shorter" if not self.more else None
        return found if found.tendency == certain else None


def bracket(layout: View, series: Series) -> Bracket | None:
    """Return the saturation bracket of a series: that of its search, narrowed by its points.

    Points and search use the same rule with the same error rate. If they contradict each other,
    which happens at that rate, the search takes precedence.
    """
    search: SearchResult | None = series.search
    analytic = search.analytic if search else None
    low, high = _points_bracket(layout, series) if layout.by_load else (None, None)
    searched = search is not None and bool(search.trials)
    if search is not None and searched:
        lows = [low, search.highest_stable]
        highs = [high, search.lowest_saturated]
        low = max((x for x in lows if x is not None), default=None)
        high = min((x for x in highs if x is not None), default=None)
        if low is not None and high is not None and low >= high:
            low, high = search.highest_stable, search.lowest_saturated
    undecided = _undecided(layout, series, low, high)
    if searched or (low, high, undecided) != (None, None, None):
        missed = search.resolution if search and searched and not search.reached else None
        return Bracket(low, high, searched, analytic, undecided, missed)
    return Bracket(analytic, analytic, False, analytic) if analytic is not None else None


def _undecided(
    layout: View, series: Series, low: float | None, high: float | None
) -> tuple[float, float] | None:
    """Return the lowest and the highest load strictly inside the bracket whose verdict is
    ``undecided``; None if there is none.
    """
    loads: list[float] = []
    if series.search and series.search.undecided:
        loads += series.search.undecided
    if layout.by_load and layout.run.simulated:
        at = (layout.x(p) for p in series.points if p.verdict.verdict == "undecided")
        loads += (x for x in at if x is not None)
    inside = [x for x in loads if (low is None or x > low) and (high is None or x < high)]
    return (min(inside), max(inside)) if inside else None


def _points_bracket(layout: View, series: Series) -> tuple[float | None, float | None]:
    """Return two loads of the points: the highest stable load below the lowest saturated load, and
    the lowest saturated load. None stands for a load that does not exist.
    """
    if not layout.run.simulated:
        return None, None
    saturated = [layout.x(p) for p in series.points if p.verdict.verdict in LOST]
    high = min((x for x in saturated if x is not None), default=None)
    stable = [layout.x(p) for p in series.points if p.verdict.verdict == "stable"]
    low = max((x for x in stable if x is not None and (high is None or x < high)), default=None)
    return low, high


def peak(layout: View, series: Series) -> Peak | None:
    """Return the highest accepted load of a series, without collapsed points."""
    at = [p for p in series.points if not p.collapsed]
    found = [m for p in at if (m := p.measure("accepted")) and m.mean is not None]
    if not found:
        return None
    highest = max(at, key=lambda p: p.load or 0.0)
    most = max(found, key=lambda m: m.mean or 0.0)
    whole = len(at) == len(series.points)
    return Peak(most, whole and highest.verdict.verdict == "stable")


def ratio(name: str, measure: Measure, baseline: Measure, confidence: float) -> Ratio | None:
    """Return the ratio of two measures; model values are used if nothing was simulated."""
    own, base = (_best(each, confidence) for each in (measure, baseline))
    found = own.over(base)
    if not found.value:
        return None
    low, high = found.ends
    return Ratio(name, measure, baseline, found.value, max(low, 0.0), high)


def _best(of: Measure, confidence: float) -> Value:
    """Return the simulated value of a measure with its interval, or the model's value if nothing
    was simulated.
    """
    return Value(of.analytic) if of.mean is None else Value.of(of, confidence)

"""The answer of a run in plain words: each variant against the first one, the baseline.

Only compares numbers that the core has measured; says which load it compares at, and calls a
difference one only where the intervals allow it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from isthmus.results.schema import Measure, PointResult, RunResult, SearchResult
from isthmus.results.series import Series, View, axis_text, view
from isthmus.wording import estimate, interval, measure_label, measure_subject, number, unit_label

SAME = 0.05
"""Two latencies are about the same where their ratio is known to be within so much of 1."""
FAR = 2.0
"""Factor from which better and worse become far better and far worse."""
LOAD_UNIT = "messages/ms"


@dataclass(frozen=True)
class Bracket:
    """Where a series saturates: stable up to `low`, saturated from `high`, messages/ms per PE."""

    low: float | None
    high: float | None
    searched: bool
    """Found by a search; otherwise read from the points of the sweep."""
    analytic: float | None = None
    undecided: tuple[float, float] | None = None
    """Lowest and highest load in the bracket that were tried and stayed undecided."""

    @property
    def text(self) -> str:
        """The bracket without its unit: ``11.5–11.9``, ``above 12.8``."""
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
        """``earlier``, ``later`` or ``alike``; None where that cannot be told."""
        if self.high is not None and other.low is not None and self.high <= other.low:
            return "earlier"
        if self.low is not None and other.high is not None and self.low >= other.high:
            return "later"
        if None in (self.low, self.high, other.low, other.high):
            return None
        return "alike"


@dataclass(frozen=True)
class Ratio:
    """One measure of a series over that of the baseline, at the same place of the sweep."""

    measure: str
    own: Measure
    base: Measure
    value: float
    low: float
    high: float

    @property
    def tendency(self) -> str:
        """``same`` (the whole interval is near 1), ``unclear`` (it holds 1 and more), ``longer`` or
        ``shorter``.
        """
        if self.low >= 1 - SAME and self.high <= 1 + SAME:
            return "same"
        if self.low <= 1 <= self.high:
            return "unclear"
        return "longer" if self.value > 1 else "shorter"

    @property
    def factor(self) -> str:
        """How many times as long, or shorter, whichever is above 1."""
        times = max(self.value, 1 / self.value)
        return number(times, 2 if times >= 1.1 else 3)

    @property
    def text(self) -> str:
        """For example ``2.4 × as long``."""
        if self.tendency == "longer":
            return f"{self.factor} × as long"
        if self.tendency == "shorter":
            return f"{self.factor} × shorter"
        return "about the same" if self.tendency == "same" else "not distinguishable"


@dataclass(frozen=True)
class SeriesAnswer:
    """What came out for one series."""

    series: Series
    bracket: Bracket | None
    saturation: str | None
    """Against the baseline: ``earlier``, ``later``, ``alike`` or None."""
    point: PointResult | None
    """The point compared."""
    ratios: dict[str, Ratio]
    badge: str
    """``baseline``, ``better``, ``far better``, ``worse``, ``far worse``, ``mixed``,
    ``no clear difference``."""
    sentence: str

    def cell(self, measure: str) -> str:
        """The measure at the point compared, with its half-width."""
        found = self.point.measure(measure) if self.point else None
        return estimate(*found.best) if found else "–"


@dataclass(frozen=True)
class Answer:
    """The answer of a whole run."""

    view: View
    headline: str | None
    """The measure by which variants are judged, with saturation."""
    measures: list[str]
    """The measures in the table, the headline's first."""
    place: str
    """Where on the x axis they are compared, in words."""
    place_x: float | None
    conclusion: str
    """One sentence over all variants."""
    basis: str
    """What the verdicts rest on, in words."""
    series: list[SeriesAnswer] = field(default_factory=list)

    @property
    def has_saturation(self) -> bool:
        """Whether any series has a bracket."""
        return any(s.bracket for s in self.series)


def answer(run: RunResult) -> Answer:
    """Compare every series of the run with its first."""
    layout = view(run)
    measures = ranked(layout)
    headline = measures[0] if measures else None
    x = _common_place(layout)
    place = _place_text(layout, x)
    base = layout.series[0] if layout.series else None
    found = [_series_answer(layout, s, base, measures, x, place) for s in layout.series if base]
    basis = _basis(layout, headline, place, [a for a in found if a.bracket])
    return Answer(
        layout, headline, measures[:3], place, x, _conclusion(found, layout), basis, found
    )


def ranked(layout: View) -> list[str]:
    """Latencies asked for, the I/O side's first: it is what the machine is built for."""

    def rank(name: str) -> int:
        order = ("read.network", "read.response", "write.network", "write.response")
        return order.index(name) if name in order else len(order)

    return sorted((m for m in layout.asked if layout.unit(m) == "us"), key=rank)


def _stable_at(layout: View, series: Series, x: float) -> PointResult | None:
    at = (p for p in series.points if layout.x(p) == x and _is_stable(layout.run, p))
    return next(at, None)


def _is_stable(run: RunResult, point: PointResult) -> bool:
    """Whether a point is stable, by the simulation or by the model; in analyses from before the
    model gave verdicts, whether it has values.
    """
    if run.simulated or point.verdict.origin == "model":
        return point.verdict.verdict == "stable"
    return any(m.analytic is not None for m in point.measures)


def _is_lost(layout: View, series: Series, x: float | None) -> bool:
    """Whether a series is saturated at x; undecided is not lost."""
    at = (p for p in series.points if layout.x(p) == x)
    return any(p.verdict.verdict == "saturated" for p in at)


def _common_place(layout: View) -> float | None:
    """Highest load (or first x, where x is not the load) at which most series are stable, the
    baseline among them; all of them where that is possible at all.
    """
    if not layout.series:
        return None
    base = layout.series[0]
    counts: dict[float, int] = {}
    for point in base.points:
        x = layout.x(point)
        if x is not None and _is_stable(layout.run, point):
            counts[x] = sum(_stable_at(layout, s, x) is not None for s in layout.series)
    if not counts:
        return None
    most = max(counts.values())
    best = [x for x, count in counts.items() if count == most]
    return max(best) if layout.by_load else min(best)


def _place_text(layout: View, x: float | None) -> str:
    if x is None:
        return ""
    if layout.by_load:
        return f"at {number(x)} messages/ms"
    if layout.x_axis is None:
        return ""
    point = next(p for p in layout.series[0].points if layout.x(p) == x)
    value = point.values[layout.x_axis]
    return "at " + axis_text(layout.run, layout.x_axis, value, point.machine)


def bracket(layout: View, series: Series) -> Bracket | None:
    """Where a series saturates: what its search found, narrowed by what its points show.

    Points and search judge by the same rule at the same error rate. Where they contradict one
    another, which they may at that rate, the search stands.
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
        return Bracket(low, high, searched, analytic, undecided)
    return Bracket(analytic, analytic, False, analytic) if analytic is not None else None


def _undecided(
    layout: View, series: Series, low: float | None, high: float | None
) -> tuple[float, float] | None:
    """Lowest and highest load strictly inside the bracket that was tried and stayed undecided."""
    loads: list[float] = []
    if series.search and series.search.undecided:
        loads += series.search.undecided
    if layout.by_load and layout.run.simulated:
        at = (layout.x(p) for p in series.points if p.verdict.verdict == "undecided")
        loads += (x for x in at if x is not None)
    inside = [x for x in loads if (low is None or x > low) and (high is None or x < high)]
    return (min(inside), max(inside)) if inside else None


def _points_bracket(layout: View, series: Series) -> tuple[float | None, float | None]:
    """The highest stable load below the lowest saturated one, and that one."""
    if not layout.run.simulated:
        return None, None
    saturated = [layout.x(p) for p in series.points if p.verdict.verdict == "saturated"]
    high = min((x for x in saturated if x is not None), default=None)
    stable = [layout.x(p) for p in series.points if p.verdict.verdict == "stable"]
    low = max((x for x in stable if x is not None and (high is None or x < high)), default=None)
    return low, high


def _ratio(name: str, own: PointResult, base: PointResult) -> Ratio | None:
    ours, theirs = own.measure(name), base.measure(name)
    if not ours or not theirs:
        return None
    (mean, low, high), (base_mean, base_low, base_high) = ours.best, theirs.best
    if mean is None or base_mean is None or mean <= 0 or base_mean <= 0:
        return None
    smallest = (mean if low is None else max(low, 0.0)) / (
        base_mean if base_high is None else base_high
    )
    least = base_mean if base_low is None else base_low
    largest = (mean if high is None else high) / least if least > 0 else math.inf
    return Ratio(name, ours, theirs, mean / base_mean, smallest, largest)


def _series_answer(
    layout: View,
    series: Series,
    base: Series,
    measures: list[str],
    x: float | None,
    place: str,
) -> SeriesAnswer:
    own_bracket, base_bracket = bracket(layout, series), bracket(layout, base)
    point = _stable_at(layout, series, x) if x is not None else None
    base_point = _stable_at(layout, base, x) if x is not None else None
    if series is base:
        text = _baseline_sentence(own_bracket, point, measures, place)
        badge = "baseline" if len(layout.series) > 1 else ""
        return SeriesAnswer(series, own_bracket, None, point, {}, badge, text)
    saturation = own_bracket.against(base_bracket) if own_bracket and base_bracket else None
    ratios = {}
    if point and base_point:
        for name in measures:
            if ratio := _ratio(name, point, base_point):
                ratios[name] = ratio
    headline = ratios.get(measures[0]) if measures else None
    lost = base_point is not None and _is_lost(layout, series, x)
    badge = _badge(saturation, headline, lost)
    parts = []
    if own_bracket:
        parts.append(_saturation_words(own_bracket, base_bracket, saturation, base.label))
    if lost and place:
        parts.append(f"saturated {place}, where {base.label} still is stable")
    parts += [_ratio_words(ratios[m], place, n == 0) for n, m in enumerate(ratios)]
    return SeriesAnswer(
        series, own_bracket, saturation, point, ratios, badge, _join(parts[:3]) or "no numbers"
    )


def _badge(saturation: str | None, ratio: Ratio | None, lost: bool) -> str:
    votes = {"earlier": -1, "later": 1}.get(saturation or "", 0)
    signs = {votes} if votes else set()
    if ratio and ratio.tendency in ("longer", "shorter"):
        signs.add(1 if ratio.tendency == "shorter" else -1)
    if lost:
        signs.add(-1)
    if not signs:
        return "no clear difference"
    if len(signs) > 1:
        return "mixed"
    word = "better" if signs == {1} else "worse"
    far = ratio is not None and max(ratio.low, 1 / ratio.high) >= FAR
    return f"far {word}" if far or lost else word


def _join(parts: list[str]) -> str:
    return "; ".join(p for p in parts if p)


def _baseline_sentence(
    own: Bracket | None, point: PointResult | None, measures: list[str], place: str
) -> str:
    parts = []
    if own:
        parts.append(_saturation_words(own, None, None, ""))
    if point:
        for name in measures[:2]:
            m = point.measure(name)
            if m and m.best[0] is not None:
                value = f"{estimate(*m.best)} {unit_label(m.unit)}"
                parts.append(
                    f"{measure_label(name)} {value}"
                    + (f" {place}" if place and len(parts) < 2 else "")
                )
    return _join(parts) or "no stable point to compare with"


def _saturation_words(
    own: Bracket, base: Bracket | None, saturation: str | None, base_label: str
) -> str:
    unit = LOAD_UNIT
    grey = _zone(own.undecided) if own.undecided else ""
    if own.low is None and own.high is None:
        text = "undecided at every load tried" + (f" ({grey} {unit})" if grey else "")
    elif own.high is None and grey:
        text = f"stable up to {number(own.low)}, undecided {grey} {unit}"
    elif own.high is None:
        text = f"stable up to {number(own.low)} {unit}, the highest load tried"
    elif own.low is None and grey:
        text = f"undecided {grey}, saturated from {number(own.high)} {unit}"
    elif own.low is None:
        text = f"saturated at every load tried, from {number(own.high)} {unit}"
    elif own.searched or own.low == own.high:
        text = f"saturates at {own.text} {unit}" + (f" (undecided {grey})" if grey else "")
    else:
        text = f"stable at {number(own.low)}, saturated at {number(own.high)} {unit}"
        text += f" (undecided {grey})" if grey else ""
    if base is None or saturation is None:
        return text
    if saturation == "alike":
        return f"{text}, not told apart from {base_label} ({base.text})"
    return f"{text}, {saturation} than {base_label} ({base.text})"


def _zone(loads: tuple[float, float]) -> str:
    low, high = loads
    return f"at {number(low)}" if low == high else f"at {interval(low, high)}"


def _ratio_words(ratio: Ratio, place: str, first: bool) -> str:
    subject = measure_subject(ratio.measure)
    where = {"network": " in the network", "response": " in all", "header": ""}.get(
        ratio.measure.rpartition(".")[2], ""
    )
    unit = unit_label(ratio.own.unit)
    values = f"{number(ratio.own.best[0])} against {number(ratio.base.best[0])} {unit}"
    values = f"({values} {place})" if first and place else f"({values})"
    if ratio.tendency == "longer":
        return f"{subject} take {ratio.factor} times as long{where} {values}"
    if ratio.tendency == "shorter":
        return f"{subject} are {ratio.factor} times quicker{where} {values}"
    if ratio.tendency == "same":
        return f"{subject} take about as long{where} {values}"
    return f"{subject} are not distinguishable{where} {values}"


def _conclusion(found: list[SeriesAnswer], layout: View) -> str:
    if len(found) < 2:
        return found[0].sentence if found else "Nothing was measured."
    base = found[0].series.label
    groups: dict[str, list[str]] = {}
    for each in found[1:]:
        groups.setdefault(each.badge, []).append(each.series.label)
    order = ("far worse", "worse", "mixed", "no clear difference", "better", "far better")
    parts = []
    for badge in order:
        if badge in groups:
            names = _listed(groups[badge])
            verb = "is" if len(groups[badge]) == 1 else "are"
            if badge == "mixed":
                parts.append(f"{names} {verb} better in one respect and worse in another")
            elif badge == "no clear difference":
                parts.append(f"{names} {verb} not clearly different")
            else:
                parts.append(f"{names} {verb} {badge}")
    return f"Against {base}: {'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    heads = {name.partition(" = ")[0] for name in names}
    if len(heads) == 1 and all(" = " in n and "," not in n for n in names):
        values = [name.partition(" = ")[2] for name in names]
        return f"{heads.pop()} = {', '.join(values[:-1])} and {values[-1]}"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _basis(layout: View, headline: str | None, place: str, bracketed: list[SeriesAnswer]) -> str:
    grounds = []
    if bracketed:
        grounds.append("the load at which it saturates")
    if headline:
        grounds.append(f"{measure_label(headline)} {place}".rstrip())
    if not grounds or len(layout.series) < 2:
        return ""
    model = "" if layout.run.simulated else ", both from the queueing model"
    return "Judged by " + " and by ".join(grounds) + model + "."

"""The answer of a run in words: a comparison of each variant with the baseline, the first variant.

It compares only numbers that the core has measured, names the load of the comparison, and reports a
difference only if the intervals support it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from isthmus.answer.grounds import LOST, Bracket, Peak, Ratio, bracket, peak, ratio
from isthmus.answer.lessons import Lessons, lessons
from isthmus.answer.lessons import basis as lessons_basis
from isthmus.answer.reason import Reason, reason, reasons_sentence
from isthmus.answer.sentences import (
    apart_words,
    baseline_sentence,
    basis,
    collapse_part,
    collapse_words,
    conclusion,
    grows_with_run,
    join,
    peak_words,
    ratio_words,
    saturation_words,
    timeless_words,
    unmodelled,
)
from isthmus.results.interference import interference
from isthmus.results.schema import PointResult, RunResult
from isthmus.results.series import Series, View, axis_text, view
from isthmus.wording import estimate, number

FAR = 2.0
"""Ratio to the baseline from which a badge is ``far better`` or ``far worse``, not only ``better``
or ``worse``.
"""
THROUGHPUT = "GB/s"
"""Unit of loads that are throughputs. For such a load, variants are also compared by the highest
accepted load.
"""
WARNINGS = 6
"""Maximum number of collapsed points that the warnings of an `Answer` list one by one."""
SENTENCES = 3
"""Maximum number of sentences below the conclusion at the top of a report."""


@dataclass(frozen=True)
class SeriesAnswer:
    """The comparison of one variant (a series of points) with the baseline."""

    series: Series
    bracket: Bracket | None
    saturation: str | None
    """When the series saturates, compared with the baseline: ``earlier``, ``later`` or ``alike``;
    None if either saturation load is unknown.
    """
    point: PointResult | None
    """The point of the series that is compared with the baseline."""
    ratios: dict[str, Ratio]
    badge: str
    """Verdict on the series against the baseline: ``baseline``, ``better``, ``far better``,
    ``worse``, ``far worse``, ``mixed``, ``about the same`` (in all compared criteria), ``unknown``,
    ``collapses``.
    """
    sentence: str
    jobs: dict[str, str] = field(default_factory=dict)
    """The badge of each job, if the badge of the series is ``mixed``."""
    peak: Peak | None = None
    """The highest accepted load of the series, if the run compares variants by it."""
    peak_ratio: Ratio | None = None
    reason: Reason | None = None
    """The bottleneck of the series, the reason why it saturates."""
    timeless: frozenset[str] = frozenset()
    """Names of time measures that mean nothing, because they grow with the length of the run."""

    @property
    def compared(self) -> bool:
        """Whether at least one criterion was comparable with the baseline."""
        return bool(self.ratios or self.saturation or self.peak_ratio)

    def cell(self, measure: str) -> str:
        """Return a measure as text with its half-width, at the point that is compared with the
        baseline. A time of a job that saturates the machine there is ``saturated``.
        """
        found = self.point.measure(measure) if self.point else None
        if measure in self.timeless:
            return "saturated"
        return estimate(*found.best) if found else "–"


@dataclass(frozen=True)
class Answer:
    """The comparison of all variants of a run with the baseline, in words: the first part of a
    report.
    """

    view: View
    headline: str | None
    """Name of the main measure that compares variants, besides saturation."""
    measures: list[str]
    """Names of the measures in the table of variants, the main measure first."""
    place: str
    """Text that names the x value at which the series is compared, such as ``at 2 GB/s``."""
    conclusion: str
    """One sentence that compares all variants with the baseline."""
    basis: str
    """The criteria by which the variants are compared, in words."""
    unmodelled: str
    """Text that names the measures for which the queueing model has no value, and the reason."""
    series: list[SeriesAnswer] = field(default_factory=list)
    busy_place: str = ""
    """Load at which plots compare the variants, in words, such as ``at 2 GB/s``. It is the highest
    load at which the most variants are stable.
    """
    busy_x: float | None = None
    warnings: list[str] = field(default_factory=list)
    """Warnings about points at which the network stopped delivering messages, a sentence each."""
    lessons: Lessons | None = None
    """Slowdown of jobs by other jobs; None unless the run has jobs both alone and together."""

    @property
    def has_reasons(self) -> bool:
        """Whether the reason of saturation (the bottleneck) is known for at least one series."""
        return any(s.reason for s in self.series)

    @property
    def sentences(self) -> list[str]:
        """At most three sentences for the top of the report, below the conclusion: on how jobs slow
        one another down, or on the bottlenecks and the variants that differ most from the baseline.
        """
        if self.lessons is not None:
            return self.lessons.first
        found = [(s.series.label, s.reason) for s in self.series if s.reason]
        texts = [reasons_sentence(found)] if found else []
        if len(self.series) < 2:
            # Add no sentence about a single series: the conclusion already contains it.
            return texts
        others = sorted(self.series[1:], key=lambda s: _PLAIN.get(s.badge, 0))
        left = SENTENCES - len(texts)
        chosen = {s.series.position for s in others[:left]}
        shown = (s for s in self.series if s.series.position in chosen)
        return texts + [f"{s.series.label}: {s.sentence}" for s in shown]

    @property
    def has_saturation(self) -> bool:
        """Whether the interval of the saturation load is known for at least one series."""
        return any(s.bracket for s in self.series)

    def head(self, measure: str) -> str:
        """Return the heading of the table column of a measure. For the bandwidth of a job it is
        only the name of the job, as the unit shows that it is a bandwidth.
        """
        label = self.view.label(measure)
        return label.partition(":")[0] if measure.endswith(".accepted") else label

    @property
    def shown(self) -> list[str]:
        """The names of the measures that have a column in the report's table of variants."""
        if self.view.of_jobs:
            return self.measures
        return self.measures[: 1 if self.has_peaks else 2]

    @property
    def has_peaks(self) -> bool:
        """Whether the highest accepted load of any series is a criterion of the comparison."""
        return any(s.peak for s in self.series)


_last: list[tuple[RunResult, Answer]] = []
"""The last run and its answer, cached because every plot of a report needs the answer."""


def answer(run: RunResult) -> Answer:
    """Compare every series of the run with the first series."""
    for known, said in _last:
        if known is run:
            return said
    said = _answer(run)
    _last[:] = [(run, said)]
    return said


def _answer(run: RunResult) -> Answer:
    """Compare every series of the run with the first series, without the cache of the last run."""
    layout = view(run)
    measures = judged(layout)
    headline = measures[0] if measures else None
    busy_x = _common_place(layout, light=False)
    x = _common_place(layout, light=True) if judged_by_throughput(layout) else busy_x
    matrix = interference(run)
    job_lessons = lessons(matrix) if matrix is not None else None
    place, busy_place = _place_text(layout, x), _place_text(layout, busy_x)
    base = layout.series[0] if layout.series else None
    found = [_series_answer(layout, s, base, measures, x, place) for s in layout.series if base]
    return Answer(
        layout,
        headline,
        measures[:3],
        place,
        job_lessons.conclusion if job_lessons else conclusion(found, layout),
        lessons_basis(job_lessons) if job_lessons else basis(layout, headline, place, found),
        unmodelled(layout),
        found,
        busy_place,
        busy_x,
        _warnings(layout),
        job_lessons,
    )


_PLAIN = {"about the same": 3, "unknown": 2, "mixed": 1, "better": 1, "worse": 1}
"""Sort keys of badges (verdicts on a variant). Variants with these badges are listed after the
others, a lower key first.
"""


def judged_by_throughput(layout: View) -> bool:
    """Return whether variants are compared by their highest accepted load and their latency at a
    light load. This is so if the load has the unit `THROUGHPUT` and the points of a series differ
    only in the load.
    """
    return layout.unit("accepted") == THROUGHPUT and (layout.by_load or layout.x_axis is None)


def judged(layout: View) -> list[str]:
    """Return the names of the measures by which variants are compared. Without jobs these are
    latencies. With jobs they are times of phases or messages, followed by accepted bandwidths of
    jobs and I/O servers.
    """
    if not layout.of_jobs:
        return ranked(layout)
    io = {job.name for p in layout.run.points for job in p.jobs if job.io}
    rates = [m for m in layout.measures if m.endswith(".accepted")]
    served = [p.measure("servers.accepted") for p in layout.run.points if p.servers]
    if not any(m and m.mean for m in served):
        rates = [m for m in rates if m != "servers.accepted"]

    def rank(name: str) -> int:
        """Return the sort key of a bandwidth measure: 0 for that of the I/O servers, 1 for a job
        with I/O, 2 for other jobs.
        """
        job = name.rpartition(".")[0]
        return 0 if job == "servers" else 1 if job in io else 2

    phased = {m.rpartition(".")[0] for m in layout.measures if m.endswith(".phase")}
    times = [
        m
        for m in layout.measures
        if m.endswith(".phase") or (m.endswith(".response") and m.rpartition(".")[0] not in phased)
    ]
    found = [*sorted(times, key=rank), *sorted(rates, key=rank), *ranked(layout)]
    return list(dict.fromkeys(found))


def ranked(layout: View) -> list[str]:
    """Return the names of the requested latency measures, latencies of I/O first."""

    def rank(name: str) -> int:
        """Return the sort key of a latency measure, smaller for latencies of I/O."""
        order = ("read.network", "read.response", "write.network", "write.response")
        return order.index(name) if name in order else len(order)

    return sorted((m for m in layout.asked if layout.unit(m) == "us"), key=rank)


def _stable_at(layout: View, series: Series, x: float) -> PointResult | None:
    """Return the point of a series at the value `x` of the x axis, if the series carries the
    offered load of this point; None otherwise.
    """
    at = (p for p in series.points if layout.x(p) == x and _carries_load(layout, series, p))
    return next(at, None)


def _carries_load(layout: View, series: Series, point: PointResult) -> bool:
    """Return whether a series carries the load of a point: it is stable in the simulation or the
    model, or it is undecided and accepts at least twice this load at another point.
    """
    verdict = point.verdict.verdict
    if layout.of_jobs:
        return verdict != "collapsed"
    if verdict != "undecided" or not judged_by_throughput(layout) or point.load is None:
        return verdict == "stable"
    most = peak(layout, series)
    return most is not None and (most.measure.mean or 0.0) >= 2 * point.load


def _is_lost(layout: View, series: Series, x: float | None) -> bool:
    """Return whether a series is saturated or has collapsed at `x`. False if the verdict is
    undecided.
    """
    at = (p for p in series.points if layout.x(p) == x)
    return any(p.verdict.verdict in LOST for p in at)


def _common_place(layout: View, *, light: bool) -> float | None:
    """Return the x value at which the most series are stable, one of them the baseline. Of several
    such loads, return the highest, or the lowest if `light`. If x is no load, return the first.
    """
    if not layout.series:
        return None
    base = layout.series[0]
    counts: dict[float, int] = {}
    for point in base.points:
        x = layout.x(point)
        if x is not None and _carries_load(layout, base, point):
            counts[x] = sum(_stable_at(layout, s, x) is not None for s in layout.series)
    if not counts:
        return None
    most = max(counts.values())
    best = [x for x, count in counts.items() if count == most]
    by_load = layout.by_load or (layout.of_jobs and _is_load(layout))
    return max(best) if by_load and not light else min(best)


def _is_load(layout: View) -> bool:
    """Return whether the x axis of `layout` is the offered load of one of several jobs."""
    x = layout.x_axis
    return x is not None and layout.run.axes[x].key.endswith(".load")


def _place_text(layout: View, x: float | None) -> str:
    """Return the position on the x axis in words, such as ``at 2 GB/s``; an empty text
    without one.
    """
    if x is None:
        return ""
    if layout.by_load:
        return f"at {number(x)} {layout.run.load.words}"
    if layout.x_axis is None:
        return ""
    point = next(p for p in layout.series[0].points if layout.x(p) == x)
    value = point.values[layout.x_axis]
    return "at " + axis_text(layout.run, layout.x_axis, value, point.machine)


def _series_answer(
    layout: View,
    series: Series,
    base: Series,
    measures: list[str],
    x: float | None,
    place: str,
) -> SeriesAnswer:
    """Compare a series with the baseline series `base` at the x value `x`, which `place` names."""
    level = layout.run.confidence
    own_bracket, base_bracket = bracket(layout, series), bracket(layout, base)
    own_peak, base_peak = (
        peak(layout, s) if judged_by_throughput(layout) else None for s in (series, base)
    )
    unit = layout.run.load.words
    point = _stable_at(layout, series, x) if x is not None else None
    base_point = _stable_at(layout, base, x) if x is not None else None
    why = reason(layout, series, point)
    timeless = frozenset(m for m in measures if point and grows_with_run(layout, point, m))
    build = partial(
        SeriesAnswer, series, own_bracket, point=point, peak=own_peak, reason=why, timeless=timeless
    )
    if series is base:
        collapse = collapse_part(layout, series)
        text = baseline_sentence(
            layout, collapse, own_bracket, own_peak, point, measures, place, series
        )
        badge = "baseline" if len(layout.series) > 1 else ""
        return build(saturation=None, ratios={}, badge=badge, sentence=text)
    saturation = own_bracket.against(base_bracket) if own_bracket and base_bracket else None
    ratios = {}
    if point and base_point:
        for name in measures:
            own, other = point.measure(name), base_point.measure(name)
            compared = ratio(name, own, other, level) if own and other else None
            if compared and _comparable(layout, compared, point, base_point):
                ratios[name] = compared
    peak_ratio = own_peak.against(base_peak, level) if own_peak and base_peak else None
    headline = ratios.get(measures[0]) if measures else None
    lost = base_point is not None and _is_lost(layout, series, x)
    jobs: dict[str, str] = {}
    if layout.of_jobs and point and base_point:
        jobs = _jobs(ratios, point, base_point)
        deciding = _ratio_of_each_job(ratios)
        badge = _badge(saturation, deciding, lost=False)
        if len(set(jobs.values())) > 1 and badge != "unknown":
            badge = "mixed"
    else:
        badge = _badge(saturation, [peak_ratio, headline], lost and not layout.of_jobs)
    collapse = collapse_part(layout, series)
    if collapse and not any(p.collapsed for p in base.points):
        badge = "collapses"
    parts = [collapse] if collapse else []
    if own_bracket:
        parts.append(saturation_words(own_bracket, base_bracket, saturation, base.label, unit))
    if lost and place and not layout.of_jobs:
        parts.append(f"saturated {place}, where {base.label} still is stable")
    if point:
        parts.append(timeless_words(layout, series, point, short=own_bracket is not None))
    if own_peak:
        parts.append(peak_words(own_peak, peak_ratio, base.label, base_peak))
    parts += [ratio_words(layout, ratios[m], place, n == 0) for n, m in enumerate(ratios)]
    sentence = join([p for p in parts if p][:3]) or apart_words(series, base)
    return build(
        saturation=saturation,
        ratios=ratios,
        badge=badge,
        sentence=sentence,
        jobs=jobs if badge == "mixed" else {},
        peak_ratio=peak_ratio,
    )


def _jobs(ratios: dict[str, Ratio], point: PointResult, base: PointResult) -> dict[str, str]:
    """Return the verdict on each job that ran at both points, by its name: ``better``, ``worse``,
    ``about the same`` or ``unknown``.
    """
    felt = _felt_by_job(ratios)
    found = {}
    for job in point.active:
        if job not in base.active:
            continue
        own_lost, base_lost = (
            p.verdict.verdict in (*LOST, "incomplete") and p.verdict.flow == job
            for p in (point, base)
        )
        if own_lost != base_lost:
            found[job] = "worse" if own_lost else "better"
        else:
            found[job] = _word(felt.get(job))
    return found


def _word(ratio: Ratio | None) -> str:
    """Return the verdict on one ratio in words: ``better``, ``worse``, ``about the same``,
    ``unknown``.
    """
    if ratio is None or ratio.tendency == "unclear":
        return "unknown"
    return {1: "better", 0: "about the same", -1: "worse"}[ratio.better]


def _ratio_of_each_job(ratios: dict[str, Ratio]) -> list[Ratio | None]:
    """Return one ratio to the baseline for each job: that of the time of its phases or messages if
    it can be compared, else that of its bandwidth. If no job has one, return all ratios.
    """
    return list(_felt_by_job(ratios).values()) or list(ratios.values())


def _felt_by_job(ratios: dict[str, Ratio]) -> dict[str, Ratio]:
    """Return, for each job, the first ratio in `ratios` whose measure describes how fast the job
    runs.
    """
    found: dict[str, Ratio] = {}
    for name, each in ratios.items():
        job, _, quantity = name.rpartition(".")
        if job != "servers" and quantity in ("phase", "response", "accepted"):
            found.setdefault(job, each)
    return found


def _comparable(layout: View, compared: Ratio, *points: PointResult) -> bool:
    """Return whether the measure of `compared` can be compared at these points. A time that grows
    with the length of the run cannot.
    """
    return not any(grows_with_run(layout, p, compared.measure) for p in points)


def _badge(saturation: str | None, found: Sequence[Ratio | None], lost: bool) -> str:
    """Return the badge of a series, such as ``better``: a verdict on its ratios to the baseline and
    on its saturation. `lost` means that it is saturated or collapsed at the compared load.
    """
    votes = {"earlier": -1, "later": 1}.get(saturation or "", 0)
    signs = {votes} if votes else set()
    ratios = [r for r in found if r is not None]
    signs |= {r.better for r in ratios if r.better}
    if lost:
        signs.add(-1)
    if not signs:
        known = all(r.tendency == "same" for r in ratios)
        return "about the same" if known and (ratios or saturation) else "unknown"
    if len(signs) > 1:
        return "mixed"
    word = "better" if signs == {1} else "worse"
    far = any(max(r.low, 1 / r.high) >= FAR for r in ratios)
    return f"far {word}" if far or lost else word


def _warnings(layout: View) -> list[str]:
    """Return a sentence for each collapsed point. After `WARNINGS` sentences, one more gives the
    number of the remaining points.
    """
    texts = []
    for series in layout.series:
        for point in series.points:
            if point.collapsed:
                x = layout.x(point)
                place = _place_text(layout, x) if x is not None else ""
                head = f"{series.label} {place}".strip()
                texts.append(f"{head}: {collapse_words(layout.run, point)}")
    if len(texts) > WARNINGS:
        rest = len(texts) - WARNINGS + 1
        return [*texts[: WARNINGS - 1], f"{rest} more points have collapsed."]
    return texts

"""The sentences of an answer about the variants of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isthmus.answer.grounds import Bracket, Peak, Ratio
from isthmus.results.schema import Measure, PointResult, RunResult
from isthmus.results.series import Series, View, axis_text
from isthmus.wording import (
    counted,
    ended,
    estimate,
    estimate_in_unit,
    interval,
    number,
    unit_label,
)

if TYPE_CHECKING:
    from isthmus.answer import SeriesAnswer

NODES = 12
"""Maximum number of nodes in a wait cycle that a sentence lists."""


UNCOUNTED = "what fills first was not counted yet, `isthmus check` says what is asked for"
NAMED = 4
"""Maximum number of variants with the same outcome, or of measures, that a sentence names."""


def join(parts: list[str]) -> str:
    """Join the non-empty parts of a sentence of the answer."""
    return "; ".join(p for p in parts if p)


def baseline_sentence(
    layout: View,
    collapses: str,
    own: Bracket | None,
    own_peak: Peak | None,
    point: PointResult | None,
    measures: list[str],
    place: str,
    series: Series,
) -> str:
    """Return the sentence on the baseline: its saturation, highest accepted load, or measures."""
    unit = layout.run.load.words
    parts = [collapses]
    if own:
        parts.append(saturation_words(own, None, None, "", unit))
    if own_peak:
        parts.append(peak_words(own_peak, None, "", None))
    if point:
        parts.append(timeless_words(layout, series, point, short=own is not None))
        shown = [m for m in measures if not grows_with_run(layout, point, m)]
        if layout.of_jobs and shown:
            parts.append(incomplete_words(layout, series))
        where = f" {place}" if place else ""
        for name in shown[: 3 if layout.of_jobs else 2]:
            m = point.measure(name)
            if layout.of_jobs and name == shown[0] and is_varied(layout, series):
                parts.append(trend_words(layout, series, name))
            elif m and m.best[0] is not None:
                parts.append(f"{time_label(layout, [point], name)} {value_words(m)}{where}")
                where = ""
    return join(parts) or verdict_words(series)


def value_words(m: Measure) -> str:
    """Return a measure with interval and unit, and the number of finished observations if some are
    unfinished.
    """
    text = estimate_in_unit(*m.best, m.unit)
    return f"{text} ({m.ended_words} ended)" if m.unended else text


def is_varied(layout: View, series: Series) -> bool:
    """Return whether the points of a series differ in a field besides the load."""
    return layout.x_axis is not None and not layout.by_load and len(series.points) > 1


def trend_words(layout: View, series: Series, name: str) -> str:
    """Return the values of a measure along the axis of a series as text: at each value of the axis,
    or at the first and the last.
    """
    found = [(p, m) for p in series.points if (m := p.measure(name)) and m.best[0] is not None]
    if len(found) > NAMED:
        found = [found[0], found[-1]]
    axis = layout.x_axis
    assert axis is not None
    parts: list[str] = []
    for point, m in found:
        value = "saturated" if grows_with_run(layout, point, name) else value_words(m)
        where = axis_text(layout.run, axis, point.values[axis], point.machine)
        parts.append(f"{value} at {point.values[axis].text if parts else where}")
    label = time_label(layout, [p for p, _ in found], name)
    return f"{label} {', '.join(parts)}" if parts else ""


def time_label(layout: View, points: list[PointResult], name: str) -> str:
    """Return the words before the value of a measure: its label, or ``completes in`` for the time
    of a single phase.
    """
    job, _, quantity = name.rpartition(".")
    of = all(p.verdict.verdict == "completed" and p.verdict.flow == job for p in points)
    return f"{job} completes in" if quantity == "phase" and of else layout.label(name)


def incomplete_words(layout: View, series: Series) -> str:
    """Return in words the jobs that did not complete within the run, and their points."""
    late = [p for p in series.points if p.verdict.verdict == "incomplete"]
    if not late:
        return ""
    jobs = listed(list(dict.fromkeys(p.verdict.flow for p in late)))
    longest_us = max(1e3 * p.simulated_ms / p.replications for p in late)
    text = f"{jobs} did not complete within {estimate_in_unit(longest_us, None, None, 'us')}"
    if layout.x_axis is None or len(series.points) == 1:
        return text
    if len(late) == len(series.points):
        return f"{text} at any {layout.x_label}"
    return f"{text} at {layout.x_label} {listed([p.values[layout.x_axis].text for p in late])}"


def grows_with_run(layout: View, point: PointResult, measure: str) -> bool:
    """Return whether a measure is a time of the job that saturates a point. Such a time grows with
    the length of the run.
    """
    job = measure.rpartition(".")[0]
    lost = layout.of_jobs and point.verdict.verdict == "saturated"
    return lost and job == point.verdict.flow and layout.unit(measure) == "us"


def timeless_words(layout: View, series: Series, point: PointResult, *, short: bool) -> str:
    """Return a text on the job that saturates the compared point, with all saturated points unless
    `short`; an empty text if the point is not saturated.
    """
    if not layout.of_jobs or point.verdict.verdict != "saturated":
        return ""
    lost = [p for p in series.points if p.verdict.verdict == "saturated"]
    first, axis = lost[0], layout.x_axis
    if short:
        return f"no times of {point.verdict.flow} are known there"
    where = ""
    if axis is not None:
        low, high = first.values[axis].text, lost[-1].values[axis].text
        if len(lost) == len(series.points):
            where = f" at every {layout.x_label} tried"
            where += f", {low} to {high}" if len(lost) > 1 else ""
        else:
            known = [axis_text(layout.run, axis, p.values[axis], p.machine) for p in lost]
            last = series.points[-len(lost) :] == lost
            where = f" from {known[0]}" if last and len(lost) > 1 else f" at {listed(known)}"
    return f"saturated{where}, so that no times of {point.verdict.flow} are known"


def verdict_words(series: Series) -> str:
    """Return the verdicts of a series without a stable point, and the causes of early ends."""
    verdicts = list(dict.fromkeys(p.verdict.verdict for p in series.points))
    reasons = dict.fromkeys(ended(p.ended_by).removeprefix("; ") for p in series.points)
    text = f"{' or '.join(verdicts)}, so that no latency is known" if verdicts else ""
    if any(p.ended_by and not p.channels for p in series.points):
        reasons[UNCOUNTED] = None
    return join([text or "no stable point to compare with", *reasons])


def apart_words(series: Series, base: Series) -> str:
    """Return the reason why a series is not comparable with the baseline."""
    if any(p.verdict.verdict == "stable" for p in series.points):
        return f"no point at which both this and {base.label} are stable"
    return verdict_words(series)


def peak_words(own: Peak, ratio: Ratio | None, base_label: str, base: Peak | None) -> str:
    """Return in words the highest accepted load of a series, compared with the baseline."""
    unit = unit_label(own.measure.unit)
    text = f"carries {own.text.removeprefix('≥ ')} {unit}"
    text += " and more" if own.more else " at most"
    if ratio is None or base is None or ratio.tendency == "unclear":
        return text
    against = f"{base_label} ({number(base.measure.mean)})"
    if ratio.tendency == "same":
        return f"{text}, about as much as {against}"
    if ratio.tendency == "longer":
        return f"{text}, {ratio.factor} times as much as {against}"
    return f"{text}, {ratio.factor} times less than {against}"


def saturation_words(
    own: Bracket, base: Bracket | None, saturation: str | None, base_label: str, unit: str
) -> str:
    """Return the saturation load of a series, compared with the baseline."""
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
    if own.missed is not None and (grey or None not in (own.low, own.high)):
        text += f"; its search did not reach {100 * own.missed:.3g}%"
    if base is None or saturation is None:
        return text
    if saturation == "alike":
        return f"{text}, not told apart from {base_label} ({base.text})"  # codespell:ignore told
    return f"{text}, {saturation} than {base_label} ({base.text})"


def _zone(loads: tuple[float, float]) -> str:
    """Return the load or the range of loads in words: ``at 12`` or ``at 11–12``."""
    low, high = loads
    return f"at {number(low)}" if low == high else f"at {interval(low, high)}"


def collapse_part(layout: View, series: Series) -> str:
    """Return in words the load above which the throughput of a series collapses; an empty text if
    it does not.
    """
    collapsed = [p for p in series.points if p.collapsed]
    if not collapsed:
        return ""
    kinds = dict.fromkeys(p.collapse.kind for p in collapsed if p.collapse)
    how = f" ({' or '.join(kinds)})" if kinds else ""
    if not layout.by_load:
        return f"collapses{how}"
    loads = [p.load for p in collapsed if p.load is not None]
    return f"collapses at {number(min(loads))} {layout.run.load.words}{how}"


def ratio_words(layout: View, ratio: Ratio, place: str, first: bool) -> str:
    """Return words that compare a measure with the baseline; `first` adds the load of the
    comparison.
    """
    if ratio.is_rate:
        return _rate_words(layout, ratio, place if first else "")
    subject = layout.subject(ratio.measure)
    where = {"network": " in the network", "response": " in all", "header": ""}.get(
        ratio.measure.rpartition(".")[2], ""
    )
    unit = unit_label(ratio.own.unit)
    values = f"{number(ratio.own.best[0])} against {number(ratio.base.best[0])} {unit}"
    values = f"({values} {place})" if first and place else f"({values})"
    if ratio.tendency == "longer":
        return f"{subject} take {ratio.factor} times as long{where} {values}"
    if ratio.tendency == "shorter":
        return f"{subject} are {ratio.factor} times quicker{where} {values}"  # codespell:ignore
    if ratio.tendency == "same":
        return f"{subject} take about as long{where} {values}"
    return f"whether {subject} take longer{where} is unknown {values}"


def _rate_words(layout: View, ratio: Ratio, place: str) -> str:
    """Return words that compare an accepted load with the baseline."""
    values = f"{estimate(*ratio.own.best)} against {number(ratio.base.best[0])}"
    values = f"({values} {unit_label(ratio.own.unit)}{' ' if place else ''}{place})"
    label = layout.label(ratio.measure)
    if ratio.tendency == "longer":
        return f"{label} {ratio.factor} times as much {values}"
    if ratio.tendency == "shorter":
        return f"{label} {ratio.factor} times less {values}"
    if ratio.tendency == "same":
        return f"{label} about the same {values}"
    return f"{label} unknown {values}"


def conclusion(found: list[SeriesAnswer], layout: View) -> str:
    """Return one sentence on all variants, grouped by badge (a verdict in one word)."""
    if len(found) < 2:
        return found[0].sentence if found else "Nothing was measured."
    base = found[0].series.label
    groups: dict[str, list[str]] = {}
    for each in found[1:]:
        badge = each.badge if each.badge != "unknown" or each.compared else "not compared"
        groups.setdefault(badge, []).append(each.series.label)
    order = (
        "collapses",
        "far worse",
        "worse",
        "mixed",
        "unknown",
        "not compared",
        "about the same",
        "better",
        "far better",
    )
    parts = []
    for badge in order:
        if badge in groups:
            names = listed(groups[badge])
            if len(groups[badge]) > NAMED:
                names = "all others" if len(groups) == 1 else f"{len(groups[badge])} variants"
            verb = "is" if len(groups[badge]) == 1 else "are"
            if badge == "collapses":
                parts.append(f"{names} {'collapses' if verb == 'is' else 'collapse'}")
            elif badge == "mixed":
                parts += _mixed_texts([each for each in found[1:] if each.badge == "mixed"], names)
            elif badge == "about the same":
                parts.append(f"{names} {verb} about the same")
            elif badge == "unknown":
                parts.append(f"of {names} it is unknown, the intervals are too wide")
            elif badge == "not compared":
                parts.append(f"of {names} it is unknown, no point of both is stable")
            else:
                parts.append(f"{names} {verb} {badge}")
    return f"Against {base}: {'; '.join(parts)}."


def _mixed_texts(found: list[SeriesAnswer], names: str) -> list[str]:
    """Return texts on variants that are better for one job and worse or unknown for another,
    grouped by equal badges. If there are too many, return one text with `names`.
    """
    verb = "is" if len(found) == 1 else "are"
    if len(found) > NAMED or not all(each.jobs for each in found):
        return [f"{names} {verb} better in one respect and worse or unknown in another"]
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for each in found:
        alike.setdefault(tuple(each.jobs.items()), []).append(each.series.label)
    parts = []
    for jobs, labels in alike.items():
        by_word: dict[str, list[str]] = {}
        for job, word in jobs:
            by_word.setdefault(word, []).append(job)
        order = [
            word for word in ("better", "worse", "unknown", "about the same") if word in by_word
        ]
        words = [f"{word} for {listed(by_word[word])}" for word in order]
        parts.append(f"{listed(labels)} {'is' if len(labels) == 1 else 'are'} {', '.join(words)}")
    return parts


def listed(names: list[str]) -> str:
    """Return names as a list in words: ``a, b and c``; ``x = 1, 2 and 3`` if all names are values
    of x.
    """
    if len(names) < 2:
        return "".join(names)
    heads = {name.partition(" = ")[0] for name in names}
    if len(heads) == 1 and all(" = " in n and "," not in n for n in names):
        values = [name.partition(" = ")[2] for name in names]
        return f"{heads.pop()} = {', '.join(values[:-1])} and {values[-1]}"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def basis(layout: View, headline: str | None, place: str, found: list[SeriesAnswer]) -> str:
    """Return a sentence on the criteria of the verdicts."""
    grounds = []
    if any(each.bracket for each in found):
        grounds.append("the load at which it saturates")
    if any(each.peak for each in found):
        grounds.append("the highest accepted load")
    if headline and layout.of_jobs:
        grounds.append(f"how long phases and messages of each job take {place}".rstrip())
    elif headline:
        grounds.append(f"{layout.label(headline)} {place}".rstrip())
    if not grounds or len(layout.series) < 2:
        return ""
    all_of_it = {1: "", 2: "both ", 3: "all "}[len(grounds)]
    model = "" if layout.run.simulated else f", {all_of_it}from the queueing model"
    *first, last = grounds
    by = f"{', by '.join(first)} and by {last}" if first else last
    return f"Judged by {by}{model}."


def unmodelled(layout: View) -> str:
    """Return a sentence on measures without a model value; an empty text if there are none."""
    found: dict[str, dict[str, int]] = {}
    for point in layout.run.points:
        for measure in point.measures:
            if measure.outside is not None:
                of = found.setdefault(measure.outside.reason, {})
                of[measure.name] = of.get(measure.name, 0) + 1
    total, texts = len(layout.run.points), []
    absent = Counter(point.unmodelled for point in layout.run.points if point.unmodelled)
    for reason, points in absent.items():
        where = "at any point" if points == total else f"at {points:,} of {counted(total, 'point')}"
        texts.append(f"{where} ({reason})")
    for reason, counts in found.items():
        names = [name for name in layout.asked if name in counts] or list(counts)
        labels = [layout.label(name) for name in names[:NAMED]]
        if len(names) > NAMED:
            labels.append(f"{len(names) - NAMED} more")
        points = max(counts.values())
        where = "" if points == total else f" at {points:,} of {counted(total, 'point')}"
        texts.append(f"for {listed(labels)}{where} ({reason})")
    return f"No model value is given {'; '.join(texts)}." if texts else ""


def collapse_words(run: RunResult, point: PointResult) -> str:
    """Return the cause of a collapse: ``livelock since 143 µs: nodes 3, 9 and 8 wait for one
    another``.
    """
    collapse = point.collapse
    if collapse is None:
        return "nothing arrives any more"
    since = number(collapse.since_us)
    text = f"{collapse.kind} since {since} µs"
    if collapse.nodes:
        names = [str(node) for node in collapse.nodes[:NODES]]
        more = len(collapse.nodes) - len(names)
        circle = f"{', '.join(names)} and {more} more" if more else listed(names)
        text += f": nodes {circle} wait for one another"
    waiting = "1 message waits" if collapse.waiting == 1 else f"{collapse.waiting:,} messages wait"
    runs = f"in {collapse.replications} of {point.replications} runs"
    return f"{text} ({runs}; {waiting})"

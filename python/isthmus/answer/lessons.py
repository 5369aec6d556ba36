"""The results of an interference matrix in words: slowdowns between jobs, and remedies.

The criterion is the time of a job's phases or messages beside other jobs: the mean and the highest
known percentile. The property `Change.direction` selects the words of each sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isthmus.results.interference import (
    MARGIN,
    Cell,
    Change,
    Interference,
    JobSlowdown,
    combined,
    felt,
    value_words,
)
from isthmus.results.schema import AxisValue, PointResult

FAR = 1.2
"""Slowdown factor from which a sentence reports a longer tail of a job's times."""
TWICE = 2.0
"""Slowdown from which texts give a factor, such as 2.1 times, rather than percent."""
CASES = 2
"""Maximum number of points that a sentence on a choice (such as a placement) lists."""
PAIRS = 6
"""Maximum number of pairs of jobs with a sentence, the largest slowdowns first."""
UNKNOWN = "how much the jobs disturb one another is unknown"
"""The conclusion if no job was measured both alone and beside others."""
FIRST = 3
"""Maximum number of sentences below the conclusion on the first screen."""


@dataclass(frozen=True)
class Lessons:
    """The conclusions from a run with jobs alone and together, as sentences: slowdowns and
    remedies.
    """

    matrix: Interference = field(repr=False)
    conclusion: str
    """A sentence on the job with the largest slowdown, and how to reduce it."""
    losses: list[str]
    """A sentence for each pair of jobs: the slowdown of the first job by the second."""
    choices: list[str]
    """A sentence on the effect of each choice, such as the placement of servers."""

    @property
    def first(self) -> list[str]:
        """The sentences below the conclusion on the first screen of a report: those on the second
        pair of jobs, and on choices such as a placement of servers.
        """
        return [*self.losses[1:2], *self.choices, *self.losses[2:]][:FIRST]

    @property
    def rest(self) -> list[str]:
        """The sentences that are not on the first screen of a report."""
        return [text for text in [*self.losses, *self.choices] if text not in self.first]


def lessons(matrix: Interference) -> Lessons:
    """Return the conclusions from an interference matrix: the slowdowns of jobs beside other jobs,
    and the effects of choices such as a placement.
    """
    pairs: dict[tuple[str, tuple[str, ...]], list[Cell]] = {}
    for cell in matrix.cells:
        if cell.felt is not None:
            pairs.setdefault((cell.job, cell.beside), []).append(cell)
    ordered = sorted(pairs.values(), key=_rank)[:PAIRS]
    losses = [loss_sentence(matrix, cells) for cells in ordered]
    conclusion = "; ".join(loss_sentence(matrix, cells, short=True) for cells in ordered[:1])
    choices = [
        sentence for axis in choice_axes(matrix) for sentence in choice_sentences(matrix, axis)
    ]
    return Lessons(matrix, conclusion or UNKNOWN, losses, choices)


def basis(found: Lessons) -> str:
    """Return a sentence that explains the criterion and the terms of the conclusions."""
    kinds = dict.fromkeys(c.felt.of for c in found.matrix.cells if c.felt)
    if not kinds:
        return "Nothing of a job was measured both alone and beside others."
    what = _join_names([f"the time of its {kind}" for kind in kinds])
    return (
        f"Judged by {what} beside others against that alone. None: known to be within "
        f"{100 * MARGIN:g}%; unknown: the interval is too wide to tell."
    )


def percent(change: Change, *, signed: bool = True) -> str:
    """Return a change in percent with its half-width: ``−33 ± 4%``."""
    value, half = 100 * (change.value - 1), change.half
    wide = None if half is None else 100 * half
    digits = 1 if wide is not None and wide < 1 and abs(value) < 10 else 0
    shown = f"{value if signed else abs(value):{'+' if signed else ''}.{digits}f}"
    shown = shown.replace("-", "−")
    if float(shown.replace("−", "-")) == 0:
        shown = "0"
    return f"{shown}%" if wide is None else f"{shown} ± {wide:.{digits}f}%"


def slower(change: Change) -> str:
    """Return a slowdown for a table cell: ``+33 ± 4%``, ``× 4.1 ± 0.3``; ``unknown (+3 ± 79%)`` if
    the interval is too wide.
    """
    if change.value >= TWICE:
        half = "" if change.half is None else f" ± {change.half:.1f}"
        text = f"× {change.value:.1f}{half}"
    else:
        text = percent(change)
    return f"unknown ({text})" if change.direction == "unknown" else text


def felt_text(loss: JobSlowdown | None) -> str:
    """Return the mean slowdown of a job as text for a table cell; ``piles up`` if its backlog
    grows.
    """
    if loss is None:
        return "–"
    text = slower(loss.mean)
    return f"piles up ({text})" if loss.piles_up else text


def tail_text(loss: JobSlowdown | None) -> str:
    """Return the slowdown of a job at a high percentile as text: ``p99 +80 ± 9%``; empty if
    unknown.
    """
    if loss is None or loss.tail is None or loss.percent is None:
        return ""
    return f"p{loss.percent:g} {slower(loss.tail)}"


def _known(cell: Cell) -> JobSlowdown:
    """Return the slowdown in a cell of the interference matrix, which must be known."""
    assert cell.felt is not None
    return cell.felt


def _clear(cell: Cell) -> bool:
    """Return whether the job of a cell is clearly slower beside other jobs than alone."""
    loss = _known(cell)
    return loss.piles_up or loss.mean.more


def _severity(cell: Cell) -> tuple[bool, float]:
    """Return the sort key of a cell: whether the job's backlog grows, then its mean slowdown."""
    loss = _known(cell)
    return loss.piles_up, loss.mean.value


def _worst_cell(cells: list[Cell]) -> Cell:
    """Return the cell with the largest clear slowdown; if none is clear, of all cells."""
    return max([c for c in cells if _clear(c)] or cells, key=_severity)


def _rank(cells: list[Cell]) -> tuple[bool, bool, float]:
    """Return the sort key of a group of cells: clear slowdowns first, then the largest."""
    worst = _worst_cell(cells)
    piles_up, value = _severity(worst)
    return not _clear(worst), not piles_up, -value


def _subject(job: str, loss: JobSlowdown) -> str:
    """Return the subject of a sentence: ``the phase of reader``."""
    return f"the {loss.of} of {job}"


def _change_in_words(change: Change) -> str:
    """Return the change of a time in words: ``33 ± 4% longer``, ``4.1 ± 0.3 times as long``."""
    if change.value >= TWICE:
        half = "" if change.half is None else f" ± {change.half:.1f}"
        return f"{change.value:.1f}{half} times as long"
    return f"{percent(change, signed=False)} {'longer' if change.value >= 1 else 'less long'}"


def loss_sentence(matrix: Interference, cells: list[Cell], *, short: bool = False) -> str:
    """Return a sentence on the slowdown of a job: the largest and the smallest case; `short` omits
    the trend.
    """
    worst = _worst_cell(cells)
    loss = _known(worst)
    head = f"beside {_join_names(list(worst.beside))},"
    if not _clear(worst):
        return f"{head} {_unclear_text(worst.job, cells)}" + ("" if short else _tails(cells))
    where = f" with {_listed(worst.variant.words)}" if worst.variant.words else ""
    if loss.piles_up:
        longer = _change_in_words(loss.mean)
        text = f"{head} messages of {worst.job} pile up{where}: its data take {longer}"
    else:
        text = f"{head} {_subject(worst.job, loss)} take {_change_in_words(loss.mean)}{where}"
    text += _tail(loss)
    if not short:
        text += _trend(matrix, cells, worst)
    return text if len(cells) < 2 else f"{text}; {_remedy(matrix, cells, worst)}"


def _unclear_text(job: str, cells: list[Cell]) -> str:
    """Return the text that a job has no clear slowdown, or that its slowdown is unknown."""
    changes = [_known(c).mean for c in cells]
    subject = _subject(job, _known(cells[0]))
    if all(c.direction == "unknown" for c in changes):
        return f"it is unknown whether {subject} take longer ({_span(changes)})"
    return f"{subject} take {_no_loss(changes)}"


def _no_loss(changes: list[Change]) -> str:
    """Return the part of a sentence on the cases without a clear slowdown."""
    says = [c.direction for c in changes]
    unknown, known = says.count("unknown"), set(says) - {"unknown"}
    if not known:
        word = "unknown"
    elif "slightly more" in known:
        word = "slightly longer at most"
    else:
        word = "as long as alone" if known == {"same"} else "no longer"
    if known and unknown:
        word += f", unknown in {unknown} of {len(says)} cases"
    return f"{word} ({_span(changes)})"


def _remedy(matrix: Interference, cells: list[Cell], worst: Cell) -> str:
    """Return in words which choice reduces the slowdown most: a value of one axis, or a variant."""
    most, groups = _known(worst).mean.value, []
    for axis in choice_axes(matrix):
        for value in dict.fromkeys(c.variant.at(axis) for c in cells):
            of = [c for c in cells if c.variant.at(axis) == value]
            at = of[0].variant.values[axis]
            if value != worst.variant.at(axis) and at is not None:
                groups.append((value_words(matrix.run, axis, at), of))
    if groups:
        where, of = min(groups, key=lambda group: max(_severity(c) for c in group[1]))
        changes = [_known(c).mean for c in of]
        if not any(_clear(c) for c in of):
            return f"with {where} {_no_loss(changes)}"
        heaviest = max(c.value for c in changes)
        if not any(_known(c).piles_up for c in of) and heaviest - 1 < (most - 1) / 2:
            return f"with {where} only {_span(changes)}"
    best = min(cells, key=_severity)
    where = _listed(best.variant.words)
    if not _clear(best):
        return f"with {where} {_no_loss([_known(best).mean])}"
    return f"least with {where} ({slower(_known(best).mean)})"


def _trend(matrix: Interference, cells: list[Cell], worst: Cell) -> str:
    """Return in words the slowdown along a numeric axis, with all else as in the worst case."""
    axes = [i for i in range(len(matrix.run.axes)) if i != matrix.axis]
    for axis in axes:
        along = [
            c
            for c in cells
            if all(c.variant.at(i) == worst.variant.at(i) for i in axes if i != axis)
        ]
        numbers = [v.number for c in along if (v := c.variant.values[axis]) is not None]
        if len(along) > 1 and None not in numbers:
            label = matrix.run.axes[axis].label
            at = ", ".join(c.variant.at(axis) for c in along)
            losses = ", ".join(percent(Change(_known(c).mean.value)) for c in along)
            return f" ({losses} at {label} {at})"
    return ""


def _tail(loss: JobSlowdown) -> str:
    """Return the last part of a sentence: the slowdown of a job at a high percentile, or an empty
    text.
    """
    if loss.tail is None or loss.percent is None or not loss.tail.more or loss.tail.value < FAR:
        return ""
    what = f"{loss.percent:g}th percentile"
    if loss.tail_of != loss.of:
        what += f" of its {loss.tail_of}"
    return f", the {what} {_change_in_words(loss.tail)}"


def _tails(cells: list[Cell]) -> str:
    """Return the last part of a sentence: the largest slowdown at a high percentile, among cells
    without a slowdown of the mean.
    """
    tailed = [c for c in cells if (tail := _known(c).tail) is not None and tail.more]
    if not tailed:
        return ""
    longest = max(tailed, key=_tail_value)
    text = _tail(_known(longest))
    where = f" with {_listed(longest.variant.words)}" if longest.variant.words else ""
    return f"{text}{where}" if text else ""


def _tail_value(cell: Cell) -> float:
    """Return the factor by which other jobs lengthen the tail latency of a job; 0 if unknown."""
    tail = _known(cell).tail
    return tail.value if tail else 0.0


def choice_axes(matrix: Interference) -> list[int]:
    """Return the axes with words as values, such as a mapping or a placement of servers."""
    found = []
    for axis in range(len(matrix.run.axes)):
        values = [v.values[axis] for v in matrix.variants]
        texts = {v.text for v in values if v is not None}
        if len(texts) > 1 and all(v is not None and v.number is None for v in values):
            found.append(axis)
    return found


def choice_sentences(matrix: Interference, axis: int) -> list[str]:
    """Return the effect of each other value of a choice against the first, all else equal."""
    values = {v.at(axis): v.values[axis] for v in matrix.variants}
    (first, base), *others = values.items()
    texts = []
    for text, value in others:
        assert value is not None
        assert base is not None
        names = f"{value_words(matrix.run, axis, value)} rather than {base.text}{_load(matrix)}"
        parts = [_effect(matrix, axis, first, text, job) for job in matrix.jobs]
        parts = [p for p in parts if p]
        texts.append(f"{names}: {'; '.join(parts)}" if parts else f"{names}: not comparable")
    return texts


def _load(matrix: Interference) -> str:
    """Return in words the highest value of each numeric axis, at which choices are compared."""
    texts = [
        value_words(matrix.run, axis, max(values, key=lambda v: v.number or 0.0))
        for axis, values in _numeric_axes(matrix).items()
    ]
    return f", at {_join_names(texts)}" if texts else ""


def _numeric_axes(matrix: Interference) -> dict[int, list[AxisValue]]:
    """Return the values of each numeric axis with more than one value."""
    found = {}
    for axis in range(len(matrix.run.axes)):
        values = {v.text: v for each in matrix.variants if (v := each.values[axis]) is not None}
        if len(values) > 1 and all(v.number is not None for v in values.values()):
            found[axis] = list(values.values())
    return found


def _effect(matrix: Interference, axis: int, first: str, other: str, job: str) -> str:
    """Return the slowdown of a job with one value of a choice against another, at points that are
    otherwise equal.
    """
    cases = _matched_slowdowns(matrix, axis, first, other, job)
    if not cases:
        return ""
    changes = [loss.mean for loss, _ in cases]
    change = combined(changes)
    subject = _subject(job, cases[0][0])
    clear = [(loss, where) for loss, where in cases if _differs(loss)]
    if change is None:
        return ""
    if len(clear) == len(cases) and len({loss.mean.value > 1 for loss, _ in cases}) == 1:
        on_average = f" on average ({_span(changes)})" if len(cases) > 1 else ""
        return f"{subject} take {_change_in_words(change)}{on_average}"
    if not clear:
        says = {c.direction for c in changes}
        if "unknown" in says:
            return f"unknown for {subject} ({_span(changes)})"
        return f"{subject} take about as long ({_span(changes)})"
    words = [f"{_change_in_words(loss.mean)} {where}".rstrip() for loss, where in clear[:CASES]]
    rest = len(cases) - len(clear)
    unknown = sum(c.direction == "unknown" for c in changes)
    more = f" (unknown in {unknown} of {len(cases)} cases)" if unknown else ""
    if rest and not unknown:
        more = f" (about as long in {rest} of {len(cases)} cases)"
    return f"{subject} take {_join_names(words)}{more}"


def _differs(loss: JobSlowdown) -> bool:
    """Return whether a job is clearly slower or faster beside other jobs."""
    return loss.piles_up or loss.mean.more or loss.mean.less


def _matched_slowdowns(
    matrix: Interference, axis: int, first: str, other: str, job: str
) -> list[tuple[JobSlowdown, str]]:
    """Return the slowdown at each pair of points that differ only in this axis and have other
    active jobs, with the common values in words.
    """
    run = matrix.run
    by_rest: dict[tuple[str, ...], dict[str, PointResult]] = {}
    highest = {
        i: max(v.number or 0.0 for v in values) for i, values in _numeric_axes(matrix).items()
    }
    for point in run.points:
        if any(point.values[i].number != most for i, most in highest.items()):
            continue
        if len(point.active) < 2 or job not in point.active:
            continue
        rest = tuple(v.text for i, v in enumerate(point.values) if i != axis)
        by_rest.setdefault(rest, {})[point.values[axis].text] = point
    axes = [i for i in choice_axes(matrix) if i != axis]
    found = []
    for pair in by_rest.values():
        if first in pair and other in pair:
            point = pair[other]
            if (change := felt(job, point, pair[first], run.confidence)) is not None:
                common = _join_names([value_words(run, i, point.values[i]) for i in axes])
                active = _join_names(list(point.active))
                found.append((change, f"for {active}{' with ' if common else ''}{common}"))
    return found


def _span(changes: list[Change]) -> str:
    """Return one change with its interval, or the smallest and the largest of several."""
    if len(changes) == 1:
        return percent(changes[0])
    low, high = (
        percent(Change(pick(c.value for c in changes))).removesuffix("%") for pick in (min, max)
    )
    halves = [c.half for c in changes if c.half is not None]
    wide = f", ± {100 * max(halves):.0f}% at most" if halves else ""
    return f"{low}%{wide}" if low == high else f"{low} to {high}%{wide}"


def _join_names(names: list[str]) -> str:
    """Return names as a list in words: ``a, b and c``."""
    if not names:
        return ""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(words: str) -> str:
    """Return comma-separated names as a list in words: ``a, b and c``."""
    return _join_names(words.split(", "))

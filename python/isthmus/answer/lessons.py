"""What an interference matrix teaches, in words: who slows down whom, and what helps.

Judged by what the user of a job feels: how much longer its phases or messages take beside others,
the mean and the highest percentile that is known. The words follow `Change.direction`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isthmus.results.interference import (
    MARGIN,
    Cell,
    Change,
    Felt,
    Interference,
    combined,
    felt,
    value_words,
)
from isthmus.results.schema import AxisValue, PointResult

FAR = 1.2
"""Factor from which a longer tail is told."""
TWICE = 2.0
"""Factor from which a change is told as a factor rather than in percent."""
CASES = 2
"""Most cases of a choice that are told one by one."""
PAIRS = 6
"""Most pairs of jobs that are told in sentences, those that suffer most."""
UNKNOWN = "how much the jobs disturb one another is unknown"
"""The conclusion where nothing of a job was measured both alone and beside others."""
FIRST = 3
"""Most sentences below the conclusion on a first screen."""


@dataclass(frozen=True)
class Lessons:
    """The answer of a run of jobs alone and together."""

    matrix: Interference = field(repr=False)
    conclusion: str
    """Who is slowed down most, and what avoids it."""
    losses: list[str]
    """A sentence per pair: how much longer the first takes beside the second."""
    choices: list[str]
    """A sentence per choice, such as where the servers are: what it changes."""

    @property
    def first(self) -> list[str]:
        """The sentences for a first screen: the next pair after that of the conclusion, choices."""
        return [*self.losses[1:2], *self.choices, *self.losses[2:]][:FIRST]

    @property
    def rest(self) -> list[str]:
        """All other sentences."""
        return [text for text in [*self.losses, *self.choices] if text not in self.first]


def lessons(matrix: Interference) -> Lessons:
    """Tell what the cells and the choices of a matrix show."""
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


def basis(told: Lessons) -> str:
    """What is compared, and what the words mean."""
    kinds = dict.fromkeys(c.felt.of for c in told.matrix.cells if c.felt)
    if not kinds:
        return "Nothing of a job was measured both alone and beside others."
    what = _and([f"the time of its {kind}" for kind in kinds])
    return (
        f"Judged by {what} beside others against that alone. None: known to be within "
        f"{100 * MARGIN:g}%; unknown: the interval is too wide to tell."
    )


def percent(change: Change, *, signed: bool = True) -> str:
    """A change in percent with its half-width: ``−33 ± 4%``."""
    value, half = 100 * (change.value - 1), change.half
    wide = None if half is None else 100 * half
    digits = 1 if wide is not None and wide < 1 and abs(value) < 10 else 0
    shown = f"{value if signed else abs(value):{'+' if signed else ''}.{digits}f}"
    shown = shown.replace("-", "−")
    if float(shown.replace("−", "-")) == 0:
        shown = "0"
    return f"{shown}%" if wide is None else f"{shown} ± {wide:.{digits}f}%"


def slower(change: Change) -> str:
    """How much longer something takes, for a cell: ``+33 ± 4%``, ``× 4.1 ± 0.3``; ``unknown (+3 ±
    79%)`` where the interval is too wide to tell.
    """
    if change.value >= TWICE:
        half = "" if change.half is None else f" ± {change.half:.1f}"
        text = f"× {change.value:.1f}{half}"
    else:
        text = percent(change)
    return f"unknown ({text})" if change.direction == "unknown" else text


def felt_text(told: Felt | None) -> str:
    """The mean and the tail of a cell in words."""
    if told is None:
        return "–"
    text = slower(told.mean)
    return f"piles up ({text})" if told.piles_up else text


def tail_text(told: Felt | None) -> str:
    """The percentile of a cell: ``p99 +80 ± 9%``, or empty."""
    if told is None or told.tail is None or told.percent is None:
        return ""
    return f"p{told.percent:g} {slower(told.tail)}"


def _known(cell: Cell) -> Felt:
    assert cell.felt is not None
    return cell.felt


def _clear(cell: Cell) -> bool:
    """Whether a job is clearly slowed down."""
    told = _known(cell)
    return told.piles_up or told.mean.more


def _severity(cell: Cell) -> tuple[bool, float]:
    told = _known(cell)
    return told.piles_up, told.mean.value


def _worst(cells: list[Cell]) -> Cell:
    """The one that is slowed down most of those that clearly are; if none is, of all."""
    return max([c for c in cells if _clear(c)] or cells, key=_severity)


def _rank(cells: list[Cell]) -> tuple[bool, bool, float]:
    """Clear losses first, the largest of them before the others."""
    worst = _worst(cells)
    piles_up, value = _severity(worst)
    return not _clear(worst), not piles_up, -value


def _subject(job: str, told: Felt) -> str:
    return f"the {told.of} of {job}"


def _longer(change: Change) -> str:
    """``33 ± 4% longer``, ``4.1 ± 0.3 times as long``."""
    if change.value >= TWICE:
        half = "" if change.half is None else f" ± {change.half:.1f}"
        return f"{change.value:.1f}{half} times as long"
    return f"{percent(change, signed=False)} {'longer' if change.value >= 1 else 'less long'}"


def loss_sentence(matrix: Interference, cells: list[Cell], *, short: bool = False) -> str:
    """How much longer one job takes beside others, where most and where least or not at all;
    `short` leaves out how it grows.
    """
    worst = _worst(cells)
    told = _known(worst)
    head = f"beside {_and(list(worst.beside))},"
    if not _clear(worst):
        return f"{head} {_unclear(worst.job, cells)}" + ("" if short else _tails(cells))
    where = f" with {_listed(worst.variant.words)}" if worst.variant.words else ""
    if told.piles_up:
        text = f"{head} messages of {worst.job} pile up{where}: its data take {_longer(told.mean)}"
    else:
        text = f"{head} {_subject(worst.job, told)} take {_longer(told.mean)}{where}"
    text += _tail(told)
    if not short:
        text += _trend(matrix, cells, worst)
    return text if len(cells) < 2 else f"{text}; {_relief(matrix, cells, worst)}"


def _unclear(job: str, cells: list[Cell]) -> str:
    """What to say of a job that is nowhere clearly slowed down."""
    changes = [_known(c).mean for c in cells]
    subject = _subject(job, _known(cells[0]))
    if all(c.direction == "unknown" for c in changes):
        return f"it is unknown whether {subject} take longer ({_span(changes)})"
    return f"{subject} take {_no_loss(changes)}"


def _no_loss(changes: list[Change]) -> str:
    """The same for the part of a sentence that says where it is not slowed down."""
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


def _relief(matrix: Interference, cells: list[Cell], worst: Cell) -> str:
    """The choice under which most of the loss is gone in every variant, else the best variant."""
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
    """The loss along a numeric axis, all else as where it is largest."""
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


def _tail(told: Felt) -> str:
    if told.tail is None or told.percent is None or not told.tail.more or told.tail.value < FAR:
        return ""
    what = f"{told.percent:g}th percentile"
    if told.tail_of != told.of:
        what += f" of its {told.tail_of}"
    return f", the {what} {_longer(told.tail)}"


def _tails(cells: list[Cell]) -> str:
    """The longest tail where the mean does not grow."""
    tailed = [c for c in cells if (tail := _known(c).tail) is not None and tail.more]
    if not tailed:
        return ""
    longest = max(tailed, key=_tail_value)
    text = _tail(_known(longest))
    where = f" with {_listed(longest.variant.words)}" if longest.variant.words else ""
    return f"{text}{where}" if text else ""


def _tail_value(cell: Cell) -> float:
    tail = _known(cell).tail
    return tail.value if tail else 0.0


def choice_axes(matrix: Interference) -> list[int]:
    """Axes of words: what someone may choose, such as a mapping or where the servers are."""
    found = []
    for axis in range(len(matrix.run.axes)):
        values = [v.values[axis] for v in matrix.variants]
        texts = {v.text for v in values if v is not None}
        if len(texts) > 1 and all(v is not None and v.number is None for v in values):
            found.append(axis)
    return found


def choice_sentences(matrix: Interference, axis: int) -> list[str]:
    """What each other value of a choice changes against the first one, all else equal."""
    values = {v.at(axis): v.values[axis] for v in matrix.variants}
    (first, base), *others = values.items()
    told = []
    for text, value in others:
        assert value is not None
        assert base is not None
        names = f"{value_words(matrix.run, axis, value)} rather than {base.text}{_load(matrix)}"
        parts = [_effect(matrix, axis, first, text, job) for job in matrix.jobs]
        parts = [p for p in parts if p]
        told.append(f"{names}: {'; '.join(parts)}" if parts else f"{names}: not comparable")
    return told


def _load(matrix: Interference) -> str:
    """At which values of the numeric axes choices are compared: the highest, where they matter."""
    told = [
        value_words(matrix.run, axis, max(values, key=lambda v: v.number or 0.0))
        for axis, values in _numbers(matrix).items()
    ]
    return f", at {_and(told)}" if told else ""


def _numbers(matrix: Interference) -> dict[int, list[AxisValue]]:
    """Values of each numeric axis that has several."""
    found = {}
    for axis in range(len(matrix.run.axes)):
        values = {v.text: v for each in matrix.variants if (v := each.values[axis]) is not None}
        if len(values) > 1 and all(v.number is not None for v in values.values()):
            found[axis] = list(values.values())
    return found


def _effect(matrix: Interference, axis: int, first: str, other: str, job: str) -> str:
    """How much longer a job takes with one value of a choice than with another, at points alike in
    all else.
    """
    cases = _matched(matrix, axis, first, other, job)
    if not cases:
        return ""
    changes = [told.mean for told, _ in cases]
    change = combined(changes)
    subject = _subject(job, cases[0][0])
    clear = [(told, where) for told, where in cases if _differs(told)]
    if change is None:
        return ""
    if len(clear) == len(cases) and len({told.mean.value > 1 for told, _ in cases}) == 1:
        on_average = f" on average ({_span(changes)})" if len(cases) > 1 else ""
        return f"{subject} take {_longer(change)}{on_average}"
    if not clear:
        says = {c.direction for c in changes}
        if "unknown" in says:
            return f"unknown for {subject} ({_span(changes)})"
        return f"{subject} take about as long ({_span(changes)})"
    words = [f"{_longer(told.mean)} {where}".rstrip() for told, where in clear[:CASES]]
    rest = len(cases) - len(clear)
    unknown = sum(c.direction == "unknown" for c in changes)
    more = f" (unknown in {unknown} of {len(cases)} cases)" if unknown else ""
    if rest and not unknown:
        more = f" (about as long in {rest} of {len(cases)} cases)"
    return f"{subject} take {_and(words)}{more}"


def _differs(told: Felt) -> bool:
    return told.piles_up or told.mean.more or told.mean.less


def _matched(
    matrix: Interference, axis: int, first: str, other: str, job: str
) -> list[tuple[Felt, str]]:
    """How much longer a job takes at each pair of points that differ in this axis only and where
    others run beside it, with what both have in common in words.
    """
    run = matrix.run
    by_rest: dict[tuple[str, ...], dict[str, PointResult]] = {}
    highest = {i: max(v.number or 0.0 for v in values) for i, values in _numbers(matrix).items()}
    for point in run.points:
        if any(point.values[i].number != most for i, most in highest.items()):
            continue
        if len(point.active) < 2 or job not in point.active:
            continue
        rest = tuple(v.text for i, v in enumerate(point.values) if i != axis)
        by_rest.setdefault(rest, {})[point.values[axis].text] = point
    told = [i for i in choice_axes(matrix) if i != axis]
    found = []
    for pair in by_rest.values():
        if first in pair and other in pair:
            point = pair[other]
            if (change := felt(job, point, pair[first], run.confidence)) is not None:
                common = _and([value_words(run, i, point.values[i]) for i in told])
                active = _and(list(point.active))
                found.append((change, f"for {active}{' with ' if common else ''}{common}"))
    return found


def _span(changes: list[Change]) -> str:
    """One change with its interval, or the smallest and the largest of several."""
    if len(changes) == 1:
        return percent(changes[0])
    low, high = (
        percent(Change(pick(c.value for c in changes))).removesuffix("%") for pick in (min, max)
    )
    halves = [c.half for c in changes if c.half is not None]
    wide = f", ± {100 * max(halves):.0f}% at most" if halves else ""
    return f"{low}%{wide}" if low == high else f"{low} to {high}%{wide}"


def _and(names: list[str]) -> str:
    if not names:
        return ""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(words: str) -> str:
    return _and(words.split(", "))

"""What an interference matrix teaches, in words: who loses what to whom, and what helps."""

from __future__ import annotations

from dataclasses import dataclass, field

from isthmus.results.interference import (
    Cell,
    Change,
    Interference,
    combined,
    quotient,
    value_words,
)
from isthmus.results.schema import AxisValue, PointResult
from isthmus.wording import job_label

SMALL = 0.05
"""A change that is known to be within so much of nothing is called nothing."""
FAR = 1.2
"""Factor from which a longer tail is told."""
CASES = 2
"""Most cases of a choice that are told one by one."""
PAIRS = 6
"""Most pairs of jobs that are told in sentences, those with the largest losses."""


@dataclass(frozen=True)
class Lessons:
    """The answer of a run of jobs alone and together."""

    matrix: Interference = field(repr=False)
    conclusion: str
    """The largest loss, and what avoids it."""
    losses: list[str]
    """A sentence per pair: what the first loses beside the second."""
    choices: list[str]
    """A sentence per choice, such as where the servers are: what it changes."""


def lessons(matrix: Interference) -> Lessons:
    """Tell what the cells and the choices of a matrix show."""
    pairs: dict[tuple[str, tuple[str, ...]], list[Cell]] = {}
    for cell in matrix.cells:
        if cell.accepted is not None:
            pairs.setdefault((cell.job, cell.beside), []).append(cell)
    ordered = sorted(pairs.values(), key=_rank)[:PAIRS]
    losses = [loss_sentence(matrix, cells) for cells in ordered]
    choices = [
        sentence for axis in choice_axes(matrix) for sentence in choice_sentences(matrix, axis)
    ]
    return Lessons(matrix, losses[0] if losses else "nothing was measured", losses, choices)


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


def _known(cell: Cell) -> Change:
    assert cell.accepted is not None
    return cell.accepted


def _worst(cells: list[Cell]) -> tuple[Cell, Change]:
    """The largest loss that is clear; if none is, the largest."""
    clear = [c for c in cells if _known(c).less]
    worst = min(clear or cells, key=lambda c: _known(c).value)
    return worst, _known(worst)


def _rank(cells: list[Cell]) -> tuple[bool, float]:
    """Clear losses first, the largest of them before the others."""
    _, change = _worst(cells)
    return not change.less, change.value


def loss_sentence(matrix: Interference, cells: list[Cell]) -> str:
    """What one job loses beside others, where most and where nothing."""
    worst, change = _worst(cells)
    who, beside = worst.job, _and(list(worst.beside))
    verb = "run" if len(worst.beside) > 1 else "runs"
    if not change.less:
        none = _nothing([_known(c) for c in cells], "nothing that is clear")
        return f"{who} loses {none} when {beside} {verb} beside it" + _tails(cells)
    where = f" with {_listed(worst.variant.words)}" if worst.variant.words else ""
    lost = percent(change, signed=False)
    text = f"{who} loses {lost} of its bandwidth when {beside} {verb} beside it{where}"
    text += _trend(matrix, cells, worst) + _tail(worst)
    if len(cells) < 2:
        return text
    return f"{text}; {_relief(matrix, cells, worst)}"


def _relief(matrix: Interference, cells: list[Cell], worst: Cell) -> str:
    """Where the loss is gone: a choice under which no variant loses, else the best variant."""
    for axis in choice_axes(matrix):
        for value in dict.fromkeys(c.variant.at(axis) for c in cells):
            of = [c for c in cells if c.variant.at(axis) == value]
            if value != worst.variant.at(axis) and not any(_known(c).less for c in of):
                at = of[0].variant.values[axis]
                assert at is not None
                none = _nothing([_known(c) for c in of], "no clear loss")
                return f"{value_words(matrix.run, axis, at)}: {none}"
    best = max(cells, key=lambda c: _known(c).value)
    if not _known(best).less:
        where = _listed(best.variant.words)
        return f"{where}: {_nothing([_known(best)], 'no clear loss')}"
    return f"least with {_listed(best.variant.words)} ({percent(_known(best))})"


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
            losses = ", ".join(percent(Change(_known(c).value)) for c in along)
            return f" ({losses} at {label} {at})"
    return ""


def _tail(cell: Cell) -> str:
    if cell.tail is None or cell.percent is None or not cell.tail.more or cell.tail.value < FAR:
        return ""
    what = f"{cell.percent:g}th percentile of its {cell.tail_of}"
    return f", and the {what} takes {cell.tail.value:.1f} times as long"


def _tails(cells: list[Cell]) -> str:
    """The longest tail where no bandwidth is lost."""
    tailed = [c for c in cells if c.tail is not None and c.tail.more]
    if not tailed:
        return ""
    longest = max(tailed, key=lambda c: c.tail.value if c.tail else 0.0)
    told = _tail(longest)
    where = f" with {_listed(longest.variant.words)}" if longest.variant.words else ""
    return f"{told}{where}" if told else ""


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
        parts = [_effect(matrix, axis, first, text, name) for name in _rates(matrix)]
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


def _rates(matrix: Interference) -> list[str]:
    names = [f"{job}.accepted" for job in matrix.jobs]
    return [*(["servers.accepted"] if any(p.servers for p in matrix.run.points) else []), *names]


def _effect(matrix: Interference, axis: int, first: str, other: str, name: str) -> str:
    """How a measure differs between two values of a choice, at points alike in all else."""
    cases = _matched(matrix, axis, first, other, name)
    changes = [change for change, _ in cases]
    change = combined(changes)
    if change is None:
        return ""
    job = name.rpartition(".")[0]
    who = f"the {job_label(job)} take" if job == "servers" else f"{job} gets"
    clear = [(c, where) for c, where in cases if c.more or c.less]
    if len(clear) == len(cases) and (change.more or change.less):
        on_average = f" on average ({_span(changes)})" if len(cases) > 1 else ""
        return f"{who} {_more(change)}{on_average}"
    if not clear:
        return f"{who} {_nothing(changes, 'no clear difference')}"
    told = [f"{_more(c)} {where}".rstrip() for c, where in clear[:CASES]]
    return f"{who} {_and(told)} (no clear difference in {len(cases) - len(clear)} of {len(cases)} cases)"


def _more(change: Change) -> str:
    return f"{percent(change, signed=False)} {'more' if change.value > 1 else 'less'}"


def _matched(
    matrix: Interference, axis: int, first: str, other: str, name: str
) -> list[tuple[Change, str]]:
    """The quotient at each pair of points that differ in this axis only, with what both have in
    common in words; of a job, where others run beside it, and of the servers, wherever they work.
    """
    run = matrix.run
    by_rest: dict[tuple[str, ...], dict[str, PointResult]] = {}
    highest = {i: max(v.number or 0.0 for v in values) for i, values in _numbers(matrix).items()}
    for point in run.points:
        if any(point.values[i].number != most for i, most in highest.items()):
            continue
        if name != "servers.accepted" and len(point.active) < 2:
            continue
        rest = tuple(v.text for i, v in enumerate(point.values) if i != axis)
        by_rest.setdefault(rest, {})[point.values[axis].text] = point
    told = [i for i in choice_axes(matrix) if i != axis]
    found = []
    for pair in by_rest.values():
        if first in pair and other in pair:
            point = pair[other]
            own, base = (p.measure(name) for p in (point, pair[first]))
            if own and base and (change := quotient(own, base)):
                common = _and([value_words(run, i, point.values[i]) for i in told])
                active = _and(list(point.active)) + (" alone" if len(point.active) == 1 else "")
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
    wide = f" ± up to {100 * max(halves):.0f}%" if halves else "%"
    return f"{low}{wide}" if low == high else f"{low} to {high}{wide}"


def _nothing(changes: list[Change], unclear: str) -> str:
    """Where no interval excludes zero: nothing, if all are narrow, or else nothing that is clear."""
    sure = all(
        c.low is not None and c.high is not None and c.low >= 1 - SMALL and c.high <= 1 + SMALL
        for c in changes
    )
    return f"{'nothing' if sure else unclear} ({_span(changes)})"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(words: str) -> str:
    return _and(words.split(", "))

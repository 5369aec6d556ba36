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
    conclusion = "; ".join(loss_sentence(matrix, cells, short=True) for cells in ordered[:1])
    choices = [
        sentence for axis in choice_axes(matrix) for sentence in choice_sentences(matrix, axis)
    ]
    return Lessons(matrix, conclusion or "nothing was measured", losses, choices)


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


def loss_sentence(matrix: Interference, cells: list[Cell], *, short: bool = False) -> str:
    """What one job loses beside others, where most and where least or nothing; `short` leaves out
    how it grows and what becomes of the latest messages.
    """
    worst, change = _worst(cells)
    head = f"beside {_and(list(worst.beside))}, {worst.job} loses"
    if not change.less:
        none = _nothing([_known(c) for c in cells], "nothing that is clear")
        return f"{head} {none}" + ("" if short else _tails(cells))
    where = f" with {_listed(worst.variant.words)}" if worst.variant.words else ""
    text = f"{head} {percent(change, signed=False)} of its bandwidth{where}"
    if not short:
        text += _trend(matrix, cells, worst) + _tail(worst)
    return text if len(cells) < 2 else f"{text}; {_relief(matrix, cells, worst)}"


def _relief(matrix: Interference, cells: list[Cell], worst: Cell) -> str:
    """The choice under which most of the loss is gone in every variant, else the best variant."""
    least, groups = _known(worst).value, []
    for axis in choice_axes(matrix):
        for value in dict.fromkeys(c.variant.at(axis) for c in cells):
            of = [c for c in cells if c.variant.at(axis) == value]
            at = of[0].variant.values[axis]
            if value != worst.variant.at(axis) and at is not None:
                groups.append((value_words(matrix.run, axis, at), [_known(c) for c in of]))
    if groups:
        where, changes = max(groups, key=lambda group: min(c.value for c in group[1]))
        if not any(c.less for c in changes):
            return f"with {where} {_nothing(changes, 'no clear loss')}"
        if 1 - min(c.value for c in changes) < (1 - least) / 2:
            return f"with {where} only {_span(changes)}"
    best = max(cells, key=lambda c: _known(c).value)
    where = _listed(best.variant.words)
    if not _known(best).less:
        return f"with {where} {_nothing([_known(best)], 'no clear loss')}"
    return f"least with {where} ({percent(_known(best))})"


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
    named = f"the {job_label(job)}" if job == "servers" else job
    who = f"{named} {'take' if job == 'servers' else 'gets'}"
    clear = [(c, where) for c, where in cases if c.more or c.less]
    if len(clear) == len(cases) and (change.more or change.less):
        on_average = f" on average ({_span(changes)})" if len(cases) > 1 else ""
        return f"{who} {_more(change)}{on_average}"
    if not clear:
        return f"no clear difference for {named} ({_span(changes)})"
    told = [f"{_more(c)} {where}".rstrip() for c, where in clear[:CASES]]
    rest = f"no clear difference in {len(cases) - len(clear)} of {len(cases)} cases"
    return f"{who} {_and(told)} ({rest})"


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
    wide = f", ± {100 * max(halves):.0f}% at most" if halves else ""
    return f"{low}%{wide}" if low == high else f"{low} to {high}%{wide}"


def _nothing(changes: list[Change], unclear: str) -> str:
    """Where no interval excludes zero: nothing, if all are narrow; else in the words given."""
    sure = all(
        c.low is not None and c.high is not None and c.low >= 1 - SMALL and c.high <= 1 + SMALL
        for c in changes
    )
    return f"{'nothing' if sure else unclear} ({_span(changes)})"


def _and(names: list[str]) -> str:
    if not names:
        return ""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(words: str) -> str:
    return _and(words.split(", "))

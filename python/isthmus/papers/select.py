"""What a row takes from a result: a small language for one cell of ``expected.csv``.

A *selector* gives a value with an interval::

    mean MEASURE            the simulated mean (mean pe_pe.header)
    p90 MEASURE             a percentile
    analytic MEASURE        the queueing model's value, in the reading drawn beside simulations
    model READING WHAT      the model under a reading of section 6 (model literal saturation);
                            for WHAT see `isthmus.papers.model`
    growth                  growth of the backlog per demand offered
    stable, saturated       share of the points that fit with that verdict, 0 to 1
    busy KIND               mean utilisation of a kind of channel (busy io_link)
    saturation              the bracket of the saturation search, in messages/ms
    saturation analytic     the model's saturation load, in messages/ms
    balance FIELD           a field of the balance calculator's answer
    io_nodes                the PEs that have an I/O node, in words
    range MEASURE along KEY largest over smallest simulated mean along an axis
    lowest MEASURE along KEY  where along an axis the simulated mean is lowest
    peak MEASURE along KEY  the largest simulated mean along an axis
    verdict                 the verdict, in words
    equation NAME           peak throughput by an equation or table of the SCI paper, in GB/s
                            (equation table 2 @ nodes=8)
    machine FIELD           a figure of the machine (machine ring_count); of SCI fabrics also
                            ring_nodes, the nodes of each ring
    collapse FIELD          how a fabric collapsed: kind, nodes, since (µs), replications
    node WHICH              throughput of a node that sends: its number, lowest or highest; of fat
                            trees what arrives for the process of a node, or on average of several
                            (node 4-15)
    wire KIND               of fat trees the busiest link of a kind, headers included (wire inject)
    setting KEY in UNIT     what the scenario states (setting machine.nic.payload in B)
    3.5                     a number

followed by ``@ key=value; key=value``, which fixes axes of the sweep; keys may be shortened to
their last words (``io_link`` for ``machine.lanes.io_link``). Conditions of the row's ``at`` hold
for all its selectors. ``A / B`` divides, ``A - B`` subtracts and ``A + B`` adds, with intervals;
``A below B`` and ``A above B`` say by how many percent. Signs are taken in the order of `_SIGNS`;
the first of them splits the whole.

A *claim*, for the rule ``holds``, compares selectors::

    mean read.network @ io_link=1 > mean read.network @ io_link=0
    A > B > C               an ordering
    A ~ B                   alike, within the row's tolerance
    stable, saturated, collapsed  that is the verdict of every point that fits
    live                    no point that fits has collapsed
    falls MEASURE along KEY the simulated mean falls from one end of an axis to the other, and
                            never rises beyond its intervals in between
    rises MEASURE along KEY
    claim and claim

``>`` and ``<`` hold only where the intervals do not overlap; in a quick run, whose intervals are
wide, where the means differ. Signs stand between spaces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from isthmus.errors import IsthmusError
from isthmus.papers import fabric, tree
from isthmus.papers.model import Model, balance
from isthmus.results.machines import HypercubeSummary
from isthmus.results.schema import AxisValue, PointResult, RunResult, SearchResult
from isthmus.value import Value
from isthmus.wording import number

Conditions = dict[str, str]


@dataclass(frozen=True)
class Claim:
    """Whether a claim holds, and the numbers that say so."""

    holds: bool
    text: str


@dataclass
class Source:
    """A result to take values from."""

    run: RunResult | None
    at: Conditions = field(default_factory=dict)
    tolerance: float = 0.0
    """Relative difference within which ``~`` holds."""
    model: Model | None = None
    """The queueing model of the same scenario."""


def conditions(text: str) -> Conditions:
    """Read ``key=value; key=value``."""
    found = {}
    for word in filter(None, (w.strip() for w in text.split(";"))):
        name, sign, value = word.partition("=")
        if not sign:
            raise IsthmusError(f"{word!r}: a condition is key=value")
        found[name.strip()] = value.strip()
    return found


def is_analytic(select: str) -> bool:
    """Whether a cell needs the model only, no simulation."""
    terms = re.split(r" (?:and|>|<|~|/|-|\+|below|above) ", select)
    plain = [t.split("@")[0].strip() for t in terms]
    return all(t.startswith(_WITHOUT_SIMULATION) or _is_number(t) for t in plain)


_WITHOUT_SIMULATION = (
    "analytic ",
    "model ",
    "saturation analytic",
    "balance ",
    "io_nodes",
    "equation ",
    "machine ",
    "setting ",
)
_SIGNS = (
    (" below ", Value.below),
    (" above ", Value.above),
    (" / ", Value.over),
    (" - ", Value.minus),
    (" + ", Value.plus),
)
_VERDICTS = ("stable", "saturated", "collapsed", "live")


def claim(text: str, source: Source) -> Claim:
    """Say whether a claim holds."""
    parts = [_one_claim(part, source) for part in text.split(" and ")]
    return Claim(all(p.holds for p in parts), "; ".join(p.text for p in parts))


def _one_claim(text: str, source: Source) -> Claim:
    text = text.strip()
    verb = text.split(" ", 1)[0]
    if verb in ("falls", "rises"):
        return _monotone(text, source, falling=verb == "falls")
    if verb in _VERDICTS and not re.search(" ([<>~/+-]|below|above) ", text):
        return _all_are(verb, text, source)
    words = re.split(r" ([<>~]) ", text)
    if len(words) < 3:
        raise IsthmusError(f"{text!r}: a claim compares with ' > ', ' < ' or ' ~ '")
    values = [value(word, source) for word in words[::2]]
    holds = all(
        _compare(a, sign, b, source)
        for a, sign, b in zip(values, words[1::2], values[1:], strict=False)
    )
    shown = [values[0].text]
    for sign, each in zip(words[1::2], values[1:], strict=True):
        shown += [sign, each.text]
    return Claim(holds, " ".join(shown))


def _all_are(verdict: str, text: str, source: Source) -> Claim:
    fixed = {**source.at, **conditions(text.partition("@")[2])}
    found = [p.verdict.verdict for p in points(_result(source), fixed)] or ["no such point"]
    if verdict == "live":
        found = [verdict if v in ("stable", "saturated", "undecided") else v for v in found]
    share = found.count(verdict)
    if len(found) == 1:
        return Claim(share == 1, found[0])
    return Claim(share == len(found), f"{share} of {len(found)} {verdict}")


def _compare(a: Value, sign: str, b: Value, source: Source) -> bool:
    if a.value is None or b.value is None:
        return False
    if sign == "~":
        return abs(a.value - b.value) <= source.tolerance * max(abs(a.value), abs(b.value))
    (a_low, a_high), (b_low, b_high) = a.ends, b.ends
    if source.run is not None and source.run.quick:
        a_low = a_high = a.value
        b_low = b_high = b.value
    return a_low > b_high if sign == ">" else a_high < b_low


def value(text: str, source: Source) -> Value:
    """The value that a selector, or a quotient, difference or sum of two, gives."""
    text = text.strip()
    for sign, combine in _SIGNS:
        first, found, second = text.partition(sign)
        if found:
            return combine(value(first, source), value(second, source))
    if _is_number(text):
        return Value(float(text))
    head, _, tail = text.partition("@")
    words = head.split()
    fixed = {**source.at, **conditions(tail)}
    if not words or (words[0] not in _SELECTORS and not re.fullmatch(r"p[\d.]+", words[0])):
        raise IsthmusError(f"{text!r}: no such selector; there are {', '.join(_SELECTORS)}, p90")
    kind = _SELECTORS.get(words[0], _percentile)
    return kind(words, fixed, source)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _result(source: Source) -> RunResult:
    if source.run is None:
        raise IsthmusError("this selector needs a scenario")
    return source.run


def _matches(theirs: AxisValue, wanted: str, unit: str | None) -> bool:
    if theirs.text == wanted:
        return True
    word, _, wanted_unit = wanted.partition(" ")
    same_unit = not wanted_unit or wanted_unit.strip() == (unit or "")
    if theirs.number is None or not same_unit or not _is_number(word):
        return False
    return math.isclose(theirs.number, float(word), rel_tol=1e-9, abs_tol=1e-12)


def _axis(run: RunResult, name: str) -> int:
    found = [i for i, a in enumerate(run.axes) if a.key == name or a.key.endswith(f".{name}")]
    if len(found) != 1:
        have = ", ".join(a.key for a in run.axes) or "none"
        raise IsthmusError(f"{name!r}: not an axis of scenario {run.name!r}; it has {have}")
    return found[0]


def _wanted(run: RunResult, fixed: Conditions) -> dict[int, str]:
    return {_axis(run, name): wanted for name, wanted in fixed.items()}


def points(run: RunResult, fixed: Conditions) -> list[PointResult]:
    """The points at which these axes have these values."""
    wanted = _wanted(run, fixed)
    return [
        p
        for p in run.points
        if all(_matches(p.values[i], text, run.axes[i].unit) for i, text in wanted.items())
    ]


def _point(source: Source, fixed: Conditions) -> PointResult:
    run = _result(source)
    found = points(run, fixed)
    if len(found) != 1:
        said = "; ".join(f"{k}={v}" for k, v in fixed.items()) or "no condition"
        raise IsthmusError(
            f"{said}: {len(found)} points of scenario {run.name!r} fit, one must; "
            f"axes: {', '.join(a.key for a in run.axes)}"
        )
    return found[0]


def _name(words: list[str]) -> str:
    if len(words) < 2:
        raise IsthmusError(f"{words[0]!r}: say of what, for example `{words[0]} read.network`")
    return words[1]


def _mean(words: list[str], fixed: Conditions, source: Source) -> Value:
    name = _name(words)
    found = _point(source, fixed).measure(name)
    return Value.of(found, _result(source).confidence)


def _percentile(words: list[str], fixed: Conditions, source: Source) -> Value:
    name = _name(words)
    found = _point(source, fixed).measure(name)
    for each in found.percentiles if found else []:
        if f"p{each.percent:g}" == words[0]:
            return Value.of(each, _result(source).confidence)
    return Value(None)


def _analytic(words: list[str], fixed: Conditions, source: Source) -> Value:
    name = _name(words)
    found = _point(source, fixed).measure(name)
    return Value(found.analytic if found else None)


def _model(words: list[str], fixed: Conditions, source: Source) -> Value:
    if source.model is None or len(words) != 3:
        raise IsthmusError(f"{' '.join(words)!r}: write `model READING WHAT` for a scenario")
    return Value(source.model.value(_point(source, fixed).index, words[1], words[2]))


def _growth(_words: list[str], fixed: Conditions, source: Source) -> Value:
    verdict = _point(source, fixed).verdict
    return Value(verdict.growth, verdict.growth_low, verdict.growth_high)


def _verdict(words: list[str], fixed: Conditions, source: Source) -> Value:
    found = points(_result(source), fixed)
    if not found:
        _point(source, fixed)
    return Value(sum(p.verdict.verdict == words[0] for p in found) / len(found))


def _busy(words: list[str], fixed: Conditions, source: Source) -> Value:
    for use in _point(source, fixed).channels:
        if use.kind == _name(words) and use.from_ is None:
            return Value(use.utilisation)
    return Value(None)


def _search(run: RunResult, fixed: Conditions) -> SearchResult:
    wanted = _wanted(run, fixed)
    found = []
    for search in run.searches:
        pairs = ((search.values[i], text, run.axes[i].unit) for i, text in wanted.items())
        if all(theirs is None or _matches(theirs, text, unit) for theirs, text, unit in pairs):
            found.append(search)
    if len(found) != 1:
        raise IsthmusError(
            f"{len(found)} saturation searches of scenario {run.name!r} fit, one must"
        )
    return found[0]


def _saturation(words: list[str], fixed: Conditions, source: Source) -> Value:
    search = _search(_result(source), fixed)
    if words[1:] == ["analytic"]:
        return Value(search.analytic)
    low, high = search.highest_stable, search.lowest_saturated
    middle = None if low is None or high is None else (low + high) / 2
    return Value(middle, low, high, bracket=True)


def _balance(words: list[str], fixed: Conditions, _source: Source) -> Value:
    found = balance(_name(words), fixed)
    if isinstance(found, str):
        return Value(None, words=found)
    return Value(float(found))


def _io_nodes(_words: list[str], fixed: Conditions, source: Source) -> Value:
    run = _result(source)
    machines = [run.machines[p.machine] for p in points(run, fixed)]
    found = {tuple(m.io_nodes) for m in machines if isinstance(m, HypercubeSummary)}
    if len(found) != 1:
        raise IsthmusError(f"{len(found)} placements of scenario {run.name!r} fit, one must")
    return Value(None, words=" ".join(map(str, found.pop())))


def _along(words: list[str], fixed: Conditions, source: Source) -> list[tuple[float, Value]]:
    if len(words) != 4 or words[2] != "along":
        raise IsthmusError(f"{' '.join(words)!r}: write `{words[0]} MEASURE along KEY`")
    run = _result(source)
    axis = _axis(run, words[3])
    curve = []
    for point in points(run, fixed):
        x, found = point.values[axis].number, point.measure(words[1])
        if x is not None and found and found.mean is not None:
            curve.append((x, Value.of(found, run.confidence)))
    xs = [x for x, _ in curve]
    if len(curve) < 2 or len(set(xs)) != len(xs):
        raise IsthmusError(
            f"{' '.join(words)!r}: needs two or more points that differ in {words[3]} only, "
            f"found {len(curve)}"
        )
    return sorted(curve, key=lambda pair: pair[0])


def _range(words: list[str], fixed: Conditions, source: Source) -> Value:
    values = [v for _, v in _along(words, fixed, source)]
    largest = max(values, key=lambda v: v.value or 0.0)
    smallest = min(values, key=lambda v: v.value or 0.0)
    return largest.over(smallest)


def _lowest(words: list[str], fixed: Conditions, source: Source) -> Value:
    x, _ = min(_along(words, fixed, source), key=lambda pair: pair[1].value or 0.0)
    return Value(x)


def _peak(words: list[str], fixed: Conditions, source: Source) -> Value:
    return max((v for _, v in _along(words, fixed, source)), key=lambda v: v.value or 0.0)


def _verdict_word(_words: list[str], fixed: Conditions, source: Source) -> Value:
    return Value(None, words=_point(source, fixed).verdict.verdict)


def _equation(words: list[str], fixed: Conditions, _source: Source) -> Value:
    _name(words)
    return fabric.equation(" ".join(words[1:]), fixed.get("nodes"))


def _machine(words: list[str], fixed: Conditions, source: Source) -> Value:
    described = _result(source).machines[_point(source, fixed).machine]
    return fabric.machine(_name(words), described)


def _collapse(words: list[str], fixed: Conditions, source: Source) -> Value:
    return fabric.collapse(_name(words), _point(source, fixed))


def _node(words: list[str], fixed: Conditions, source: Source) -> Value:
    point = _point(source, fixed)
    if _result(source).machines[point.machine].kind == tree.KIND:
        return tree.node(_name(words), point)
    return fabric.node(_name(words), point)


def _wire(words: list[str], fixed: Conditions, source: Source) -> Value:
    _name(words)
    return tree.wire(" ".join(words[1:]), _point(source, fixed), source.model)


def _setting(words: list[str], _fixed: Conditions, source: Source) -> Value:
    unit = " ".join(words[3:])
    if len(words) < 2 or (len(words) > 2 and (words[2] != "in" or not unit)):
        raise IsthmusError(f"{' '.join(words)!r}: write `setting KEY in UNIT`")
    return tree.setting(words[1], unit, source.model)


def _monotone(text: str, source: Source, *, falling: bool) -> Claim:
    head, _, tail = text.partition("@")
    curve = _along(head.split(), {**source.at, **conditions(tail)}, source)
    values = [v for _, v in (curve if falling else curve[::-1])]
    never_back = all(after.ends[0] <= before.ends[1] for before, after in pairwise(values))
    holds = never_back and values[0].ends[0] > values[-1].ends[1]
    shown = " → ".join(f"{number(v.value)}" for _, v in curve)
    return Claim(holds, shown)


_SELECTORS: dict[str, Callable[[list[str], Conditions, Source], Value]] = {
    "mean": _mean,
    "analytic": _analytic,
    "model": _model,
    "growth": _growth,
    "stable": _verdict,
    "saturated": _verdict,
    "busy": _busy,
    "saturation": _saturation,
    "balance": _balance,
    "io_nodes": _io_nodes,
    "range": _range,
    "lowest": _lowest,
    "peak": _peak,
    "verdict": _verdict_word,
    "equation": _equation,
    "machine": _machine,
    "collapse": _collapse,
    "node": _node,
    "wire": _wire,
    "setting": _setting,
}

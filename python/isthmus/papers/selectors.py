"""Selectors: what a row takes from a result, by words.

A *selector* gives a value with an interval::

    mean MEASURE            the simulated mean (mean pe_pe.header)
    p90 MEASURE             a percentile
    analytic MEASURE        the queueing model's value, in the reading drawn beside simulations,
                            within its domain or not
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
    blocks LAYOUT WHAT      of Table 1 of the iWarp paper, counted by the plan to one rank: size or
                            count of the contiguous blocks of a square array of bytes in row_swath,
                            coarse or fine (blocks fine count @ n=1024; p=8; b=2)
    setting KEY in UNIT     what the scenario states (setting machine.nic.payload in B)
    3.5                     a number

Conditions fix axes of the sweep; keys may be shortened to their last words (``io_link`` for
``machine.lanes.io_link``). How selectors are joined to claims: `isthmus.papers.select`.

What a simulation gives has an interval; where the results hold none (``busy``, ``node``, ``wire``)
it is taken to be without bounds, so that nothing is claimed by it. All else is exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from isthmus.errors import IsthmusError
from isthmus.machines import HypercubeSummary
from isthmus.papers import arithmetic, blocks, fabric, tree
from isthmus.papers.grammar import Conditions, number
from isthmus.papers.model import Model, balance
from isthmus.results.schema import (
    AxisValue,
    Measure,
    Percentile,
    PointResult,
    RunResult,
    SearchResult,
)
from isthmus.value import Value


@dataclass
class Source:
    """A result to take values from."""

    run: RunResult | None
    at: Conditions = field(default_factory=dict)
    tolerance: float = 0.0
    """Difference within which ``~`` holds, as a share of the larger value ..."""
    amount: float = 0.0
    """... and in the unit of the values."""
    model: Model | None = None
    """The queueing model of the same scenario."""


def take(words: tuple[str, ...], fixed: Conditions, source: Source) -> Value:
    """The value of a selector under these conditions.

    Raises:
        IsthmusError: there is no such selector, or it fits no point of the result.

    """
    if words[0] not in _SELECTORS and not _is_percentile(words[0]):
        told = " ".join(words)
        raise IsthmusError(f"{told!r}: no such selector; there are {', '.join(_SELECTORS)}, p90")
    longest = _LONGEST.get(words[0], 2 if _is_percentile(words[0]) else len(words))
    if len(words) > longest:
        told, fewer = " ".join(words), " ".join(words[:longest])
        raise IsthmusError(f"{told!r}: too many words for a selector; write `{fewer}`")
    return _SELECTORS.get(words[0], _percentile)(list(words), fixed, source)


def needs_simulation(words: tuple[str, ...]) -> bool:
    """Whether a selector takes something that only a simulation gives."""
    return words[0] not in _WITHOUT_SIMULATION and words[:2] != ("saturation", "analytic")


def _is_percentile(word: str) -> bool:
    return re.fullmatch(r"p\d+(\.\d+)?", word) is not None


def result(source: Source) -> RunResult:
    """The result to take from.

    Raises:
        IsthmusError: there is none.

    """
    if source.run is None:
        raise IsthmusError("this selector needs a scenario")
    return source.run


def _matches(theirs: AxisValue, wanted: str, unit: str | None) -> bool:
    if theirs.text == wanted:
        return True
    word, _, wanted_unit = wanted.partition(" ")
    same_unit = not wanted_unit or wanted_unit.strip() == (unit or "")
    amount = number(word)
    if theirs.number is None or not same_unit or amount is None:
        return False
    return math.isclose(theirs.number, amount, rel_tol=1e-9, abs_tol=1e-12)


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
    run = result(source)
    found = points(run, fixed)
    if len(found) != 1:
        said = "; ".join(f"{k}={v}" for k, v in fixed.items()) or "no condition"
        raise IsthmusError(
            f"{said}: {len(found)} points of scenario {run.name!r} fit, one must; "
            f"axes: {', '.join(a.key for a in run.axes)}"
        )
    return found[0]


def measured(middle: float | None, low: float | None, high: float | None) -> Value:
    """A value from a simulation: to a side on which it has no end it may be anything."""
    if middle is None:
        return Value(None)
    return Value(middle, -math.inf if low is None else low, math.inf if high is None else high)


def _of(found: Measure | Percentile | None, source: Source) -> Value:
    """A measured mean or percentile, with what each replication says of it."""
    value = Value.of(found, result(source).confidence)
    bounds = measured(value.value, value.low, value.high)
    return replace(value, low=bounds.low, high=bounds.high)


def _name(words: list[str]) -> str:
    if len(words) < 2:
        raise IsthmusError(f"{words[0]!r}: say of what, for example `{words[0]} read.network`")
    return words[1]


def _measured(words: list[str], fixed: Conditions, source: Source) -> Measure | None:
    name, point = _name(words), _point(source, fixed)
    found = point.measure(name)
    if found is None and not any(p.measure(name) for p in result(source).points):
        known = (each.name for each in point.measures)
        raise IsthmusError(f"no measure {name!r}; there are {', '.join(known)}")
    return found


def _mean(words: list[str], fixed: Conditions, source: Source) -> Value:
    found = _measured(words, fixed, source)
    return _of(found, source)


def _percentile(words: list[str], fixed: Conditions, source: Source) -> Value:
    found = _measured(words, fixed, source)
    for each in found.percentiles if found else []:
        if f"p{each.percent:g}" == words[0]:
            return _of(each, source)
    return Value(None)


def _analytic(words: list[str], fixed: Conditions, source: Source) -> Value:
    found = _measured(words, fixed, source)
    return Value(found.model_anywhere if found else None)


def _model(words: list[str], fixed: Conditions, source: Source) -> Value:
    if source.model is None or len(words) != 3:
        raise IsthmusError(f"{' '.join(words)!r}: write `model READING WHAT` for a scenario")
    return Value(source.model.value(_point(source, fixed).index, words[1], words[2]))


def _growth(_words: list[str], fixed: Conditions, source: Source) -> Value:
    verdict = _point(source, fixed).verdict
    return measured(verdict.growth, verdict.growth_low, verdict.growth_high)


def _verdict(words: list[str], fixed: Conditions, source: Source) -> Value:
    found = points(result(source), fixed)
    if not found:
        _point(source, fixed)
    verdicts: list[str] = [p.verdict.verdict for p in found]
    share, open_ = (verdicts.count(v) / len(found) for v in (words[0], "undecided"))
    return Value(share, share, share + open_) if open_ else Value(share)


def _busy(words: list[str], fixed: Conditions, source: Source) -> Value:
    for use in _point(source, fixed).channels:
        if use.kind == _name(words) and use.from_ is None:
            return measured(use.utilisation, None, None)
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
    search = _search(result(source), fixed)
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
    run = result(source)
    machines = [run.machines[p.machine] for p in points(run, fixed)]
    found = {tuple(m.io_nodes) for m in machines if isinstance(m, HypercubeSummary)}
    if len(found) != 1:
        raise IsthmusError(f"{len(found)} placements of scenario {run.name!r} fit, one must")
    return Value(None, words=" ".join(map(str, found.pop())))


def along(words: list[str], fixed: Conditions, source: Source) -> list[tuple[float, Value]]:
    """The simulated mean along an axis, by the axis: of ``falls MEASURE along KEY``.

    Raises:
        IsthmusError: fewer than two points fit, or they differ in another axis, too.

    """
    if len(words) != 4 or words[2] != "along":
        raise IsthmusError(f"{' '.join(words)!r}: write `{words[0]} MEASURE along KEY`")
    run = result(source)
    axis = _axis(run, words[3])
    curve = []
    for point in points(run, fixed):
        x, found = point.values[axis].number, point.measure(words[1])
        if x is not None and found and found.mean is not None:
            curve.append((x, _of(found, source)))
    xs = [x for x, _ in curve]
    if len(curve) < 2 or len(set(xs)) != len(xs):
        raise IsthmusError(
            f"{' '.join(words)!r}: needs two or more points that differ in {words[3]} only, "
            f"found {len(curve)}"
        )
    return sorted(curve, key=lambda pair: pair[0])


def _extreme(pick: Callable[[Iterable[float]], float], values: list[Value]) -> Value:
    """The largest or the smallest of some values, whichever of them it may be."""
    middles = [v.value for v in values if v.value is not None]
    return Value(pick(middles), pick(v.ends[0] for v in values), pick(v.ends[1] for v in values))


def _range(words: list[str], fixed: Conditions, source: Source) -> Value:
    values = [v for _, v in along(words, fixed, source)]
    return arithmetic.over(_extreme(max, values), _extreme(min, values))


def _lowest(words: list[str], fixed: Conditions, source: Source) -> Value:
    curve = along(words, fixed, source)
    x, lowest = min(curve, key=lambda pair: pair[1].value or 0.0)
    may_be = [at for at, v in curve if v.ends[0] <= lowest.ends[1]]
    return Value(x, min(may_be), max(may_be)) if len(may_be) > 1 else Value(x)


def _peak(words: list[str], fixed: Conditions, source: Source) -> Value:
    return _extreme(max, [v for _, v in along(words, fixed, source)])


def _verdict_word(_words: list[str], fixed: Conditions, source: Source) -> Value:
    return Value(None, words=_point(source, fixed).verdict.verdict)


def _equation(words: list[str], fixed: Conditions, _source: Source) -> Value:
    _name(words)
    return fabric.equation(" ".join(words[1:]), fixed.get("nodes"))


def _blocks(words: list[str], fixed: Conditions, _source: Source) -> Value:
    return blocks.counted(words[1:], fixed)


def _machine(words: list[str], fixed: Conditions, source: Source) -> Value:
    described = result(source).machines[_point(source, fixed).machine]
    return fabric.machine(_name(words), described)


def _collapse(words: list[str], fixed: Conditions, source: Source) -> Value:
    return fabric.collapse(_name(words), _point(source, fixed))


def _node(words: list[str], fixed: Conditions, source: Source) -> Value:
    point = _point(source, fixed)
    of = tree if result(source).machines[point.machine].kind == tree.KIND else fabric
    return measured(of.node(_name(words), point).value, None, None)


def _wire(words: list[str], fixed: Conditions, source: Source) -> Value:
    _name(words)
    told = tree.wire(" ".join(words[1:]), _point(source, fixed), source.model)
    return measured(told.value, None, None)


def _setting(words: list[str], _fixed: Conditions, source: Source) -> Value:
    unit = " ".join(words[3:])
    if len(words) < 2 or (len(words) > 2 and (words[2] != "in" or not unit)):
        raise IsthmusError(f"{' '.join(words)!r}: write `setting KEY in UNIT`")
    return tree.setting(words[1], unit, source.model)


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
    "blocks": _blocks,
    "machine": _machine,
    "collapse": _collapse,
    "node": _node,
    "wire": _wire,
    "setting": _setting,
}

_WITHOUT_SIMULATION = frozenset(
    ("analytic", "model", "balance", "io_nodes", "equation", "blocks", "machine", "setting")
)
_LONGEST = {
    "mean": 2,
    "analytic": 2,
    "growth": 1,
    "stable": 1,
    "saturated": 1,
    "busy": 2,
    "saturation": 2,
    "balance": 2,
    "io_nodes": 1,
    "blocks": 3,
    "verdict": 1,
    "machine": 2,
    "collapse": 2,
    "node": 2,
}
"""How many words a selector has at most, where another one would mean nothing."""

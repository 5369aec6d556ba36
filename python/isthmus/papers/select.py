"""What a row asks of a result: a language for the cells `select` and `under` of ``expected.csv``.

A *selector* gives a value with an interval: `isthmus.papers.selectors` has them all. It is
followed by ``@ key=value; key=value``, which fixes axes of the sweep; conditions of the row's `at`
hold for all its selectors. Selectors and numbers are joined by ``+ - * /`` and parentheses with
their ordinary precedence, and by ``A below B`` and ``A above B``, which say by how many percent::

    (mean read.response @ io_node=2 - 800) / (mean read.response @ io_node=1 - 800)

A *claim*, for the rule ``holds``, compares such values::

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
wide, where the means differ. `isthmus.papers.grammar` has the grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from isthmus.errors import IsthmusError
from isthmus.papers import arithmetic, grammar
from isthmus.papers.grammar import (
    Comparison,
    Conjunction,
    ExpressionError,
    Negative,
    Node,
    Number,
    Operation,
    Selector,
    conditions,
)
from isthmus.papers.selectors import Source, along, needs_simulation, points, result, take
from isthmus.value import Value
from isthmus.wording import number

__all__ = ["Claim", "Source", "claim", "conditions", "is_analytic", "points", "value"]


_DIVIDING = ("/", "above", "below")


@dataclass(frozen=True)
class Claim:
    """Whether a claim holds, and the numbers that say so."""

    holds: bool
    text: str


def is_analytic(select: str) -> bool:
    """Whether a cell needs the model only, no simulation.

    Raises:
        ExpressionError: the cell makes no sense.

    """
    tree = grammar.parse(select)
    return not any(needs_simulation(each.words) for each in grammar.selectors(tree))


def claim(text: str, source: Source) -> Claim:
    """Say whether a claim holds.

    Raises:
        ExpressionError: the claim makes no sense, or fits no point of the result.

    """
    return _claim(grammar.parse(text, claims=True), source)


def value(text: str, source: Source) -> Value:
    """The value that a selector, or an expression of several, gives.

    Raises:
        ExpressionError: the text makes no sense, or fits no point of the result.

    """
    return _value(grammar.parse(text, claims=False), source)


def _claim(node: Node, source: Source) -> Claim:
    if isinstance(node, Conjunction):
        parts = [_claim(part, source) for part in node.parts]
        return Claim(all(p.holds for p in parts), "; ".join(p.text for p in parts))
    if isinstance(node, Comparison):
        return _comparison(node, source)
    assert isinstance(node, Selector)
    try:
        if node.words[0] in grammar.CURVES:
            return _monotone(node, source)
        return _all_are(node, source)
    except IsthmusError as error:
        raise ExpressionError(str(error), node.at) from error


def _comparison(node: Comparison, source: Source) -> Claim:
    values = [_number(term, source) for term in node.terms]
    holds = all(
        _compare(a, sign, b, source)
        for a, sign, b in zip(values, node.signs, values[1:], strict=False)
    )
    shown = [values[0].text]
    for sign, each in zip(node.signs, values[1:], strict=True):
        shown += [sign, each.text]
    return Claim(holds, " ".join(shown))


def _all_are(node: Selector, source: Source) -> Claim:
    verdict = node.words[0]
    if len(node.words) > 1:
        raise IsthmusError(f"{node.text!r}: too many words for a claim; write `{verdict}`")
    fixed = {**source.at, **node.conditions}
    found = [p.verdict.verdict for p in points(result(source), fixed)] or ["no such point"]
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


def _monotone(node: Selector, source: Source) -> Claim:
    curve = along(list(node.words), {**source.at, **node.conditions}, source)
    values = [v for _, v in (curve if node.words[0] == "falls" else curve[::-1])]
    never_back = all(after.ends[0] <= before.ends[1] for before, after in pairwise(values))
    holds = never_back and values[0].ends[0] > values[-1].ends[1]
    shown = " → ".join(f"{number(v.value)}" for _, v in curve)
    return Claim(holds, shown)


def _value(node: Node, source: Source) -> Value:
    match node:
        case Number():
            return Value(node.value)
        case Negative():
            return arithmetic.negative(_number(node.of, source))
        case Operation():
            return _operation(node, source)
        case Selector():
            try:
                return take(node.words, {**source.at, **node.conditions}, source)
            except IsthmusError as error:
                raise ExpressionError(str(error), node.at) from error
        case _:
            raise TypeError(f"{type(node).__name__} is no number")


def _number(node: Node, source: Source) -> Value:
    """A value that must not be words."""
    found = _value(node, source)
    if found.words is not None:
        raise ExpressionError(f"{found.words!r} stands where a number must", node.at)
    return found


def _operation(node: Operation, source: Source) -> Value:
    found = _number(node.first, source)
    for sign, part in node.rest:
        other = _number(part, source)
        if sign in _DIVIDING and other.value == 0 and not any(grammar.selectors(part)):
            raise ExpressionError("this is 0, by which nothing can be divided", part.at)
        found = arithmetic.joined(sign, found, other)
    return found

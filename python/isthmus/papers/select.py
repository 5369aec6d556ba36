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
    falls MEASURE along KEY the simulated mean falls from each point of an axis to the next
    rises MEASURE along KEY
    claim and claim

A claim is true where it is for all numbers within the intervals, false where it is for none, and
else undecided (`isthmus.papers.compare`). `isthmus.papers.grammar` has the grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from isthmus.errors import IsthmusError
from isthmus.papers import arithmetic, grammar
from isthmus.papers.compare import Truth, alike, all_of, greater
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
from isthmus.papers.tolerance import Tolerance
from isthmus.value import Value

__all__ = ["Claim", "Source", "claim", "conditions", "is_analytic", "points", "value"]


_DIGITS = range(3, 7)
"""How many digits values that are compared are shown with, at least and at most."""
_DIVIDING = ("/", "above", "below")


@dataclass(frozen=True)
class Claim:
    """Whether a claim holds, `None` if that is undecided, and the numbers that say so."""

    holds: Truth
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
        return Claim(all_of(p.holds for p in parts), "; ".join(p.text for p in parts))
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
    holds = all_of(
        _compare(a, sign, b, source)
        for a, sign, b in zip(values, node.signs, values[1:], strict=False)
    )
    texts = _apart(values)
    shown = [texts[0]]
    for sign, each in zip(node.signs, texts[1:], strict=True):
        shown += [sign, each]
    return Claim(holds, " ".join(shown))


def _apart(values: list[Value]) -> list[str]:
    """Values in words, with as many digits as show those apart that differ."""
    texts: list[str] = []
    for digits in _DIGITS:
        texts = [value.told(digits) for value in values]
        pairs = zip(pairwise(values), pairwise(texts), strict=True)
        if all(one != other or a.value == b.value for (a, b), (one, other) in pairs):
            break
    return texts


def _all_are(node: Selector, source: Source) -> Claim:
    verdict = node.words[0]
    if len(node.words) > 1:
        raise IsthmusError(f"{node.text!r}: too many words for a claim; write `{verdict}`")
    fixed = {**source.at, **node.conditions}
    found: list[str] = [p.verdict.verdict for p in points(result(source), fixed)]
    found = found or ["no such point"]
    if verdict == "live":
        found = [verdict if v in ("stable", "saturated", "undecided") else v for v in found]
    open_ = verdict in ("stable", "saturated") and "undecided" in found
    share = found.count(verdict)
    others = len(found) - share - (found.count("undecided") if open_ else 0)
    holds = False if others else None if open_ else True
    return Claim(holds, found[0] if len(found) == 1 else f"{share} of {len(found)} {verdict}")


def _compare(a: Value, sign: str, b: Value, source: Source) -> Truth:
    if sign == "~":
        return alike(a, b, Tolerance(source.tolerance, source.amount))
    return greater(a, b) if sign == ">" else greater(b, a)


def _monotone(node: Selector, source: Source) -> Claim:
    curve = along(list(node.words), {**source.at, **node.conditions}, source)
    values = [v for _, v in (curve if node.words[0] == "falls" else curve[::-1])]
    holds = all_of(greater(before, after) for before, after in pairwise(values))
    return Claim(holds, " → ".join(v.text for _, v in curve))


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

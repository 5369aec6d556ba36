"""The grammar of claims and selectors: from the text of a cell to a tree.

In EBNF, from what binds least to what binds most; blanks may stand between any two symbols::

    claim      = clause , { "and" , clause } ;
    clause     = percent , { ( ">" | "<" | "~" ) , percent } ;
    percent    = sum , [ ( "below" | "above" ) , sum ] ;
    sum        = product , { ( "+" | "-" ) , product } ;
    product    = unary , { ( "*" | "/" ) , unary } ;
    unary      = { "+" | "-" } , atom ;
    atom       = number | "(" , claim , ")" | selector ;
    selector   = head , { word } , [ "in" , unit ] , [ "@" , conditions ] ;
    conditions = condition , { ";" , condition } , [ ";" ] ;
    condition  = key , "=" , ( quoted | bare ) ;

``number`` is that of JSON, with any zeros and without a sign; ``head`` and ``word`` are letters,
digits, ``_`` and ``.``, in words also ``-`` between two of them. A ``quoted`` value stands between
two ``"`` or two ``'``. A ``bare`` one ends before ``;``, before a ``)`` that it did not open, and
before an operator or one of the words ``and``, ``below`` and ``above`` that stands between blanks.
A cell `at` is ``conditions`` alone: there a bare value ends before ``;`` only.

Of the same level, the first is done first: ``10 - 3 - 2`` is 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from isthmus.errors import IsthmusError

Conditions = dict[str, str]
DEPTH = 50
"""How deep parentheses may be nested."""


class ExpressionError(IsthmusError):
    """An expression makes no sense; `at` is where, counted from 0."""

    def __init__(self, message: str, at: int) -> None:
        told = " ".join(message.split())
        super().__init__(told if len(told) <= 400 else f"{told[:100]} … {told[-290:]}")
        self.at = at


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    at: int
    value: float


@dataclass(frozen=True)
class Selector:
    """What is taken from a result: ``mean pe_pe.header @ io_link=1``."""

    at: int
    words: tuple[str, ...]
    conditions: Conditions = field(hash=False)
    text: str
    """As it is written."""


@dataclass(frozen=True)
class Negative:
    """The negative of a number."""

    at: int
    of: Node


@dataclass(frozen=True)
class Operation:
    """Numbers joined by operators of one level, done from left to right."""

    at: int
    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Comparison:
    """Numbers compared, each with the next."""

    at: int
    terms: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Conjunction:
    """Claims of which all must hold."""

    at: int
    parts: tuple[Node, ...]


Node = Number | Selector | Negative | Operation | Comparison | Conjunction

CURVES = ("falls", "rises")
"""Selectors that are claims: of a curve."""
VERDICTS = ("stable", "saturated", "collapsed", "live")
"""Selectors that are claims where they stand alone: of the verdict of points."""

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HEAD = re.compile(r"[^\W\d][\w.]*")
_WORD = re.compile(r"\w[\w.]*(?:-\w[\w.]*)*")
_KEY = re.compile(r"[^\W\d][\w.-]*")
_UNIT = re.compile(r"[^\s();@]+")
_JOINING = ("and", "below", "above")
_ENDS = frozenset((*_JOINING, "+", "-", "*", "/", "<", ">", "~"))
"""Chunks before which a bare value ends."""


def number(text: str) -> float | None:
    """A number with or without a sign; `None` if the text is none, or too large for one."""
    found = re.fullmatch(rf"\s*([+\-−]?)({_NUMBER})\s*", text, re.ASCII)
    if found is None or (amount := float(found[2])) == float("inf"):
        return None
    return -amount if found[1] in ("-", "−") else amount


def number_range(text: str) -> tuple[float, float] | None:
    """The ends of ``10-12.8``, ``-3 - -1`` or ``1e-3–2e-3``; both are the same for one number.

    `None` if the text is no range, or its first end is above its second.
    """
    signed = rf"[+\-−]?{_NUMBER}"
    found = re.fullmatch(rf"\s*({signed})(?:\s*[-–]\s*({signed}))?\s*", text, re.ASCII)
    if found is None:
        return None
    low, high = number(found[1]), number(found[2] or found[1])
    if low is None or high is None or low > high:
        return None
    return low, high


def parse(text: str, *, claims: bool | None = None) -> Node:
    """Read a cell: a claim, a number, or either if that is left open.

    Raises:
        ExpressionError: it is neither, or not what is asked for.

    """
    tree = _Parser(text).whole()
    if claims is True and not is_claim(tree):
        raise ExpressionError(
            f"{text.strip()!r}: a claim compares with ' > ', ' < ' or ' ~ '", tree.at
        )
    if claims is False:
        _numeric(tree)
    return tree


def conditions(text: str) -> Conditions:
    """Read ``key=value; key=value``.

    Raises:
        ExpressionError: it reads otherwise.

    """
    parser = _Parser(text)
    found = {} if parser.done() else parser.conditions(alone=True)
    if not parser.done():
        parser.fail("a condition is key=value, the next one follows after ';'")
    return found


def is_claim(node: Node) -> bool:
    """Whether a tree is true or false rather than a number."""
    if isinstance(node, Selector):
        return node.words[0] in CURVES or node.words[0] in VERDICTS
    return isinstance(node, Comparison | Conjunction)


def selectors(node: Node) -> Iterator[Selector]:
    """All selectors of a tree, from left to right."""
    match node:
        case Selector():
            yield node
        case Negative():
            yield from selectors(node.of)
        case Operation():
            yield from selectors(node.first)
            for _, each in node.rest:
                yield from selectors(each)
        case Comparison():
            for each in node.terms:
                yield from selectors(each)
        case Conjunction():
            for each in node.parts:
                yield from selectors(each)


def _numeric(node: Node) -> Node:
    """The same, which must be a number."""
    if isinstance(node, Comparison | Conjunction):
        raise ExpressionError("a claim stands where a number must", node.at)
    if isinstance(node, Selector) and node.words[0] in CURVES:
        raise ExpressionError(f"{node.text!r} is a claim and stands where a number must", node.at)
    return node


class _Parser:
    """Reads one text from left to right; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        """The tree of the whole text."""
        if self.done():
            self.fail("nothing stands here, where an expression must")
        tree = self.claim()
        if not self.done():
            extra = "no '(' for this ')'" if self.text[self.at] == ")" else "an operator is missing"
            self.fail(f"{self._rest()!r}: {extra}")
        return tree

    def done(self) -> bool:
        """Whether only blanks are left; skips them."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at == len(self.text)

    def fail(self, message: str) -> NoReturn:
        """Tell that something is wrong here."""
        raise ExpressionError(message, min(self.at, len(self.text)))

    def claim(self) -> Node:
        parts = [self.clause()]
        while self._word("and"):
            parts.append(self.clause())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            if not is_claim(part):
                message = "a claim compares with ' > ', ' < ' or ' ~ '"
                raise ExpressionError(f"this is no claim, as `and` asks for: {message}", part.at)
        return Conjunction(parts[0].at, tuple(parts))

    def clause(self) -> Node:
        terms, signs = [self.percent()], []
        while sign := self._sign("<>~"):
            signs.append(sign)
            terms.append(self.percent())
        if not signs:
            return terms[0]
        return Comparison(terms[0].at, tuple(map(_numeric, terms)), tuple(signs))

    def percent(self) -> Node:
        first = self.sum()
        word = self._word("below") or self._word("above")
        if not word:
            return first
        second = self.sum()
        if self._peek() in ("below", "above"):
            self.fail(f"a second {self._peek()!r}: say with parentheses which is meant")
        return Operation(first.at, _numeric(first), ((word, _numeric(second)),))

    def sum(self) -> Node:
        return self._level("+-", self.product)

    def product(self) -> Node:
        return self._level("*/", self.unary)

    def _level(self, signs: str, part: Callable[[], Node]) -> Node:
        first, rest = part(), []
        while sign := self._sign(signs):
            rest.append((sign, _numeric(part())))
        return Operation(first.at, _numeric(first), tuple(rest)) if rest else first

    def unary(self) -> Node:
        self.done()
        start, negative, signed = self.at, False, False
        while sign := self._sign("+-"):
            negative ^= sign == "-"
            signed = True
        atom = self.atom()
        if signed:
            _numeric(atom)
        return Negative(start, atom) if negative else atom

    def atom(self) -> Node:
        if self.done():
            self.fail("the expression ends where a number or a selector must stand")
        start, first = self.at, self.text[self.at]
        if first == "(":
            return self._parenthesis()
        if first.isdigit() or first == ".":
            return self._number()
        head = _HEAD.match(self.text, start)
        if head is None or head[0] in _JOINING:
            self.fail(f"{self._rest()!r}: a number or a selector must stand here")
        return self._selector(head[0])

    def _parenthesis(self) -> Node:
        if self.depth == DEPTH:
            self.fail(f"parentheses are nested more than {DEPTH} deep")
        start = self.at
        self.at += 1
        self.depth += 1
        inner = self.claim()
        if self.done() or self.text[self.at] != ")":
            raise ExpressionError("no ')' for this '('", start)
        self.at += 1
        self.depth -= 1
        return inner

    def _number(self) -> Number:
        chunk = re.compile(r"[\w.]+(?:(?<=[eE])[+-]\d+)?").match(self.text, self.at)
        assert chunk is not None
        value = number(chunk[0])
        if value is None:
            self.fail(f"{chunk[0]!r} is not a number")
        start, self.at = self.at, chunk.end()
        return Number(start, value)

    def _selector(self, head: str) -> Selector:
        start = self.at
        words = [head]
        self.at += len(head)
        while not self.done():
            pattern = _UNIT if words[-1] == "in" else _WORD
            found = pattern.match(self.text, self.at)
            if found is None or found[0] in _JOINING:
                break
            words.append(found[0])
            self.at = found.end()
        end = start + len(self.text[start : self.at].rstrip())
        fixed: Conditions = {}
        if self._sign("@"):
            fixed = self.conditions(alone=False)
            end = self.at
        return Selector(start, tuple(words), fixed, self.text[start:end].rstrip())

    def conditions(self, *, alone: bool) -> Conditions:
        """``key=value; key=value``, to the end of the text if `alone`."""
        found: Conditions = {}
        while True:
            self.done()
            key = _KEY.match(self.text, self.at)
            start = self.at
            self.at = key.end() if key else self.at
            if key is None or not self._sign("="):
                self.at = start
                self.fail(f"{self._rest()!r}: a condition is key=value")
            if key[0] in found:
                self.at = start
                self.fail(f"{key[0]!r} is given twice")
            found[key[0]] = self._value(alone)
            if not self._sign(";") or self._ends(alone):
                return found

    def _ends(self, alone: bool) -> bool:
        """Whether no condition follows after a last ``;``."""
        if self.done():
            return True
        return not alone and (self.text[self.at] == ")" or self._chunk() in _ENDS)

    def _value(self, alone: bool) -> str:
        if self.done():
            self.fail("a value is missing: a condition is key=value")
        start, quote = self.at, self.text[self.at]
        if quote in "\"'":
            end = self.text.find(quote, start + 1)
            if end < 0:
                self.fail(f"no second {quote} for this one")
            self.at = end + 1
            return self.text[start + 1 : end]
        opened, end = 0, start
        while not self.done() and (alone or self._chunk() not in _ENDS):
            while self.at < len(self.text) and not self.text[self.at].isspace():
                letter = self.text[self.at]
                if letter == ";" or (letter == ")" and not opened and not alone):
                    break
                opened += (letter == "(") - (letter == ")")
                self.at += 1
                end = self.at
            else:
                continue
            break
        if end == start:
            self.fail("a value is missing: a condition is key=value")
        return self.text[start:end]

    def _chunk(self) -> str:
        """What follows up to the next blank."""
        found = re.compile(r"\S*").match(self.text, self.at)
        return found[0] if found else ""

    def _peek(self) -> str:
        """The word that follows, if one does."""
        self.done()
        found = _HEAD.match(self.text, self.at)
        return found[0] if found else ""

    def _word(self, word: str) -> str:
        """The word, read, if it follows."""
        if self._peek() != word:
            return ""
        self.at += len(word)
        return word

    def _sign(self, signs: str) -> str:
        """One of some signs, read, if one follows."""
        if self.done() or self.text[self.at] not in signs:
            return ""
        self.at += 1
        return self.text[self.at - 1]

    def _rest(self) -> str:
        """What follows, shortened for a message."""
        rest = self.text[self.at :].strip()
        return rest if len(rest) <= 20 else f"{rest[:19]}…"

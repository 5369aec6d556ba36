"""Mutations of files: of their bytes, of their tokens, of what they describe.

A mutation takes what is drawn from its `random.Random` only, so that a number makes the same mutant
again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""From a text, and others to borrow from, another."""

TOKENS = re.compile(rb'"[^"\n]*"|[A-Za-z_][A-Za-z0-9_.-]*|-?\d[\d_.]*(?:[eE][+-]?\d+)?|\s+|.', re.S)
NUMBERS = [
    *(b"0", b"1", b"-1", b"2", b"3", b"7", b"16", b"64", b"1000", b"0.5", b"1.5", b"-0.0", b"1e-9"),
    *(b"255", b"256", b"65535", b"65536", b"1048576", b"16777216", b"2147483648", b"4294967296"),
    *(b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616"),
    *(b"1e9", b"1e18", b"1e300", b"1e309", b"-1e309", b"1e-320", b"99999999999999999999999999999"),
    *(b"nan", b"inf", b"-inf", b"NaN", b"Infinity", b"0x7fffffff", b"1_000", b"00", b"+5", b"1e"),
]
WORDS = [
    *(
        b"true",
        b"false",
        b"null",
        b'""',
        b"[]",
        b"{}",
        b'"\xc2\xb5s"',
        b"\xf0\x9f\x92\xbe",
        b"\x00",
    ),
    *(
        b"ns",
        b"us",
        b"ms",
        b"s",
        b"B",
        b"KiB",
        b"GB/s",
        b"Gbit/s",
        b"/ms",
        b"%",
        b"cycles",
        b"bit/s",
    ),
    *(b"hypercube", b"sci", b"fat-tree", b"closed", b"none", b"all", b"pairs", b"shared", b"\r\n"),
]
BYTES = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b"<",
    b"\xc3",
]
MOST = 2 << 20
"""Bytes of the largest mutant."""


def flip_bit(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """One bit."""
    if not text:
        return b"\x01"
    at = chance.randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << chance.randrange(8)]) + text[at + 1 :]


def replace_byte(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A byte by an awkward one."""
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(BYTES) + text[at + chance.randrange(2) :]


def cut(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A piece away, or all from somewhere on."""
    a = chance.randrange(len(text) + 1)
    if chance.random() < 0.3:
        return text[:a]
    return text[:a] + text[a + chance.randrange(1, 2 + len(text) // 4) :]


def repeat(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A piece again, seldom a hundred thousand times."""
    a = chance.randrange(len(text) + 1)
    piece = text[a : a + chance.choice([1, 1, 2, 8, 64, 512])] or b"["
    times = chance.choice([1, 1, 1, 2, 3, 17, 300, 100_000])
    return text[:a] + piece * min(times, MOST // len(piece)) + text[a:]


def swap_pieces(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """Two pieces by one another."""
    a, b, c, d = sorted(chance.randrange(len(text) + 1) for _ in range(4))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def change_number(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A number by another: of the other end of the scale, or near it."""
    found = list(re.finditer(rb"-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?", text))
    if not found:
        return text + chance.choice(NUMBERS)
    old = chance.choice(found)
    new = chance.choice(NUMBERS)
    if chance.random() < 0.4:
        number = float(old[0].replace(b"_", b"").decode())
        factor = chance.choice([-1, 0.1, 0.5, 2, 10, 1000, 1e6, 1e12])
        new = f"{number * factor:g}".encode()
    return text[: old.start()] + new + text[old.end() :]


def change_token(text: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """A token by another, of the same file, of another file, or a word of the field."""
    tokens = TOKENS.findall(text) or [b""]
    words = [n for n, t in enumerate(tokens) if not t.isspace()] or [0]
    at = chance.choice(words)
    donor = TOKENS.findall(chance.choice([text, *others])) or [b""]
    tokens[at] = chance.choice([chance.choice(donor), chance.choice(WORDS), b""])
    return b"".join(tokens)


def move_line(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A line elsewhere, twice or gone."""
    lines = text.split(b"\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines) + 1)
    line = lines[a]
    if chance.random() < 0.6:
        del lines[a]
    if chance.random() < 0.6:
        lines.insert(b, line)
    return b"\n".join(lines)


def borrow_line(text: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """A line of another file."""
    lines = text.split(b"\n")
    donor = chance.choice([text, *others]).split(b"\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(donor))
    return b"\n".join(lines)


def nest(text: bytes, chance: Random, _others: Sequence[bytes]) -> bytes:
    """A token within very many brackets."""
    tokens = TOKENS.findall(text) or [b""]
    at = chance.randrange(len(tokens))
    depth = chance.choice([2, 64, 130, 1_000, 200_000])
    left, right = chance.choice([(b"[", b"]"), (b"{a=", b"}"), (b'{"a":', b"}"), (b"<node>", b"")])
    tokens[at] = left * depth + tokens[at] + right * depth
    return b"".join(tokens)


def change_tree(text: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """A value of a JSON document: of another type, gone, twice, renamed; else as a token."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return change_token(text, chance, others)
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            keys = list(value) if isinstance(value, dict) else list(range(len(value)))
            places += [(value, key) for key in keys]
            waiting += [value[key] for key in keys]
    if not places:
        return b"[]"
    holder, key = chance.choice(places)
    _change_place(holder, key, chance, chance.choice(places))
    return json.dumps(document, ensure_ascii=False).encode()


def _change_place(holder: Any, key: Any, chance: Random, other: tuple[Any, Any]) -> None:
    values: list[Any] = [None, True, 0, -1, 77, 1e300, 2**64, "", "x", "1", [], {}, [[]]]
    values += [float("nan"), float("inf"), "\udcff".encode(errors="replace").decode(), [1] * 100]
    kind = chance.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif kind == 1:
        holder[f"{key}x"] = holder.pop(key)
    elif kind == 2:
        # Copied as text, so that no loop comes about.
        holder[key] = json.loads(json.dumps(other[0][other[1]]))
    elif kind == 3 and isinstance(holder[key], int | float) and holder[key] == holder[key]:
        holder[key] = holder[key] * chance.choice([-1, 0, 2, 1.0000001, 1e9])
    else:
        holder[key] = chance.choice(values)


BYTE: list[Mutation] = [flip_bit, replace_byte, cut, repeat, swap_pieces]
TOKEN: list[Mutation] = [change_number, change_number, change_token, change_token]
STRUCTURE: list[Mutation] = [move_line, borrow_line, nest, change_tree]


def mutated(text: bytes, chance: Random, others: Sequence[bytes]) -> tuple[bytes, list[str]]:
    """A mutant of `text` and the names of what was done: one change mostly, at times several."""
    names = []
    for _ in range(chance.choice([1, 1, 1, 1, 2, 2, 3, 6])):
        mutation = chance.choice(chance.choice([BYTE, TOKEN, TOKEN, STRUCTURE]))
        text = mutation(text, chance, others)[:MOST]
        names.append(mutation.__name__)
    return text, names

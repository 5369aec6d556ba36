"""The width of text on a terminal, and cutting to a width."""

from __future__ import annotations

import unicodedata

VALUE = 60
"""Maximum width, in terminal columns, of a user's value that a message quotes."""


def columns(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    return sum(_wide(letter) for letter in text)


def flat(text: str) -> str:
    """Return a text in one line; unprintable characters and runs of blanks become one blank."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def cut(text: str, width: int = VALUE) -> str:
    """Return the text; if it is wider than `width` terminal columns, cut it and add an ellipsis."""
    used = fits = 0
    for place, letter in enumerate(text):
        used += _wide(letter)
        if used < width:
            fits = place + 1
        elif used > width:
            return text[:fits].rstrip() + "…"
    return text


def _wide(letter: str) -> int:
    """Return the terminal columns of a character: 0, 1 or 2."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1

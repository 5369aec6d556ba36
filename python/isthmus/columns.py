"""Text in columns of a terminal: how wide it is, and cut to a width."""

from __future__ import annotations

import unicodedata

VALUE = 60
"""Columns of a value in a message; what is longer is cut."""


def columns(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(_wide(letter) for letter in text)


def flat(text: str) -> str:
    """A text in one line: what cannot be printed is a space, and spaces are one."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def cut(text: str, width: int = VALUE) -> str:
    """The text if it fits into so many columns, else its begin and an ellipsis."""
    used = fits = 0
    for place, letter in enumerate(text):
        used += _wide(letter)
        if used < width:
            fits = place + 1
        elif used > width:
            return text[:fits].rstrip() + "…"
    return text


def _wide(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1

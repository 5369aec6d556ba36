"""Errors that the user can act on: one sentence that says what, where and what would be right."""

from __future__ import annotations

from collections.abc import Iterable


class IsthmusError(Exception):
    """Something the user can put right; the command line prints it in one line and exits 2."""

    def __str__(self) -> str:
        # Names of files, and words of libraries, may have several lines.
        return one_line(super().__str__())


class RunFailedError(IsthmusError):
    """A run that began and could not be finished; the command line exits 1."""


def meant(word: str, known: Iterable[str], otherwise: str, likeness: float = 0.6) -> str:
    """The end of an error about a word that is not known: the nearest that is, or else a hint."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f"did you mean {near[0]!r}?" if near else otherwise


LONGEST = 1000
"""Characters of the longest error that is printed whole."""


def one_line(message: str) -> str:
    """An error as one line that a terminal can show: control characters are written out, and of a
    long one the middle is left out.
    """
    words = " ".join(message.splitlines())
    words = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    if len(words) <= LONGEST:
        return words
    # The end says what would be right.
    return f"{words[: LONGEST // 2]} … {words[-LONGEST // 2 :]}"

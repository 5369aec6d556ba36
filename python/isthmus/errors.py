"""Errors that the user can fix: one sentence with cause, location and correction."""

from __future__ import annotations

from collections.abc import Iterable


class IsthmusError(Exception):
    """An error that the user can fix; the command line prints it in one line and exits with 2."""

    def __str__(self) -> str:
        """Return the error message, in a form that fits on one line."""
        # Escape line breaks, which file names and messages of libraries may contain.
        return one_line(super().__str__())


class RunFailedError(IsthmusError):
    """A run that started but could not finish; the command line exits with 1."""


def meant(word: str, known: Iterable[str], otherwise: str, likeness: float = 0.6) -> str:
    """Return advice as the end of an error message on an unknown word: the most similar known
    word, or `otherwise` if none is similar.
    """
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f"did you mean {near[0]!r}?" if near else otherwise


LONGEST = 1000
"""Maximum number of characters of an error message that is printed in full; longer ones are cut."""


def one_line(message: str) -> str:
    """Return the text of an error as one printable line: control characters are escaped, and
    the middle of a long text is cut out.
    """
    words = " ".join(message.splitlines())
    words = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    if len(words) <= LONGEST:
        return words
    # Cut the middle of the message: its end says what to do.
    return f"{words[: LONGEST // 2]} … {words[-LONGEST // 2 :]}"

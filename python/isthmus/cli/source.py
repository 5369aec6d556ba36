"""Scenarios of the command line: files, or ``-`` for standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from isthmus.cli.voice import voice
from isthmus.core import decoded, read_text
from isthmus.errors import IsthmusError

STDIN = "-"
"""Argument that stands for standard input instead of a file."""
SHOWN = "<stdin>"
"""Name that error messages use for a scenario read from standard input."""


def read_scenario(file: Path | str) -> tuple[str, str]:
    """Return the text of a scenario and its name in messages.

    Raises:
        IsthmusError: the file cannot be read or is not text.

    """
    name = os.fspath(file)
    if name != STDIN:
        voice().step(f"reading {name}")
        # The file name may hold bytes that are not valid text.
        return read_text(Path(name)), os.fsencode(name).decode("utf-8", "replace")
    voice().step("reading standard input")
    if sys.stdin is None:
        raise IsthmusError(f"{SHOWN}: cannot be read (it is closed); give a FILE")
    try:
        return decoded(sys.stdin.buffer, SHOWN), SHOWN
    except OSError as error:
        raise IsthmusError(f"{SHOWN}: cannot be read ({error.strerror})") from error

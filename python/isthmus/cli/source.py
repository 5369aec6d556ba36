"""Scenarios that the command line names: files, and ``-`` for standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from isthmus.cli.voice import voice
from isthmus.core import decoded, read_text
from isthmus.errors import IsthmusError

STDIN = "-"
"""Stands for standard input in place of a file."""
SHOWN = "<stdin>"
"""What standard input is called in messages."""


def read_scenario(file: Path | str) -> tuple[str, str]:
    """The text of a scenario, and what it is called in messages.

    Raises:
        IsthmusError: it cannot be read or is not text.

    """
    name = os.fspath(file)
    if name != STDIN:
        voice().step(f"reading {name}")
        # Messages are text, whatever bytes the name of the file has.
        return read_text(Path(name)), os.fsencode(name).decode("utf-8", "replace")
    voice().step("reading standard input")
    if sys.stdin is None:
        raise IsthmusError(f"{SHOWN}: cannot be read (it is closed); give a FILE")
    try:
        return decoded(sys.stdin.buffer, SHOWN), SHOWN
    except OSError as error:
        raise IsthmusError(f"{SHOWN}: cannot be read ({error.strerror})") from error

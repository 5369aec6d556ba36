"""Files that are whole or not there: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from isthmus.errors import IsthmusError


def ready_folder(folder: Path) -> None:
    """Create a folder and prove that it can be written to, before any work.

    Raises:
        IsthmusError: it cannot be created or written to.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise IsthmusError(
            f"{folder}: cannot write results here ({error.strerror}); "
            "choose another folder with --out DIR"
        ) from error


def write_file(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file in the folder of `path`, then rename it to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    write_file(path, lambda target: _write(target, text.encode()))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a binary file whole."""
    write_file(path, lambda target: _write(target, data))


def _write(target: Path, data: bytes) -> None:
    target.write_bytes(data)

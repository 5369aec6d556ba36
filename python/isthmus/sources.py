"""Digests of the inputs of tables, plots and pages: texts and the generating code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDERS = ("report", "charts", "scenes", "plots", "answer", "results", "faults", "papers")
"""Folders of the package whose modules generate tables, plots and pages."""
MODULES = ("columns.py", "looks.py", "value.py", "wording.py")
"""Modules that, with the modules in `FOLDERS`, generate tables, plots and pages."""


def digest_of(*parts: str) -> str:
    """Return a digest of the inputs of an output: the given texts and the generating code.

    An output with the same digest is up to date.
    """
    total = hashlib.sha256(source_digest().encode())
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part.encode())
    return total.hexdigest()


@cache
def source_digest() -> str:
    """Return a digest of the package's code that generates tables, plots and pages."""
    total = hashlib.sha256()
    for name in FOLDERS:
        for path in sorted(_all_files(files("isthmus") / name), key=lambda each: each.name):
            total.update(path.name.encode())
            total.update(path.read_bytes())
    for name in MODULES:
        total.update((files("isthmus") / name).read_bytes())
    return total.hexdigest()


def _all_files(folder: Traversable) -> Iterable[Traversable]:
    """Yield all files in a folder and below, without compiled modules."""
    for each in folder.iterdir():
        if each.is_dir():
            if each.name != "__pycache__":
                yield from _all_files(each)
        else:
            yield each

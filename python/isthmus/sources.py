"""What tables, pictures and pages are made from: texts, and the code that makes them of these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDERS = ("report", "charts", "scenes", "plots", "answer", "results", "faults", "papers")
MODULES = ("columns.py", "looks.py", "value.py", "wording.py")
"""With the folders, all of the package that decides what is in tables, pictures and pages."""


def digest_of(*parts: str) -> str:
    """Digest of what an output is made from: the given texts, and the code that makes it.

    An output that was made from the same digest need not be made again.
    """
    total = hashlib.sha256(source_digest().encode())
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part.encode())
    return total.hexdigest()


@cache
def source_digest() -> str:
    """Digest of all of the package that takes part in making outputs."""
    total = hashlib.sha256()
    for name in FOLDERS:
        for path in sorted(_all_files(files("isthmus") / name), key=lambda each: each.name):
            total.update(path.name.encode())
            total.update(path.read_bytes())
    for name in MODULES:
        total.update((files("isthmus") / name).read_bytes())
    return total.hexdigest()


def _all_files(folder: Traversable) -> Iterable[Traversable]:
    for each in folder.iterdir():
        if each.is_dir():
            if each.name != "__pycache__":
                yield from _all_files(each)
        else:
            yield each

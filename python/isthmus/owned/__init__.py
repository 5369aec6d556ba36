"""Folders that isthmus may write to: marked as its own, held by one process at a time.

A folder of results is ours only if it carries our mark (`mark`), which lists every file that we
wrote with its size and SHA-256. We replace and remove what is listed there and nothing else, and
follow no link below the folder. While a process works in a folder it holds its lock (`lock`).
"""

from __future__ import annotations

from isthmus.owned.folder import OwnedFolder
from isthmus.owned.mark import MARK, Identity, Mark, home_of, read_mark
from isthmus.owned.whose import changed

__all__ = ["MARK", "Identity", "Mark", "OwnedFolder", "changed", "home_of", "read_mark"]

"""Folders that isthmus may write to: marked as its own, and locked by one process at a time.

A folder of results belongs to isthmus only if it carries a mark file (`mark`). The mark lists every
file that isthmus wrote, with its size and SHA-256. Isthmus replaces and removes listed files only,
and follows no link below the folder. A process that works in a folder holds the folder's lock
(`lock`).
"""

from __future__ import annotations

from isthmus.owned.folder import OwnedFolder
from isthmus.owned.mark import MARK, Identity, Mark, home_of, read_mark
from isthmus.owned.ownership import changed

__all__ = ["MARK", "Identity", "Mark", "OwnedFolder", "changed", "home_of", "read_mark"]

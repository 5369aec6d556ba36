"""Distributed arrays in files: written and read by all ranks together, in large pieces.

What ranks hold in small blocks is first reshuffled to *aggregators*, a few ranks each of which has
one stretch of the file; these write it, and read it, in large contiguous pieces.
"""

from __future__ import annotations

from isthmus.arrays.files.array_file import ArrayFile, open_array

__all__ = ["ArrayFile", "open_array"]

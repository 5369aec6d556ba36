"""Collective reading and writing of distributed arrays in files, in large pieces.

The small blocks of ranks are first redistributed to *aggregators*. An aggregator is a rank that
owns one range of the file and reads or writes it in large contiguous pieces.
"""

from __future__ import annotations

from isthmus.arrays.files.array_file import ArrayFile, open_array

__all__ = ["ArrayFile", "open_array"]

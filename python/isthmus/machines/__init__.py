"""Kinds of machine as results describe them, one module each; the field `kind` selects it."""

from __future__ import annotations

from typing import Any

import msgspec

from isthmus.machines.fat_tree import FatTreeSummary
from isthmus.machines.graph import GraphSummary
from isthmus.machines.hypercube import HypercubeSummary
from isthmus.machines.interface import InterfaceSummary
from isthmus.machines.sci import SciSummary

__all__ = [
    "FatTreeSummary",
    "GraphSummary",
    "HypercubeSummary",
    "InterfaceSummary",
    "MachineSummary",
    "SciSummary",
    "read_fabric",
    "read_machines",
]

MachineSummary = HypercubeSummary | SciSummary | FatTreeSummary | GraphSummary | InterfaceSummary
"""Description of the machine in results: one class for each kind of machine. A new class must
be added here.
"""


def read_machines(described: list[dict[str, Any]]) -> list[MachineSummary]:
    """Convert the descriptions of machines, as the Rust core returns them, to objects."""
    return msgspec.convert(described, list[MachineSummary])


def read_fabric(described: dict[str, Any]) -> SciSummary:
    """Convert the description of an SCI fabric, as the Rust core returns it, to an object. The
    description has no entry `kind`.
    """
    return msgspec.convert(described, SciSummary)

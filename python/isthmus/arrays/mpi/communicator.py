"""Checks of the communicators that callers pass."""

from __future__ import annotations

from typing import Any

from isthmus.arguments import refuse
from isthmus.errors import IsthmusError


def refuse_unless_communicator(comm: Any) -> None:
    """Raise an error for an unusable communicator of MPI. The check does not communicate.

    Raises:
        IsthmusError: it is null, freed, an inter-communicator or not a communicator, or MPI has
            ended.

    """
    if not all(hasattr(comm, name) for name in ("Is_inter", "Split_type")):
        raise refuse("comm", comm, "a communicator of mpi4py, or None for this process alone")
    from mpi4py import MPI

    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise IsthmusError("comm: MPI is not running; use it between MPI.Init and MPI.Finalize")
    if comm == MPI.COMM_NULL:
        raise IsthmusError(
            "comm: the null communicator, which processes outside of a group have, and which is "
            "left of one that was freed; only the ranks of a communicator call this"
        )
    if comm.Is_inter():
        raise IsthmusError(
            "comm: an inter-communicator; merge it with comm.Merge(), which gives all ranks one"
        )

"""Execution of plans by the ranks of an MPI program (``mpi4py``).

Once::

    mine = exchange(MPI.COMM_WORLD, plan, mine)

Again and again::

    with Ranks(MPI.COMM_WORLD) as ranks, Exchange(ranks, plan, "f8", order="F") as step:
        for _ in range(100):
            after = step(before)
"""

from __future__ import annotations

from isthmus.arrays.mpi.board import RankEndedError
from isthmus.arrays.mpi.calibrate import calibrate
from isthmus.arrays.mpi.exchange import Exchange, exchange
from isthmus.arrays.mpi.forms import FORMS, Form
from isthmus.arrays.mpi.ranks import Ranks

__all__ = ["FORMS", "Exchange", "Form", "RankEndedError", "Ranks", "calibrate", "exchange"]

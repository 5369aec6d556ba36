"""Layouts of distributed arrays, and plans that redistribute an array from one layout to another.

The ranks of a parallel program hold small scattered blocks; a file or a network interface needs
large contiguous ones. A layout maps elements to ranks. A plan lists the messages between two
layouts. The plan moves the data with threads in one process or with the ranks of an MPI program::

    import numpy as np
    from isthmus.arrays import Layout, Plan

    blocks = Layout.block_cyclic((1000, 1000), grid=(2, 2), blocks=(16, 16))
    panels = Layout.block((1000, 1000), grid=(4, 1))
    plan = Plan(blocks, panels)
    print(plan)
    matrix = np.arange(1_000_000.0).reshape(1000, 1000)
    after = plan.redistribute(blocks.scatter(matrix))   # the new parts of each rank

Between the ranks of an MPI program (``mpi4py``)::

    from isthmus.arrays.mpi import exchange

    mine = exchange(MPI.COMM_WORLD, plan, mine)
"""

from __future__ import annotations

from isthmus.arrays.calibration import calibrate_threads
from isthmus.arrays.costs import Rates
from isthmus.arrays.descriptions import Description, load
from isthmus.arrays.interface import IoDistribution, TransferUnit, io_distribution
from isthmus.arrays.layouts import (
    Layout,
    block,
    cuts,
    cyclic,
)
from isthmus.arrays.plans import Plan

__all__ = [
    "Description",
    "IoDistribution",
    "Layout",
    "Plan",
    "Rates",
    "TransferUnit",
    "block",
    "calibrate_threads",
    "cuts",
    "cyclic",
    "io_distribution",
    "load",
]

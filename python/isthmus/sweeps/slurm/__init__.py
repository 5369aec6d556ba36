"""Runs on the user's Slurm, as array jobs."""

from __future__ import annotations

from isthmus.sweeps.slurm.control import Array, Slurm, SlurmError
from isthmus.sweeps.slurm.script import Script, Wanted
from isthmus.sweeps.slurm.sweep import Sweep
from isthmus.sweeps.slurm.waiting import Detached

__all__ = ["Array", "Detached", "Script", "Slurm", "SlurmError", "Sweep", "Wanted"]

"""Runs that many processes do together in a shared folder, on one or more machines."""

from __future__ import annotations

from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import collect, do_part
from isthmus.sweeps.state import Failure, State, state_of

__all__ = ["Failure", "Selection", "State", "collect", "do_part", "state_of"]

"""A run that many processes do together, on one machine or many; its folder is where they meet."""

from __future__ import annotations

from isthmus.sweeps.selection import Selection
from isthmus.sweeps.shared import collect, do_part
from isthmus.sweeps.state import Failure, State, state_of

__all__ = ["Failure", "Selection", "State", "collect", "do_part", "state_of"]

"""The interface of all forms of exchange: `Transport` and `Transfer`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Operands, Share

    Bytes = NDArray[np.uint8]
    Part = NDArray[Any]

OVERLAPS = 1
"""Flag: target arrays of a rank overlap its source arrays."""
SHARED = 2
"""Flag on which the ranks agree before an exchange: a sender's arrays lie in shared memory."""
PACKED = 4
"""Flag on which the ranks agree before an exchange: a sender has packed its data."""


class Transport(ABC):
    """One form (method) of an exchange, with its buffers on the ranks of a communicator."""

    form: ClassVar[Form]

    def __init__(self, ranks: Ranks) -> None:
        """Create the transport between these ranks."""
        self.ranks = ranks

    @abstractmethod
    def transfer(self, share: Share) -> Transfer:
        """Prepare the transfer of the messages of this rank (`share`); a collective call."""

    def close(self) -> None:  # noqa: B027
        """Release the buffers; local memory needs no call."""


class Transfer(ABC):
    """A repeatable transfer of the messages that one rank sends and receives."""

    def __init__(self, transport: Transport, share: Share) -> None:
        """Prepare the transfer of the messages of this rank (`share`)."""
        self.ranks = transport.ranks
        self.share = share

    @abstractmethod
    def move(self, operands: Operands) -> None:
        """Move all messages; if a rank has a problem, all ranks raise it."""

    def allocate(self) -> list[Part]:
        """Allocate source arrays in memory that other ranks can read."""
        raise IsthmusError('only with form="window" arrays lie where others can read them')

    def forget(self) -> None:  # noqa: B027
        """Drop cached references to the arrays of the last exchange."""

    def close(self) -> None:  # noqa: B027
        """Release the memory of this transfer."""

"""What all forms have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Brought, Share

    Bytes = NDArray[np.uint8]
    Part = NDArray[Any]

OVERLAPS = 1
"""A rank will hold what it gets where it holds what it gives."""
SHARED = 2
"""All can read what a rank gives where it lies."""
PACKED = 4
"""A rank has packed what it gives."""


class Way(ABC):
    """A form, with the memory that it has set aside on a communicator's ranks."""

    form: ClassVar[Form]

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks

    @abstractmethod
    def course(self, share: Share) -> Course:
        """Get ready to carry a share; all ranks do."""

    def close(self) -> None:  # noqa: B027
        """Give back what was set aside, which is nothing but memory of its own."""


class Course(ABC):
    """A share on its way, again and again."""

    def __init__(self, way: Way, share: Share) -> None:
        self.ranks = way.ranks
        self.share = share

    @abstractmethod
    def move(self, brought: Brought) -> None:
        """Move all, unless a rank has a problem: then all raise it."""

    def allocate(self) -> list[Part]:
        """Arrays to hold before, in memory that others can read."""
        raise IsthmusError('only with form="window" arrays lie where others can read them')

    def forget(self) -> None:  # noqa: B027
        """Keep nothing of the arrays that were moved last."""

    def close(self) -> None:  # noqa: B027
        """Give back what was set aside for this share alone."""

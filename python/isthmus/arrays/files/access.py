"""How a file is read and written, as all who open it have agreed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isthmus.arrays.files.domains import Chunks, Domains, Rules, Stretches, slab
from isthmus.arrays.files.formats import Described, Format, Given
from isthmus.arrays.files.mapped import Mapped, is_in_memory
from isthmus.arrays.files.rounds import Rounds
from isthmus.arrays.files.team import Alone, Team
from isthmus.arrays.layouts import Layout
from isthmus.errors import IsthmusError


@dataclass(frozen=True)
class Access:
    """A file, who opens it and how."""

    path: Path
    team: Team
    form: Format
    given: Given
    aggregators: list[int]
    """The ranks that read and write the file in rounds."""
    always_rounds: bool
    """Whether they do that where ranks could reach the file in memory, each for itself, too."""
    stripe: int
    buffer: int
    block: int
    """Bytes of a block that gets a sum, about; 0 for none."""
    sync: bool
    keep: bool
    """Whether a file that is there stays as it is until all is written."""
    verify: bool
    progress: Callable[[int, int], None] | None

    @property
    def aggregator(self) -> int | None:
        """Which of the aggregators this rank is."""
        rank = self.team.rank
        return self.aggregators.index(rank) if rank in self.aggregators else None

    def ranks(self, layout: Layout) -> list[int]:
        """The ranks of a layout whose arrays this one brings.

        Raises:
            IsthmusError: the layout has ranks that there are not.

        """
        ranks = layout.ranks
        if isinstance(self.team, Alone):
            return ranks
        if max(ranks) >= self.team.size:
            raise IsthmusError(
                f"the layout has rank {max(ranks)}, but the communicator has {self.team.size} ranks"
            )
        return [self.team.rank] if self.team.rank in ranks else []

    def block_of(self, array: Described) -> int:
        """Bytes of a block of an array that gets a sum, whole elements; 0 for none."""
        element = array.dtype.itemsize
        return max(1, self.block // element) * element if self.block else 0

    def stretches(self, array: Described, block: int) -> Stretches:
        """File domains where elements lie one behind the other, in blocks of so many bytes."""
        element = array.dtype.itemsize
        together = max(1, block // element)
        return Stretches(
            array.shape, array.order, element, array.offset or 0, self._rules, together
        )

    def chunks(self, array: Described) -> Domains:
        """File domains where a library reads or writes whole chunks."""
        element = array.dtype.itemsize
        chunk = array.chunks or slab(array.shape, element, self.stripe)
        return Chunks(array.shape, chunk, element, self._rules)

    def rounds(self, array: Described, domains: Domains) -> Rounds:
        """The rounds in which file domains are gone through."""
        buffers = self.team.buffers(array, self.aggregators, domains.room)
        return Rounds(self.team, domains, buffers, self.progress)

    def mapped(
        self, array: Described, place: Path, layout: Layout, *, writes: bool
    ) -> Mapped | None:
        """Where all ranks see a file in memory, this one's elements in it; else nothing.

        Args:
            array: what is in the file; it has an offset.
            place: where the file is now.
            layout: who holds what.
            writes: to the file, rather than from it.

        """
        if self.always_rounds or not self.team.is_one_node or not array.size:
            return None
        found: Mapped | None = None
        ready = False
        # Rounds say what is wrong, if anything is.
        with suppress(OSError, ValueError, IsthmusError):
            if is_in_memory(place):
                found = Mapped(self.path, place, array, layout, self.team.rank, writes=writes)
                ready = not found.is_thin
        if self.team.all_are(ready):
            return found
        if found is not None:
            found.close()
        return None

    @property
    def _rules(self) -> Rules:
        return Rules(len(self.aggregators), self.stripe, self.buffer)

"""The settings of an open file, on which all ranks have agreed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from isthmus.arrays.files.domains import Chunks, Domains, Rules, Stretches, slab
from isthmus.arrays.files.formats import Described, Format, Given
from isthmus.arrays.files.mapped import Mapped, is_in_memory
from isthmus.arrays.files.rounds import Rounds
from isthmus.arrays.files.team import Team
from isthmus.arrays.layouts import Layout
from isthmus.errors import IsthmusError


@dataclass(frozen=True)
class Access:
    """An open array file: its path, the ranks that open it, and the settings that they share."""

    path: Path
    team: Team
    form: Format
    given: Given
    aggregators: list[int]
    """The ranks that read and write the file on behalf of all ranks, in rounds."""
    always_rounds: bool
    """Whether aggregators are used even if ranks could access the file in memory directly."""
    stripe: int
    buffer: int
    block: int
    """Approximate bytes of a block with a checksum; 0 for no checksums."""
    sync: bool
    keep: bool
    """Whether an existing file stays unchanged until all data of its replacement are written."""
    verify: bool
    progress: Callable[[int, int], None] | None

    @property
    def aggregator(self) -> int | None:
        """Index of this rank among the aggregators (ranks that access the file), or None."""
        rank = self.team.rank
        return self.aggregators.index(rank) if rank in self.aggregators else None

    def ranks(self, layout: Layout) -> list[int]:
        """Return the ranks of a layout whose arrays this process holds.

        Raises:
            IsthmusError: the layout has ranks outside the communicator.

        """
        ranks = layout.ranks
        if self.team.alone:
            return ranks
        if max(ranks) >= self.team.size:
            raise IsthmusError(
                f"the layout has rank {max(ranks)}, but the communicator has {self.team.size} ranks"
            )
        return [self.team.rank] if self.team.rank in ranks else []

    def block_of(self, array: Described) -> int:
        """Return the size in bytes of a block with one checksum, a multiple of the element size;
        0 for no checksums.
        """
        element = array.dtype.itemsize
        return max(1, self.block // element) * element if self.block else 0

    def stretches(self, array: Described, block: int) -> Stretches:
        """Divide a contiguous file into one range of whole checksum blocks for each aggregator."""
        element = array.dtype.itemsize
        together = max(1, block // element)
        return Stretches(
            array.shape, array.order, element, array.offset or 0, self._rules, together
        )

    def chunks(self, array: Described) -> Domains:
        """Divide a file of a library that accesses whole chunks, such as HDF5: each aggregator (a
        rank that accesses the file) gets one range of chunks.
        """
        element = array.dtype.itemsize
        chunk = array.chunks or slab(array.shape, element, self.stripe)
        return Chunks(array.shape, chunk, element, self._rules)

    def rounds(self, array: Described, domains: Domains) -> Rounds:
        """Return the object that moves data between ranks and aggregators, a buffer at a time."""
        buffers = self.team.buffers(array, self.aggregators, domains.room)
        return Rounds(self.team, domains, buffers, self.progress)

    def mapped(
        self, array: Described, place: Path, layout: Layout, *, writes: bool
    ) -> Mapped | None:
        """Map a file in memory that all ranks can access; return None if that is impossible.

        Args:
            array: the array in the file, with an offset.
            place: current path of the file.
            layout: mapping of elements to ranks.
            writes: whether data are written to the file.

        """
        if self.always_rounds or not self.team.is_one_node or not array.size:
            return None
        found: Mapped | None = None
        ready = False
        # Ignore errors: if the file cannot be mapped, access to it in rounds reports the cause.
        with suppress(OSError, ValueError, IsthmusError):
            if is_in_memory(place):
                found = Mapped(self.path, place, array, layout, self.team.rank, writes=writes)
                ready = not found.is_sparse
        if self.team.all_ready(ready):
            return found
        if found is not None:
            found.close()
        return None

    @property
    def _rules(self) -> Rules:
        """Return the parameters that divide the file among the aggregators."""
        return Rules(len(self.aggregators), self.stripe, self.buffer)

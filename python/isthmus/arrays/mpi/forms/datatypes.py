"""Not packed: derived datatypes of MPI say where in arrays messages are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from isthmus.arrays.mpi.forms.packed import Collective
from isthmus.arrays.mpi.forms.way import OVERLAPS, Course, Way

if TYPE_CHECKING:
    from isthmus.arrays import memory
    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Brought, Share


COUNT_MOST = 1 << 30
"""Of one level of a datatype: many MPIs keep counts in 31 bits."""


class Datatypes(Way):
    """One ``Alltoallw`` of derived datatypes, which are as large as the plan's arithmetic."""

    form: ClassVar[Form] = "datatype"

    def __init__(self, ranks: Ranks) -> None:
        super().__init__(ranks)
        self.packed = Collective(ranks)

    def course(self, share: Share) -> Course:
        """Get ready to carry a share."""
        return _Typed(self, share)

    def close(self) -> None:
        """Give back the memory for messages."""
        self.packed.close()


class _Typed(Course):
    def __init__(self, way: Datatypes, share: Share) -> None:
        super().__init__(way, share)
        # In place nothing but messages will do: all is read before anything is written.
        self.packed = way.packed.course(share)
        self.types: list[Any] = []
        self.made_for: Brought | None = None
        self.words: list[list[Any]] = []

    def move(self, brought: Brought) -> None:
        if self.ranks.agree(OVERLAPS * brought.overlaps, brought.problem) & OVERLAPS:
            return self.packed.move(brought)
        if brought is not self.made_for:
            self.close()
            self.words = [self._words(brought.read, sent=True)]
            self.words.append(self._words(brought.write, sent=False))
            self.made_for = brought
        self.ranks.comm.Alltoallw(*self.words)
        return None

    def forget(self) -> None:
        self.close()

    def close(self) -> None:
        self.made_for = None
        for made in self.types:
            made.Free()
        self.types = []

    def _words(self, parts: list[memory.Given], *, sent: bool) -> list[Any]:
        """By rank how many, where they begin, and of which type."""
        from mpi4py import MPI

        size = self.ranks.comm.size
        counts, types = [0] * size, [MPI.BYTE] * size
        for number, (peer, _) in enumerate(self.share.sends if sent else self.share.receives):
            counts[peer], types[peer] = 1, self._message(number, parts, sent=sent)
        return [MPI.BOTTOM, counts, [0] * size, types]

    def _message(self, number: int, parts: list[memory.Given], *, sent: bool) -> Any:
        from mpi4py import MPI

        item, columns = self.share.dtype.itemsize, self.share.order == "F"
        sections = []
        for part, dims in self.share.core.places(sent, number):
            data, strides = parts[part]
            made = MPI.BYTE.Create_contiguous(item)
            along = list(zip(dims, strides, strict=True))
            # From the fastest dimension of messages to the slowest, on both sides.
            for families, stride in along if columns else reversed(along):
                made = _along(made, families, stride)
            sections.append((data.ctypes.data, made))
        message = _struct(sections).Commit()
        self.types.append(message)
        return message


def _along(inner: Any, families: list[Any], stride: int) -> Any:
    """What is at each index, at all indices of the families of a dimension."""
    found = []
    for first, length, (runs, run_by), (groups, group_by) in families:
        run = _times(inner, length, stride)
        group = _times(run, runs, run_by * stride)
        found.append((first * stride, _times(group, groups, group_by * stride)))
        run.Free()
        group.Free()
    inner.Free()
    return _struct(found)


def _times(inner: Any, count: int, stride: int) -> Any:
    """What is here, so often; rows of rows where there are more than MPI counts."""
    if count <= COUNT_MOST:
        return inner.Create_hvector(count, 1, stride)
    rows, rest = divmod(count, COUNT_MOST)
    row = inner.Create_hvector(COUNT_MOST, 1, stride)
    placed = [(0, _times(row, rows, COUNT_MOST * stride))]
    row.Free()
    if rest:
        behind = rows * COUNT_MOST * stride
        placed.append((behind, inner.Create_hvector(rest, 1, stride)))
    return _struct(placed)


def _struct(placed: list[tuple[int, Any]]) -> Any:
    """These types, each where it is told."""
    from mpi4py import MPI

    places, types = zip(*placed, strict=True)
    made = MPI.Datatype.Create_struct([1] * len(placed), places, types)
    for one in types:
        one.Free()
    return made

"""Exchanges without packing: derived MPI datatypes describe the elements of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mpi4py import MPI

from isthmus.arrays.mpi.forms.packed import Collective
from isthmus.arrays.mpi.forms.transport import OVERLAPS, Transfer, Transport

if TYPE_CHECKING:
    from isthmus.arrays import memory
    from isthmus.arrays.mpi.forms import Form
    from isthmus.arrays.mpi.ranks import Ranks
    from isthmus.arrays.mpi.share import Operands, Share


COUNT_MOST = 1 << 30
"""Largest count of a single MPI datatype; many MPI libraries store counts in 31 bits."""


class Datatypes(Transport):
    """A transport that moves array data without packing: one call of ``MPI_Alltoallw`` with
    derived datatypes.
    """

    form: ClassVar[Form] = "datatype"

    def __init__(self, ranks: Ranks) -> None:
        """Create the transport, with a second one that packs messages. That one is for exchanges in
        which target and source arrays overlap.
        """
        super().__init__(ranks)
        self.packed = Collective(ranks)

    def transfer(self, share: Share) -> Transfer:
        """Return a transfer of the messages in `share`: those that this rank sends and receives."""
        return _DatatypeTransfer(self, share)

    def close(self) -> None:
        """Release the memory for messages."""
        self.packed.close()


class _DatatypeTransfer(Transfer):
    """A transfer with derived MPI datatypes. They are kept after an exchange, for the next one with
    the same arrays.
    """

    def __init__(self, transport: Datatypes, share: Share) -> None:
        """Create the transfer of the messages in `share`. Its MPI datatypes are built later, at the
        first exchange.
        """
        super().__init__(transport, share)
        # Pack messages if target and source arrays overlap: then all data are read before any are
        # written.
        self.packed = transport.packed.transfer(share)
        self.types: list[Any] = []
        self.types_for: Operands | None = None
        self.arguments: list[list[Any]] = []

    def move(self, operands: Operands) -> None:
        """Send and receive all messages. They are packed into buffers only if the target arrays
        overlap the source arrays.
        """
        if self.ranks.agree(OVERLAPS * operands.overlaps, operands.problem) & OVERLAPS:
            return self.packed.move(operands)
        if operands is not self.types_for:
            self.close()
            self.arguments = [self._alltoallw_arguments(operands.read, sent=True)]
            self.arguments.append(self._alltoallw_arguments(operands.write, sent=False))
            self.types_for = operands
        self.ranks.comm.Alltoallw(*self.arguments)
        return None

    def forget(self) -> None:
        """Free the MPI datatypes that were built for the last arrays."""
        self.close()

    def close(self) -> None:
        """Free the MPI datatypes that were built for the last exchange."""
        self.types_for = None
        for datatype in self.types:
            datatype.Free()
        self.types = []

    def _alltoallw_arguments(self, parts: list[memory.Given], *, sent: bool) -> list[Any]:
        """Return the arguments of ``Alltoallw`` for one direction: address, and counts, offsets
        and datatypes by rank. `sent` chooses the messages to send, otherwise those to receive.
        """
        size = self.ranks.comm.size
        counts, types = [0] * size, [MPI.BYTE] * size
        for number, (peer, _) in enumerate(self.share.sends if sent else self.share.receives):
            counts[peer], types[peer] = 1, self._message(number, parts, sent=sent)
        return [MPI.BOTTOM, counts, [0] * size, types]

    def _message(self, number: int, parts: list[memory.Given], *, sent: bool) -> Any:
        """Return the MPI datatype for the elements of one message in the arrays `parts`."""
        item, columns = self.share.dtype.itemsize, self.share.order == "F"
        sections = []
        for part, dims in self.share.core.places(sent, number):
            data, strides = parts[part]
            datatype = MPI.BYTE.Create_contiguous(item)
            dimensions = list(zip(dims, strides, strict=True))
            # Go from the dimension that varies fastest in messages to the slowest, on both sides.
            for families, stride in dimensions if columns else reversed(dimensions):
                datatype = _repeated_over_families(datatype, families, stride)
            sections.append((data.ctypes.data, datatype))
        message = _struct(sections).Commit()
        self.types.append(message)
        return message


def _repeated_over_families(inner: Any, families: list[Any], stride: int) -> Any:
    """Return an MPI datatype with a copy of `inner` at each index of a dimension that a message
    contains. `families` lists these indices as regularly repeated runs; `stride` is in bytes.
    """
    found = []
    for first, length, (runs, run_by), (groups, group_by) in families:
        run = _repeated(inner, length, stride)
        group = _repeated(run, runs, run_by * stride)
        found.append((first * stride, _repeated(group, groups, group_by * stride)))
        run.Free()
        group.Free()
    inner.Free()
    return _struct(found)


def _repeated(inner: Any, count: int, stride: int) -> Any:
    """Return an MPI datatype of `count` copies of `inner`, at distances of `stride` bytes. It is
    nested if the count is too large for a single MPI datatype.
    """
    if count <= COUNT_MOST:
        return inner.Create_hvector(count, 1, stride)
    rows, rest = divmod(count, COUNT_MOST)
    row = inner.Create_hvector(COUNT_MOST, 1, stride)
    placed = [(0, _repeated(row, rows, COUNT_MOST * stride))]
    row.Free()
    if rest:
        behind = rows * COUNT_MOST * stride
        placed.append((behind, inner.Create_hvector(rest, 1, stride)))
    return _struct(placed)


def _struct(placed: list[tuple[int, Any]]) -> Any:
    """Return an MPI struct of datatypes at byte offsets, and free its members."""
    places, types = zip(*placed, strict=True)
    datatype = MPI.Datatype.Create_struct([1] * len(placed), places, types)
    for one in types:
        one.Free()
    return datatype

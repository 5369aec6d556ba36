"""Layouts: which rank holds which elements of an array."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from isthmus import _core
from isthmus.arguments import choice, items, same_lengths, shown, whole_numbers
from isthmus.arrays import elements, memory
from isthmus.core import ask
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Part = NDArray[Any]
    """One of the arrays that a rank holds."""

Box = tuple[Sequence[int], Sequence[int]]
"""First index and end (exclusive) of a box in each dimension."""


@dataclass(frozen=True)
class _Distribution:
    """The distribution of one dimension over an axis of the process grid; axis `None` is the next
    free axis.
    """

    parameters: tuple[Any, ...]
    axis: int | None

    def on(self, axis: int) -> Any:
        """Return the distribution over this axis, in the form that the Rust core takes."""
        return (axis, *self.parameters) if self.parameters else axis


@dataclass(frozen=True)
class _ProcessGrid:
    """The process grid of a layout, in the form that the Rust core takes."""

    extents: tuple[int, ...]
    dims: tuple[Any, ...]


def cyclic(block: int = 1, *, axis: int | None = None, source: int = 0) -> _Distribution:
    """Distribute blocks of `block` indices cyclically over an axis of the process grid.

    This is ``CYCLIC(block)`` of High Performance Fortran.

    Args:
        block: number of indices in a block.
        axis: axis of the process grid; the default is the next free axis.
        source: grid coordinate that holds the first block.

    """
    whole_numbers("block", [block], 1 << 64)
    whole_numbers("source", [source], 1 << 32)
    return _Distribution((block, source), _axis(axis))


def block(*, axis: int | None = None) -> _Distribution:
    """Assign one block of equal size to each coordinate of an axis: ``BLOCK`` of HPF."""
    return _Distribution((), _axis(axis))


def cuts(points: Sequence[int], *, axis: int | None = None) -> _Distribution:
    """Assign the indices from ``points[i]`` up to ``points[i + 1] - 1`` to coordinate ``i``."""
    return _Distribution((whole_numbers("cuts", points, 1 << 64),), _axis(axis))


def _axis(axis: int | None) -> int | None:
    """Check an axis number; None means the next free axis."""
    return None if axis is None else whole_numbers("axis", [axis], 1 << 32)[0]


class Layout:
    """A mapping of the elements of an array to ranks.

    A rank holds *parts*: arrays with as many dimensions as the whole array. In a process grid a
    rank holds exactly one part. With boxes or chunks it holds any number. Two layouts are equal if
    each rank holds the same elements at the same indices in the same parts. `order` is not
    compared.
    """

    def __init__(
        self,
        core: _core.Layout,
        over: _ProcessGrid | None = None,
        order: Literal["C", "F"] | None = None,
    ) -> None:
        """Create the object for a layout of the core; `over` is its process grid, if it has one."""
        self._core = core
        self._grid = over
        self._order = order

    @classmethod
    def grid(
        cls,
        shape: Sequence[int],
        grid: Sequence[int],
        dims: Sequence[_Distribution | None],
        *,
        numbering: Literal["row", "column"] = "row",
        ranks: Sequence[int] | None = None,
    ) -> Layout:
        """Distribute an array over a grid of processes.

        Args:
            shape: extent of each dimension of the whole array.
            grid: number of processes along each axis. Along an axis that distributes no dimension,
                all processes hold the same elements.
            dims: `cyclic`, `block` or `cuts` for each dimension; `None` does not distribute it.
            numbering: ``"row"`` numbers ranks row by row of the grid (the ``R`` of BLACS),
                ``"column"`` column by column.
            ranks: rank numbers, in that order; the default is 0, 1, ...

        Raises:
            IsthmusError: the layout is impossible; the message gives the reason.

        """
        choice("numbering", numbering, ("row", "column"))
        extents = whole_numbers("grid", grid, 1 << 32)
        shape = whole_numbers("shape", shape, 1 << 64)
        dims = items("dims", dims)
        for at, dim in enumerate(dims):
            if not (dim is None or isinstance(dim, _Distribution)):
                raise IsthmusError(
                    f"dimension {at}: {dim!r}; it is cyclic(...), block(), cuts(...) or None"
                )
        taken = {dim.axis for dim in dims if dim is not None}
        free = (axis for axis in range(len(dims) + len(extents)) if axis not in taken)
        along = [
            None if dim is None else dim.on(next(free) if dim.axis is None else dim.axis)
            for dim in dims
        ]
        core = _call(_core.Layout.grid, shape, extents, numbering == "column", along)
        return cls(core, _ProcessGrid(tuple(extents), tuple(along))).on_ranks(ranks)

    @classmethod
    def block_cyclic(
        cls,
        shape: Sequence[int],
        grid: Sequence[int],
        blocks: Sequence[int],
        *,
        numbering: Literal["row", "column"] = "row",
        ranks: Sequence[int] | None = None,
    ) -> Layout:
        """Distribute blocks cyclically; the process grid has one axis for each dimension."""
        shape, grid, blocks = same_lengths("block-cyclic", shape=shape, grid=grid, blocks=blocks)
        dims = [cyclic(size) for size in blocks]
        return cls.grid(shape, grid, dims, numbering=numbering, ranks=ranks)

    @classmethod
    def block(
        cls,
        shape: Sequence[int],
        grid: Sequence[int],
        *,
        numbering: Literal["row", "column"] = "row",
        ranks: Sequence[int] | None = None,
    ) -> Layout:
        """Assign one block to each process; the process grid has one axis for each dimension."""
        grid = items("grid", grid)
        dims = [block() for _ in grid]
        return cls.grid(shape, grid, dims, numbering=numbering, ranks=ranks)

    @classmethod
    def whole(cls, shape: Sequence[int], *, rank: int = 0) -> Layout:
        """Assign the whole array to one rank."""
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.grid(extents, [1], [None] * len(extents), ranks=[rank])

    @classmethod
    def row_swath(cls, shape: Sequence[int], ranks: int) -> Layout:
        """Assign one contiguous range of rows to each rank: line 1 of Table 1 of Steenkiste's
        paper.
        """
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.grid(extents, [ranks], [block(), *[None] * (len(extents) - 1)])

    @classmethod
    def coarse(cls, shape: Sequence[int], side: int) -> Layout:
        """Assign one block to each of ``side * side`` processes: line 2 of Table 1 of Steenkiste's
        paper.
        """
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.block(extents, [side] * len(extents))

    @classmethod
    def fine(cls, shape: Sequence[int], side: int, factor: int) -> Layout:
        """Assign `factor` blocks along each dimension to each of ``side * side`` processes.

        The result is block-cyclic: line 3 of Table 1 of Steenkiste's paper.
        """
        whole_numbers("side", [side], 1 << 32, 1)
        whole_numbers("factor", [factor], 1 << 32, 1)
        extents = whole_numbers("shape", shape, 1 << 64)
        blocks = [max(1, -(-extent // (side * factor))) for extent in extents]
        return cls.block_cyclic(extents, [side] * len(extents), blocks)

    @classmethod
    def hpf(
        cls,
        shape: Sequence[int],
        distribution: Sequence[str],
        grid: Sequence[int],
        *,
        numbering: Literal["row", "column"] = "column",
    ) -> Layout:
        """Read a ``DISTRIBUTE`` directive of High Performance Fortran.

        Args:
            shape: extent of each dimension.
            distribution: ``"BLOCK"``, ``"BLOCK(n)"``, ``"CYCLIC"``, ``"CYCLIC(n)"`` or ``"*"`` for
                each dimension. All except ``"*"`` take the axes of the grid in order.
            grid: the ``PROCESSORS`` arrangement.
            numbering: order of the processes; in Fortran the first axis varies fastest.

        """
        shape, distribution = same_lengths("DISTRIBUTE", shape=shape, distribution=distribution)
        shape, grid = whole_numbers("shape", shape, 1 << 64), whole_numbers("grid", grid, 1 << 32)
        dims: list[_Distribution | None] = []
        axis = 0
        for at, (word, extent) in enumerate(zip(distribution, shape, strict=True)):
            if not isinstance(word, str):
                raise IsthmusError(f'dimension {at}: {word!r}; it is a word such as "BLOCK"')
            if word.strip() == "*":
                dims.append(None)
                continue
            found = re.fullmatch(
                r"\s*(BLOCK|CYCLIC)\s*(?:\(\s*(\d+)\s*\))?\s*", word, re.IGNORECASE
            )
            if found is None:
                raise IsthmusError(
                    f'dimension {at}: "{word}"; it is "BLOCK", "BLOCK(n)", "CYCLIC", '
                    '"CYCLIC(n)" or "*"'
                )
            over = grid[axis] if axis < len(grid) else 1
            size = int(found[2]) if found[2] else None
            if found[1].upper() == "CYCLIC":
                dims.append(cyclic(1 if size is None else size, axis=axis))
            elif size is None:
                dims.append(block(axis=axis))
            elif size * over < extent:
                raise IsthmusError(
                    f'dimension {at}: "{word}" on {over} processes holds {size * over} of {extent} '
                    "indices; blocks are large enough for one round"
                )
            else:
                dims.append(cyclic(size, axis=axis))
            axis += 1
        return cls.grid(shape, grid, dims, numbering=numbering)

    @classmethod
    def scalapack(
        cls,
        descriptor: Sequence[int],
        grid: Sequence[int],
        *,
        numbering: Literal["row", "column"] = "row",
    ) -> Layout:
        """Read an array descriptor of ScaLAPACK, ``DTYPE_ CTXT_ M_ N_ MB_ NB_ RSRC_ CSRC_ LLD_``.

        The context is ignored: ``grid`` is the process grid, numbered row by row as by
        ``BLACS_GRIDINIT`` with ``'R'``. Local arrays are stored column by column: new arrays of
        this layout have that order (`order`), unless a call sets another.
        """
        # Replace the second number by 0, because it may be negative: it is the BLACS context, which
        # is -1 on processes outside of the grid.
        given = items("descriptor", descriptor)
        descriptor = whole_numbers("descriptor", [*given[:1], 0, *given[2:]], 1 << 64)
        if len(given) != 9 or descriptor[0] != 1:
            raise IsthmusError(
                f"descriptor: {shown(given)}; that of a dense matrix has nine numbers, the first 1"
            )
        _, _, rows, columns, row_block, column_block, row_source, column_source, _ = descriptor
        dims = [
            cyclic(row_block, source=row_source),
            cyclic(column_block, source=column_source),
        ]
        found = cls.grid([rows, columns], grid, dims, numbering=numbering)
        return cls(found._core, found._grid, "F")

    @classmethod
    def darray(
        cls,
        sizes: Sequence[int],
        distributions: Sequence[Any],
        arguments: Sequence[Any],
        processes: Sequence[int],
    ) -> Layout:
        """Read the arguments of ``MPI.Datatype.Create_darray``: ``gsizes``, ``distribs``,
        ``dargs``, ``psizes``.

        Distributions and their arguments are constants of ``mpi4py.MPI``, or the words
        ``"block"``, ``"cyclic"`` and ``"none"``, with `None` for the default argument.
        """
        sizes, distributions, arguments, processes = same_lengths(
            "darray",
            sizes=sizes,
            distributions=distributions,
            arguments=arguments,
            processes=processes,
        )
        sizes, processes = (
            whole_numbers("sizes", sizes, 1 << 64),
            whole_numbers("processes", processes, 1 << 32),
        )
        words: dict[Any, str] = {"block": "block", "cyclic": "cyclic", "none": "none"}
        usual: Any = None
        if any(isinstance(given, int) for given in distributions):
            from mpi4py import MPI

            usual = MPI.DISTRIBUTE_DFLT_DARG
            words |= {
                MPI.DISTRIBUTE_BLOCK: "block",
                MPI.DISTRIBUTE_CYCLIC: "cyclic",
                MPI.DISTRIBUTE_NONE: "none",
            }
        dims: list[_Distribution | None] = []
        for at, (given, size) in enumerate(zip(distributions, arguments, strict=True)):
            word = words.get(given) if isinstance(given, (str, int)) else None
            over = processes[at]
            default = size is None or (isinstance(size, int) and size == usual)
            if not default:
                (size,) = whole_numbers("arguments", [size], 1 << 64)  # noqa: PLW2901
            if word is None or (word == "none" and over != 1):
                raise IsthmusError(
                    f"dimension {at}: {shown(given)} over {over} processes; it is block, cyclic, "
                    "or none over 1"
                )
            if word == "none":
                dims.append(cyclic(max(1, sizes[at]), axis=at))
            elif default:
                dims.append(block(axis=at) if word == "block" else cyclic(axis=at))
            elif word == "block" and size * over < sizes[at]:
                raise IsthmusError(
                    f"dimension {at}: blocks of {size} on {over} processes hold {size * over} of "
                    f"{sizes[at]} indices"
                )
            else:
                dims.append(cyclic(size, axis=at))
        return cls.grid(sizes, processes, dims)

    @classmethod
    def boxes(
        cls,
        shape: Sequence[int],
        ranks: Sequence[Sequence[Sequence[slice] | Box]],
        *,
        partial: bool = False,
    ) -> Layout:
        """Give each rank a list of boxes (array regions), which together hold each element once.

        Args:
            shape: extent of each dimension.
            ranks: list of boxes of each rank. A box is a tuple of slices with step 1, one for each
                dimension, or a pair of its first index and its end.
            partial: whether boxes may leave elements out; these are neither sent nor received.

        Raises:
            IsthmusError: boxes overlap or leave elements out; the message names them.

        """
        shape = whole_numbers("shape", shape, 1 << 64)
        by_rank = [
            [
                _box(shape, rank, part, box)
                for part, box in enumerate(items(f"boxes of rank {rank}", boxes))
            ]
            for rank, boxes in enumerate(items("ranks", ranks))
        ]
        return cls(_call(_core.Layout.boxes, shape, by_rank, partial))

    @classmethod
    def chunks(
        cls,
        shape: Sequence[int],
        chunks: Sequence[int] | Sequence[Sequence[int]],
        ranks: int,
    ) -> Layout:
        """Assign chunks of zarr, dask or xarray to ranks round-robin, row by row of the chunk grid.

        Args:
            shape: extent of each dimension.
            chunks: the shape of a chunk (zarr), or the extents of the chunks of each dimension
                (``chunks`` of a dask or xarray array).
            ranks: number of ranks.

        """
        import itertools

        (ranks,) = whole_numbers("ranks", [ranks], 1 << 24, 1)
        shape, chunks = same_lengths("chunks", shape=shape, chunks=chunks)
        shape = whole_numbers("shape", shape, 1 << 62)
        edges: list[list[int]] = []
        for at, (extent, sizes) in enumerate(zip(shape, chunks, strict=True)):
            if not hasattr(sizes, "__len__"):
                (size,) = whole_numbers(
                    f"chunks of dimension {at}", [cast("int", sizes)], 1 << 62, 1
                )
                edges.append([*range(0, extent, size), extent])
            else:
                extents_of_chunks = whole_numbers(
                    f"chunks of dimension {at}", cast("Sequence[int]", sizes), 1 << 62
                )
                edges.append([0, *itertools.accumulate(extents_of_chunks)])
                if edges[-1][-1] != extent:
                    raise IsthmusError(
                        f"chunks of dimension {at}: they have {edges[-1][-1]} indices, but the "
                        f"array has {extent}"
                    )
        spans = [list(itertools.pairwise(points)) for points in edges]
        dealt: list[list[Box]] = [[] for _ in range(ranks)]
        for number, chunk in enumerate(itertools.product(*spans)):
            starts, ends = zip(*chunk, strict=True)
            dealt[number % ranks].append((starts, ends))
        return cls.boxes(shape, dealt)

    @property
    def fingerprint(self) -> int:
        """A hash of the layout, by which ranks check that their layouts are equal."""
        return self._core.fingerprint()

    def refuse_missing(self, what: str) -> None:
        """Refuse a partial layout that leaves elements out; the error calls the layout `what`.

        Raises:
            IsthmusError: an element is on no rank; the message names the first.

        """
        missing = self._core.first_missing()
        if missing is not None:
            raise IsthmusError(f"{what}: no rank holds element {missing}; all are needed here")

    def on_ranks(self, ranks: Sequence[int] | None) -> Layout:
        """Return the layout with these rank numbers in place of its own, in the order of its
        ranks.
        """
        if ranks is None:
            return self
        numbers = whole_numbers("ranks", ranks, 1 << 32)
        return Layout(_call(self._core.on_ranks, numbers), self._grid, self._order)

    def to_hpf(self) -> tuple[list[str], tuple[int, ...]]:
        """Return the ``DISTRIBUTE`` directive and the ``PROCESSORS`` arrangement that `hpf` reads.

        Raises:
            IsthmusError: High Performance Fortran cannot express the layout.

        """
        if self._grid is None:
            raise IsthmusError("boxes and chunks have no words in High Performance Fortran")
        words, axes = [], []
        for dim, along in enumerate(self._grid.dims):
            axis, word = _hpf_word(dim, along)
            words.append(word)
            axes += [] if axis is None else [axis]
        if axes != list(range(len(self._grid.extents))):
            raise IsthmusError(
                f"dimensions go over the axes {axes} of {len(self._grid.extents)}; in High "
                "Performance Fortran they take all of them in turn"
            )
        return words, self._grid.extents

    def to_scalapack(self, rank: int, *, context: int = 0) -> list[int]:
        """Return the ScaLAPACK array descriptor of a rank, which `scalapack` reads.

        Args:
            rank: the rank that sets the leading dimension.
            context: BLACS context of the process grid.

        Raises:
            IsthmusError: the layout is not a block-cyclic matrix over a grid of two axes.

        """
        over, shape = self._grid, self.shape
        blocks, sources = [], []
        for dim, along in enumerate(over.dims if over is not None else ()):
            if isinstance(along, int) and over is not None:
                block = max(1, -(-shape[dim] // over.extents[along]))
                along = (along, block, 0)  # noqa: PLW2901
            if along is None or len(along) != 3 or along[0] != dim:
                break
            blocks.append(along[1])
            sources.append(along[2])
        if over is None or len(shape) != 2 or len(over.extents) != 2 or len(blocks) != 2:
            raise IsthmusError(
                "a descriptor of ScaLAPACK is of a matrix in blocks that go round a process grid, "
                "rows over its first axis and columns over its second"
            )
        leading = max(1, self.extents(rank)[0][0])
        return [1, context, *shape, *blocks, *sources, leading]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension of the whole array."""
        return tuple(self._core.shape)

    @property
    def order(self) -> Literal["C", "F"] | None:
        """Memory order of new arrays of this layout: ``"C"`` (last index fastest), ``"F"`` (first
        index fastest), or None if the layout sets none.
        """
        return self._order

    @property
    def ranks(self) -> list[int]:
        """The numbers of the ranks that hold elements."""
        return self._core.ranks

    @property
    def replicas(self) -> int:
        """Number of ranks that hold each element."""
        return self._core.replicas

    def extents(self, rank: int) -> list[tuple[int, ...]]:
        """Return the shapes of the parts of a rank."""
        self._refuse_unless_rank(rank)
        return [tuple(extents) for extents in _call(self._core.extents, rank)]

    def indices(self, rank: int) -> list[list[NDArray[np.int64]]]:
        """Return the indices that a rank holds, ascending, by part and dimension."""
        self._refuse_unless_rank(rank)
        return [[_expand(runs) for runs in part] for part in _call(self._core.runs, rank)]

    def _refuse_unless_rank(self, rank: int) -> None:
        """Refuse a negative rank; the core checks the upper limit."""
        if isinstance(rank, int) and rank < 0:
            raise IsthmusError(
                f"rank {rank} is none of the {len(self.ranks)} of the layout; they begin at 0"
            )

    def scatter(
        self, array: NDArray[Any], *, order: Literal["C", "F"] | None = None
    ) -> list[list[Part]]:
        """Cut a whole array in this process into the parts of each rank.

        Args:
            array: array of the layout's shape, without a mask and without Python objects.
            order: memory order of the parts; the default is that of the layout, else ``"C"``.

        Returns:
            Copies of the parts of each rank, in order of `ranks`.

        Raises:
            IsthmusError: the array does not fit.

        """
        elements.refuse_order("order", order)
        if not isinstance(array, np.ndarray):
            raise IsthmusError(f"array: of type {type(array).__name__}; it is an array of numpy")
        array = elements.array_of("array", array)
        if array.shape != self.shape:
            raise IsthmusError(f"the array has shape {array.shape}, the layout {self.shape}")
        made = order or self.order or "C"
        return [
            [np.array(array[np.ix_(*part)], order=made) for part in self.indices(rank)]
            for rank in self.ranks
        ]

    def gather(self, parts: Sequence[Sequence[Part]]) -> NDArray[Any]:
        """Assemble the whole array from the parts of all ranks: the inverse of `scatter`.

        Args:
            parts: an array or a list of arrays for each rank, in order of `ranks`.

        Returns:
            The array, in order ``"C"``.

        Raises:
            IsthmusError: the parts do not fit the layout.

        """
        self.refuse_missing("gather")
        parts = items("parts", parts)
        if len(parts) != len(self.ranks):
            raise IsthmusError(
                f"parts: of {len(parts)} ranks; the layout has {len(self.ranks)}, in this order: "
                f"{', '.join(map(str, self.ranks[:8]))}{', ...' if len(self.ranks) > 8 else ''}"
            )
        held_by = [
            memory.parts_of(held, f"parts of rank {rank}")
            for rank, held in zip(self.ranks, parts, strict=True)
        ]
        for rank, held in zip(self.ranks, held_by, strict=True):
            memory.check(self, rank, held, "parts")
        kind = memory.one_type([part for held in held_by for part in held], "parts")
        if kind is None:
            raise IsthmusError("parts: no rank holds any")
        whole = elements.empty("gather", self.shape, kind)
        for rank, held in zip(self.ranks, held_by, strict=True):
            for indices, part in zip(self.indices(rank), held, strict=True):
                whole[np.ix_(*indices)] = part
        return whole

    def empty(
        self, rank: int, dtype: Any, *, order: Literal["C", "F"] | None = None
    ) -> list[NDArray[Any]]:
        """Allocate uninitialised arrays for the parts of a rank.

        Args:
            rank: the rank that holds the parts.
            dtype: type of the elements.
            order: memory order; the default is that of the layout, else ``"C"``.

        Raises:
            IsthmusError: the layout does not have this rank, the type is invalid, or memory is
                exhausted.

        """
        elements.refuse_order("order", order)
        kind = elements.type_of("dtype", dtype)
        made = order or self.order or "C"
        return [
            elements.empty(f"rank {rank}", extents, kind, made) for extents in self.extents(rank)
        ]

    def plot(self, **keywords: Any) -> Any:
        """Draw the layout: see `isthmus.arrays.drawing.draw_layout`."""
        from isthmus.arrays.drawing import draw_layout

        return draw_layout(self, **keywords)

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Layout) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = "" if self.replicas == 1 else f", each element on {self.replicas}"
        return f"<Layout of {' x '.join(map(str, self.shape))} on {len(self.ranks)} ranks{held}>"


def _call(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the Rust core. Arguments of wrong types also raise `IsthmusError`."""
    try:
        return ask(function, *given)
    except (TypeError, OverflowError) as error:
        raise IsthmusError(str(error)) from error


def _hpf_word(dim: int, along: Any) -> tuple[int | None, str]:
    """Return the axis of a dimension and the HPF word for its distribution."""
    if along is None:
        return None, "*"
    if isinstance(along, int):
        return along, "BLOCK"
    axis, *parameters = along
    if len(parameters) != 2 or parameters[1] != 0:
        raise IsthmusError(
            f"dimension {dim}: High Performance Fortran has no cuts, and the first block is at the "
            "first processor"
        )
    return axis, f"CYCLIC({parameters[0]})"


def _box(
    shape: Sequence[int], rank: int, part: int, box: Sequence[slice] | Box
) -> tuple[list[int], list[int]]:
    """Return first index and end (exclusive) of a box, from slices or from a pair."""
    where = f"box {part} of rank {rank}"
    if not isinstance(box, Sequence):
        raise IsthmusError(f"{where}: {box!r}; it is where it begins and where it ends, or slices")
    if any(isinstance(given, slice) for given in box):
        if len(box) != len(shape) or not all(isinstance(given, slice) for given in box):
            raise IsthmusError(
                f"{where}: {box!r}; it is a slice for each of {len(shape)} dimensions"
            )
        starts, ends = [], []
        for extent, along in zip(shape, box, strict=True):
            assert isinstance(along, slice)
            start, end, step = along.indices(extent)
            if step != 1:
                raise IsthmusError(
                    f"{where}: {along}; steps other than 1 are no box (see Layout.grid, cyclic)"
                )
            starts.append(start)
            ends.append(max(start, end))
        return starts, ends
    if len(box) != 2:
        raise IsthmusError(f"{where}: {box!r}; it is where it begins and where it ends, or slices")
    corners = cast("Box", box)
    return whole_numbers(where, corners[0], 1 << 64), whole_numbers(where, corners[1], 1 << 64)


def _expand(runs: tuple[int, int, int, int, int]) -> NDArray[np.int64]:
    """Return all indices of evenly spaced runs, described by start, length, stride, count and
    length of the last run.
    """
    start, length, stride, count, last = runs
    if count == 0:
        return np.empty(0, np.int64)
    firsts = start + stride * np.arange(count, dtype=np.int64)
    # Ignore the length of a single run, which may end beyond the array: `last` is its length.
    whole = np.arange(length if count > 1 else 0, dtype=np.int64)
    end = firsts[-1] + np.arange(last, dtype=np.int64)
    return np.concatenate([(firsts[:-1, None] + whole).ravel(), end])

"""Layouts: which rank holds which elements of an array."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from isthmus.arguments import choice, items, same_lengths, shown, whole_numbers
from isthmus.core import ask
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isthmus import _core

    Part = NDArray[Any]
    """What a rank holds in one array."""

Box = tuple[Sequence[int], Sequence[int]]
"""Where a box begins and where it ends, in each dimension."""


@dataclass(frozen=True)
class _Along:
    """How a dimension goes over an axis of the process grid; `None`: the next that is free."""

    told: tuple[Any, ...]
    axis: int | None

    def on(self, axis: int) -> Any:
        return (axis, *self.told) if self.told else axis


@dataclass(frozen=True)
class _Over:
    """The process grid that a layout goes over, as it was told to the core."""

    extents: tuple[int, ...]
    dims: tuple[Any, ...]
    numbering: Literal["row", "column"]


def cyclic(block: int = 1, *, axis: int | None = None, source: int = 0) -> _Along:
    """Blocks of `block` indices go round the coordinates of an axis of the process grid.

    ``CYCLIC(block)`` of High Performance Fortran.

    Args:
        block: indices of a block.
        axis: of the process grid; without it the next that no dimension has.
        source: coordinate that has the first block.

    """
    whole_numbers("block", [block], 1 << 64)
    whole_numbers("source", [source], 1 << 32)
    return _Along((block, source), _axis(axis))


def block(*, axis: int | None = None) -> _Along:
    """One block for each coordinate of an axis, as large as possible: ``BLOCK`` of HPF."""
    return _Along((), _axis(axis))


def cuts(points: Sequence[int], *, axis: int | None = None) -> _Along:
    """Coordinate ``i`` has the indices from ``points[i]`` to before ``points[i + 1]``."""
    return _Along((whole_numbers("cuts", points, 1 << 64),), _axis(axis))


def _axis(axis: int | None) -> int | None:
    return None if axis is None else whole_numbers("axis", [axis], 1 << 32)[0]


class Layout:
    """Which rank holds which elements of an array.

    A rank holds *parts*, each an array of its own with as many dimensions as the whole: exactly one
    where processes form a grid, any number where they hold boxes or chunks. Two layouts are equal
    where each rank holds the same elements at the same indices, described by the same parts.
    `order` is not compared.
    """

    def __init__(
        self,
        core: _core.Layout,
        over: _Over | None = None,
        order: Literal["C", "F"] | None = None,
    ) -> None:
        self._core = core
        self._over = over
        self._order = order

    @classmethod
    def grid(
        cls,
        shape: Sequence[int],
        grid: Sequence[int],
        dims: Sequence[_Along | None],
        *,
        numbering: Literal["row", "column"] = "row",
        ranks: Sequence[int] | None = None,
    ) -> Layout:
        """Lay an array over a grid of processes.

        Args:
            shape: indices of each dimension of the whole array.
            grid: processes along each axis. Those that differ only along axes over which no
                dimension goes hold the same elements.
            dims: for each dimension `cyclic`, `block` or `cuts`; `None` is whole at each process.
            numbering: whether ranks are numbered row by row of the grid (the ``R`` of BLACS), or
                column by column.
            ranks: numbers for the ranks, in that order; without them 0, 1, ...

        Raises:
            IsthmusError: there is no such layout; the message says why.

        """
        from isthmus import _core

        choice("numbering", numbering, ("row", "column"))
        extents = whole_numbers("grid", grid, 1 << 32)
        shape = whole_numbers("shape", shape, 1 << 64)
        dims = items("dims", dims)
        for at, dim in enumerate(dims):
            if not (dim is None or isinstance(dim, _Along)):
                raise IsthmusError(
                    f"dimension {at}: {dim!r}; it is cyclic(...), block(), cuts(...) or None"
                )
        taken = {dim.axis for dim in dims if dim is not None}
        free = (axis for axis in range(len(dims) + len(extents)) if axis not in taken)
        along = [
            None if dim is None else dim.on(next(free) if dim.axis is None else dim.axis)
            for dim in dims
        ]
        core = _told(_core.Layout.grid, shape, extents, numbering == "column", along)
        return cls(core, _Over(tuple(extents), tuple(along), numbering)).on_ranks(ranks)

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
        """Lay blocks round a grid of processes with as many axes as the array has dimensions."""
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
        """One block for each process of a grid with as many axes as the array has dimensions."""
        grid = items("grid", grid)
        dims = [block() for _ in grid]
        return cls.grid(shape, grid, dims, numbering=numbering, ranks=ranks)

    @classmethod
    def whole(cls, shape: Sequence[int], *, rank: int = 0) -> Layout:
        """Give the whole array to one rank."""
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.grid(extents, [1], [None] * len(extents), ranks=[rank])

    @classmethod
    def row_swath(cls, shape: Sequence[int], ranks: int) -> Layout:
        """Rows in one swath for each rank: the first line of Table 1 of Steenkiste's paper."""
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.grid(extents, [ranks], [block(), *[None] * (len(extents) - 1)])

    @classmethod
    def coarse(cls, shape: Sequence[int], side: int) -> Layout:
        """One block for each of ``side * side`` processes: the second line of Table 1."""
        extents = whole_numbers("shape", shape, 1 << 64)
        return cls.block(extents, [side] * len(extents))

    @classmethod
    def fine(cls, shape: Sequence[int], side: int, factor: int) -> Layout:
        """Give each of ``side * side`` processes `factor` blocks along each dimension.

        Block-cyclic: the third line of Table 1.
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
            shape: indices of each dimension.
            distribution: for each ``"BLOCK"``, ``"BLOCK(n)"``, ``"CYCLIC"``, ``"CYCLIC(n)"`` or
                ``"*"``; those that are not ``"*"`` take the axes of the grid in turn.
            grid: the ``PROCESSORS`` arrangement.
            numbering: of the processes; Fortran counts the first axis fastest.

        """
        shape, distribution = same_lengths("DISTRIBUTE", shape=shape, distribution=distribution)
        shape, grid = whole_numbers("shape", shape, 1 << 64), whole_numbers("grid", grid, 1 << 32)
        dims: list[_Along | None] = []
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

        Its context is not looked at: ``grid`` is the process grid, numbered row by row as
        ``BLACS_GRIDINIT`` does with ``'R'``. Local arrays lie in memory column by column: arrays
        that are made for this layout have that order (`order`), unless a call gives another.
        """
        # The second is a context of BLACS, -1 outside of the grid.
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
        return cls(found._core, found._over, "F")

    @classmethod
    def darray(
        cls,
        sizes: Sequence[int],
        distributions: Sequence[Any],
        arguments: Sequence[Any],
        processes: Sequence[int],
    ) -> Layout:
        """Read what ``MPI.Datatype.Create_darray`` is given, that of all ranks: ``gsizes``,
        ``distribs``, ``dargs``, ``psizes``.

        Distributions and their arguments are those of ``mpi4py.MPI``, or the words ``"block"``,
        ``"cyclic"`` and ``"none"`` and `None` for the usual argument.
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
        dims: list[_Along | None] = []
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
        """Give each rank hyper-rectangles, which hold each element once.

        Args:
            shape: indices of each dimension.
            ranks: by rank its boxes, each a tuple of slices as numpy takes them (with step 1), one
                for each dimension, or where it begins and where it ends.
            partial: whether elements may be in no box; these are neither sent nor received.

        Raises:
            IsthmusError: boxes overlap or leave elements out, which the message names.

        """
        from isthmus import _core

        shape = whole_numbers("shape", shape, 1 << 64)
        told = [
            [
                _box(shape, rank, part, box)
                for part, box in enumerate(items(f"boxes of rank {rank}", boxes))
            ]
            for rank, boxes in enumerate(items("ranks", ranks))
        ]
        return cls(_told(_core.Layout.boxes, shape, told, partial))

    @classmethod
    def chunks(
        cls,
        shape: Sequence[int],
        chunks: Sequence[int] | Sequence[Sequence[int]],
        ranks: int,
    ) -> Layout:
        """Deal the chunks of zarr, dask or xarray to ranks in turn, row by row of the chunk grid.

        Args:
            shape: indices of each dimension.
            chunks: the shape of a chunk (zarr), or for each dimension the extents of its chunks
                (``chunks`` of a dask or xarray array).
            ranks: how many.

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
                told = whole_numbers(
                    f"chunks of dimension {at}", cast("Sequence[int]", sizes), 1 << 62
                )
                edges.append([0, *itertools.accumulate(told)])
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
        """A number by which ranks tell whether their layouts are the same."""
        return self._core.fingerprint()

    def refuse_missing(self, what: str) -> None:
        """Refuse a partial layout that leaves elements out, where all are needed.

        Raises:
            IsthmusError: it does; the message names the first.

        """
        missing = self._core.first_missing()
        if missing is not None:
            raise IsthmusError(f"{what}: no rank holds element {missing}; all are needed here")

    def on_ranks(self, ranks: Sequence[int] | None) -> Layout:
        """Give its ranks other numbers: the first of these to the first, and so on."""
        if ranks is None:
            return self
        numbers = whole_numbers("ranks", ranks, 1 << 32)
        return Layout(_told(self._core.on_ranks, numbers), self._over, self._order)

    def to_hpf(self) -> tuple[list[str], tuple[int, ...]]:
        """Tell it as a ``DISTRIBUTE`` directive and a ``PROCESSORS`` arrangement: what `hpf` reads.

        Raises:
            IsthmusError: High Performance Fortran has no word for it.

        """
        if self._over is None:
            raise IsthmusError("boxes and chunks have no words in High Performance Fortran")
        words, axes = [], []
        for dim, along in enumerate(self._over.dims):
            axis, word = _hpf_word(dim, along)
            words.append(word)
            axes += [] if axis is None else [axis]
        if axes != list(range(len(self._over.extents))):
            raise IsthmusError(
                f"dimensions go over the axes {axes} of {len(self._over.extents)}; in High "
                "Performance Fortran they take all of them in turn"
            )
        return words, self._over.extents

    def to_scalapack(self, rank: int, *, context: int = 0) -> list[int]:
        """Tell it as the array descriptor that a rank gives ScaLAPACK: what `scalapack` reads.

        Args:
            rank: whose leading dimension it has.
            context: of BLACS, for the process grid.

        Raises:
            IsthmusError: it is no matrix over a grid of two axes in blocks that go round.

        """
        over, shape = self._over, self.shape
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
        """Indices of each dimension of the whole array."""
        return tuple(self._core.shape)

    @property
    def order(self) -> Literal["C", "F"] | None:
        """Which index counts fastest in arrays that are made for it: ``"C"``, the last, or ``"F"``,
        the first; None where the layout does not say.
        """
        return self._order

    @property
    def ranks(self) -> list[int]:
        """The numbers of the ranks that hold it."""
        return self._core.ranks

    @property
    def replicas(self) -> int:
        """How many ranks hold each element."""
        return self._core.replicas

    def extents(self, rank: int) -> list[tuple[int, ...]]:
        """By part the shape of the array that a rank holds."""
        self._refuse_unless_rank(rank)
        return [tuple(extents) for extents in _told(self._core.extents, rank)]

    def indices(self, rank: int) -> list[list[NDArray[np.int64]]]:
        """By part and dimension the indices that a rank holds, ascending."""
        self._refuse_unless_rank(rank)
        return [[_spread(runs) for runs in part] for part in _told(self._core.runs, rank)]

    def _refuse_unless_rank(self, rank: int) -> None:
        if isinstance(rank, int) and rank < 0:
            raise IsthmusError(
                f"rank {rank} is none of the {len(self.ranks)} of the layout; they begin at 0"
            )

    def scatter(
        self, array: NDArray[Any], *, order: Literal["C", "F"] | None = None
    ) -> list[list[Part]]:
        """Cut a whole array, which is in this process, into what each rank holds.

        Args:
            array: of the shape of the layout; no mask, no Python objects.
            order: in memory, of what is made; without it that of the layout, else ``"C"``.

        Returns:
            In order of `ranks` the parts of each, copies.

        Raises:
            IsthmusError: the array does not fit.

        """
        import numpy as np

        from isthmus.arrays.elements import array_of, refuse_order

        refuse_order("order", order)
        if not isinstance(array, np.ndarray):
            raise IsthmusError(f"array: of type {type(array).__name__}; it is an array of numpy")
        array = array_of("array", array)
        if array.shape != self.shape:
            raise IsthmusError(f"the array has shape {array.shape}, the layout {self.shape}")
        made = order or self.order or "C"
        return [
            [np.array(array[np.ix_(*part)], order=made) for part in self.indices(rank)]
            for rank in self.ranks
        ]

    def gather(self, parts: Sequence[Sequence[Part]]) -> NDArray[Any]:
        """Put the whole array together from what each rank holds: the opposite of `scatter`.

        Args:
            parts: in order of `ranks` what each holds: an array, or a list of arrays.

        Returns:
            The array, in order ``"C"``.

        Raises:
            IsthmusError: the parts do not fit the layout.

        """
        import numpy as np

        from isthmus.arrays import elements, memory

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
        """Make arrays for the parts of a rank, with nothing in them yet.

        Args:
            rank: whose parts.
            dtype: of the elements.
            order: in memory; without it that of the layout, else ``"C"``.

        Raises:
            IsthmusError: the layout does not have this rank, there is no such type, or no memory.

        """
        from isthmus.arrays import elements

        elements.refuse_order("order", order)
        kind = elements.type_of("dtype", dtype)
        made = order or self.order or "C"
        return [
            elements.empty(f"rank {rank}", extents, kind, made) for extents in self.extents(rank)
        ]

    def plot(self, **keywords: Any) -> Any:
        """Draw which rank holds what: see `isthmus.arrays.drawing.draw_layout`."""
        from isthmus.arrays.drawing import draw_layout

        return draw_layout(self, **keywords)

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Layout) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = "" if self.replicas == 1 else f", each element on {self.replicas}"
        return f"<Layout of {' x '.join(map(str, self.shape))} on {len(self.ranks)} ranks{held}>"


def _told(function: Callable[..., Any], *given: Any) -> Any:
    """Ask the core; what is no number is the user's mistake as well."""
    try:
        return ask(function, *given)
    except (TypeError, OverflowError) as error:
        raise IsthmusError(str(error)) from error


def _hpf_word(dim: int, along: Any) -> tuple[int | None, str]:
    """The axis of a dimension, and what High Performance Fortran calls its distribution."""
    if along is None:
        return None, "*"
    if isinstance(along, int):
        return along, "BLOCK"
    axis, *told = along
    if len(told) != 2 or told[1] != 0:
        raise IsthmusError(
            f"dimension {dim}: High Performance Fortran has no cuts, and the first block is at the "
            "first processor"
        )
    return axis, f"CYCLIC({told[0]})"


def _box(
    shape: Sequence[int], rank: int, part: int, box: Sequence[slice] | Box
) -> tuple[list[int], list[int]]:
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


def _spread(runs: tuple[int, int, int, int, int]) -> NDArray[np.int64]:
    import numpy as np

    start, length, stride, count, last = runs
    if count == 0:
        return np.empty(0, np.int64)
    firsts = start + stride * np.arange(count, dtype=np.int64)
    # A block may be longer than the array, where it is the only one.
    whole = np.arange(length if count > 1 else 0, dtype=np.int64)
    end = firsts[-1] + np.arange(last, dtype=np.int64)
    return np.concatenate([(firsts[:-1, None] + whole).ravel(), end])

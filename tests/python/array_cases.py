"""Random layouts, and who holds what by looking at each index."""

from __future__ import annotations

import itertools
import random

import numpy as np

from isthmus.arrays import Layout, block, cuts, cyclic

DTYPES = ("f8", "f4", "i2", "u1", "c16", [("a", "i4"), ("b", "f8"), ("c", "S3")])


def holders(chance: random.Random, extent: int, over: int):
    """How a dimension goes over an axis, and by coordinate the indices, one by one."""
    rule = chance.choice(["cyclic", "cyclic", "block", "cuts"])
    if rule == "cyclic":
        size, source = chance.randint(1, extent + 2), chance.randrange(over)
        at = [(index // size + source) % over for index in range(extent)]
        along = cyclic(size, source=source)
    elif rule == "block":
        at = [index // -(-extent // over) for index in range(extent)]
        along = block()
    else:
        points = sorted(chance.choices(range(extent + 1), k=over - 1))
        at = [sum(index >= point for point in points) for index in range(extent)]
        along = cuts([0, *points, extent])
    return along, [[i for i in range(extent) if at[i] == c] for c in range(over)]


def grid(chance: random.Random, shape: tuple[int, ...], ranks: int):
    """A layout over a grid of at most so many processes, on some of the ranks."""
    extents = [1] * (len(shape) + 1)
    for axis in chance.sample(range(len(extents)), len(extents)):
        extents[axis] = chance.randint(1, max(1, ranks // int(np.prod(extents))))
    dims, held = [], []
    for extent, over in zip(shape, extents, strict=False):
        if chance.random() < 0.15:
            dims.append(None)
            held.append([list(range(extent))] * over)
            continue
        along, at = holders(chance, extent, over)
        dims.append(along)
        held.append(at)
    free = [axis for axis, dim in enumerate(dims) if dim is None]
    dims = [
        None if dim is None else type(dim)(dim.parameters, axis) for axis, dim in enumerate(dims)
    ]
    numbers = chance.sample(range(ranks), int(np.prod(extents)))
    by_column = chance.random() < 0.5
    layout = Layout.grid(
        shape, extents, dims, numbering="column" if by_column else "row", ranks=numbers
    )
    places = [range(over) for over in extents]
    coordinates = list(itertools.product(*places))
    if by_column:
        coordinates = [at[::-1] for at in itertools.product(*places[::-1])]
    parts = [[[held[dim][at[dim]] for dim in range(len(shape))]] for at in coordinates]
    assert layout.replicas == int(np.prod([extents[axis] for axis in (*free, len(shape))]))
    return layout, parts


def boxes(chance: random.Random, shape: tuple[int, ...], ranks: int):
    """The array, cut in two again and again, and the pieces dealt to ranks."""
    pieces = [[(0, extent) for extent in shape]]
    for _ in range(chance.randrange(7)):
        piece = pieces.pop(chance.randrange(len(pieces)))
        dim = chance.randrange(len(shape))
        start, end = piece[dim]
        at = chance.randint(start, end)
        pieces += [[*piece[:dim], cut, *piece[dim + 1 :]] for cut in ((start, at), (at, end))]
    pieces = [piece for piece in pieces if all(start < end for start, end in piece)]
    dealt = [[] for _ in range(ranks)]
    for piece in pieces:
        dealt[chance.randrange(ranks)].append(piece)
    layout = Layout.boxes(
        shape, [[tuple(slice(*along) for along in piece) for piece in held] for held in dealt]
    )
    return layout, [[[list(range(*along)) for along in piece] for piece in held] for held in dealt]


def case(seed: int, ranks: int):
    """Two layouts of one array, the array, and what each rank holds before and after."""
    chance = random.Random(seed)
    most = [200, 24, 10, 6, 5]
    dims = chance.randint(1, 5)
    shape = tuple(chance.randint(1, most[dims - 1]) for _ in range(dims))
    sides = [(boxes if chance.random() < 0.25 else grid)(chance, shape, ranks) for _ in range(2)]
    dtype = np.dtype(chance.choice(DTYPES))
    whole = np.frombuffer(chance.randbytes(int(np.prod(shape)) * dtype.itemsize), np.uint8)
    whole = whole.view(dtype).reshape(shape)
    orders = [chance.choice("CF") for _ in range(2)]
    held = [
        [[np.array(whole[np.ix_(*part)], order=order) for part in parts] for parts in of_ranks]
        for (_, of_ranks), order in zip(sides, orders, strict=True)
    ]
    return sides[0][0], sides[1][0], whole, held, orders


def same(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether all bytes of the elements are the same, in one shape."""
    return (
        left.shape == right.shape
        and left.dtype == right.dtype
        and left.tobytes() == right.tobytes()
    )

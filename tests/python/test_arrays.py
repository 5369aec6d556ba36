"""Distributed arrays in one process: layouts, plans, threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from array_cases import case, same
from isthmus import IsthmusError, _core
from isthmus.arrays import Layout, Plan, block, cuts, cyclic, io_distribution, memory

HALVES = Plan(Layout.block((4,), (2,)), Layout.whole((4,)))


def test_random_pairs_element_by_element():
    ranks = 6
    for seed in range(300):
        from_, to, whole, (before, after), orders = case(seed, ranks)
        plan = Plan(from_, to)
        found = plan.redistribute(before, order=orders[1], threads=1 + seed % 3)
        for parts, wanted in zip(found, after, strict=True):
            assert len(parts) == len(wanted)
            assert all(map(same, parts, wanted)), (seed, plan)
        assert same(to.gather(found) if any(found) else whole, whole)
        for parts, wanted in zip(to.scatter(whole), after, strict=True):
            assert all(map(same, parts, wanted))


def test_views_with_ghost_cells_are_read_and_written_in_place():
    layout, swath = Layout.block((6, 8), (2, 2)), Layout.row_swath((6, 8), 3)
    whole = np.arange(48.0).reshape(6, 8)
    padded = [np.full((5, 6), -1.0) for _ in range(4)]
    for inner, (part,) in zip(padded, layout.scatter(whole), strict=True):
        inner[1:-1, 1:-1] = part
    out = [np.full((2, 10), -2.0) for _ in range(3)]
    views = [array[:, 1:-1] for array in out]
    Plan(layout, swath).redistribute([inner[1:-1, 1:-1] for inner in padded], out=views)
    assert np.array_equal(np.concatenate(views), whole)
    assert all((array[:, [0, -1]] == -2).all() for array in out)
    # Backwards through memory is read as it stands, and not written to.
    turned = [part[::-1] for (part,) in swath.scatter(whole[::-1])][::-1]
    back = Plan(swath, Layout.whole((6, 8))).redistribute(turned)
    assert np.array_equal(back[0][0], np.concatenate(turned))
    with pytest.raises(IsthmusError, match="goes backwards"):
        Plan(swath, layout).redistribute(turned, out=[np.zeros((3, 4))[::-1] for _ in range(4)])


@pytest.mark.parametrize("shape", [(1, 40_000), (1, 1, 40_000), (40_000, 1), (1, 40_000, 1)])
def test_large_arrays_with_dimensions_of_one_index(shape):
    # Larger than what one thread fills at a time.
    whole = np.arange(40_000.0).reshape(shape)
    plan = Plan(Layout.whole(shape), Layout.boxes(shape, [[tuple(slice(n) for n in shape)]]))
    assert same(plan.redistribute([whole])[0][0], whole)
    flat = Layout.chunks((3, *shape), (1, *shape), 3)
    stack = np.stack([whole, whole + 1, whole + 2])
    for order in "CF":
        parts = Plan(Layout.whole(stack.shape), flat).redistribute([stack], order=order)
        for number, (part,) in enumerate(parts):
            assert same(part, stack[number : number + 1])


def test_descriptors():
    cyclic_blocks = Layout.block_cyclic((100, 80), (2, 3), (4, 5))
    descriptor = [1, 0, 100, 80, 4, 5, 0, 0, 50]
    assert Layout.scalapack(descriptor, (2, 3)) == cyclic_blocks
    assert (
        Layout.hpf((100, 80), ["cyclic(4)", "CYCLIC(5)"], (2, 3), numbering="row") == cyclic_blocks
    )
    assert Layout.darray((100, 80), ["cyclic", "cyclic"], [4, 5], (2, 3)) == cyclic_blocks
    columns = Layout.hpf((100, 80), ["*", "BLOCK"], (4,))
    assert columns.extents(3) == [(100, 20)]
    assert columns == Layout.grid((100, 80), [4], [None, block()], numbering="column")
    zarr = Layout.chunks((10, 7), (4, 4), 3)
    dask = Layout.chunks((10, 7), ((4, 4, 2), (4, 3)), 3)
    assert zarr == dask
    assert zarr.extents(0) == [(4, 4), (4, 3)]
    slices = Layout.boxes((4,), [[(slice(0, 1),), (slice(3, None),)], [(slice(1, -1),)]])
    assert slices == Layout.boxes((4,), [[([0], [1]), ([3], [4])], [([1], [3])]])


def test_descriptors_out():
    layout = Layout.block_cyclic((100, 80), (2, 3), (4, 5))
    words, grid = layout.to_hpf()
    assert (words, grid) == (["CYCLIC(4)", "CYCLIC(5)"], (2, 3))
    assert Layout.hpf((100, 80), words, grid, numbering="row") == layout
    descriptor = layout.to_scalapack(5, context=7)
    # Rank 5 is the second of two rows: blocks 1, 3, ..., 23 of 25, four rows each.
    assert descriptor == [1, 7, 100, 80, 4, 5, 0, 0, 48]
    assert Layout.scalapack(descriptor, (2, 3)) == layout
    panels = Layout.block((100, 80), (1, 4))
    assert panels.to_scalapack(3) == [1, 0, 100, 80, 100, 20, 0, 0, 100]
    late = Layout.grid((8,), (2,), [cyclic(2, source=1)])
    for layout, what in ((late, "first processor"), (Layout.chunks((8,), (2,), 2), "no words")):
        with pytest.raises(IsthmusError, match=what):
            layout.to_hpf()
    crossed = Layout.grid((8, 8), (2, 2), [block(axis=1), block(axis=0)])
    cut = Layout.grid((8, 8), (2, 2), [cuts([0, 3, 8]), block()])
    for layout in (crossed, cut, late, Layout.whole((8, 8))):
        with pytest.raises(IsthmusError, match="rows over its first axis"):
            layout.to_scalapack(0)


@pytest.mark.parametrize(
    ("shape", "grid", "links", "tu", "element"),
    [
        ((8, 65536), (8, 8), 4, 65536, 1),  # the paper's case: 0.5 MB
        ((1000, 1000), (4, 4), 2, 65536, 8),
        ((37, 5, 11), (2, 3), 3, 64, 2),
        ((100,), (2, 2), 1, 96, 8),
        ((6, 4, 1000), (3, 2), 2, 128, 4),
    ],
)
def test_an_interface_takes_the_whole_array_in_its_order(shape, grid, links, tu, element):
    found = io_distribution(shape, grid, links=links, tu=tu, element=element)
    whole = np.arange(np.prod(shape)).reshape(shape)
    held = {
        rank: iter(part.ravel())
        for rank, (part,) in zip(found.layout.ranks, found.layout.scatter(whole), strict=True)
    }
    sent = 0
    for number, unit in enumerate(found.units()):
        assert (unit.number, unit.start) == (number, sent)
        assert sum(count for _, count in unit.blocks) * element <= tu
        for rank, count in unit.blocks:
            # What a rank holds goes out in its own order, as it lies in memory.
            assert [next(held[rank]) for _ in range(count)] == list(range(sent, sent + count))
            sent += count
    assert sent == whole.size
    assert {found.link(rank) for rank in held} == set(range(links))


def test_the_interface_of_the_paper():
    found = io_distribution((8, 65536), (8, 8), links=4, tu=64 << 10, element=1)
    units = list(found.units())
    assert len(units) == 8
    for row, unit in enumerate(units):
        assert unit.blocks == tuple((8 * row + column, 8192) for column in range(8))
        assert [found.link(rank) for rank, _ in unit.blocks] == [0, 0, 1, 1, 2, 2, 3, 3]
    for links, tu, message in (
        (3, 64, "each has as many"),
        (9, 64, "each has"),
        (4, 7, "an element"),
    ):
        with pytest.raises(IsthmusError, match=message):
            io_distribution((8, 8), (8, 8), links=links, tu=tu, element=1)


def test_the_words_of_what_an_interface_takes_stay():
    found = io_distribution((6, 40), (2, 4), links=2, tu=32, element=2, ranks=[*range(20, 12, -1)])
    assert (found.rows, found.columns, found.links, found.dim, found.block) == (2, 4, 2, 1, 4)
    assert found.layout == Layout.grid(
        (6, 40), (2, 4), [block(axis=0), cyclic(4, axis=1)], ranks=[*range(20, 12, -1)]
    )
    assert found.layout.to_hpf() == (["BLOCK", "CYCLIC(4)"], (2, 4))
    assert [found.link(rank) for rank in range(20, 12, -1)] == [0, 0, 1, 1] * 2
    first, *_, last = found.units()
    assert (first.number, first.start, first.blocks) == (0, 0, ((20, 4), (19, 4), (18, 4), (17, 4)))
    # 40 are two transfer units of 16 and one of 8 in two blocks.
    assert (last.number, last.start, last.blocks) == (17, 232, ((16, 4), (15, 4)))
    assert found.layout.indices(20)[0][1].tolist() == [0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35]
    rows = io_distribution((40, 6), (2, 2), links=1, tu=64, element=1)
    assert (rows.dim, rows.block, rows.layout.to_hpf()) == (0, 5, (["CYCLIC(5)", "*"], (4,)))
    with pytest.raises(IsthmusError, match="rank 8 is none of the 4 of the layout"):
        rows.link(8)
    for wrong, message in (
        ({"links": -1}, "links: -1; it is at least 0"),
        ({"links": 0}, "links: 0; each has as many of the 2 columns as the others"),
        ({"tu": 0}, "tu: 0; it is a number of bytes, at least 1"),
        ({"element": -8}, "element: -8; it is a number of bytes, at least 1"),
        ({"tu": 1 << 64}, "int too big"),
        ({"shape": (0, 2)}, "dimension 0 has no indices"),
        ({"shape": ()}, "an array of 0 dimensions"),
        ({"shape": (2.5,)}, "shape: 2.5; it is a whole number"),
        ({"grid": (0, 2)}, "each extent is at least 1"),
        ({"ranks": [1, 1, 2, 3]}, "rank 1 is given twice"),
    ):
        given = {"shape": (8, 8), "grid": (2, 2), "links": 1, "tu": 64, "element": 1} | wrong
        with pytest.raises(IsthmusError) as error:
            io_distribution(**given)
        assert message in str(error.value)


def test_the_first_element_that_no_rank_holds():
    # Of the core alone: what is partial is made and refused in files.
    halves = [[(slice(0, 2),)], [(slice(3, 4),)]]
    assert Layout.boxes((4,), halves, partial=True)._core.first_missing() == [2]
    assert Layout.boxes((4,), [[(slice(0, 4),)]], partial=True)._core.first_missing() is None
    assert Layout.block((4,), (3,))._core.first_missing() is None


@pytest.mark.parametrize("columns", [False, True])
def test_what_two_ranks_have_to_do_with_one_another(columns):
    # As the only message it is what it is among all that the receiver gets.
    shape, order = (9, 14), "F" if columns else "C"
    whole = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    copies = Layout.grid(shape, (2, 3), [cyclic(2, axis=1), None], ranks=[3, 4, 5, 6, 7, 8])
    boxes = Layout.boxes(shape, [[(slice(0, 9), slice(0, 5))], [], [(slice(0, 9), slice(5, 14))]])
    seen = Counter()
    for plan in (Plan(copies, boxes), Plan(boxes, copies), Plan(boxes, boxes)):
        sources = plan.from_.scatter(whole, order=order)
        given = [[memory.to_read(part) for part in parts] for parts in sources]
        for to in plan.to.ranks:
            out = plan.to.empty(to, "i4", order=order)
            taken = [memory.to_write(part, "out") for part in out]
            share = _core.Share(plan._core, to, 4, columns)
            for at, sender in enumerate(plan.from_.ranks):
                alone = _core.Share.between(plan._core, (sender, to), 4, columns)
                assert alone.sends() == []
                wanted = [message for message in share.receives() if message[0] == sender]
                assert alone.receives() == wanted
                seen[len(wanted)] += 1
                for _, elements in wanted:
                    alone.unpack([((0, 0, elements), given[at])], taken)
            for part, indices in zip(out, plan.to.indices(to), strict=True):
                assert same(part, whole[np.ix_(*indices)])
    assert seen[0] > 10
    assert seen[1] > 10
    # Of ranks that are none of the plan's there is nothing.
    assert _core.Share.between(plan._core, (0, 9), 4, columns).receives() == []


def test_table_1_of_the_paper():
    # An N x N matrix on p x p processors, sent row by row: blocks that lie in one piece in the
    # system and on the wire. (The example in the text, 1000 x 1000 on 8 x 8, rounds up.)
    size, side, factor = 1024, 8, 2

    def blocks(layout):
        plan = Plan(layout, Layout.whole(layout.shape))
        found = Counter()
        for rank in layout.ranks:
            found.update(plan.runs(rank, 0, element=1))
        return found

    shape = (size, size)
    swath, coarse = Layout.row_swath(shape, side * side), Layout.coarse(shape, side)
    assert blocks(swath) == {size * size // side**2: side**2}
    assert blocks(coarse) == {size // side: size * side}
    fine = Layout.fine(shape, side, factor)
    assert blocks(fine) == {size // (side * factor): size * side * factor}


def test_plans_print_themselves():
    plan = Plan(Layout.block_cyclic((8, 8), (2, 2), (2, 2)), Layout.row_swath((8, 8), 2))
    assert str(plan) == (
        "8 x 8 elements from 4 to 2 ranks\n"
        "6 messages of 48 elements between ranks, 16 elements stay\n"
        "32 runs in one piece on both sides (rows in memory), by elements: 32 of 2\n"
        "  from\\to     0     1\n"
        "       0      8     8\n"
        "       1      8     8\n"
        "       2      8     8\n"
        "       3      8     8"
    )
    big = Plan(Layout.block((10**6, 10**6), (100, 100)), Layout.row_swath((10**6, 10**6), 10**4))
    assert "rank 0 sends 100 messages of 1,000,000 to 1,000,000 elements" in str(big)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout.block((4, 4), (0, 1)), "each extent is at least 1"),
        (lambda: Layout.block((4.5,), (1,)), "shape: 4.5; it is a whole number"),
        (lambda: Layout.block((-4,), (1,)), "shape: -4; it is at least 0"),
        (lambda: Layout.block((2**62,), (1,)), "fewer than 2^62 elements"),
        (lambda: Layout.grid((4,), (2,), [cyclic(0)]), "blocks of dimension 0 have no indices"),
        (lambda: Layout.grid((4,), (2,), [cyclic(-1)]), "block: -1; it is at least 0"),
        (lambda: Layout.boxes((4,), []), "boxes of 0 ranks: there are 1 to 16777216"),
        (lambda: Layout.boxes((4,), [[(slice(0, 3),)]]), "no rank holds element [3]"),
        (
            lambda: Layout.boxes((4,), [[(slice(0, 4),), (slice(2, 3),)]]),
            "element [2] is held twice",
        ),
        (lambda: Layout.boxes((4,), [[(slice(0, 4, 2),)]]), "steps other than 1 are no box"),
        (lambda: Layout.hpf((4,), ["BLOCK(1)"], (2,)), "holds 2 of 4 indices"),
        (lambda: Layout.hpf((4,), ["ROUND"], (2,)), '"BLOCK", "BLOCK(n)"'),
        (
            lambda: Layout.hpf((8,), ["BLOCK", "CYCLIC"], (2,)),
            "DISTRIBUTE: dimensions of shape 1 and distribution 2; all have the same number",
        ),
        (lambda: Layout.chunks((8, 8), (4,), 2), "chunks: dimensions of shape 2 and chunks 1"),
        (
            lambda: Layout.darray([4, 4], ["block"], [None], [1]),
            "darray: dimensions of sizes 2, distributions 1, arguments 1 and processes 1",
        ),
        (lambda: Layout.fine((4, 4), 0, 2), "side: 0; it is at least 1"),
        (lambda: Layout.fine((4, 4), 2, 0.5), "factor: 0.5; it is a whole number"),
        (lambda: Layout.row_swath(100, 4), "shape: 100; it is a list of whole numbers"),
        (lambda: Layout.coarse(100, 4), "shape: 100; it is a list of whole numbers"),
        (
            lambda: Layout.grid((4,), (2,), ["cyclic"]),
            "dimension 0: 'cyclic'; it is cyclic(...), block(), cuts(...) or None",
        ),
        (lambda: Layout.whole((4,)).gather([]), "parts: of 0 ranks; the layout has 1"),
        (
            lambda: Layout.boxes((4,), [[(slice(0, 2),)]], partial=True).gather([[np.zeros(2)]]),
            "gather: no rank holds element [2]; all are needed here",
        ),
        (
            lambda: Layout.whole((4,)).gather([[np.zeros(3)]]),
            "parts of rank 0: an array of shape (3,); the layout gives it (4,)",
        ),
        (lambda: Layout.scalapack([502, 0, 4, 4, 1, 1, 0, 0, 4], (1, 1)), "nine numbers"),
        (lambda: Layout.chunks((4,), ((2, 1),), 1), "they have 3 indices"),
        (lambda: Layout.block((4,), (2,), ranks=[1, 1]), "rank 1 is given twice"),
        (lambda: Plan(Layout.whole((4,)), Layout.whole((5,))), "both must be the same"),
        (lambda: Layout.chunks((4,), (2,), 0), "ranks: 0; it is at least 1"),
        (lambda: Layout.chunks((4,), [2.5], 1), "chunks of dimension 0: 2.5; it is a whole number"),
        (lambda: cyclic(1, source=-1), "source: -1; it is at least 0"),
        (lambda: cyclic(1, axis=-1), "axis: -1; it is at least 0"),
        (lambda: cuts([0, 1.5, 4]), "cuts: 1.5; it is a whole number"),
        (lambda: Layout.block(None, (1, 1)), "shape: None; it is a list of whole numbers"),
        (lambda: Layout.hpf((4,), [1], (2,)), "dimension 0: 1; it is a word"),
        (lambda: Layout.whole((4,)).extents(-1), "rank -1 is none of the 1 of the layout"),
        (
            lambda: Plan(Layout.whole((4,)), None),
            "to: None (NoneType) is of no use here; give a Layout",
        ),
        (lambda: HALVES.runs(0, 0, orders=("C", "X")), "orders: 'X'; it is"),
        (lambda: Layout.boxes((4,), [[3]]), "box 0 of rank 0: 3; it is where it begins"),
        (
            lambda: io_distribution((8,), (2, 2), links=1, tu="64 KB", element=8),
            "tu: '64 KB'; it is a number of bytes",
        ),
        (lambda: HALVES.redistribute([], threads=-1), "threads: -1; it is a number from 1 to 4096"),
        (lambda: HALVES.redistribute([], order="X"), 'order: \'X\'; it is "C" or "F"'),
        (lambda: Layout.whole((4,)).extents(1), "rank 1 is none of the 1 of the layout"),
    ],
)
def test_layouts_that_make_no_sense(make, message):
    with pytest.raises(IsthmusError) as error:
        make()
    assert message in str(error.value)


def test_arrays_that_do_not_fit():
    plan = Plan(Layout.block((4,), (2,)), Layout.whole((4,)))
    halves = [np.zeros(2), np.zeros(2)]
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    for arrays, out, message in (
        ([np.zeros(2)], None, "arrays: of 1 ranks; the layout has 2"),
        (
            [np.zeros(2), np.zeros(3)],
            None,
            "arrays of rank 1: an array of shape (3,); the layout gives it (2,)",
        ),
        ([np.zeros(2), np.zeros(2, "f4")], None, "elements of type float64 and of type float32"),
        ([np.zeros(2, object)] * 2, None, "Python objects have no fixed bytes"),
        (halves, [np.zeros(4, "i8")], "elements of type float64 and of type int64"),
        (halves, [read_only], "the array is read-only"),
        (None, None, "arrays: NoneType; it is a list, one item a rank"),
        (halves, 3, "out: int; it is a list"),
        (halves, [np.broadcast_to(np.zeros(1), (4,))], "the array is read-only"),
    ):
        with pytest.raises(IsthmusError) as error:
            plan.redistribute(arrays, out)
        assert message in str(error.value)
    # Two elements in one place.
    shared = np.lib.stride_tricks.as_strided(np.zeros(4), (4,), (0,))
    with pytest.raises(IsthmusError, match="elements share bytes"):
        plan.redistribute(halves, [shared])


def test_layouts_and_plans_are_drawn():
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(ncols=2)
    layout = Layout.block_cyclic((16, 16), (2, 2), (4, 4))
    assert layout.plot(ax=left) is left
    image = np.asarray(left.images[0].get_array())
    assert image[0, 0] == 0
    assert image[0, 4] == 1
    assert image[4, 0] == 2
    assert Plan(layout, Layout.row_swath((16, 16), 2)).plot(ax=right) is right
    assert np.asarray(right.images[0].get_array()).tolist() == [[32, 32]] * 4
    plt.close("all")


def test_arrays_may_lie_where_those_before_were():
    chance = np.random.default_rng(5)
    for seed in range(60):
        from_, to, whole, (before, after), _ = case(seed, 4)
        size = 2 * whole.nbytes * max(from_.replicas, to.replicas) + 64
        memory = np.zeros(size, np.uint8)
        sides = []
        for ranks in (before, after):
            begin = int(chance.integers(0, 9))
            views = []
            for parts in ranks:
                views.append([])
                for part in parts:
                    view = memory[begin : begin + part.nbytes].view(part.dtype)
                    views[-1].append(view.reshape(part.shape))
                    begin += part.nbytes
            sides.append(views)
        for held, parts in zip(sides[0], before, strict=True):
            for view, part in zip(held, parts, strict=True):
                view[...] = part
        found = Plan(from_, to).redistribute(*sides)
        for held, parts in zip(found, after, strict=True):
            assert all(map(same, held, parts)), seed


def test_layouts_take_the_numbers_of_numpy():
    chunks = Layout.chunks((4, 4), np.array([2, 2]), np.int64(2))
    assert chunks == Layout.chunks((4, 4), (2, 2), 2)
    assert chunks.fingerprint == Layout.chunks((4, 4), (2, 2), 2).fingerprint
    assert chunks.fingerprint != Layout.chunks((4, 4), (2, 2), 3).fingerprint
    halves = Layout.block((4,), (2,))
    assert halves.fingerprint != halves.on_ranks([1, 0]).fingerprint

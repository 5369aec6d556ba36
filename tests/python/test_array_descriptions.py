"""Files that describe redistributions: every word of layouts, and every mistake at its line."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus import IsthmusError
from isthmus.arrays import Layout, cyclic, io_distribution, load
from isthmus.arrays.descriptions import read
from isthmus.arrays.layout_words import KINDS

GOOD = """\
title = "Panels"
[array]
shape = [16, 24]
dtype = "float64"
order = "F"
[from]
kind = "block-cyclic"
grid = [2, 3]
blocks = [2, 4]
[to]
kind = "row-swath"
ranks = 4
[costs]
message_overhead = "10 us"
copy = "5 GB/s"
[io]
stripe = "64 KiB"
request = "16 KiB"
outstanding = 2
"""
SHAPE = (16, 24)


def with_to(table: str) -> str:
    """The file with another layout to go to."""
    head, _, tail = GOOD.partition('kind = "row-swath"\nranks = 4\n')
    return head + table + "\n" + tail


HALVES = [[(slice(0, 9), slice(0, 24))], [(slice(9, 16), slice(0, 24))]]
LAYOUTS = {
    'kind = "block-cyclic"\ngrid = [2, 3]\nblocks = [2, 4]\nsource = [1, 2]\n'
    'numbering = "column"\nranks = [5, 4, 3, 2, 1, 0]': Layout.grid(
        SHAPE,
        (2, 3),
        [cyclic(2, source=1), cyclic(4, source=2)],
        numbering="column",
        ranks=[5, 4, 3, 2, 1, 0],
    ),
    'kind = "block"\ngrid = [4, 1]': Layout.block(SHAPE, (4, 1)),
    'kind = "whole"\nrank = 3': Layout.whole(SHAPE, rank=3),
    'kind = "row-swath"\nranks = [7, 1]': Layout.row_swath(SHAPE, 2).on_ranks([7, 1]),
    'kind = "coarse"\nside = 2': Layout.coarse(SHAPE, 2),
    'kind = "fine"\nside = 2\nfactor = 4': Layout.fine(SHAPE, 2, 4),
    'kind = "hpf"\ndistribution = ["BLOCK", "CYCLIC(2)"]\ngrid = [2, 2]': Layout.hpf(
        SHAPE, ["BLOCK", "CYCLIC(2)"], (2, 2)
    ),
    'kind = "scalapack"\ndescriptor = [1, 0, 16, 24, 2, 3, 1, 0, 8]\ngrid = [2, 2]': (
        Layout.scalapack([1, 0, 16, 24, 2, 3, 1, 0, 8], (2, 2))
    ),
    'kind = "darray"\ndistributions = ["cyclic", "block"]\narguments = [3, "default"]\n'
    "processes = [2, 2]": Layout.darray(SHAPE, ["cyclic", "block"], [3, None], (2, 2)),
    'kind = "boxes"\nboxes = [[[[0, 9], [0, 24]]], [[[9, 16], [0, 24]]]]': Layout.boxes(
        SHAPE, HALVES
    ),
    'kind = "chunks"\nchunks = [5, [10, 14]]\nranks = 3': Layout.chunks(SHAPE, [5, [10, 14]], 3),
    'kind = "interface"\ngrid = [2, 4]\nlinks = 2\ntu = "256 B"': io_distribution(
        SHAPE, (2, 4), links=2, tu=256, element=8
    ).layout,
}


@pytest.mark.parametrize("table", LAYOUTS, ids=lambda table: table.split('"')[1])
def test_each_word_makes_its_layout(table):
    told = read(with_to(table), "p.toml")
    assert told.to == LAYOUTS[table]


def test_every_word_is_tried():
    assert {table.split('"')[1] for table in LAYOUTS} == set(KINDS)


def test_what_is_beside_the_layouts():
    told = read(GOOD, "p.toml")
    assert told.from_ == Layout.block_cyclic(SHAPE, (2, 3), (2, 4))
    assert (told.title, told.dtype, told.order) == ("Panels", np.dtype("f8"), "F")
    assert (told.costs.message_s, told.costs.copy_bytes_per_s) == (10e-6, 5e9)
    assert (told.io.stripe, told.io.request, told.io.outstanding) == (65536, 16384, 2)
    assert told.bytes == 16 * 24 * 8
    assert told.ranks == [0, 1, 2, 3, 4, 5]
    assert "16 x 24" in str(told.plan)


def test_changes_go_before_the_file():
    told = read(
        GOOD, "p.toml", ["from.blocks=[1, 1]", 'array.dtype="int16"', "io.outstanding=unlimited"]
    )
    assert told.from_ == Layout.block_cyclic(SHAPE, (2, 3), (1, 1))
    assert told.dtype.itemsize == 2
    assert told.io.outstanding is None


def test_elements_of_several_fields():
    change = 'array.dtype=[["x", "float64"], ["at", [["i", "int32"], ["j", "int32"]]]]'
    told = read(GOOD, "p.toml", [change])
    assert told.dtype == np.dtype([("x", "f8"), ("at", [("i", "i4"), ("j", "i4")])])


def test_a_block_may_be_longer_than_the_array():
    told = read(GOOD, "p.toml", ["from.blocks=[9007199254740993, 4]"])
    assert [len(each) for each in told.from_.indices(0)[0]] == [16, 8]
    assert told.from_.extents(3) == [(0, 8)]
    assert [len(each) for each in told.from_.indices(3)[0]] == [0, 8]


def test_load_reads_a_file(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(GOOD)
    assert load(path, ["to.ranks=2"]).to == Layout.row_swath(SHAPE, 2)
    with pytest.raises(IsthmusError, match="cannot be read"):
        load(tmp_path / "none.toml")


WRONG = [
    ("[array]", "[aray]", ": array: it is missing; write a table [array]"),
    ("[from]", "[frm]", ": from: it is missing; write a table [from] with a layout"),
    ("[costs]", "[cost]", ":13: cost: no such field; did you mean 'costs'?"),
    ("title = ", "title = 3 #", ":1: title: the number 3 where a text is expected; write a title"),
    ("[16, 24]", "16", ":3: array.shape: the number 16 where a list of whole numbers is exp"),
    ("[16, 24]", "[]", ":3: array.shape: an empty list; write [8192, 8192]"),
    ("[16, 24]", "[16, 0]", ":3: array.shape[1]: 0 is out of range; give 1 or more"),
    ("[16, 24]", "[16, 2.5]", ":3: array.shape[1]: the number 2.5 where a whole number"),
    ("[16, 24]", "[4611686018427387904, 24]", ":3: array.shape: an array of 2^63 bytes or more"),
    ("[16, 24]", str([1] * 33), ":3: array.shape: 33 dimensions; give at most 32"),
    ("[16, 24]", "[16]", ":8: from.grid: 2 numbers for an array of 1 dimensions; give 1"),
    ('"float64"', '"flot"', ':4: array.dtype: the text "flot" is no type of elements that can'),
    ('"float64"', '"object"', ':4: array.dtype: the text "object" is no type of elements that can'),
    ('"float64"', '"S0"', ':4: array.dtype: the text "S0" is no type of elements that can'),
    ('"float64"', '[["x"]]', ":4: array.dtype[0]: a field of 1 values"),
    ('"float64"', "true", ":4: array.dtype: true where a text is expected"),
    ('"F"', '"fortran"', ':5: array.order: "fortran" is not known here; it is one of "C", "F"'),
    ('kind = "block-cyclic"\n', "", ':6: from.kind: it is missing; write, for example, kind = "bl'),
    ('"block-cyclic"', '"block cyclic"', ':7: from.kind: "block cyclic" is not known here; did'),
    (
        "grid = [2, 3]",
        "gird = [2, 3]",
        ":6: from.grid: it is missing; write, for example, grid = [2, 2] in place",
    ),
    ("grid = [2, 3]", "grid = [2, 1048576]", ":8: from.grid: 2,097,152 processes; give at most 1"),
    (
        "blocks = [2, 4]",
        "blocks = [2, 4]\nblock = 3",
        ":10: from.block: no such field; did you mean",
    ),
    (
        "blocks = [2, 4]",
        "blocks = [2, 4]\nsource = [0, 3]",
        ":10: from.source: dimension 1: coordi",
    ),
    ("blocks = [2, 4]", "blocks = [2, 4]\nranks = [1]", ":10: from.ranks: 1 numbers for 6 ranks"),
    (
        "blocks = [2, 4]",
        "blocks = [2, 4]\nranks = [0, 1, 2, 3, 4, 4]",
        ":10: from.ranks: rank 4 twi",
    ),
    (
        "blocks = [2, 4]",
        "blocks = [2, 4]\nnumbering = 'rows'",
        ':10: from.numbering: "rows" is not',
    ),
    ("ranks = 4", "ranks = 0", ":12: to.ranks: 0 is out of range; give 1 to 1048576"),
    ("ranks = 4", "ranks = []", ":12: to.ranks: no rank at all; list one or more"),
    ("ranks = 4", 'ranks = "4"', ':12: to.ranks: the text "4" where a whole number is expected'),
    ('"10 us"', "10", ":14: costs.message_overhead: the unit of 10 is missing; write a time with "),
    ('"10 us"', '"10 kB"', ':14: costs.message_overhead: "10 kB" is not a time; write a number an'),
    ('"5 GB/s"', '"0 GB/s"', ':15: costs.copy: "0 GB/s" is too little; give 1 B/s or more'),
    ('"64 KiB"', '"0 B"', ':17: io.stripe: "0 B" is too little; give 1 B or more'),
    (
        "outstanding = 2",
        "outstanding = 0",
        ":19: io.outstanding: 0 is out of range; give 1 to 65536",
    ),
    ('"64 KiB"', '"1e20 B"', ':17: io.stripe: "1e20 B" is too much; give 1e+18 B or less'),
    ('"64 KiB"', '"1e400 B"', ':17: io.stripe: "1e400 B" is not an amount of data; write a number'),
    ("[io]", "[io", ":16: not TOML: "),
    ("[io]", "nodes = true\n[io]", ":16: costs.nodes: no such field; known here: message_overhead"),
    ('title = "Panels"', "nodes = true", ":1: nodes: true where a set of nodes is expected"),
    ('title = "Panels"', "version = 2", ":1: version: 2 is out of range; give 1 to 1"),
    ("[io]", "[[io]]", ":16: io: a list where a table is expected; write fields under [io]"),
]


@pytest.mark.parametrize(("right", "wrong", "told"), WRONG)
def test_each_mistake_has_its_line_and_field(right, wrong, told):
    assert right in GOOD
    with pytest.raises(IsthmusError) as caught:
        read(GOOD.replace(right, wrong, 1), "p.toml")
    assert str(caught.value).startswith("p.toml" + told)


WRONG_LAYOUTS = [
    (
        'kind = "darray"\ndistributions = ["cyclic", "block"]\n'
        'arguments = [4611686018427387904, "default"]\nprocesses = [2, 2]',
        ":10: to: blocks of 4611686018427387904 indices of dimension 0 on 2 processes",
    ),
    (
        'kind = "hpf"\ndistribution = ["BLOK", "*"]\ngrid = [2]',
        ':10: to: dimension 0: "BLOK"; it is',
    ),
    ('kind = "hpf"\ndistribution = ["BLOCK"]\ngrid = [2]', ":12: to.distribution: 1 words for an "),
    (
        'kind = "scalapack"\ndescriptor = [1, 2]\ngrid = [2, 2]',
        ":12: to.descriptor: [1, 2]; that of",
    ),
    (
        'kind = "scalapack"\ndescriptor = [1, 0, 9, 9, 2, 2, 0, 0, 8]\ngrid = [2, 2]',
        ":12: to.descriptor: a matrix of 9 x 9; give that of array.shape",
    ),
    (
        'kind = "darray"\ndistributions = ["none", "block"]\nprocesses = [2, 2]',
        ":10: to: dimension 0",
    ),
    ('kind = "boxes"\nboxes = [[[[0, 9], [0, 24]]]]', ":10: to: no rank holds element [9, 0]"),
    ('kind = "boxes"\nboxes = [[[[0, 9]]]]', ":12: to.boxes[0][0]: no box of an array of 2"),
    (
        'kind = "chunks"\nchunks = [5, [10, 13]]\nranks = 3',
        ":10: to: chunks of dimension 1: they ha",
    ),
    (
        'kind = "chunks"\nchunks = [5]\nranks = 3',
        ":12: to.chunks: chunks of 1 dimensions for an arr",
    ),
    ('kind = "interface"\ngrid = [2, 4]\nlinks = 3\ntu = "256 B"', ":13: to.links: 3; each has as"),
    (
        'kind = "interface"\ngrid = [2, 4]\nlinks = 2\ntu = "8 B"',
        ":14: to.tu: 8 bytes have 2 for ea",
    ),
    ('kind = "coarse"\nside = 2000', ":12: to.side: 4,000,000 processes; give at most 1,048,576"),
    ('kind = "whole"\nranks = 3', ":12: to.ranks: no such field; did you mean 'rank'?"),
]


@pytest.mark.parametrize(("table", "told"), WRONG_LAYOUTS)
def test_what_layouts_refuse_is_told_at_its_table(table, told):
    with pytest.raises(IsthmusError) as caught:
        read(with_to(table), "p.toml")
    assert str(caught.value).startswith("p.toml" + told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("from.blocks=[0, 1]", "override `from.blocks=[0, 1]`: from.blocks[0]: 0 is out of range"),
        (
            "from.block=3",
            "override `from.block=3`: from.block: no such field; did you mean 'blocks'?",
        ),
        ("from", "override `from`: there is no `=`; write key=value"),
        ("title.x=1", "override `title.x=1`: title.x: title is no table; change the whole of it"),
    ],
)
def test_mistakes_of_changes_name_the_change(change, told):
    with pytest.raises(IsthmusError) as caught:
        read(GOOD, "p.toml", [change])
    assert str(caught.value).startswith(told)

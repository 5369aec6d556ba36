"""Plans as jobs on machines: against closed forms, bounds, and a count by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from isthmus import IsthmusError
from isthmus.arrays import Layout, requests
from isthmus.arrays.descriptions import Io, read
from isthmus.arrays.machine_job import Machine, Time
from isthmus.arrays.prediction import Prediction, crossover, predict

# Links of 1 GB/s, a switch every 10 ns, packets of 96 B and a header of 4 B: 100 ns each.
PLAIN = """
bandwidth = "1 GB/s"
switch_latency = "10 ns"
switching = "cut-through"
virtual_channels = 4
buffer = 64
delay = "50 ns"
nic = { payload = "96 B", overhead = "4 B", padding = "1 B", dma_period = "1 ns", \
receive_delay = "0 s", software_latency = "0 s" }
"""
BYTES_PER_S = 1e9 * 96 / 100
"""Data that a link carries."""


def machine(form: str, work: str = "") -> Machine:
    text = f'version = 1\nname = "m"\n[machine]\nkind = "graph"\n{form}\n{PLAIN}\n{work}\n'
    return Machine.read(text, "m.toml", [], "all", None)


RING = 'graph = "ring"\nswitches = 8'
SERVERS = '[workload.servers]\nplacement = "clustered"\ncount = 2'


def described(array: str, before: str, after: str, more: str = ""):
    text = f"[array]\n{array}\n[from]\n{before}\n[to]\n{after}\n{more}\n"
    return read(text, "p.toml")


@pytest.mark.parametrize("packets", [1, 10, 1000])
def test_one_message_takes_its_bytes_over_the_bandwidth_and_a_header(packets):
    told = described(
        f'shape = [{96 * packets}]\ndtype = "uint8"',
        'kind = "whole"\nrank = 0',
        'kind = "whole"\nrank = 1',
    )
    move = predict(told, machine(RING)).move
    # Out of the node, one link of 50 ns with a switch before it, one before the receiver.
    expected = packets * 100e-9 + 2 * 10e-9 + 50e-9
    assert move.seconds == pytest.approx(expected, rel=1e-9)
    assert move.exact
    assert (move.messages, move.bytes) == (1, 96 * packets)


def all_to_all(ranks: int, each: int, more: str = ""):
    """Every rank sends so many bytes to every other."""
    return described(
        f'shape = [{ranks}, {ranks * each}]\ndtype = "uint8"',
        f'kind = "row-swath"\nranks = {ranks}',
        f'kind = "block"\ngrid = [1, {ranks}]',
        more,
    )


@pytest.mark.parametrize(
    ("form", "ranks", "bisection"),
    [
        # Links of both directions across a cut through the middle.
        (RING, 8, 2),
        ('graph = "torus"\nsize = "4x4"', 16, 8),
    ],
)
def test_an_all_to_all_is_never_sooner_than_its_links(form, ranks, bisection):
    each = 96 * 40
    move = predict(all_to_all(ranks, each), machine(form)).move
    node = (ranks - 1) * each / BYTES_PER_S
    # Half of the ranks send to the other half over the links of a cut.
    cut = (ranks / 2) ** 2 * each / (bisection * BYTES_PER_S)
    bound = max(node, cut)
    assert bound <= move.seconds < 2.5 * bound


def test_a_permutation_without_a_link_in_common_takes_as_long_as_one_message():
    # Each rank of a ring sends to the next: nobody meets anybody.
    told = described(
        'shape = [8, 9600]\ndtype = "uint8"',
        'kind = "row-swath"\nranks = 8',
        'kind = "row-swath"\nranks = [1, 2, 3, 4, 5, 6, 7, 0]',
    )
    move = predict(told, machine(RING)).move
    assert move.seconds == pytest.approx(100 * 100e-9 + 70e-9, rel=1e-9)


def test_each_message_takes_its_overhead_one_after_the_other():
    free = predict(all_to_all(4, 96), machine(RING)).move
    told = all_to_all(4, 96, '[costs]\nmessage_overhead = "100 us"\ncopy = "1 kB/s"')
    found = predict(told, machine(RING))
    # Three messages of each rank; the last is alone on the network.
    assert found.move.seconds == pytest.approx(300e-6, abs=free.seconds)
    assert found.move.seconds > 300e-6
    # Each rank packs, keeps and unpacks: 288 + 96 + 288 bytes.
    assert found.copy_s == pytest.approx(0.672)


def test_what_is_too_much_is_drawn_on_in_a_straight_line():
    told = all_to_all(8, 96 * 200)
    whole = predict(told, machine(RING)).move
    part = predict(told, machine(RING), bytes_max=told.bytes // 5).move
    assert whole.share == 1 and part.share < 0.3
    assert part.bytes == whole.bytes
    assert part.seconds == pytest.approx(whole.seconds, rel=0.05)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "layout",
    [
        Layout.block_cyclic((12, 10), (2, 2), (2, 3)),
        Layout.row_swath((12, 10), 3),
        Layout.block((12, 10), (1, 4)),
        Layout.whole((12, 10)),
        Layout.boxes((12, 10), [[((0, 0), (5, 10)), ((5, 0), (12, 4))], [((5, 4), (12, 10))]]),
        Layout.block_cyclic((120,), (3,), (7,)),
        Layout.block_cyclic((2, 3, 20), (1, 3, 2), (1, 1, 4)),
    ],
    ids=repr,
)
def test_requests_are_the_pieces_of_the_file_on_their_servers(layout, order):
    """Byte by byte of the file: who holds it, and on which server it is."""
    told = described(
        f'shape = {list(layout.shape)}\ndtype = "int32"\norder = "{order}"',
        'kind = "whole"',
        'kind = "whole"',
    )
    io = Io(stripe=64, request=24, outstanding=None)
    owner = np.full(layout.shape, -1)
    for rank in layout.ranks:
        for part in layout.indices(rank):
            owner[np.ix_(*part)] = rank
    by_byte = np.repeat(owner.ravel(order=order), 4)
    server = np.arange(by_byte.size) // 64 % 3
    places = {rank: place + 5 for place, rank in enumerate(layout.ranks)}
    found = requests.rows(told, layout, io, places, 3, 1.0)
    assert all(size <= 24 for _, _, size, _ in found)
    for rank in layout.ranks:
        mine = [row for row in found if row[0] == places[rank]]
        sent = [row[2] * row[3] for row in mine]
        assert sum(sent) == (by_byte == rank).sum()
        for number in range(3):
            here = sum(row[2] * row[3] for row in mine if row[1] == number)
            assert here == ((by_byte == rank) & (server == number)).sum()
    # No piece is cut but at a stripe or at the longest request.
    stripe = np.arange(by_byte.size) // 64
    runs = [
        (who, len(list(group)))
        for (who, _), group in itertools.groupby(zip(by_byte, stripe, strict=True))
    ]
    if len(layout.extents(layout.ranks[0])) == 1:
        assert sum(row[3] for row in found) == sum(math.ceil(size / 24) for _, size in runs)


def test_small_requests_cost_their_overhead_and_large_ones_do_not():
    array = 'shape = [64, 64]\ndtype = "float64"'
    before = 'kind = "block-cyclic"\ngrid = [2, 2]\nblocks = [1, 1]'
    after = 'kind = "row-swath"\nranks = 4'
    more = '[costs]\nmessage_overhead = "5 us"\n[io]\nstripe = "4 KiB"'
    found = predict(described(array, before, after, more), machine(RING, SERVERS))
    # 1,024 elements of each rank, each a request of its own.
    assert found.direct.messages == 4096
    assert found.direct.seconds > 1024 * 5e-6
    assert found.after.messages == 8
    assert found.verdict == "reshuffle"
    ratio = found.direct.seconds / found.whole.seconds
    assert found.sentence == f"reshuffle: {ratio:.0f} times sooner"
    # As large before as after: what is sent twice takes longer.
    same = predict(described(array, after, after, more), machine(RING, SERVERS))
    assert same.move == Time(0.0, 0.0, 0.0, 0, 0)
    assert same.verdict == "none" and same.sentence == "no difference shown"
    turned = predict(
        described(array, after, 'kind = "row-swath"\nranks = [1, 2, 3, 0]', more),
        machine(RING, SERVERS),
    )
    assert turned.verdict == "direct"


def test_the_same_seed_gives_the_same():
    told = described(
        'shape = [64, 64]\ndtype = "float64"',
        'kind = "block-cyclic"\ngrid = [2, 2]\nblocks = [2, 2]',
        'kind = "row-swath"\nranks = 4',
        "[io]",
    )
    tree = (
        'version = 1\nname = "t"\n[machine]\nkind = "fat-tree"\narity = 4\nlevels = 2\n'
        '[workload.servers]\nplacement = "clustered"\ncount = 2\n'
    )
    found = [predict(told, Machine.read(tree, "t.toml", [], "all", seed)) for seed in (3, 3, 4)]
    assert found[0] == found[1]
    assert found[0].whole.seconds == pytest.approx(found[2].whole.seconds, rel=0.2)


KINDS = {
    "fat-tree": "arity = 4\nlevels = 2\n" + SERVERS,
    "graph": RING + "\n" + SERVERS,
    # I/O nodes are the servers there.
    "hypercube": "dimension = 3\nlanes = { io_link = 1 }",
}


@pytest.mark.parametrize("kind", KINDS)
def test_on_every_kind_of_machine(kind):
    text = f'version = 1\nname = "m"\n[machine]\nkind = "{kind}"\n{KINDS[kind]}\n'
    told = described(
        'shape = [32, 32]\ndtype = "float64"',
        'kind = "block-cyclic"\ngrid = [2, 2]\nblocks = [2, 2]',
        'kind = "row-swath"\nranks = 4',
        '[costs]\nmessage_overhead = "20 us"\n[io]\nstripe = "1 KiB"',
    )
    found = predict(told, Machine.read(text, "m.toml", [], "all", None))
    assert (found.move.messages, found.move.bytes) == (12, 6144)
    assert (found.direct.messages, found.direct.bytes) == (512, 8192)
    assert (found.after.messages, found.after.bytes) == (8, 8192)
    # Each rank hands over its messages one after the other.
    for time, count in ((found.move, 3), (found.direct, 128), (found.after, 2)):
        assert time.low > count * 20e-6
    assert found.verdict == "reshuffle"


def test_fabrics_of_rings_are_refused():
    text = 'version = 1\nname = "m"\n[machine]\nkind = "sci"\nfabric = "ring"\nsize = 8\n'
    with pytest.raises(IsthmusError, match="are not simulated on SCI fabrics"):
        Machine.read(text, "m.toml", [], "all", None)


def of(low: float, high: float) -> Time:
    return Time((low + high) / 2, low, high, 1, 1)


def test_intervals_that_overlap_show_no_difference():
    move = of(1, 1.2)
    assert Prediction(2, move, 0.0, of(3, 4), of(1, 1.5)).verdict == "reshuffle"
    assert Prediction(2, move, 0.0, of(2.5, 4), of(1, 1.5)).verdict == "none"
    assert Prediction(2, move, 1.0, of(2.5, 2.9), of(1, 1.5)).verdict == "direct"
    assert Prediction(2, move, 0.0, None, None).sentence == ""


def test_the_crossover_in_words():
    yes = Prediction(2, of(1, 1), 0.0, of(9, 9), of(1, 1))
    no = Prediction(2, of(1, 1), 0.0, of(1, 1), of(1, 1))
    words = [
        crossover([(size, None, each) for size, each in enumerate(answers, 1)])
        for answers in ([yes, no], [yes, yes], [no, no], [no, yes])
    ]
    assert words == [
        "reshuffling pays up to blocks of 1, and not from 2 on",
        "reshuffling pays at all of these blocks",
        "reshuffling pays at none of these blocks",
        "reshuffling pays at blocks of 2 only",
    ]


def test_what_a_machine_lacks_is_told():
    with pytest.raises(IsthmusError, match=r"m\.toml: 8 nodes for the 9 ranks of p\.toml; give"):
        predict(all_to_all(9, 96), machine(RING))
    told = described(
        'shape = [64]\ndtype = "uint8"',
        'kind = "row-swath"\nranks = 2',
        'kind = "row-swath"\nranks = 4',
        "[io]",
    )
    with pytest.raises(IsthmusError, match=r"m\.toml: there are no I/O servers, and p\.toml has"):
        predict(told, machine(RING))
    twice = read(
        '[array]\nshape = [8]\ndtype = "uint8"\n[from]\nkind = "hpf"\ndistribution = ["*"]\n'
        'grid = [2]\n[to]\nkind = "whole"\n[io]',
        "p.toml",
    )
    with pytest.raises(IsthmusError, match="each element is on 2 ranks"):
        predict(twice, machine(RING, SERVERS))

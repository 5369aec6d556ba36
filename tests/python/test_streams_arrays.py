"""Distributed arrays through streams: what goes out is ``array.tobytes()``, whatever the layout."""

import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from array_cases import case, same
from isthmus.arrays import Layout
from isthmus.errors import IsthmusError
from isthmus.streams import StreamsError, connect, recv_array, send_array
from isthmus.streams.pieces import Cut
from nic_rig import PATIENCE, Sink, daemon
from ranks import mpiexec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

RANKS = 4
CASES = 25


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with daemon(tmp_path_factory.mktemp("nic"), "--accept", "127.0.0.1") as process:
        yield process


@pytest.fixture
def nic(served):
    with connect(served.address, name="arrays", patience=PATIENCE) as session:
        yield session


def settings(seed, element):
    """Links, and sizes of TUs and pieces, down to an element for each link."""
    chance = random.Random(seed)
    links = chance.randint(1, 5)
    least = links * element
    tu = least + chance.choice([0, 1, element, chance.randrange(5000)])
    return links, tu, chance.choice([1, 500, 5000, 1 << 20])


@pytest.mark.parametrize("seed", range(200))
def test_pieces_are_the_array_row_by_row(seed):
    _, _, whole, _, _ = case(seed, RANKS)
    links, tu, piece = settings(seed, whole.itemsize)
    cut = Cut.of(whole.shape, links, whole.itemsize, tu, piece)
    pieces = list(cut.pieces())
    boxes = [whole[tuple(slice(*along) for along in each.box)] for each in pieces]
    assert b"".join(box.tobytes() for box in boxes) == whole.tobytes()
    assert cut.adu * cut.adus == whole.nbytes
    assert max(box.nbytes for box in boxes) <= max(piece, cut.granule * links)
    for each, box in zip(pieces, boxes, strict=True):
        own = [cut.own(each, [link]) for link in range(links)]
        if links == 1:
            assert own == [[each.box[cut.dim]]]
            continue
        low, high = each.box[cut.dim]
        # Link by link, block by block, and nobody else's.
        found = sorted((*run, link) for link, runs in enumerate(own) for run in runs)
        assert [run[0] for run in found] == list(range(low, high, cut.block))
        assert [run[2] for run in found] == [
            start // cut.block % links for start in range(low, high, cut.block)
        ]
        shapes = [cut.held(each, [link]) for link in range(links)]
        assert sum(int(np.prod(shape)) for shape in shapes) == box.size


@pytest.mark.parametrize("seed", range(CASES))
def test_any_layout_goes_out_as_the_whole_array(nic, tmp_path, seed):
    before, _, whole, held, _ = case(seed, RANKS)
    links, tu, piece = settings(seed, whole.itemsize)
    sink = Sink(tmp_path)
    out = nic.open(sink.destination)
    status = send_array(held[0], before, out, links=links, tu=tu, piece=piece)
    assert status.state == "done" and status.bytes == whole.nbytes
    out.close()
    assert sink.taken() == whole.tobytes()


@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_sent_from_one_layout_is_received_in_another(served, nic, seed):
    before, after, whole, held, orders = case(seed, RANKS)
    sender = settings(seed, whole.itemsize)
    receiver = settings(seed + 1000, whole.itemsize)
    # Of the last dimension an index has room in any block.
    line = whole.ndim - 1
    with connect(served.address, name="receives", patience=PATIENCE) as other:
        into = other.open("raw:accept:127.0.0.1:0", window="1 MiB")
        address = into.status().destination.removeprefix("raw:accept:")
        out = nic.open(f"raw:tcp:{address}")
        empty = [after.empty(rank, whole.dtype, order=orders[1]) for rank in after.ranks]
        found = []

        def receive():
            links, tu, piece = receiver
            got = recv_array(empty, after, into, links=links, tu=tu, piece=piece, line=line)
            found.append(got)

        thread = threading.Thread(target=receive)
        thread.start()
        links, tu, piece = sender
        send_array(held[0], before, out, links=links, tu=tu, piece=piece, line=line)
        thread.join(60)
        assert found[0].state == "done"
    for parts, wanted in zip(empty, held[1], strict=True):
        assert all(same(part, right) for part, right in zip(parts, wanted, strict=True))


def test_an_array_without_a_layout_and_much_larger_than_its_pieces(nic, tmp_path):
    sink = Sink(tmp_path)
    whole = np.random.default_rng(1).random((300, 40, 50))
    with nic.open(sink.destination) as out:
        send_array(whole, None, out, tu="64 KiB", piece="256 KiB", packet="16 KiB")
    assert sink.taken() == whole.tobytes()


def test_what_cannot_be_sent_is_refused_before_anything_is(nic, tmp_path):
    out = nic.open(Sink(tmp_path).destination)
    layout = Layout.block((8, 8), grid=(2, 1))
    with pytest.raises(IsthmusError, match="array: a list of what each of the layout's 2 ranks"):
        send_array(np.zeros((8, 8)), layout, out)
    with pytest.raises(IsthmusError, match=r"array: .* a numpy array, or a layout"):
        send_array([1, 2], None, out)
    with pytest.raises(IsthmusError, match="adus: it follows from the array"):
        send_array(np.zeros(8), None, out, adus=3)
    with pytest.raises(IsthmusError, match="links: 0 is impossible"):
        send_array(np.zeros(8), None, out, links=0)
    with pytest.raises(IsthmusError, match="tu: 8 bytes have 2 for each of 4 columns"):
        send_array(np.zeros(8), None, out, tu=8)
    with pytest.raises(IsthmusError, match="line: 0; an index of it has 64 bytes, a block"):
        send_array(np.zeros((8, 8)), None, out, tu=128, line=0)
    assert nic.overview()["streams"] == []


def test_arrays_of_a_wrong_shape_cancel_the_stream(nic, tmp_path):
    out = nic.open(Sink(tmp_path).destination)
    layout = Layout.block((8, 8), grid=(2, 1))
    with pytest.raises(IsthmusError, match=r"an array of shape \(3, 8\)"):
        send_array([np.zeros((4, 8)), np.zeros((3, 8))], layout, out)
    (stream,) = nic.overview()["streams"]
    assert stream["state"] == "cancelled"


def test_a_receiver_that_is_told_less_than_it_waits_for(served, nic):
    with connect(served.address, patience=PATIENCE) as other:
        into = other.open("raw:accept:127.0.0.1:0", window="1 MiB")
        address = into.status().destination.removeprefix("raw:accept:")
        out = nic.open(f"raw:tcp:{address}")
        failed = []

        def send():
            try:
                send_array(np.zeros((4, 8)), None, out)
            except StreamsError as error:
                failed.append(str(error))

        thread = threading.Thread(target=send)
        thread.start()
        with pytest.raises(StreamsError, match="the peer sends ADUs of 256 bytes, 320 were asked"):
            recv_array(np.zeros((5, 8)), None, into)
        thread.join(60)
        assert len(failed) == 1


def test_ranks_of_mpi_send_and_receive(served, tmp_path):
    sink = Sink(tmp_path)
    program = Path(__file__).parent / "stream_ranks.py"
    done = mpiexec(4, str(program), served.address, sink.destination, "6")
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[-1] == "all 6 came back", done.stdout + done.stderr
    expected = b"".join(case(seed, RANKS)[2].tobytes() for seed in range(6))
    assert sink.taken() == expected

"""Sessions of which a process was forked, streams of other loops, and what ends a send."""

import asyncio
import gc
import os
import sys
import time
import traceback

import numpy as np
import pytest

from isthmus.arrays import Layout
from isthmus.errors import IsthmusError
from isthmus.streams import (
    SessionOverError,
    StreamFailedError,
    StreamsError,
    StreamSpec,
    aconnect,
    connect,
    join,
    recv_array,
    send_array,
)
from isthmus.streams.buffers import HOLDS
from isthmus.streams.worker import Handle
from nic_rig import PATIENCE, Sink, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU = 100_000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with daemon(tmp_path_factory.mktemp("nic")) as process:
        yield process


def until(true, what):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def in_child(call):
    """Call it in a process that is forked; what it returns as text, within a minute."""
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writes, str(call()).encode())
        except BaseException:
            os.write(writes, traceback.format_exc().encode())
        os._exit(0)
    os.close(writes)
    end = time.monotonic() + 60
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(process, 9)
            os.waitpid(process, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    with os.fdopen(reads) as file:
        return file.read()


CHILDREN = {
    "overview": lambda nic, out, stream, handle: nic.overview(),
    "open": lambda nic, out, stream, handle: nic.open("tcp:127.0.0.1:1"),
    "stream": lambda nic, out, stream, handle: nic.stream(out, adu=10, links=3),
    "link": lambda nic, out, stream, handle: nic.link(7),
    "unlink": lambda nic, out, stream, handle: nic.unlink(0),
    "event": lambda nic, out, stream, handle: nic.event(),
    "close a connection": lambda nic, out, stream, handle: out.close(),
    "send": lambda nic, out, stream, handle: stream.send(bytes(ADU)),
    "send later": lambda nic, out, stream, handle: stream.send(bytes(ADU), block=False),
    "finish": lambda nic, out, stream, handle: stream.finish(),
    "wait": lambda nic, out, stream, handle: stream.wait(),
    "status": lambda nic, out, stream, handle: stream.status(),
    "own_bytes": lambda nic, out, stream, handle: stream.own_bytes(),
}


def test_a_child_is_told_whose_the_session_is_and_does_the_parent_no_harm(served, tmp_path):
    sink = Sink(tmp_path)
    with connect(served.address, patience=PATIENCE) as nic, nic.open(sink.destination) as out:
        stream = nic.stream(out, adu=ADU, links=2)
        handle = stream.send(bytes(ADU), block=False)
        handle.wait()

        def refusals():
            told = {}
            for name, call in CHILDREN.items():
                try:
                    told[name] = f"done: {call(nic, out, stream, handle)}"
                except StreamsError as error:
                    told[name] = str(error)
            return "\n".join(f"{name}|{said}" for name, said in told.items())

        said = dict(line.split("|") for line in in_child(refusals).splitlines())
        right = f"this session is of process {os.getpid()}; in a child use join(address, ticket)"
        assert said == dict.fromkeys(CHILDREN, right)

        def closing():
            stream.close()
            nic.close()
            return nic.over

        assert in_child(closing) == right

        def dropping():
            nonlocal nic, out, stream, handle
            nic._finalizer.detach()
            nic = out = stream = handle = None
            gc.collect()
            return "dropped"

        assert in_child(dropping) == "dropped"

        def joining():
            with join(served.address, nic.ticket, patience=PATIENCE) as other:
                return len(other.overview()["streams"])

        assert in_child(joining) == "1"
        # All of it goes on.
        stream.send(bytes([1]) * ADU)
        stream.finish()
        assert stream.wait().done == 2
    assert sink.taken() == bytes(ADU) + bytes([1]) * ADU


def test_what_a_send_holds_when_a_process_is_forked_is_free_in_the_child():
    array = np.zeros(10, np.uint8)
    handle = Handle(array, array, HOLDS.hold(array, "a send", writes=False))

    def child():
        with pytest.raises(StreamsError, match="is of process"):
            handle.wait()
        HOLDS.release(HOLDS.hold(array, "a receive", writes=True))
        return array.flags.writeable

    assert in_child(child) == "True"
    assert not array.flags.writeable
    handle.finish(None, None)
    assert array.flags.writeable


def test_an_array_is_free_once_its_send_has_ended(served, tmp_path):
    sink = Sink(tmp_path)
    dropped, polled = (np.zeros(ADU, np.uint8) for _ in range(2))
    with connect(served.address, patience=PATIENCE) as nic, nic.open(sink.destination) as out:
        stream = nic.stream(out, adu=ADU)
        stream.send(dropped, block=False)
        until(lambda: dropped.flags.writeable, "the array stays read-only")
        handle = stream.send(polled, block=False)
        until(handle.done, "it does not end")
        assert polled.flags.writeable
        stream.finish()
        assert stream.wait().done == 2
    assert sink.taken() == bytes(2 * ADU)


def test_a_send_after_the_end_of_the_session_says_so(served, tmp_path):
    sink = Sink(tmp_path)
    nic = connect(served.address, patience=PATIENCE)
    with nic.open(sink.destination) as out:
        stream = nic.stream(out, adu=ADU, adus=1)
        stream.send(bytes(ADU))
        stream.wait()
    nic.close()
    with pytest.raises(SessionOverError, match="it was closed here"):
        stream.send(bytes(ADU))
    with pytest.raises(SessionOverError, match="it was closed here"):
        stream.send(bytes(ADU), block=False).wait()


def test_arrays_that_a_stream_does_not_take(served, tmp_path):
    with connect(served.address, patience=PATIENCE) as nic:
        out = nic.open(Sink(tmp_path).destination)
        layout = Layout.whole((4, 4))
        for array, words in (
            (np.zeros((4, 4), object), "array: elements of type object"),
            (np.ma.masked_equal(np.zeros((4, 4)), 0), "array: a masked array"),
        ):
            with pytest.raises(IsthmusError, match=words):
                send_array(array, None, out)
            with pytest.raises(IsthmusError, match=words):
                send_array([array], layout, out)
            with pytest.raises(IsthmusError, match=words.replace("array:", "out:")):
                recv_array(array, None, out)
        assert nic.overview()["streams"] == []


def test_what_is_named_twice_is_refused_before_anything_is_made(served, tmp_path):
    with connect(served.address, patience=PATIENCE) as nic:
        out = nic.open(Sink(tmp_path).destination)
        nic.link(1)
        spec = StreamSpec(connection=out, adu=1000, links=[0])
        with pytest.raises(StreamsError, match="there twice; make a StreamSpec for each"):
            nic.submit([spec, spec])
        assert nic.links == [1]
        with pytest.raises(IsthmusError, match="links: 0 is there 2 times; name it once"):
            nic.stream(out, adu=1000, links=[0, 0])
        twice = nic.stream(out, adu=1000, links=[0, 1], su_order=[0, 1, 0])
        twice.cancel()


def test_waits_that_the_end_of_a_daemon_cuts_say_that_it_is_over(tmp_path):
    with daemon(tmp_path) as process:
        nic = connect(process.address, patience=PATIENCE)
        stream = nic.stream(nic.open(Sink(tmp_path).destination), adu=ADU)
        stream.send(bytes(ADU))
        with pytest.raises(StreamsError):
            stream.wait_done(2, timeout="50 ms")
        process.terminate()
        process.wait(60)
    until(lambda: nic.over, "the session goes on")
    for call in (stream.wait, stream.status, stream.finish, lambda: stream.send(bytes(ADU))):
        with pytest.raises(SessionOverError, match=r"the session with .* is over"):
            call()


def test_what_a_cancelled_send_gave_to_the_links_is_counted(served, tmp_path):
    sink = Sink(tmp_path)
    array = np.ones(8 << 20, np.uint8)

    async def main():
        async with (
            aconnect(served.address, patience=PATIENCE) as nic,
            await nic.open(sink.destination) as out,
        ):
            stream = await nic.stream(out, adu="8 MiB", tu="256 KiB")
            await stream.send(bytes(8 << 20))
            sending = asyncio.create_task(stream.send(array))
            await asyncio.sleep(0)
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            await stream.finish()
            assert array.flags.writeable
            assert (await stream.wait()).done == 2

    asyncio.run(asyncio.wait_for(main(), 120))
    assert sink.taken() == bytes(8 << 20) + array.tobytes()


def test_a_session_of_another_loop_is_refused(served, tmp_path):
    async def begin():
        nic = await aconnect(served.address, patience=PATIENCE)
        out = await nic.open(Sink(tmp_path).destination)
        return nic, out, await nic.stream(out, adu=ADU)

    nic, out, stream = asyncio.run(begin())

    async def other():
        for call in (
            nic.overview,
            out.status,
            stream.finish,
            lambda: nic.stream(out, adu=ADU),
            lambda: stream.send(bytes(ADU)),
            lambda: stream.wait(timeout="5 s"),
        ):
            with pytest.raises(StreamsError, match="of another event loop; in this one use"):
                await call()
        await nic.close()

    asyncio.run(other())
    assert nic.nic.over


def test_true_or_false_is_nothing_else(served, tmp_path):
    with connect(served.address, patience=PATIENCE) as nic:
        stream = nic.stream(nic.open(Sink(tmp_path).destination), adu=ADU)
        with pytest.raises(IsthmusError, match=r"block: 5 \(int\) is of no use here"):
            stream.send(bytes(ADU), block=5)
        with pytest.raises(IsthmusError, match=r"all_applications: 5 \(int\) is of no use here"):
            nic.overview(all_applications=5)


@pytest.mark.parametrize("links", [2, 3])
@pytest.mark.parametrize("settings", [{"ring": "64 KiB"}, {"ring": "1 MiB"}, {"carrier": "socket"}])
def test_parts_of_a_tu_that_no_ring_holds_go_over_all_links_at_once(
    served, tmp_path, links, settings
):
    # The manager begins when each link has data, of which a ring holds less than a TU's part.
    sink = Sink(tmp_path, 64 << 20)
    size = (6 << 20) + 7
    adus = [np.random.default_rng(adu).integers(0, 256, size, np.uint8) for adu in range(3)]
    with (
        connect(served.address, patience=PATIENCE) as nic,
        nic.open(sink.destination) as out,
    ):
        for number in range(links):
            nic.link(number, **settings)
        stream = nic.stream(out, adu=size, tu="6 MiB", links=links, adus=3, sums="ranks")
        for adu in adus:
            stream.send(adu)
        assert stream.wait().done == 3
    assert sink.taken() == b"".join(adu.tobytes() for adu in adus)


def test_a_send_that_is_given_up_leaves_all_links_in_step(served, tmp_path):
    sink = Sink(tmp_path, 64 << 20)
    with (
        connect(served.address, patience=PATIENCE) as nic,
        nic.open("raw:accept:127.0.0.1:0") as nobody,
        nic.open(sink.destination) as out,
    ):
        for number in range(2):
            nic.link(number, ring="64 KiB")
        held = nic.stream(nobody, adu="4 MiB", links=2, adus=1, sums="ranks")
        with pytest.raises(StreamsError, match="the links took nothing more of ADU 0"):
            held.send(np.zeros(4 << 20, np.uint8), timeout="300 ms")
        stream = nic.stream(out, adu="4 MiB", links=2, adus=1, sums="ranks")
        stream.send(np.full(4 << 20, 7, np.uint8))
        assert stream.wait().done == 1
    assert sink.taken() == b"\x07" * (4 << 20)


@pytest.mark.parametrize("carrier", ["rings", "socket"])
def test_a_link_that_was_let_go_is_made_again_at_once(served, carrier):
    with connect(served.address, patience=PATIENCE) as nic:
        for _ in range(100):
            nic.link(0, carrier=carrier)
            nic.unlink(0)


def test_a_session_that_was_closed_makes_no_link(served):
    for _ in range(20):
        nic = connect(served.address, patience=PATIENCE)
        nic.close()
        with pytest.raises(SessionOverError, match="it was closed here"):
            nic.link(7)


def test_a_stream_that_was_cancelled_takes_no_adu(served, tmp_path):
    sink = Sink(tmp_path)
    with (
        connect(served.address, patience=PATIENCE) as nic,
        nic.open(sink.destination) as out,
    ):
        for _ in range(20):
            stream = nic.stream(out, adu=10)
            stream.cancel()
            with pytest.raises(StreamFailedError, match="was cancelled"):
                stream.send(b"0123456789")

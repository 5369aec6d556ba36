"""``isthmus.streams`` in event loops."""

import asyncio
import math
import sys
import threading
import time
from contextlib import asynccontextmanager

import numpy as np
import pytest

from isthmus.errors import IsthmusError
from isthmus.streams import (
    RefusedError,
    SessionOverError,
    StreamFailedError,
    StreamsError,
    TimedOutError,
    aconnect,
    ajoin,
)
from nic_rig import PATIENCE, Sink, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU = 100_000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with daemon(tmp_path_factory.mktemp("nic"), "--accept", "127.0.0.1") as process:
        yield process


def content(adu):
    return np.random.default_rng(adu).integers(0, 256, ADU, np.uint8)


def run(main):
    """Run it, with an end of its own."""
    return asyncio.run(asyncio.wait_for(main, 120))


def test_streams_of_one_loop_go_side_by_side(served, tmp_path):
    sinks = [Sink(tmp_path) for _ in range(3)]
    threads = []

    async def one(nic, number):
        async with await nic.open(sinks[number].destination) as out:
            links = [2 * number, 2 * number + 1]
            stream = await nic.stream(out, adu=ADU, tu="32 KiB", links=links)
            for adu in range(6):
                array = content(10 * number + adu)
                assert await stream.send(array) == adu
                assert array.flags.writeable
            await stream.finish()
            status = await stream.wait()
            assert (await stream.wait_moved(6)).moved == 6
            threads.append(threading.active_count())
            return status.done

    async def main():
        async with aconnect(served.address, name="loop", watch=True, patience=PATIENCE) as nic:
            before = threading.active_count()
            done = await asyncio.gather(*(one(nic, number) for number in range(3)))
            assert done == [6, 6, 6]
            closed = 0
            async for event in nic.events():
                closed += event.what == "closed"
                if closed == 3:
                    break
            assert (await nic.overview())["applications"] == [[nic.application, "loop"]]
            return before

    before = run(main())
    # Streams have a thread each, and those that make links are the loop's own few.
    assert max(threads) < before + 3 + 8
    for number, sink in enumerate(sinks):
        wanted = b"".join(content(10 * number + adu).tobytes() for adu in range(6))
        assert sink.taken() == wanted


@asynccontextmanager
async def joined(served, **way):
    """A stream of one application, and that of another by which it is received."""
    async with (
        aconnect(served.address, patience=PATIENCE) as one,
        aconnect(served.address, patience=PATIENCE) as other,
    ):
        into = await other.open("raw:accept:127.0.0.1:0", window="1 MiB")
        where = (await into.status()).destination.removeprefix("raw:accept:")
        out = await one.open(f"raw:tcp:{where}")
        sends = await one.stream(out, adu=ADU, **way)
        yield sends, await other.stream(into, adu=ADU, links=1, direction="receive")


def test_what_is_sent_is_received(served):
    async def main():
        async with joined(served, links=2, adus=5) as (sends, receives):

            async def send():
                for adu in range(5):
                    await sends.send(content(adu))
                return await sends.wait()

            async def receive():
                return [adu async for adu in receives]

            status, got = await asyncio.gather(send(), receive())
            assert status.done == 5
            assert len(got) == 5
            assert all((adu == content(number)).all() for number, adu in enumerate(got))

    run(main())


def test_waits_that_end_badly(served, tmp_path):
    async def main():
        async with aconnect(served.address, patience=PATIENCE) as nic:
            with pytest.raises(RefusedError):
                await nic.open("file:/etc/isthmus-test")
            out = await nic.open(Sink(tmp_path).destination)
            stream = await nic.stream(out, adu=ADU, links=1, adus=2)
            with pytest.raises(TimedOutError, match=r"waited 200 ms; it is \w+: .*link 0"):
                await stream.wait(timeout="200 ms")
            # One who gives up leaves nothing behind.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.wait(), 0.05)
            assert not nic._asked
            waiting = asyncio.create_task(stream.wait())
            await asyncio.sleep(0)
            await stream.cancel()
            with pytest.raises(StreamFailedError, match="it was cancelled; 0 of 2 ADUs are done"):
                await waiting
            async with ajoin(served.address, nic.ticket, patience=PATIENCE) as other:
                assert other.application == nic.application
                return other

    other = run(main())
    assert "closed here" in other.nic.over


def test_the_daemons_end_ends_all_that_waits(tmp_path):
    async def main():
        with daemon(tmp_path) as process:
            nic = await aconnect(process.address, watch=True, patience=PATIENCE)
            out = await nic.open(Sink(tmp_path).destination)
            stream = await nic.stream(out, adu=ADU, links=1)

            opened = asyncio.Event()

            async def listen():
                async for event in nic.events():
                    if event.what == "opened":
                        opened.set()

            tasks = [asyncio.create_task(each) for each in (stream.wait(), listen())]
            await stream.send(content(0))
            await opened.wait()
            process.kill()
            with pytest.raises(SessionOverError, match="the daemon closed it or has ended"):
                await tasks[0]
            # The events end.
            await tasks[1]
            with pytest.raises(SessionOverError):
                await nic.open("tcp:127.0.0.1:1")
            with pytest.raises(SessionOverError):
                while True:
                    await stream.send(content(1))
            await nic.close()

    run(main())


def test_a_connection_that_is_none_is_told_as_by_sessions(served):
    async def main():
        async with aconnect(served.address, patience=PATIENCE) as nic:
            with pytest.raises(IsthmusError, match=r"connection: None \(NoneType\)"):
                await nic.stream(None, adu=5)

    run(main())


def test_what_is_waited_for_is_a_number(served, tmp_path):
    async def main():
        async with aconnect(served.address, patience=PATIENCE) as nic:
            out = await nic.open(Sink(tmp_path).destination)
            stream = await nic.stream(out, adu=ADU)
            for wait in (stream.wait_done, stream.wait_moved):
                with pytest.raises(IsthmusError, match=r"adus: 'x' is impossible; give a whole"):
                    await wait("x")

    run(main())


def test_a_receive_that_is_cancelled_loses_nothing(served):
    """What it was to get is what the next one returns, and its memory is left alone."""

    async def main():
        async with joined(served, links=1, adus=4) as (sends, receives):
            left = np.zeros(ADU, np.uint8)
            for room in (left, None):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(receives.recv(room), 0.2)
            # Once more, while it waits for what was cancelled.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(receives.recv(), 0.2)
            for adu in range(4):
                await sends.send(content(adu))
            with pytest.raises(StreamsError, match="out: 7 bytes; the next ADU is that of a call"):
                await receives.recv(np.empty(7, np.uint8))
            first = np.empty(ADU, np.uint8)
            assert await receives.recv(first) is first
            found = [first, *[adu async for adu in receives]]
            assert [adu.tobytes() for adu in found] == [content(n).tobytes() for n in range(4)]
            assert not left.any()

    run(main())


def test_a_wait_for_a_peer_ends_with_its_task(served):
    async def work():
        async with await aconnect(served.address, patience=PATIENCE) as nic:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(nic.open("tcp:accept:127.0.0.1:0", wait=math.inf), 0.3)
            lines = (await nic.overview())["connections"]
            assert [line["open"] for line in lines if line.get("gone") is None] == []
            out = await nic.open("tcp:accept:127.0.0.1:0", window="1 MiB")
            at = (await out.status()).destination.removeprefix("tcp:accept:")
            asked = await nic.open(f"tcp:{at}", wait=PATIENCE)
            assert (await asked.status()).open
            await asked.close()
            await out.close()

    began = time.monotonic()
    asyncio.run(work())
    assert time.monotonic() - began < 30

"""``isthmus.streams`` with a daemon: what is sent is in the sink, what is waited for is so."""

import json
import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import REPOSITORY
from isthmus.errors import IsthmusError
from isthmus.streams import (
    RefusedError,
    SessionOverError,
    StreamFailedError,
    StreamsError,
    StreamSpec,
    TimedOutError,
    connect,
    join,
)
from nic_daemon import until
from nic_rig import PATIENCE, Sink, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU = 100_000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with daemon(tmp_path_factory.mktemp("nic")) as process:
        yield process


@pytest.fixture
def nic(served):
    with connect(served.address, name="a test", watch=True, patience=PATIENCE) as session:
        yield session


def content(adu, size=ADU):
    return np.random.default_rng(adu).integers(0, 256, size, np.uint8)


def settle(nic, what):
    for event in nic.events():
        if event.what == what:
            return event
    raise AssertionError(f"no {what}")


@pytest.mark.parametrize("carrier", ["rings", "socket"])
def test_what_is_sent_is_in_the_sink(nic, tmp_path, carrier):
    sink = Sink(tmp_path)
    out = nic.open(sink.destination)
    for link in range(3):
        nic.link(link, carrier=carrier, ring="64 KiB")
    stream = nic.stream(out, adu=ADU, tu="32 KiB", links=3, adus=8)
    for adu in range(8):
        assert stream.send(content(adu)) == adu
    status = stream.wait()
    assert (status.state, status.done, status.bytes) == ("done", 8, 8 * ADU)
    assert out.status().moved_bytes == (8 * ADU, 0)
    out.close()
    assert sink.taken() == b"".join(content(adu).tobytes() for adu in range(8))
    assert nic.overview()["applications"] == [[nic.application, "a test"]]


def test_arrays_of_any_type_and_bytes_are_sent(nic, tmp_path):
    sink = Sink(tmp_path)
    out = nic.open(sink.destination)
    stream = nic.stream(out, adu="variable", tu="64 KiB", links=2)
    matrix = np.arange(600, dtype=np.float64).reshape(20, 30)
    sent = [matrix, matrix[5:7], b"some bytes", np.int16(7), bytearray(b"x" * 500)]
    for data in sent:
        stream.send(data)
    with pytest.raises(StreamsError, match="its ADUs have 1 to 65536"):
        stream.send(b"")
    with pytest.raises(StreamsError, match="not in one piece"):
        stream.send(matrix.T)
    stream.finish()
    assert stream.wait().adus == len(sent)
    out.close()
    assert sink.taken() == b"".join(bytes(memoryview(data).cast("B")) for data in sent)


def test_sends_that_do_not_block(nic, tmp_path):
    sink = Sink(tmp_path)
    out = nic.open(sink.destination)
    before = nic.stream(out, adu=10, adus=1)
    for link in (30, 31):
        nic.link(link, ring="64 KiB")
    # What is sent before its turn is more than the links hold.
    stream = nic.stream(out, adu=ADU, tu="32 KiB", links=[30, 31], adus=5, after=[before])
    arrays = [content(adu) for adu in range(5)]
    views = [array[:] for array in arrays]
    handles = [stream.send(array, block=False) for array in arrays]
    assert not arrays[4].flags.writeable
    other = nic.open(Sink(tmp_path).destination, window="256 KiB")
    receiver = nic.stream(other, adu=ADU, direction="receive", links=[7])
    with pytest.raises(StreamsError, match=r"a receive of stream \d+: a send of stream \d+ has"):
        receiver.recv(views[3])
    before.send(bytes(10))
    assert [handle.wait() for handle in handles] == [0, 1, 2, 3, 4]
    assert all(array.flags.writeable for array in arrays)
    stream.wait()
    out.close()
    assert sink.taken() == bytes(10) + b"".join(array.tobytes() for array in arrays)


def test_streams_of_one_call_name_each_other(nic, tmp_path):
    sinks = [Sink(tmp_path), Sink(tmp_path)]
    outs = [nic.open(sink.destination) for sink in sinks]
    first = StreamSpec(connection=outs[0], adu="8 KiB", links=[0], adus=6)
    second = StreamSpec(
        connection=outs[1], adu="8 KiB", links=[1], adus=6, in_step_with=[first], quantum=2
    )
    one, two = nic.submit([first, second])
    for adu in range(6):
        one.send(content(adu, 8192))
        two.send(content(adu + 10, 8192))
    one.wait()
    two.wait()
    # What is registered first on a connection goes first.
    late = StreamSpec(connection=outs[0], adu="8 KiB", links=[0], adus=1)
    early = StreamSpec(connection=outs[0], adu="8 KiB", links=[0], adus=1, after=[late])
    with pytest.raises(RefusedError, match=r"cycle|wait") as caught:
        nic.submit([early, late])
    assert caught.value.kind == "conflict"
    for out in outs:
        out.close()
    for number, sink in enumerate(sinks):
        expected = [content(adu + 10 * number, 8192).tobytes() for adu in range(6)]
        assert sink.taken() == b"".join(expected)


def test_a_file_is_whole(nic, served, tmp_path):
    folder = Path(served.address.removeprefix("unix:")).parent
    with nic.open(f"file:{folder}/image") as out:
        stream = nic.stream(out, adu=ADU, links=2, adus=2)
        stream.send(content(0))
        stream.send(content(1))
        stream.wait()
    assert (folder / "image").read_bytes() == content(0).tobytes() + content(1).tobytes()
    assert settle(nic, "kept").bytes == 2 * ADU
    with pytest.raises(RefusedError) as caught:
        nic.open("file:/etc/isthmus-test")
    assert caught.value.kind == "denied"


def test_what_nobody_takes_times_out_with_a_reason(nic, tmp_path):
    sink = Sink(tmp_path)
    out = nic.open(sink.destination)
    stream = nic.stream(out, adu=ADU, links=1, adus=2)
    stream.send(content(0))
    with pytest.raises(TimedOutError, match=r"nothing moved for 300 ms; it is active: .*link 0"):
        stream.wait(timeout="300 ms")
    assert "link 0" in " ".join(stream.status().waits)
    stream.cancel()
    with pytest.raises(StreamFailedError, match=r"it was cancelled; 1 of 2 ADUs are done"):
        stream.wait()


def test_an_unknown_destination_names_those_that_there_are(nic):
    for words in ("nowhere:1", "raw", "http://here"):
        with pytest.raises(RefusedError, match="destination") as told:
            nic.open(words)
        assert "given" not in str(told.value)
    assert "raw:accept:" in str(told.value) and "tcp:accept:" in str(told.value)


def test_a_connection_that_cannot_be_made_says_why(nic):
    out = nic.open("tcp:127.0.0.1:1")
    assert "refused" in settle(nic, "lost").reason
    with pytest.raises(RefusedError, match="takes no streams: it could not be made"):
        nic.stream(out, adu=ADU, links=1, adus=1)


@pytest.mark.parametrize("kind", ["raw:unix", "raw:tcp"])
def test_a_peer_that_comes_late_is_waited_for(nic, served, kind):
    if kind == "raw:unix":
        at = str(Path(served.address.removeprefix("unix:")).parent / "late")
        peer, destination = socket.socket(socket.AF_UNIX), f"raw:unix:{at}"
    else:
        peer = socket.socket()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            at = taken.getsockname()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        destination = f"raw:tcp:{at[0]}:{at[1]}"
    with peer:

        def come():
            time.sleep(0.3)
            peer.bind(at)
            peer.listen()

        late = threading.Thread(target=come)
        late.start()
        out = nic.open(destination, wait=PATIENCE)
        assert out.status().open
        out.close()
        late.join()


def test_a_peer_that_connects_is_waited_for(nic):
    into = nic.open("tcp:accept:127.0.0.1:0", window="1 MiB")
    at = into.status().destination.removeprefix("tcp:accept:")
    asked = nic.open(f"tcp:{at}", wait=PATIENCE)
    asked.close()
    into.close()
    until(lambda: not any(one["open"] for one in nic.overview()["connections"]), "end of all")


def test_a_peer_that_does_not_come_is_not_waited_for_longer(nic, served):
    none = served.address.removeprefix("unix:").replace("nic.sock", "none")
    for destination, why in [
        ("raw:tcp:127.0.0.1:1", "refused"),
        (f"raw:unix:{none}", "No such file"),
        ("tcp:accept:127.0.0.1:0", "it has not connected"),
    ]:
        with pytest.raises(TimedOutError, match=rf"no peer within 0.2 s \(.*{why}"):
            nic.open(destination, wait="200 ms")
    for words in ("nowhere:1", f"file:{none}/below/image"):
        with pytest.raises(RefusedError):
            nic.open(words, wait=PATIENCE)
    with pytest.raises(IsthmusError, match="wait: 3"):
        nic.open("raw:tcp:127.0.0.1:1", wait=3)
    assert not [line for line in nic.overview()["connections"] if line["open"]]


def _rank(address, ticket, number, rank, results):
    with join(address, ticket, patience=PATIENCE) as nic:
        nic.link(rank)
        spec = StreamSpec(
            connection=type("C", (), {"number": number[0]})(), adu=ADU, tu=32768, links=2, adus=4
        )
        stream = nic.adopt(number[1], spec)
        for adu in range(4):
            stream.send(content(adu))
        results.put((rank, stream.wait().state))


def test_what_is_no_stream_is_not_adopted(nic, tmp_path):
    spec = StreamSpec(connection=nic.open(Sink(tmp_path).destination), adu=ADU, links=1)
    with pytest.raises(RefusedError, match="stream 77"):
        nic.adopt(77, spec)


def test_plain_processes_are_ranks(served, tmp_path):
    context = multiprocessing.get_context("spawn")
    sink = Sink(tmp_path)
    with connect(served.address, patience=PATIENCE) as nic:
        out = nic.open(sink.destination)
        spec = StreamSpec(connection=out, adu=ADU, tu=32768, links=2, adus=4)
        (stream,) = nic.submit([spec], links=False)
        results = context.Queue()
        number = (out.number, stream.number)
        ranks = [
            context.Process(target=_rank, args=(nic.address, nic.ticket, number, rank, results))
            for rank in range(2)
        ]
        for rank in ranks:
            rank.start()
        assert sorted(results.get(timeout=60) for _ in ranks) == [(0, "done"), (1, "done")]
        for rank in ranks:
            rank.join(60)
        with pytest.raises(StreamsError, match="this process has none of them"):
            stream.send(content(0))
        out.close()
        assert sink.taken() == b"".join(content(adu).tobytes() for adu in range(4))


def test_the_daemon_killed_in_the_middle_of_a_send_is_one_clear_error(tmp_path):
    with daemon(tmp_path) as process:
        sink = Sink(tmp_path)
        nic = connect(process.address, patience=PATIENCE)
        out = nic.open(sink.destination)
        stream = nic.stream(out, adu="1 MiB", links=2)
        waiting = []

        def wait():
            try:
                stream.wait()
            except StreamsError as error:
                waiting.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        stream.send(content(0, 1 << 20))
        stream.wait_done(1)
        process.send_signal(signal.SIGKILL)
        with pytest.raises(SessionOverError, match=r"the session with unix:.* is over"):
            while True:
                stream.send(content(1, 1 << 20))
        thread.join(60)
        assert [type(error) for error in waiting] == [SessionOverError]
        with pytest.raises(SessionOverError):
            nic.open(sink.destination)
        nic.close()


def test_ctrl_c_is_heard_while_waiting(served, tmp_path):
    sink = Sink(tmp_path)
    with connect(served.address, patience=PATIENCE) as nic:
        stream = nic.stream(nic.open(sink.destination), adu=ADU, links=1, adus=1)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            stream.wait()
        assert time.monotonic() - began < 30


def test_settings_that_are_none(nic):
    with pytest.raises(IsthmusError, match="unexpected keyword argument 'stripes'"):
        nic.stream(None, adu=8, stripes=3)
    with pytest.raises(StreamsError, match="checksum: 'md5' is not known here"):
        nic.open("tcp:127.0.0.1:1", checksum="md5")
    with pytest.raises(StreamsError, match="did you mean 'confirmed'"):
        nic.open("tcp:127.0.0.1:1", protocol="confirm")
    with pytest.raises(IsthmusError, match="number: 70000 is impossible"):
        nic.link(70000)


def test_screens_are_told_their_form(tmp_path):
    with (
        daemon(tmp_path, "--screens", "127.0.0.1:0") as process,
        connect(process.address, patience=PATIENCE) as nic,
    ):
        with pytest.raises(RefusedError):
            nic.reset("left")
        nic.geometry("left", 16, 8, pixel="grey")
        out = nic.open("framebuffer:left")
        stream = nic.stream(out, adu=128, links=1, adus=3)
        for number in range(3):
            stream.send(np.full((8, 16), number, np.uint8))
        assert stream.wait().done == 3
        nic.reset("left")
        with pytest.raises(StreamsError, match="pixel: 'gray' is not known here; did you mean"):
            nic.geometry("left", 16, 8, pixel="gray")
        with pytest.raises(IsthmusError, match="width: 0 is impossible"):
            nic.geometry("left", 0, 8)


def test_a_daemon_is_reached_with_tls_and_a_token(tmp_path):
    fixtures = REPOSITORY / "crates" / "nic" / "tests" / "fixtures"
    files = {name: tmp_path / name for name in ("cert.pem", "key.pem", "token")}
    for name in ("cert.pem", "key.pem"):
        files[name].write_bytes((fixtures / name).read_bytes())
    files["token"].write_text("a-long-secret-of-the-tests\n")
    for file in files.values():
        file.chmod(0o600)
    options = ["--listen", "tls:127.0.0.1:0", "--token-file", str(files["token"])]
    options += ["--tls-cert", str(files["cert.pem"]), "--tls-key", str(files["key.pem"])]
    with daemon(tmp_path, *options) as process:
        (port,) = re.findall(r"tls:127\.0\.0\.1:(\d+)", json.dumps(process.listening))
        address = f"tls:localhost:{port}"
        with pytest.raises(StreamsError, match="say whom to trust"):
            connect(address, token="a-long-secret-of-the-tests")
        with pytest.raises(RefusedError) as caught:
            connect(address, ca=files["cert.pem"], token="another", patience=PATIENCE)
        assert caught.value.kind == "denied"
        secret = "a-long-secret-of-the-tests"
        sink = Sink(tmp_path)
        with (
            connect(address, ca=files["cert.pem"], token=secret, patience=PATIENCE) as nic,
            nic.open(sink.destination) as out,
        ):
            stream = nic.stream(out, adu=ADU, tu="32 KiB", links=2, adus=3)
            for adu in range(3):
                stream.send(content(adu))
            assert stream.wait().done == 3
        assert sink.taken() == b"".join(content(adu).tobytes() for adu in range(3))


def test_what_is_refused_leaves_no_links(nic, tmp_path):
    sink = Sink(tmp_path)
    with nic.open(sink.destination) as out:
        nic.link(1)
        with pytest.raises(RefusedError, match="64 links") as caught:
            nic.stream(out, adu=ADU, links=65, adus=1)
        assert caught.value.kind == "limit"
        assert nic.links == [1]
        stream = nic.stream(out, adu=ADU, links=[70, 71], adus=1)
        stream.send(content(0))
        stream.wait()
    assert sink.taken() == content(0).tobytes()


def test_ranks_make_the_sums_and_packets_leave_early(nic, tmp_path):
    data = np.arange(200_000, dtype=np.uint8)
    sink = Sink(tmp_path)
    with nic.open(sink.destination) as out:
        settings = {"tu": "64 KiB", "packet": "16 KiB", "links": 2, "adus": 3}
        stream = nic.stream(out, adu=len(data), cut_through=True, sums="ranks", **settings)
        for _ in range(3):
            stream.send(data)
        stream.wait()
    assert sink.taken() == data.tobytes() * 3
    with nic.open(Sink(tmp_path).destination, checksum="none") as out:
        with pytest.raises(IsthmusError, match="without a checksum"):
            nic.stream(out, adu=64, sums="ranks")
        with pytest.raises(RefusedError, match="packets smaller than a TU"):
            nic.stream(out, adu=64, cut_through=True)
        with pytest.raises(IsthmusError, match="sums: what is received"):
            nic.stream(out, adu=64, direction="receive", sums="ranks")
    with (
        nic.open("tcp:127.0.0.1:9") as out,
        pytest.raises(RefusedError, match="nobody looks at"),
    ):
        nic.stream(out, adu=64, sums="ranks")


def test_events_of_a_session_that_is_told_none_are_refused(served):
    with (
        connect(served.address, patience=PATIENCE) as nic,
        pytest.raises(StreamsError, match="watch=True"),
    ):
        nic.events()

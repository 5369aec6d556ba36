"""``isthmus.streams``: arguments, errors, buffers, and a daemon that is scripted."""

import json
import socket
import threading
import time

import numpy as np
import pytest

from isthmus.errors import IsthmusError
from isthmus.streams import (
    RefusedError,
    SessionOverError,
    StreamsError,
    StreamSpec,
    TimedOutError,
    UnreachableError,
    connect,
    join,
)
from isthmus.streams.amounts import parse_size, seconds
from isthmus.streams.buffers import HOLDS, Holds, to_fill, to_send
from isthmus.streams.connection import Connection
from isthmus.streams.worker import Handle, Worker

WELCOME = {
    "welcome": {
        "application": 3,
        "ticket": "t",
        "session": 1,
        "link_grace_ns": 0,
        "isthmus": "0.1.0",
        "staging_bytes": 1 << 20,
        "network_bytes": 2 << 20,
    }
}


class Side:
    """The socket of a session, as the daemon has it."""

    def __init__(self, connection):
        connection.settimeout(60)
        self.socket = connection
        self.file = connection.makefile("rb")

    def next(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def tell(self, told):
        self.socket.sendall(json.dumps(told).encode() + b"\n")

    def answer(self, asked, answer):
        self.tell({"answer": {"id": asked["id"], "answer": answer}})

    def refuse(self, asked, kind, text):
        refusal = {"kind": kind, "text": text}
        self.tell({"refused": {"id": asked["id"], "refusal": refusal}})


@pytest.fixture
def daemon(tmp_path):
    """Start a daemon that lets one session in and does what a function says."""
    servers = []

    def start(script, *, welcome=True):
        path = tmp_path / f"nic{len(servers)}.sock"
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen()
        servers.append(server)

        def run():
            side = Side(server.accept()[0])
            with side.socket, side.file:
                if welcome:
                    side.answer(side.next(), WELCOME)
                script(side)

        threading.Thread(target=run, daemon=True).start()
        return f"unix:{path}"

    yield start
    for server in servers:
        server.close()


def until_left(side):
    while side.next():
        pass


def test_what_is_said_first(daemon):
    heard = []

    def script(side):
        asked = side.next()
        heard.append(asked)
        side.answer(asked, WELCOME)
        until_left(side)

    address = daemon(script, welcome=False)
    with connect(address, token="secret", name="who", watch=True) as nic:
        assert (nic.application, nic.ticket, nic.staging_bytes) == (3, "t", 1 << 20)
        assert nic.over is None
    said = {"id": 0, "ask": "hello", "version": 2, "token": "secret", "name": "who", "watch": True}
    assert said.items() <= heard[0].items()
    assert "it was closed here" in nic.over


def test_a_refusal_is_an_error_with_its_kind(daemon):
    address = daemon(
        lambda side: side.refuse(side.next(), "denied", "no such ticket"), welcome=False
    )
    with pytest.raises(RefusedError, match=r"^no such ticket$") as caught:
        join(address, "wrong")
    assert caught.value.kind == "denied"


def test_a_silent_daemon_and_one_that_dies(daemon):
    gate = threading.Event()

    def script(side):
        side.next()
        gate.wait(60)

    with connect(daemon(script), patience="200 ms") as nic:
        with pytest.raises(TimedOutError, match=r"has not answered for 200 ms$") as caught:
            nic.open("tcp:127.0.0.1:1")
        assert isinstance(caught.value, TimeoutError)
        gate.set()
        with pytest.raises(SessionOverError, match="the daemon closed it or has ended"):
            # The request may go out before the end is seen.
            nic.open("tcp:127.0.0.1:1")
        with pytest.raises(SessionOverError, match="the daemon closed it or has ended"):
            nic.event()


def test_requests_and_answers(daemon):
    heard = []

    def script(side):
        asked = side.next()
        heard.append(asked)
        side.answer(asked, {"connection": {"connection": 9}})
        asked = side.next()
        heard.append(asked)
        side.answer(asked, "done")
        side.tell({"event": {"event": {"what": "closed", "connection": 9}}})
        until_left(side)

    with connect(daemon(script)) as nic:
        out = nic.open(
            "raw:tcp:127.0.0.1:5000", channel=2, protocol="repaired", share="1 MiB", window=4096
        )
        assert (out.number, repr(out)) == (9, "<connection 9 to raw:tcp:127.0.0.1:5000>")
        out.close()
        event = nic.event()
        assert (event.what, event.connection) == ("closed", 9)
        with pytest.raises(AttributeError, match="nothing is reported of 'stream'"):
            _ = event.stream
        assert nic.event(timeout="10 ms") is None
    assert heard == [
        {
            "id": 1,
            "ask": "open",
            "destination": "raw:tcp:127.0.0.1:5000",
            "channel": 2,
            "protocol": {"confirmed": {"repair": True}},
            "checksum": "crc32c",
            "share_bytes": 1 << 20,
            "window_bytes": 4096,
        },
        {"id": 2, "ask": "close", "connection": 9},
    ]


def test_nobody_there(tmp_path):
    with pytest.raises(UnreachableError, match="no daemon can be reached at unix:"):
        connect(f"unix:{tmp_path}/nobody.sock")
    with pytest.raises(StreamsError, match="it begins with unix:, tcp: or tls:"):
        connect("/run/nic.sock")
    with pytest.raises(IsthmusError, match="patience: 5"):
        connect("unix:/run/nic.sock", patience=5)


def spec(**settings):
    connection = Connection(lambda request: request, 4, "tcp:127.0.0.1:1")
    return StreamSpec(connection=connection, **{"adu": "64 KiB", **settings})


def test_a_specification_in_words():
    first = spec(adu="1 MiB", tu="256 KiB", links=2, su_order=[1, 0, 1], packet="64 KiB", adus=3)
    second = spec(after=[first], in_step_with=[first], quantum=2, permanent=True, finished="moved")
    assert first.words([first, second]) == {
        "connection": 4,
        "direction": "transmit",
        "format": {
            "adu_bytes": 1 << 20,
            "tu_bytes": 1 << 18,
            "su_order": [1, 0, 1],
            "granule_bytes": 1,
            "packet_bytes": 1 << 16,
        },
        "quantum": 1,
        "permanent": False,
        "after": [],
        "in_step_with": [],
        "moved_is_finished": False,
        "cut_through": False,
        "rank_sums": "none",
        "adus": 3,
    }
    assert first.link_numbers == (0, 1)
    words = second.words([first, second])
    assert (words["after"], words["in_step_with"]) == ([{"here": 0}], [{"here": 0}])
    assert (words["quantum"], words["permanent"], words["moved_is_finished"]) == (2, True, True)
    variable = spec(adu="variable", tu=100)
    assert (variable.adu_bytes, variable.tu_bytes) == (None, 100)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"adu": "64"}, 'adu: "64": the unit is missing'),
        ({"adu": "64 KX"}, "`KX` is not a unit of data"),
        ({"adu": 0}, "adu: 0 (int) is of no use here"),
        ({"adu": "variable"}, "tu: it is missing"),
        ({"links": 0}, "links: 0 is impossible"),
        ({"links": []}, "links: none; a stream goes over at least one link"),
        ({"links": 2, "su_order": [2]}, "su_order: link 2 is none of [0, 1]"),
        ({"direction": "up"}, 'it is "transmit" or "receive"'),
        ({"finished": "soon"}, 'it is "done" or "moved"'),
        ({"quantum": 0}, "quantum: 0 is impossible"),
        ({"adus": -1}, "adus: -1 is impossible"),
        ({"permanent": 1}, "permanent: 1"),
    ],
)
def test_a_specification_that_cannot_be(settings, said):
    with pytest.raises(IsthmusError) as caught:
        spec(**settings)
    assert said in str(caught.value)


def test_others_that_are_none():
    with pytest.raises(IsthmusError, match="a stream, or a specification of the same call"):
        spec(after=[spec()]).words([])


def test_sizes_and_times():
    assert (parse_size("x", "1.5 KiB"), parse_size("x", 7), parse_size("x", "0 B", 0)) == (
        1536,
        7,
        0,
    )
    assert (seconds("x", "250 ms"), seconds("x", "2 min"), seconds("x", float("inf"))) == (
        0.25,
        120,
        None,
    )
    for value, said in [("5", "the unit is missing"), ("5 m", "`m` is not a unit"), (5, "x: 5")]:
        with pytest.raises(IsthmusError, match=said):
            seconds("x", value)
    with pytest.raises(IsthmusError, match="x: True"):
        parse_size("x", True)


def test_bytes_of_arrays_are_not_copied():
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    flat = to_send("adu", array)
    assert np.shares_memory(flat, array) and flat.tobytes() == array.tobytes()
    assert to_send("adu", array[1:]).tobytes() == array[1:].tobytes()
    assert to_send("adu", np.float64(2.0).reshape(())).nbytes == 8
    assert to_send("adu", b"abc").tobytes() == b"abc"
    room = bytearray(4)
    to_fill("out", room)[:] = 7
    assert room == bytes([7] * 4)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (np.zeros((4, 4))[:, 1:], "not in one piece in memory"),
        (np.zeros((4, 4)).T, "numpy.ascontiguousarray"),
        (np.array([None]), "Python objects have no fixed bytes"),
        ([1, 2], "adu: [1, 2] (list) is of no use here"),
        (memoryview(b"abcdef")[::2], "give a numpy array, bytes"),
    ],
)
def test_bytes_that_cannot_be_sent(data, said):
    with pytest.raises(IsthmusError) as caught:
        to_send("adu", data)
    assert said in str(caught.value)


def test_memory_that_may_not_be_filled():
    with pytest.raises(StreamsError, match="out: the array is read-only"):
        to_fill("out", b"abc")


def test_two_calls_never_have_bytes_that_one_of_them_writes():
    holds = Holds()
    memory = np.zeros(100, np.uint8)
    first = holds.hold(memory[:50], "a send", writes=False)
    second = holds.hold(memory[25:75], "another", writes=False)
    with pytest.raises(StreamsError, match="a receive: a send has some of these bytes"):
        holds.hold(memory[49:], "a receive", writes=True)
    third = holds.hold(memory[75:], "a receive", writes=True)
    with pytest.raises(StreamsError, match="a send: a receive has some"):
        holds.hold(memory[70:80], "a send", writes=False)
    for key in (first, second, third):
        holds.release(key)
    holds.release(holds.hold(memory, "all", writes=True))


def held(array):
    return HOLDS.hold(array, "a send", writes=False)


def test_a_send_that_does_not_block_keeps_its_array_from_being_written():
    worker = Worker("stream 1")
    go = threading.Event()
    array = np.zeros(8, np.uint8)
    handle = worker.call(array, array, held(array), lambda: go.wait(60) and 5)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(TimedOutError, match="has not ended after 10 ms"):
        handle.wait("10 ms")
    assert not handle.done()
    go.set()
    assert handle.wait("60 s") == 5
    array[0] = 1
    worker.end(60)


def test_a_send_that_failed_unheard_is_told_by_the_next():
    worker = Worker("stream 1")

    def fail():
        raise StreamsError("link 0: gone")

    array = np.zeros(8, np.uint8)
    handle = worker.call(array, array, held(array), fail)
    until = time.monotonic() + 60
    while not handle.done() and time.monotonic() < until:
        time.sleep(0.001)
    with pytest.raises(StreamsError, match="link 0: gone"):
        worker.drain()
    worker.drain()
    worker.end(60)
    with pytest.raises(SessionOverError, match="the session was closed"):
        worker.call(array, array, held(array), lambda: 1)
    array[0] = 1


def test_a_send_that_fails_is_not_over_before_it_is_known_of_what(monkeypatch):
    slow = Handle.finish

    def finish(handle, value, error):
        time.sleep(0.3)
        slow(handle, value, error)

    monkeypatch.setattr(Handle, "finish", finish)
    worker = Worker("stream 1")

    def fail():
        raise StreamsError("link 0: gone")

    array = np.zeros(8, np.uint8)
    handle = worker.call(array, array, held(array), fail)
    with pytest.raises(StreamsError, match="link 0: gone"):
        worker.drain()
    assert handle.done()
    worker.end(60)


@pytest.mark.parametrize("cuts", [[slice(0, 8)] * 2, [slice(0, 4), slice(0, 8)]])
def test_an_array_is_read_only_until_the_last_send_of_it_has_ended(cuts):
    array = np.zeros(8, np.uint8)
    parts = [array, array] if cuts[0] == cuts[1] else [array[cut] for cut in cuts]
    worker = Worker("stream 1")
    gates = [threading.Event(), threading.Event()]
    handles = [
        worker.call(part, to_send("adu", part), held(part), lambda gate=gate: gate.wait(60))
        for part, gate in zip(parts, gates, strict=True)
    ]
    gates[0].set()
    handles[0].wait("60 s")
    for part in parts:
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    gates[1].set()
    handles[1].wait("60 s")
    for part in parts:
        part[0] = 1
    worker.end(60)


def test_a_handle_that_is_thrown_away_anywhere_holds_up_nobody():
    holds = Holds()
    memory = np.zeros(8, np.uint8)
    first = holds.hold(memory, "a send", writes=False)

    # As a collection of garbage does that runs in the middle of `hold`.
    with holds._lock:
        holds.release(first)
    holds.release(holds.hold(memory, "all", writes=True))


def test_a_thread_that_waits_and_one_that_asks_do_not_wait_for_each_other(daemon):
    address = daemon(lambda side: side.next())
    with connect(address, watch=True) as nic:
        ended = threading.Event()

        def wait():
            for _ in range(3):
                assert nic.event(timeout="300 ms") is None
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        # Each question takes what the wait for an event holds, again and again.
        end = time.monotonic() + 60
        while not ended.is_set() and time.monotonic() < end:
            assert not nic.over
        assert ended.is_set()


@pytest.mark.parametrize("connection", [None, "file:x", 3])
def test_a_stream_is_of_a_connection(connection):
    with pytest.raises(IsthmusError, match=r"connection: .* as `open` gives it"):
        StreamSpec(connection=connection, adu=1)

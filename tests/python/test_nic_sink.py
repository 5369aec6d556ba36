"""``isthmus nic sink``: what it takes, what it tells."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from isthmus.streams import StreamFailedError, connect
from nic_rig import PATIENCE, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")


@contextmanager
def sink(*words):
    process = subprocess.Popen(
        [sys.executable, "-m", "isthmus", "nic", "sink", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()
        process.stderr.close()


def send(folder, destination, adus):
    with (
        daemon(folder) as served,
        connect(served.address, patience=PATIENCE) as nic,
        nic.open(destination) as out,
    ):
        stream = nic.stream(out, adu="64 KiB", links=2, adus=adus)
        for adu in range(adus):
            stream.send(np.full(65536, adu, np.uint8))
        stream.wait()


def test_a_sender_is_taken_and_told_as_json(tmp_path):
    out = tmp_path / "taken"
    with sink("--senders", "1", "--out", str(out), "--json") as process:
        address = json.loads(process.stdout.readline())["address"]
        send(tmp_path, f"raw:tcp:{address}", 3)
        told = json.loads(process.stdout.readline())
        assert process.wait(60) == 0
    assert {key: told[key] for key in ("adus", "bytes", "ended", "cut", "corrupted")} == {
        "adus": 3,
        "bytes": 3 * 65536,
        "ended": 1,
        "cut": 0,
        "corrupted": 0,
    }
    assert told["seconds"] > 0
    assert out.read_bytes() == b"".join(bytes([adu]) * 65536 for adu in range(3))


def test_a_file_stays_as_it_is_until_a_sender_comes(tmp_path):
    out, new, link = tmp_path / "taken", tmp_path / "new", tmp_path / "link"
    out.write_text("precious")
    link.symlink_to(tmp_path / "nowhere")
    with sink("192.0.2.1:0", "--senders", "1", "--out", str(out)) as process:
        assert process.wait(60) == 2
    for path in (out, new, link):
        with sink("--senders", "1", "--out", str(path), "--json") as process:
            json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            # Nobody came, and one was asked for.
            assert process.wait(60) == 130
    assert out.read_text() == "precious"
    assert not new.exists()
    assert link.is_symlink()
    assert not link.exists()


def test_who_sends_no_packet_is_no_sender_and_keeps_none_out(tmp_path):
    out = tmp_path / "taken"
    out.write_text("precious")
    with sink("--senders", "1", "--json", "--out", str(out)) as process:
        address = json.loads(process.stdout.readline())["address"]
        host, _, port = address.rpartition(":")
        at = (host, int(port))
        with (
            socket.create_connection(at) as silent,
            socket.create_connection(at) as half,
            socket.create_connection(at) as garbage,
        ):
            half.sendall(b"IS")
            garbage.sendall(b"GET / HTTP/1.1\r\n" + b"x" * 200)
            # It is sent away, and leaves with what it sent unread.
            with suppress(ConnectionResetError):
                assert garbage.recv(1) == b""
            assert out.read_text() == "precious"
            send(tmp_path, f"raw:tcp:{address}", 2)
            assert json.loads(process.stdout.readline())["adus"] == 2
            assert process.wait(60) == 0
            assert "1 connection sent no packet" in process.stderr.read()
            assert silent.fileno() >= 0
    assert out.read_bytes() == b"".join(bytes([adu]) * 65536 for adu in range(2))


CUT = """
import sys, time
import numpy as np
from isthmus.streams import connect
with connect(sys.argv[1], patience="60 s") as nic, nic.open(sys.argv[2]) as out:
    stream = nic.stream(out, adu="64 KiB", links=1, adus=3)
    stream.send(np.zeros(65536, np.uint8))
    print("sent", flush=True)
    time.sleep(600)
"""


def test_a_stream_whose_sender_is_killed_is_told_and_the_status_is_1(tmp_path):
    with sink("--senders", "1", "--json") as process, daemon(tmp_path) as served:
        address = json.loads(process.stdout.readline())["address"]
        words = [sys.executable, "-c", CUT, served.address, f"raw:tcp:{address}"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            assert sender.stdout.readline() == "sent\n"
            sender.kill()
        told = json.loads(process.stdout.readline())
        assert process.wait(60) == 1
        assert (told["ended"], told["cut"]) == (0, 1)
        stream, adu, byte = told["cut_at"]
        assert (stream, adu in (0, 1), byte) == (0, True, 0)
        said = process.stderr.read()
        assert said.count("\n") == 1
        assert f"stream 0 was cut short at byte 0 of ADU {adu}" in said


def test_what_a_full_disk_has_no_place_for_is_not_confirmed(tmp_path):
    with (
        sink("--senders", "1", "--json", "--out", "/dev/full") as process,
        daemon(tmp_path) as served,
        connect(served.address, patience=PATIENCE) as nic,
    ):
        out = nic.open(f"raw:tcp:{json.loads(process.stdout.readline())['address']}")
        stream = nic.stream(out, adu="64 KiB", links=1, adus=1)
        stream.send(np.zeros(65536, np.uint8))
        with pytest.raises(StreamFailedError, match="0 of 1 ADUs are done"):
            stream.wait_done(1)
        told = json.loads(process.stdout.readline())
        assert process.wait(60) == 1
        assert told["bytes"] == 0
        assert "No space left on device" in told["problem"]


def test_sigterm_has_its_own_status():
    with sink() as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["localhost"], "it is numeric with a port"),
        (["127.0.0.1:0", "--window", "5"], "--window: the unit of 5 is missing"),
        (["127.0.0.1:0", "--window", "999 TiB"], "--window: 1022976.0 GiB, and this machine has"),
        (
            ["127.0.0.1:0", "--senders", "1", "--out", "/nonexist/x"],
            "--out /nonexist/x: it cannot be written (No such file or directory)",
        ),
        (["127.0.0.1:0", "--out", "x"], "give --senders 1 too"),
        (["8.8.8.8:5000"], "listening on 8.8.8.8:5000"),
        (["127.0.0.1:0", "--repair", "--checksum", "none"], "--repair: without sums"),
    ],
)
def test_what_cannot_be(words, said):
    with sink(*words) as process:
        assert process.wait(60) == 2
        told = process.stderr.read()
        assert said in told and told.count("\n") == 1
        assert process.stdout.read() == ""


def test_a_port_is_one_sinks():
    with sink() as process:
        at = process.stdout.readline().split("raw:tcp:")[1].strip()
        with sink(at) as second:
            assert second.wait(60) == 2
            told = second.stderr.read()
    assert at in told and "take another port (0: a free one)" in told


@pytest.mark.parametrize("words", [["--senders", "1"], [], ["--json"]])
def test_ctrl_c_while_somebody_sends_is_told(tmp_path, words):
    with (
        sink(*words) as process,
        daemon(tmp_path) as served,
        connect(served.address, patience=PATIENCE) as nic,
    ):
        line = process.stdout.readline()
        at = json.loads(line)["address"] if "--json" in words else line.split("raw:tcp:")[1].strip()
        out = nic.open(f"raw:tcp:{at}")
        stream = nic.stream(out, adu="64 KiB", links=1)
        stream.send(np.zeros(65536, np.uint8))
        stream.wait_done(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1
        told = process.stdout.read()
        assert "65536" in told.replace(",", "")
        assert ('"cut": 1' if "--json" in words else "1 cut short") in told
        said = " ".join(process.stderr.read().split())
        assert "1 of 1 senders: stream 0 was cut short at byte 0 of ADU 1" in said


@pytest.mark.parametrize(("senders", "status"), [("1", 0), ("2", 130)])
def test_ctrl_c_while_a_sender_has_nothing_more_to_send_loses_nothing(tmp_path, senders, status):
    taken = [] if senders == "2" else ["--out", str(tmp_path / "taken")]
    with (
        sink("--senders", senders, *taken, "--json") as process,
        daemon(tmp_path) as served,
        connect(served.address, patience=PATIENCE) as nic,
    ):
        at = json.loads(process.stdout.readline())["address"]
        stream = nic.stream(nic.open(f"raw:tcp:{at}"), adu="64 KiB", links=1, adus=3)
        for adu in range(3):
            stream.send(np.full(65536, adu, np.uint8))
        stream.wait()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == status
        told = json.loads(process.stdout.readline())
        assert (told["adus"], told["ended"], told["cut"]) == (3, 1, 0)
        if taken:
            assert (tmp_path / "taken").read_bytes()[::65536] == bytes(range(3))


def test_ctrl_c_ends_a_sink_that_waits(tmp_path):
    with sink() as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""

"""Streams over UDP between applications: one waits for the datagrams of the other."""

import socket
import sys

import numpy as np
import pytest

from isthmus.streams import RefusedError, TimedOutError, connect
from nic_daemon import until
from nic_rig import PATIENCE, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU, ADUS = 8192, 8


def content(adu: int) -> np.ndarray:
    return np.random.default_rng(adu).integers(0, 256, ADU, np.uint8)


@pytest.mark.parametrize("protocol", [None, "repaired", "confirmed", "unconfirmed"])
def test_datagrams_are_received(tmp_path, protocol):
    log = tmp_path / "log"
    with (
        daemon(tmp_path, "--log", str(log)) as served,
        connect(served.address, name="receives", patience=PATIENCE) as other,
        connect(served.address, name="sends", patience=PATIENCE) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        way = {"channel": 7, "protocol": protocol}
        into = other.open("udp:accept:127.0.0.1:0", window="1 MiB", **way)
        at = into.status().destination.removeprefix("udp:accept:")
        host, port = at.split(":")
        with pytest.raises(RefusedError, match=f"{at}.*take another port"):
            other.open(f"udp:accept:{at}", window="1 MiB")
        for words in (b"", b"no packet", bytes(200)):
            stranger.sendto(words, (host, int(port)))
        until(lambda: "it shows no channel that is waited for" in log.read_text(), "refusal")
        received = other.stream(into, adu=ADU, links=1, direction="receive")
        with pytest.raises(TimedOutError, match=f"no datagram of channel 7 has come to {at} yet"):
            received.recv(np.empty(ADU, np.uint8), timeout="200 ms")
        with one.open(f"udp:{at}", **way) as out:
            stream = one.stream(out, adu=ADU, links=1, adus=ADUS)
            for adu in range(ADUS):
                stream.send(content(adu))
            for adu in range(ADUS):
                got = np.empty(ADU, np.uint8)
                received.recv(got)
                assert (got == content(adu)).all(), adu
            assert stream.wait().done == ADUS
        assert received.wait().done == ADUS
        into.close()
        assert "| channel 7" in log.read_text()


def test_what_is_given_faster_than_its_pace_comes_all_the_same(tmp_path):
    """Unconfirmed: probes that follow the last packet do not pass those that wait to be sent."""
    adus, adu = 10, 80_000
    with (
        daemon(tmp_path) as served,
        connect(served.address, name="waits", patience=PATIENCE) as one,
        connect(served.address, name="goes", patience=PATIENCE) as other,
    ):
        into = one.open("udp:accept:127.0.0.1:0", window="4 MiB", protocol="unconfirmed")
        at = into.status().destination.removeprefix("udp:accept:")
        # Nearly a second.
        out = other.open(f"udp:{at}?mb_per_s=1", protocol="unconfirmed")
        received = one.stream(into, adu=adu, tu="20 kB", links=1, direction="receive")
        stream = other.stream(out, adu=adu, tu="20 kB", links=1, adus=adus)
        for number in range(adus):
            stream.send(np.full(adu, number, np.uint8))
        for number in range(adus):
            got = np.empty(adu, np.uint8)
            received.recv(got)
            assert (got == number).all(), number
        assert stream.wait().done == adus
        assert received.wait().done == adus


def test_a_port_is_kept_as_long_as_somebody_waits_and_no_longer(tmp_path):
    with daemon(tmp_path) as served, connect(served.address, patience=PATIENCE) as nic:
        for words, why in [
            ("udp:accept:192.0.2.1:0", "--accept"),
            ("udp:accept:here:0", "numeric"),
            ("udp:accept:", "numeric"),
            ("udp:127.0.0.1:0", "nobody can be reached at port 0"),
            ("raw:tcp:127.0.0.1:0", "nobody can be reached at port 0"),
        ]:
            with pytest.raises(RefusedError, match=why):
                nic.open(words, window="1 MiB")
        with pytest.raises(RefusedError, match="which loses packets: take `confirmed`"):
            nic.open("udp:accept:127.0.0.1:0", window="1 MiB", protocol="stream")
        with pytest.raises(RefusedError, match="--connection-network"):
            nic.open("udp:accept:127.0.0.1:0", window="1 GiB")
        into = nic.open("udp:accept:127.0.0.1:0", window="1 MiB")
        port = int(into.status().destination.rpartition(":")[2])

        def is_free() -> bool:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    return False
                return True

        assert not is_free()
        # TCP has ports of its own.
        nic.open(f"raw:accept:127.0.0.1:{port}", window="1 MiB")
        into.close()
        until(is_free, "port that is given up")


@pytest.mark.parametrize("order", ["waits first", "goes first"])
def test_who_waits_may_send_and_either_may_be_first(tmp_path, order):
    with (
        daemon(tmp_path) as served,
        connect(served.address, name="waits", patience=PATIENCE) as one,
        connect(served.address, name="goes", patience=PATIENCE) as other,
    ):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            at = f"127.0.0.1:{probe.getsockname()[1]}"
        if order == "waits first":
            out = one.open(f"udp:accept:{at}")
        into = other.open(f"udp:{at}", window="1 MiB")
        if order == "goes first":
            # What it said first came to nobody.
            until(lambda: into.status().open, "open socket")
            out = one.open(f"udp:accept:{at}")
        received = other.stream(into, adu=ADU, links=1, direction="receive")
        stream = one.stream(out, adu=ADU, links=1, adus=ADUS)
        for adu in range(ADUS):
            stream.send(content(adu))
        got = np.empty(ADU, np.uint8)
        for adu in range(ADUS):
            received.recv(got)
            assert (got == content(adu)).all(), adu
        assert stream.wait().done == ADUS


def test_a_port_can_be_waited_at_again_at_once(tmp_path):
    with daemon(tmp_path) as served, connect(served.address, patience=PATIENCE) as nic:
        at = nic.open("udp:accept:127.0.0.1:0", window="1 MiB")
        where = at.status().destination
        for _ in range(5):
            at.close()
            at = nic.open(where, window="1 MiB")
            assert at.status().destination == where

"""What a daemon allows if little is said, seen by a program that asks for more."""

import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from conftest import REPOSITORY
from isthmus.streams import RefusedError, TimedOutError, connect
from nic_rig import PATIENCE, Sink, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    options = ["--network", "4 MiB", "--screens", "127.0.0.1:0", "--screen-memory", "64 KiB"]
    options += ["--metrics", "127.0.0.1:0"]
    with daemon(tmp_path_factory.mktemp("nic"), *options) as process:
        yield process


@pytest.fixture
def nic(served):
    with connect(served.address, name="asks for more", patience=PATIENCE) as session:
        yield session


def test_a_connection_has_a_quarter_of_network_memory_if_nothing_is_said(nic):
    with pytest.raises(RefusedError, match=r"1048576 bytes.*--connection-network") as caught:
        nic.open("raw:accept:127.0.0.1:0", window=(1 << 20) + 1)
    assert caught.value.kind == "limit"
    with pytest.raises(RefusedError, match=r"a share of \d+ bytes: .*--connection-network"):
        nic.open("raw:accept:127.0.0.1:0", share="999 TiB")
    nic.open("raw:accept:127.0.0.1:0", window=1 << 20, share=1 << 20).close()


def test_screens_have_the_memory_that_is_said(nic):
    # Two frames of 128 x 256 bytes are 64 KiB.
    nic.geometry("left", 128, 256)
    with pytest.raises(RefusedError, match=r"65536 bytes of\s+screens.*--screen-memory") as caught:
        nic.geometry("right", 1, 1)
    assert caught.value.kind == "limit"


def test_a_daemon_that_is_well_says_so(served):
    with urllib.request.urlopen(f"http://{served.listening['metrics']}/healthz", timeout=60) as it:
        assert (it.status, it.read()) == (200, b"ok\n")


def test_metrics_that_others_can_read_are_warned_of(tmp_path):
    command = [sys.executable, "-m", "isthmus", "nic", "serve", "--json"]
    command += ["--listen", f"unix:{tmp_path}/nic.sock", "--metrics"]
    for address, warned in [("0.0.0.0:0", True), ("127.0.0.1:0", False)]:
        process = subprocess.Popen(
            [*command, address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        at = json.loads(process.stdout.readline())["metrics"]
        process.terminate()
        _, printed = process.communicate(timeout=60)
        assert (f"warning: metrics at {at}: every host that reaches" in printed) == warned


def test_datagrams_go_to_their_peer_and_who_confirms_none_is_named(nic):
    data = np.arange(1000, dtype=np.uint8)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(60)
        to = f"udp:127.0.0.1:{peer.getsockname()[1]}?mb_per_s=100"
        with nic.open(to, protocol="unconfirmed") as out:
            stream = nic.stream(out, adu=1000, links=1, adus=3)
            for _ in range(3):
                stream.send(data)
            assert stream.wait().done == 3
            came = [peer.recv(2000) for _ in range(3)]
            assert all(packet.endswith(data.tobytes()) for packet in came)
        # Repaired, as is natural there: what is never confirmed is never done.
        out = nic.open(to)
        stream = nic.stream(out, adu=1000, links=1, adus=1)
        stream.send(data)
        with pytest.raises(TimedOutError, match="grants nothing more"):
            stream.wait(timeout="1 s")
        stream.cancel()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page's lines are openssl's")
def test_the_operators_page_makes_tokens_and_certificates_that_are_taken(tmp_path):
    page = (REPOSITORY / "docs/nic-operators.md").read_text()
    (token,) = re.findall(r"`(openssl rand [^`]*)`", page)
    lines = re.search(r"\$ (openssl req .*?)\n\$ isthmus (nic serve .*?)\n", page, re.DOTALL)
    certificate, serve = lines.groups()
    for line in (token, certificate):
        made = subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert made.returncode == 0, made.stderr
    # As on the page, but at a port that is free, and at this machine alone.
    words = serve.replace("0.0.0.0:7000", "127.0.0.1:0").split()
    command = [sys.executable, "-m", "isthmus", *words, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        (at,) = json.loads(process.stdout.readline())["listening"]
        address = f"tls:localhost:{at.rpartition(':')[2]}"
        secret = (tmp_path / "token").read_text().strip()
        ca = tmp_path / "cert.pem"
        with connect(address, name="hidden", ca=ca, token=secret, patience=PATIENCE) as nic:
            sink = Sink(tmp_path)
            with nic.open(sink.destination) as out:
                stream = nic.stream(out, adu="64 KiB", links=2, adus=2)
                for number in range(2):
                    stream.send(np.full(1 << 16, number, np.uint8))
                stream.wait()
            assert sink.taken() == bytes(1 << 16) + b"\1" * (1 << 16)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()

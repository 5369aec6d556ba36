"""``isthmus iod serve``: start, end, errors, and what a client of another project sees."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from command_line import call
from nic_daemon import PATIENCE, daemon, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

PROTOCOL = b"9P2000.L"


def serve(*words, **environment):
    """Run the daemon."""
    return daemon(*words, command=("iod", "serve"), **environment)


def message(code, tag, fields):
    """Return the bytes of a message."""
    return struct.pack("<IBH", 7 + len(fields), code, tag) + fields


VERSION = message(100, 0xFFFF, struct.pack("<IH", 65536, len(PROTOCOL)) + PROTOCOL)
ATTACH = message(104, 1, struct.pack("<IIHHI", 0, 0xFFFFFFFF, 0, 0, 0))
ATTRIBUTES = message(24, 2, struct.pack("<IQ", 0, 0x7FF))
ATTRIBUTES_BYTES = 160
"""Size of the reply with attributes."""


def connect(address):
    """Connect to a daemon at a Unix socket."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(address.removeprefix("unix:"))
    return client


def receive(client, count):
    """Receive as many bytes."""
    received = b""
    while len(received) < count:
        part = client.recv(count - len(received))
        assert part, "the daemon has closed the connection"
        received += part
    return received


def test_the_daemon_prints_its_address_and_ends_when_asked(tmp_path):
    (tmp_path / "files").mkdir()
    unix, log = f"unix:{tmp_path}/iod.sock", tmp_path / "log"
    words = ["--export", tmp_path / "files", "--listen", unix, "--log", log]
    with serve(*words, "--metrics", "127.0.0.1:0") as (process, printed):
        assert printed["listening"] == [unix]
        with connect(unix) as client:
            client.sendall(VERSION)
            reply = receive(client, len(VERSION))
        assert reply[4] == 101
        assert reply.endswith(PROTOCOL)
        text = urllib.request.urlopen(f"http://{printed['metrics']}/metrics", timeout=PATIENCE)
        assert b"\nisthmus_iod_requests_total 1\n" in text.read()
        log.rename(tmp_path / "log.1")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert "| listen | ok" in (tmp_path / "log.1").read_text()
        assert not (tmp_path / "iod.sock").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--export", "none", "--listen", "unix:/tmp/x"], "--export none: No such file"),
        (["--export", "", "--listen", "unix:/tmp/x"], "--export: the path is empty"),
        (["--export", ".", "--listen", "tcp:127.0.0.1:0"], "give --token-file"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--allow-plain"], "no tcp: address is given"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--message", "1 B"], "4 KiB to 64 MiB"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--hello", "5"], "--hello"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--socket-mode", "666"], "every user"),
        (["--export", "a\udcff", "--listen", "unix:/tmp/x"], "is no UTF-8"),
    ],
)
def test_bad_options_are_one_line_with_status_2(tmp_path, words, error):
    done = call("iod", "serve", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert error in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def tool(name):
    """Return the path of a tool of diod, or skip the test."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    return found or pytest.skip(f"{name} is not installed")


def test_the_tools_of_diod_read_what_is_served(tmp_path):
    diodls, diodcat = tool("diodls"), tool("diodcat")
    files = tmp_path / "files"
    files.mkdir()
    data = os.urandom(200_000)
    (files / "results.bin").write_bytes(data)
    words = ["--export", files, "--listen", "tcp:127.0.0.1:0", "--allow-plain"]
    with serve(*words) as (_, printed):
        at = printed["listening"][0].removeprefix("tcp:")
        common = ["-s", at, "-a", str(files)]
        listed = subprocess.check_output([diodls, *common], text=True, timeout=PATIENCE)
        assert listed.split() == ["results.bin"]
        long = subprocess.run([diodls, "-l", *common], capture_output=True, text=True, check=True)
        assert (long.stderr, len(long.stdout.splitlines())) == ("", 3)
        read = subprocess.check_output([diodcat, *common, "results.bin"], timeout=PATIENCE)
        assert read == data


def resident_mib(process):
    """Return the resident memory of a process in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def test_a_thousand_idle_clients_take_little_memory(tmp_path):
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 1100:
        pytest.skip("needs 1,100 descriptors")
    unix = f"unix:{tmp_path}/iod.sock"
    with (
        serve("--export", tmp_path, "--listen", unix) as (process, _),
        contextlib.ExitStack() as stack,
    ):
        before = resident_mib(process)
        clients = []
        for _ in range(1000):
            client = stack.enter_context(connect(unix))
            client.sendall(VERSION + ATTACH + ATTRIBUTES)
            receive(client, len(VERSION) + 7 + 13 + ATTRIBUTES_BYTES)
            clients.append(client)
        until(lambda: resident_mib(process) - before < 43, "memory of idle clients that is freed")
        for client in clients:
            client.sendall(ATTRIBUTES)
        for client in clients:
            receive(client, ATTRIBUTES_BYTES)


def walk(fid, newfid, *names):
    """Return a request to walk along names."""
    path = b"".join(struct.pack("<H", len(name)) + name for name in names)
    return message(110, 3, struct.pack("<IIH", fid, newfid, len(names)) + path)


def test_open_files_leave_descriptors_for_others(tmp_path):
    unix = f"unix:{tmp_path}/iod.sock"
    (tmp_path / "file").touch()
    words = ["--export", tmp_path, "--listen", unix, "--sessions", 20]
    with serve(*words, descriptors=400), connect(unix) as greedy, connect(unix) as other:
        for client in (greedy, other):
            client.sendall(VERSION + ATTACH)
            receive(client, len(VERSION) + 7 + 13)
        opened = 0
        while True:
            greedy.sendall(walk(0, opened + 1, b"file"))
            receive(greedy, 7 + 2 + 13)
            greedy.sendall(message(12, 4, struct.pack("<II", opened + 1, 0)))
            reply = receive(greedy, 7)
            if reply[4] == 7:
                assert struct.unpack("<I", receive(greedy, 4)) == (errno.ENFILE,)
                break
            receive(greedy, 13 + 4)
            opened += 1
        # 400 without 3 for each of 20 sessions and 256 of the daemon.
        assert opened == 84
        other.sendall(walk(0, 1, b"file") + ATTRIBUTES)
        receive(other, 7 + 2 + 13 + ATTRIBUTES_BYTES)
        with connect(unix) as third:
            third.sendall(VERSION + ATTACH)
            receive(third, len(VERSION) + 7 + 13)

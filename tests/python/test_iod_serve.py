"""``isthmus iod serve``: start, end, errors, and what a client of another project sees."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import urllib.request

import pytest

from command_line import call
from nic_daemon import PATIENCE, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

VERSION = b"9P2000.L"


def serve(*words, **environment):
    """Run the daemon."""
    return daemon(*words, command=("iod", "serve"), **environment)


def agree(address):
    """Agree on the version over a Unix socket, by bytes written here by hand."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(address.removeprefix("unix:"))
        body = struct.pack("<BHIH", 100, 0xFFFF, 65536, len(VERSION)) + VERSION
        client.sendall(struct.pack("<I", len(body) + 4) + body)
        return client.recv(100)


def test_the_daemon_prints_its_address_and_ends_when_asked(tmp_path):
    (tmp_path / "files").mkdir()
    unix, log = f"unix:{tmp_path}/iod.sock", tmp_path / "log"
    words = ["--export", tmp_path / "files", "--listen", unix, "--log", log]
    with serve(*words, "--metrics", "127.0.0.1:0") as (process, printed):
        assert printed["listening"] == [unix]
        reply = agree(unix)
        assert reply[4] == 101
        assert reply.endswith(VERSION)
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
        (["--export", "", "--listen", "unix:/tmp/x"], "--export: it names no folder"),
        (["--export", ".", "--listen", "tcp:127.0.0.1:0"], "give --token-file"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--allow-plain"], "listens at no tcp:"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--message", "1 B"], "4 KiB to 64 MiB"),
        (["--export", ".", "--listen", "unix:/tmp/x", "--hello", "5"], "--hello"),
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
        read = subprocess.check_output([diodcat, *common, "results.bin"], timeout=PATIENCE)
        assert read == data

"""``isthmus iod serve --cache``: data that is acknowledged, and a daemon that is killed."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
import urllib.request

import pytest

from command_line import call
from nic_daemon import PATIENCE, daemon
from test_iod_serve import ATTACH, VERSION, connect, message, receive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

ROOT, FILE = 0, 1
CREATE, WRITE, FSYNC, CLUNK, WALK, ERROR = 14, 118, 50, 120, 110, 7


class Client:
    """A client of a daemon, with a file in use at most."""

    def __init__(self, address):
        self.socket = connect(address)
        for request in (VERSION, ATTACH):
            self.socket.sendall(request)
            self.reply()

    def reply(self):
        """Return the code and the fields of the next reply."""
        header = receive(self.socket, 7)
        size, code, _ = struct.unpack("<IBH", header)
        return code, receive(self.socket, size - 7)

    def ask(self, code, fields):
        """Send a request, and return the fields of the reply."""
        self.socket.sendall(message(code, 1, fields))
        found, fields = self.reply()
        if found == ERROR:
            raise OSError(*struct.unpack("<I", fields), "the daemon's answer")
        return fields

    def create(self, name):
        """Create a file and open it."""
        self.ask(WALK, struct.pack("<IIH", ROOT, FILE, 0))
        name = name.encode()
        fields = struct.pack("<IH", FILE, len(name)) + name + struct.pack("<III", 0o302, 0o644, 0)
        self.ask(CREATE, fields)

    def write(self, offset, data):
        """Write data, and return how much of it was taken."""
        fields = struct.pack("<IQI", FILE, offset, len(data)) + data
        return struct.unpack("<I", self.ask(WRITE, fields))[0]

    def fsync(self):
        """Have the file stored."""
        self.ask(FSYNC, struct.pack("<II", FILE, 0))

    def close(self):
        """Close the file."""
        self.ask(CLUNK, struct.pack("<I", FILE))


def serve(folder, *words):
    """Run a daemon with a cache."""
    listen = f"unix:{folder}/iod.sock"
    fixed = ["--export", folder / "files", "--cache", folder / "cache", "--listen", listen]
    return daemon(*fixed, *words, command=("iod", "serve"))


def metric(printed, name):
    """Return a metric of a daemon."""
    at = f"http://{printed['metrics']}/metrics"
    text = urllib.request.urlopen(at, timeout=PATIENCE).read().decode()
    [line] = [line for line in text.splitlines() if line.startswith(f"isthmus_iod_{name} ")]
    return float(line.split()[1])


def test_what_was_acknowledged_survives_kills(tmp_path):
    """Kills a daemon at any time; the next one stores all acknowledged data."""
    (tmp_path / "files").mkdir()
    draws = random.Random(7)
    expected: dict[str, bytearray] = {}
    for round_ in range(6):
        with serve(tmp_path, "--dirty", "4 MiB") as (process, printed):
            client = Client(printed["listening"][0])
            name = f"file-{round_}"
            client.create(name)
            content = expected[name] = bytearray()
            end = time.monotonic() + draws.uniform(0.05, 0.4)
            while time.monotonic() < end:
                data = draws.randbytes(draws.randrange(1, 60_000))
                offset = draws.randrange(0, 2_000_000)
                assert client.write(offset, data) == len(data)
                content.extend(bytes(max(0, offset + len(data) - len(content))))
                content[offset : offset + len(data)] = data
                if draws.random() < 0.05:
                    client.fsync()
            process.kill()
            process.wait(PATIENCE)
    with serve(tmp_path) as (process, _):
        process.terminate()
        assert process.wait(PATIENCE) == 0
    for name, content in expected.items():
        assert (tmp_path / "files" / name).read_bytes() == content, name
    assert list((tmp_path / "cache" / "data").iterdir()) == []


def test_what_cannot_be_stored_is_said_and_kept(tmp_path):
    (tmp_path / "files").mkdir()
    words = ["--grace", "0.5 s", "--log", tmp_path / "log", "--metrics", "127.0.0.1:0"]
    with serve(tmp_path, *words) as (process, printed):
        client = Client(printed["listening"][0])
        client.create("gone")
        client.write(0, b"data")
        (tmp_path / "files" / "gone").unlink()
        with pytest.raises(OSError, match="Errno 116"):
            client.fsync()
        assert metric(printed, "unstored_bytes") == 4
        assert metric(printed, "failed_files") == 1
        assert metric(printed, "unstored_age_seconds") >= 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 1
        said = process.stderr.read()
    assert said.endswith(
        "isthmus: 4 bytes of 1 file are not stored; start a daemon with the same --cache to store "
        "them\n"
    )
    assert '| store "gone" | Stale file handle' in (tmp_path / "log").read_text()
    assert len(list((tmp_path / "cache" / "data").iterdir())) == 1
    with serve(tmp_path, *words) as (process, printed):
        assert printed["found"] == {"files": 1, "bytes": 4}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_a_full_cache_waits_for_the_store(tmp_path):
    """Writes more than the file system of the cache holds."""
    (tmp_path / "files").mkdir()
    (tmp_path / "cache").mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", tmp_path / "cache"]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        data = random.Random(1).randbytes(7 << 20)
        with serve(tmp_path) as (process, printed):
            client = Client(printed["listening"][0])
            client.create("large")
            for at in range(0, len(data), 60_000):
                client.write(at, data[at : at + 60_000])
            client.fsync()
            assert (tmp_path / "files" / "large").read_bytes() == data
            process.terminate()
            assert process.wait(PATIENCE) == 0
    finally:
        subprocess.run(["umount", tmp_path / "cache"], check=True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--dirty", "1 GiB"], "--dirty: there is no cache; give --cache DIR, or leave it out"),
        (["--fsync", "cache"], "--fsync: there is no cache"),
        (["--cache", ""], "--cache: the path is empty"),
        (["--cache", "c", "--dirty", "2 GiB"], "--dirty: 2 GiB: give more than 0, and at most"),
        (["--cache", "c", "--cache-size", "1 MiB"], "--cache-size: 1 MiB: give 16 MiB or more"),
        (["--cache", "c", "--dirty-age", "5"], "--dirty-age: the unit of 5 is missing"),
        (["--cache", "none/c"], "--cache none/c: No such file"),
    ],
)
def test_bad_options_of_the_cache(tmp_path, words, error):
    (tmp_path / "files").mkdir()
    done = call(
        "iod", "serve", "--export", "files", "--listen", f"unix:{tmp_path}/s", *words, cwd=tmp_path
    )
    assert done.returncode == 2
    assert error in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["files"]

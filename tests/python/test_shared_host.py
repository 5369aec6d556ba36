"""What another user of the same host can do to a daemon and to its users: docs/security.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import REPOSITORY
from isthmus.streams import NotKeptError, RefusedError, connect
from nic_daemon import Client, daemon, until
from nic_rig import Sink

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's"),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user"),
]

TOKEN = "0123456789abcdef-clients"
STRANGER = 65534
ADU = 64 << 10

BECOME = f"""
import json, os, socket, sys, time
import numpy as np
from isthmus import _core
from isthmus.streams import connect, StreamsError
# Modules are found no more afterwards.
"host".encode("idna")
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
words = sys.argv[1:]
def says(what):
    print(json.dumps(what), flush=True)
"""

SILENT = """
host, _, port = words[0].rpartition(":")
kept = []
def fill():
    while len(kept) < 400:
        kept.append(socket.create_connection((host, int(port))))
        kept[-1].setblocking(False)
fill()
says("there")
while True:
    for one in list(kept):
        try:
            closed = one.recv(4096) == b""
        except BlockingIOError:
            continue
        except OSError:
            closed = True
        if closed:
            kept.remove(one)
    fill()
    time.sleep(0.01)
"""

STALLS = """
dead = socket.create_server(("127.0.0.1", 0), backlog=512)
at = "127.0.0.1:%d" % dead.getsockname()[1]
nic = connect(words[0], patience="600 s")
data = np.ones(1 << 16, np.uint8)
outs = [nic.open(f"{kind}:{at}") for kind in ("tcp", "raw:tcp") * 12]
streams = [nic.stream(out, adu=1 << 16, links=[n], adus=10**6) for n, out in enumerate(outs)]
for stream in streams:
    for _ in range(16):
        stream.send(data, block=False)
says("there")
time.sleep(600)
"""

TRIES = """
got = []
def tries(what, do):
    try:
        do()
        got.append(what)
    except (StreamsError, OSError) as error:
        print(what, error, file=sys.stderr)
nic = connect(words[0], patience="60 s")
data, image = words[1:3]
parts = [name for name in os.listdir(data) if name.startswith("image.part-")]
tries("sees the part", lambda: open(f"{data}/{parts[0]}"))
tries("the part as a destination", lambda: nic.open(f"file:{data}/{parts[0]}"))
tries("the same destination", lambda: nic.open(f"file:{image}"))
tries("removes the part", lambda: os.unlink(f"{data}/{parts[0]}"))
tries("the stream of another", lambda: nic._ask({"ask": "cancel", "stream": int(words[3])}))
tries("the connection of another", lambda: nic._ask({"ask": "close", "connection": int(words[4])}))
tries("the applications of others", lambda: nic.overview(all_applications=True))
says(got)
"""


def stranger(code: str, *words: object) -> subprocess.Popen[str]:
    """Run Python code as another user."""
    return subprocess.Popen(
        [sys.executable, "-c", BECOME + code, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
    )


def moves(address: str, folder: Path) -> None:
    """Send some ADUs as a user with rights."""
    sink = Sink(folder)
    with connect(address, patience="60 s") as nic, nic.open(sink.destination) as out:
        stream = nic.stream(out, adu=ADU, links=1, adus=100)
        for _ in range(100):
            stream.send(np.ones(ADU, np.uint8))
        stream.wait()
    assert len(sink.taken()) == 100 * ADU


def let_through(path: Path) -> None:
    """Let other users reach a folder of a test."""
    for folder in (path, *path.parents):
        mode = folder.stat().st_mode
        if mode & 0o011 != 0o011:
            folder.chmod(mode | 0o011)


@pytest.fixture
def host(tmp_path):
    """A daemon whose token another user does not have, with its folder for files."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    data = tmp_path / "data"
    data.mkdir()
    let_through(data)
    yield ["--files", data, "--token-file", token], data


def test_without_the_token_nobody_gets_in(host, tmp_path):
    words, _ = host
    unix = f"unix:{tmp_path}/nic.sock"
    code = """
got = []
for address in words:
    try:
        got.append(connect(address, patience="10 s").welcome and address)
    except StreamsError as error:
        print(error, file=sys.stderr)
try:
    got.append(open(os.path.dirname(words[0][5:]) + "/token").read())
except PermissionError:
    pass
says(got)
"""
    with (
        daemon("--listen", unix, "--listen", "tcp:127.0.0.1:0", *words) as (_, told),
        stranger(code, *told["listening"]) as other,
    ):
        assert other.stdout.readline() == "[]\n"


def test_silent_sockets_keep_nobody_out(host):
    words, _ = host
    with daemon("--listen", "tcp:127.0.0.1:0", *words) as (_, told):
        (address,) = told["listening"]
        with stranger(SILENT, address.removeprefix("tcp:")) as other:
            assert other.stdout.readline() == '"there"\n'
            for _ in range(30):
                with Client(address) as client:
                    assert "welcome" in client.hello("has the token", token=TOKEN)
            other.kill()


@pytest.fixture
def shared(tmp_path):
    """A daemon that lets all users of the host in: its address, and its folder for files."""
    data = tmp_path / "data"
    data.mkdir(mode=0o777)
    let_through(data)
    unix = f"unix:{tmp_path}/nic.sock"
    with daemon("--listen", unix, "--socket-mode", "666", "--files", data) as _:
        yield unix, data


def test_sinks_that_take_nothing_stop_only_their_own_application(shared, tmp_path):
    address, _ = shared
    with stranger(STALLS, address) as other:
        assert other.stdout.readline() == '"there"\n'
        moves(address, tmp_path)
        began = time.monotonic()
        for _ in range(20):
            with Client(address) as client:
                assert "welcome" in client.hello("asks")
        assert time.monotonic() - began < 20
        other.kill()


def test_an_application_has_nothing_of_another(shared):
    address, data = shared
    image = data / "image"
    with connect(address, patience="60 s") as nic:
        out = nic.open(f"file:{image}")
        stream = nic.stream(out, adu=ADU, links=1, adus=1)
        until(lambda: [path for path in data.iterdir() if ".part-" in path.name], "part")
        with stranger(TRIES, address, data, image, stream.number, out.number) as other:
            assert other.stdout.readline() == "[]\n"
        stream.send(np.full(ADU, 7, np.uint8))
        stream.wait()
        out.close()
    assert image.read_bytes() == b"\7" * ADU


def test_a_file_of_another_user_is_not_replaced(shared):
    address, data = shared
    there, late = data / "there", data / "late"

    def make(path):
        path.write_text("another's")
        os.chown(path, STRANGER, STRANGER)

    make(there)
    with connect(address, patience="60 s") as nic:
        with pytest.raises(RefusedError, match=f"another user .uid {STRANGER}"):
            nic.open(f"file:{there}")
        out = nic.open(f"file:{late}")
        stream = nic.stream(out, adu=8, links=1, adus=1)
        stream.send(np.ones(8, np.uint8))
        stream.wait()
        make(late)
        with pytest.raises(NotKeptError, match=f"another user .uid {STRANGER}"):
            out.close()
    assert there.read_text() == late.read_text() == "another's"


def test_each_row_of_the_page_has_a_test_that_there_is():
    text = (REPOSITORY / "docs" / "security.md").read_text()
    numbers = [int(number) for number in re.findall(r"\| (\d+) \|$", text, re.MULTILINE)]
    rows = re.findall(r"^\| (?!who |---)", text, re.MULTILINE)
    found = r"^(\d+)\. `((?:tests|crates)/[^`:]+)::([a-z_0-9]+)`$"
    tests = re.findall(found, text, re.MULTILINE)
    assert len(rows) == len(numbers) > 10
    assert numbers == [int(number) for number, _, _ in tests]
    for _, path, name in tests:
        source = (REPOSITORY / path).read_text()
        assert re.search(rf"\b(?:def|fn) {name}\(", source), f"{path}::{name}"

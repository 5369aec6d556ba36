"""Links over TCP whose sockets are cut: they are made again, and operators see it."""

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress

import numpy as np
import pytest

from isthmus.streams import LinkError, StreamFailedError, connect
from nic_daemon import until
from nic_rig import PATIENCE, Sink, daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links are Linux's")

ADU = 1_000_000


class Cutter:
    """A way to a daemon that cuts each socket but the first, which is the session's."""

    def __init__(self, to: tuple[str, int], every: int) -> None:
        self.to, self.every, self.cuts = to, every, 0
        self.links: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self, first: int = 0) -> None:
        with suppress(OSError):
            for number in range(first, 1 << 20):
                client, _ = self.listener.accept()
                server = socket.create_connection(self.to)
                if number:
                    self.links += [client, server]
                left = [self.every if number else 1 << 60]
                for pair in ((client, server), (server, client)):
                    args = (*pair, left)
                    threading.Thread(target=self._pass, args=args, daemon=True).start()

    def _pass(self, source: socket.socket, to: socket.socket, left: list[int]) -> None:
        with suppress(OSError):
            while left[0] > 0 and (piece := source.recv(65536)):
                to.sendall(piece[: left[0]])
                left[0] -= len(piece)
            self.cuts += left[0] <= 0
        for end in (source, to):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Cut all links, and let no more in."""
        for each in (self.listener, *self.links):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def restore(self) -> None:
        """Let links in again."""
        self.listener.close()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._listen, args=(1,), daemon=True).start()


def served(folder, *options):
    return daemon(folder, "--listen", "tcp:127.0.0.1:0", "--metrics", "127.0.0.1:0", *options)


def cutter(process, every: int) -> Cutter:
    host, port = process.listening["listening"][1].removeprefix("tcp:").split(":")
    return Cutter((host, int(port)), every)


def metric(process, name: str) -> int:
    with urllib.request.urlopen(f"http://{process.listening['metrics']}/metrics") as page:
        lines = page.read().decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"isthmus_nic_{name} "))


def content(adu: int) -> np.ndarray:
    return np.random.default_rng(adu).integers(0, 256, ADU, np.uint8)


def test_links_that_are_cut_go_on_and_operators_see_it(tmp_path):
    log = tmp_path / "log"
    with served(tmp_path, "--log", str(log)) as process:
        way = cutter(process, 700_000)
        sink = Sink(tmp_path)
        with connect(f"tcp:127.0.0.1:{way.port}", name="far", patience=PATIENCE) as nic:
            with nic.open(sink.destination) as out:
                stream = nic.stream(out, adu=ADU, tu="256 KiB", links=2, adus=12)
                for adu in range(12):
                    stream.send(content(adu))
                assert stream.wait().done == 12
            assert sink.taken() == b"".join(content(adu).tobytes() for adu in range(12))
            assert way.cuts >= 10
            cut, restored = (
                metric(process, "links_cut_total"),
                metric(process, "links_restored_total"),
            )
            assert cut >= 10 and restored >= 10 and metric(process, "links_gone_total") == 0
            for link in (0, 1):
                assert f"link {link} | cut: " in log.read_text()
                assert f"link {link} | made again, " in log.read_text()


def test_one_that_is_not_made_anew_in_time_is_an_error_that_says_so(tmp_path):
    with served(tmp_path, "--link-grace", "300 ms") as process:
        way = cutter(process, 1 << 60)
        sink = Sink(tmp_path)
        address = f"tcp:127.0.0.1:{way.port}"
        with connect(address, name="far", watch=True, patience=PATIENCE) as nic:
            nic.link(0, grace="1 h")
            out = nic.open(sink.destination)
            stream = nic.stream(out, adu=ADU, links=[0])
            stream.send(content(0))
            stream.wait_done(1)
            way.cut()
            with pytest.raises((LinkError, StreamFailedError), match=r"made again|link 0 is gone"):
                for adu in range(1, 100):
                    stream.send(content(adu))
            with pytest.raises(StreamFailedError, match="a rank on link 0 is gone"):
                stream.wait()
            seen = []
            for event in nic.events():
                seen.append(event.what)
                if event.what == "link-gone":
                    break
            assert "link-cut" in seen and "link-restored" not in seen
            assert metric(process, "links_gone_total") == 1


def test_the_next_stream_makes_a_link_that_is_gone_again(tmp_path):
    with served(tmp_path, "--link-grace", "300 ms") as process:
        way = cutter(process, 1 << 60)
        sink = Sink(tmp_path)
        with connect(f"tcp:127.0.0.1:{way.port}", watch=True, patience=PATIENCE) as nic:
            out = nic.open(sink.destination)
            nic.link(0)
            way.cut()
            assert any(event.what == "link-gone" for event in nic.events())
            until(lambda: nic.links == [], "a link that is known to be gone")
            way.restore()
            stream = nic.stream(out, adu=ADU, links=[0], adus=1)
            assert nic.links == [0]
            stream.send(content(0))
            stream.wait()
            out.close()
        assert sink.taken() == content(0).tobytes()


def test_top_says_how_many_links_are_cut(tmp_path):
    with served(tmp_path) as process:
        way = cutter(process, 1 << 60)
        with connect(f"tcp:127.0.0.1:{way.port}", name="far", watch=True) as nic:
            nic.link(0)
            nic.link(1)
            way.cut()
            cut = (event.link for event in nic.events() if event.what == "link-cut")
            assert {next(cut), next(cut)} == {0, 1}
            command = [sys.executable, "-m", "isthmus", "nic", "top", "--address", process.address]
            ran = subprocess.run([*command, "--once"], capture_output=True, text=True, check=True)
            assert "0 links and 2 cut" in ran.stdout
            ran = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
            links = json.loads(ran.stdout.splitlines()[0])["links"]
            assert all(link["cut"] and not link["attached"] for link in links)

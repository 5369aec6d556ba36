"""A daemon and sinks for the tests of streams, each of its own process or thread."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from isthmus import _core

PATIENCE = "60 s"


@contextmanager
def daemon(folder: Path, *options: str):
    """``isthmus nic serve`` on a Unix socket in a folder: its process, with the address."""
    address = f"unix:{folder}/nic.sock"
    command = [sys.executable, "-m", "isthmus", "nic", "serve", "--listen", address]
    command += ["--files", str(folder), "--grace", "200 ms", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        process.listening = json.loads(process.stdout.readline())
        process.address = address
        yield process
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


class Sink:
    """A sink that takes one sender: where it is, and then what it took."""

    def __init__(self, folder: Path, window: int = 4 << 20, host: str = "127.0.0.1") -> None:
        self.sink = _core.NicSink(f"{host}:0", window, "crc32c", 0, False)
        self.destination = f"raw:tcp:{self.sink.address()}"
        self.path = folder / f"sink-{self.sink.address().rpartition(':')[2]}"
        self.counts = None
        self.thread = threading.Thread(target=self._take, daemon=True)
        self.thread.start()

    def _take(self) -> None:
        taking = self.sink.take(60, str(self.path))
        if taking is not None and taking.over(60):
            self.counts = json.loads(taking.end())

    def taken(self) -> bytes:
        """All that came, once the connection is closed."""
        self.thread.join(60)
        assert self.counts is not None
        return self.path.read_bytes()

"""A daemon in a process of its own, and a client that speaks its lines."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import Any

PATIENCE = 60
"""Seconds until a test gives up."""


@contextmanager
def daemon(
    *words: object, cwd=None, command=("nic", "serve"), descriptors=None, **environment: str
):
    """Serve, and give the process and where it listens; it must have ended, or is killed."""

    limited = (
        [] if descriptors is None else ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
    )
    process = subprocess.Popen(
        [*limited, sys.executable, "-m", "isthmus", *command, "--json", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()


class Client:
    """A session: lines out, answers in."""

    def __init__(self, address: str) -> None:
        kind, _, rest = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.connect(rest)
        else:
            host, _, port = rest.rpartition(":")
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
        self.socket.settimeout(PATIENCE)
        self.lines = self.socket.makefile("rb")
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.socket.close()

    def told(self) -> dict[str, Any] | None:
        """The next line; none at the end."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def ask(self, ask: str, **fields: Any) -> dict[str, Any]:
        """Ask, and return the answer or the refusal."""
        self.number += 1
        question = {"id": self.number, "ask": ask, **fields}
        self.socket.sendall(json.dumps(question).encode() + b"\n")
        while True:
            told = self.told()
            assert told is not None, "the daemon left"
            if "event" in told:
                self.events.append(told["event"]["event"])
                continue
            (what,) = told.values()
            assert what["id"] == self.number, told
            return what.get("refusal") or what["answer"]

    def hello(self, name: str, **fields: Any) -> dict[str, Any]:
        """Begin an application."""
        return self.ask("hello", version=2, name=name, **fields)


def until(said: Any, what: str) -> Any:
    """Wait until something is so, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := said()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.02)
    return found

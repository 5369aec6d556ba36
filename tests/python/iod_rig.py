"""An I/O daemon with a mount, whose processes are started, killed and ended one by one.

The process that uses it must not open files of the mount: a daemon that is forked from it would
hold them open, and the kernel would wait for the daemon when they are closed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 120
"""Longer than any step takes on a busy machine."""


def no_fuse() -> str:
    """Return why this host mounts nothing; an empty text if it does."""
    if sys.platform != "linux":
        return "the mount is Linux's"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "this host has no /dev/fuse for its users"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "the program fusermount3 is missing"
    return ""


class Rig:
    """A daemon that serves `files`, and a mount of it at `mount`, both below one folder."""

    def __init__(self, folder: Path, export: Path | None = None, prefix: tuple[str, ...] = ()):
        self.folder = folder
        self.files = export or folder / "files"
        self.mount = folder / "mount"
        self.cache = folder / "cache"
        self.address = f"unix:{folder}/socket"
        self.prefix = prefix
        """Words before the command of the daemon."""
        self.daemon: subprocess.Popen[str] | None = None
        self.mounter: subprocess.Popen[str] | None = None
        for each in (self.files, self.mount):
            each.mkdir(exist_ok=True)

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_mount()
        self.kill_daemon()
        unmount(self.mount)

    def _start(self, name: str, prefix: tuple[str, ...], *words: object) -> subprocess.Popen[str]:
        """Start a command, and wait until it is ready. Its errors go to a file."""
        command = [*prefix, sys.executable, "-m", "isthmus", "iod", *map(str, words), "--json"]
        with (self.folder / f"{name}.err").open("a") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout
        with process.stdout as out:
            line = out.readline()
        if not line:
            raise RuntimeError(f"{name}: status {process.wait(TIMEOUT_S)}: {self.errors(name)}")
        json.loads(line)
        return process

    def errors(self, name: str) -> str:
        """Return the last lines that a command has written on standard error."""
        return "".join((self.folder / f"{name}.err").read_text().splitlines(keepends=True)[-5:])

    def start_daemon(self, *words: object) -> None:
        """Start a daemon."""
        fixed = ["serve", "--export", self.files, "--listen", self.address]
        self.daemon = self._start("daemon", self.prefix, *fixed, *words)

    def start_mount(self, *words: object) -> None:
        """Mount the files."""
        fixed = ["mount", self.mount, "--address", self.address]
        self.mounter = self._start("mount", (), *fixed, *words)

    def kill_daemon(self) -> None:
        """End the daemon without warning, if it runs."""
        _kill(self.daemon)
        self.daemon = None

    def kill_mount(self) -> None:
        """End the process of the mount without warning, if it runs."""
        _kill(self.mounter)
        self.mounter = None

    def end_daemon(self) -> int:
        """Have the daemon store everything and end. Return its status."""
        assert self.daemon
        self.daemon.send_signal(signal.SIGTERM)
        status = self.daemon.wait(TIMEOUT_S)
        self.daemon = None
        return status


def _kill(process: subprocess.Popen[str] | None) -> None:
    if process:
        process.kill()
        process.wait(TIMEOUT_S)


def unmount(folder: Path) -> None:
    """Unmount a folder, if something is mounted."""
    root = os.geteuid() == 0
    words = ["umount", "-l", folder] if root else ["fusermount3", "-u", "-z", "--", folder]
    subprocess.run(words, stderr=subprocess.DEVNULL, check=False)

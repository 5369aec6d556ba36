"""``isthmus iod status``, ``top``, ``wait``, ``drain`` and ``abandon``."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from command_line import call
from conftest import REPOSITORY
from nic_daemon import PATIENCE, daemon
from terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")

WRITER = """
import fsspec, os, sys
address, *names = sys.argv[1:]
files = fsspec.filesystem("iod", address=address)
opened = [files.open(name, "wb", block_size=10) for name in names]
for file in opened:
    file.write(b"data" * 100)
print("written", flush=True)
sys.stdin.read()
os._exit(0)
"""
"""A program that has files open whose data is written, and waits."""


def with_another_boot(log, boot):
    """Return a log as of another start of the host: the first record has another identifier."""
    from isthmus import _core

    (size,) = struct.unpack_from("<I", log, 4)
    record = log[4 : 4 + size].replace(boot, bytes(reversed(boot)))
    checksum = _core.crc32c(np.frombuffer(record, np.uint8))
    return struct.pack("<I", checksum) + record + log[4 + size :]


class Job:
    """A daemon with a cache that stores nothing by itself, and programs that write to it."""

    def __init__(self, folder):
        self.files, self.cache = folder / "files", folder / "cache"
        self.files.mkdir()
        self.address = f"unix:{folder}/socket"
        self.programs = []

    def serve(self, *words):
        words = ("--export", self.files, "--listen", self.address, "--cache", self.cache, *words)
        return daemon(*words, "--dirty-age", "1 h", command=("iod", "serve"))

    def write(self, *names):
        """Write files that stay open."""
        command = [sys.executable, "-c", WRITER, self.address, *names]
        pipe = subprocess.PIPE
        program = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.programs.append(program)
        assert program.stdout.readline() == "written\n"

    def call(self, name, *words):
        return call("iod", name, *words, "--address", self.address)

    def status(self):
        return json.loads(self.call("status", "--json").stdout)


@pytest.fixture
def job(tmp_path):
    found = Job(tmp_path)
    yield found
    for program in found.programs:
        program.kill()
        program.communicate()


def test_status_says_what_is_not_stored_and_drain_stores_it(job):
    with job.serve("--metrics", "127.0.0.1:0") as (_, where):
        assert "everything is stored" in job.call("status").stdout
        job.write("a", "b")
        found = job.status()
        paths = {each["path"]: each["bytes"] for each in found["unstored"]}
        assert paths == {os.fspath(job.files / name): 400 for name in "ab"}
        assert found["daemon"]["unstored"] == 800
        shown = job.call("status").stdout
        assert "not stored: 800 B of 2 files" in shown
        assert os.fspath(job.files / "a") in shown.replace("\n", "")
        url = f"http://{where['metrics']}/metrics"
        assert b"isthmus_iod_unstored_bytes 800" in urllib.request.urlopen(url).read()
        done = job.call("drain")
        assert (done.returncode, done.stdout) == (0, "everything is stored\n")
        assert (job.files / "a").read_bytes() == (job.files / "b").read_bytes() == b"data" * 100
        assert job.status()["unstored"] == []
        metrics = urllib.request.urlopen(url).read()
        assert b"isthmus_iod_stored_bytes_total 800" in metrics
        assert b"isthmus_iod_empty_seconds 0" in metrics


def test_the_page_has_all_metrics(job):
    page = (REPOSITORY / "docs/io-daemon-operators.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `isthmus_iod")]
    named = {name for row in rows for name in re.findall(r"isthmus_iod_(\w+)", row)}
    with job.serve("--metrics", "127.0.0.1:0") as (_, where):
        url = f"http://{where['metrics']}/metrics"
        text = urllib.request.urlopen(url).read().decode()
    served = set(re.findall(r"^# TYPE isthmus_iod_(\w+)", text, re.MULTILINE))
    assert served == named


def test_wait_returns_once_a_file_is_stored(job):
    with job.serve():
        job.write("folder/a", "b")
        done = job.call("wait", "/folder//a", "none")
        assert (done.returncode, done.stderr) == (1, "isthmus: none: No such file or directory\n")
        assert (job.files / "folder/a").read_bytes() == b"data" * 100
        assert [each["path"] for each in job.status()["unstored"]] == [os.fspath(job.files / "b")]
        assert job.call("wait", "b").returncode == 0


def test_what_cannot_be_stored_is_kept_named_and_dropped_by_abandon_only(job):
    with job.serve() as (server, _):
        job.write("lost", "kept")
        (job.files / "lost").unlink()
        done = job.call("drain")
        lost = os.fspath(job.files / "lost")
        assert done.returncode == 1
        assert done.stderr == f"isthmus: {lost}: 400 bytes are not stored: Stale file handle\n"
        (left,) = job.status()["unstored"]
        assert (left["path"], left["error"]) == (lost, "Stale file handle")
        server.send_signal(signal.SIGKILL)
        server.wait(PATIENCE)
        job.programs.pop().kill()
    # Without a daemon, what one has left is stored, and what cannot be is kept.
    for _ in range(2):
        done = call("iod", "drain", "--cache", job.cache, "--json")
        assert done.returncode == 1, done.stderr
        assert [each["path"] for each in json.loads(done.stdout)["unstored"]] == [lost]
    with job.serve():
        done = call("iod", "drain", "--cache", job.cache)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "a daemon that runs uses it" in done.stderr
        done = job.call("abandon", lost, "/nowhere")
        assert (done.returncode, done.stdout) == (1, f"{lost}: 400 bytes dropped\n")
        assert "/nowhere: isthmus iod status shows no unstored data" in done.stderr
        assert job.call("drain").returncode == 0
        assert job.call("abandon", "--all").returncode == 0
    assert call("iod", "drain", "--cache", job.cache).returncode == 0
    assert sorted(path.name for path in job.files.iterdir()) == ["kept"]


def test_a_file_that_is_abandoned_is_that_of_the_store(job):
    (job.files / "file").write_bytes(b"before")
    with job.serve():
        job.write("file")
        assert job.call("abandon", "--all").returncode == 0
        fsspec = pytest.importorskip("fsspec")
        files = fsspec.filesystem("iod", address=job.address)
        assert files.cat("file") == (job.files / "file").read_bytes()
        files.pipe_file("file", b"after")
        files.commit("file")
        assert (job.files / "file").read_bytes() == b"after"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_top_shows_the_state_until_ctrl_c(job, tmp_path, term):
    command = ["-m", "isthmus", "iod", "top", "--address", job.address]
    with job.serve():
        job.write("a")
        environment = {"TERM": term}
        terminal = Terminal([*command, "--every", "50 ms"], tmp_path, environment=environment)
        shown = lambda: "\n".join(terminal.screen.display)  # noqa: E731
        terminal.until(lambda: "not stored: 400 B of 1 file" in shown())
        job.call("drain")
        terminal.until(lambda: "everything is stored" in shown())
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0
        assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["drain"], "--cache DIR"),
        (["drain", "--cache", "none"], "does not exist"),
        (["drain", "--cache", "."], "no daemon has used this folder"),
        (["drain", "--address", "unix:/nowhere", "--store-timeout", "5 s"], "--store-timeout"),
        (["status", "--address", "unix:/nowhere"], "is the daemon running"),
        (["abandon", "--address", "unix:/nowhere"], "--all"),
        (["top", "--address", "unix:/nowhere"], "terminal"),
    ],
)
def test_bad_calls_are_one_line(tmp_path, words, text):
    done = call("iod", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert text in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_who_waits_for_a_file_that_is_abandoned_gets_an_error_once(job):
    fsspec = pytest.importorskip("fsspec")
    with job.serve():
        files = fsspec.filesystem("iod", address=job.address)
        with pytest.raises(OSError, match="Input/output error"), files.open("file", "wb") as file:
            file.blocksize = 10
            file.write(b"data" * 100)
            file.flush()
            assert job.call("abandon", "--all").returncode == 0
        files.pipe_file("file", b"after")
        files.commit("file")
        assert (job.files / "file").read_bytes() == b"after"


def test_of_several_files_with_one_path_a_number_says_which(job):
    with job.serve():
        job.write("file")
        (job.files / "file").unlink()
        job.write("file")
        path = os.fspath(job.files / "file")
        numbers = [each["number"] for each in job.status()["unstored"] if each["path"] == path]
        assert len(numbers) == 2
        done = job.call("abandon", path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"--number {numbers[0]} or {numbers[1]}" in done.stderr
        lost = next(each for each in job.status()["unstored"] if each["number"] == min(numbers))
        assert job.call("drain").returncode == 1
        assert job.call("abandon", "--number", lost["number"]).returncode == 0
        assert job.call("drain").returncode == 0
        assert (job.files / "file").read_bytes() == b"data" * 100


def test_data_that_a_failure_of_the_host_has_lost_is_named(job):
    with job.serve() as (server, _):
        job.write("file")
        server.send_signal(signal.SIGKILL)
        server.wait(PATIENCE)
        job.programs.pop().kill()
    # The log has the number that the host had since it was started.
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    log = (job.cache / "log").read_bytes()
    assert boot in log
    (job.cache / "log").write_bytes(with_another_boot(log, boot))
    done = call("iod", "drain", "--cache", job.cache)
    path = os.fspath(job.files / "file")
    assert done.returncode == 1
    assert done.stderr == f"isthmus: {path}: 400 bytes are not stored: Input/output error\n"


def test_without_a_cache_drain_has_the_system_store_what_it_has(job):
    words = ("--export", job.files, "--listen", job.address)
    with daemon(*words, command=("iod", "serve")):
        job.write("folder/a")
        assert job.call("drain").returncode == 0
        done = job.call("wait", "folder")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "isthmus iod drain" in done.stderr

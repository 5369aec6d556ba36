"""``isthmus iod prefetch``: files into the cache of a daemon, and what cannot be read."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from command_line import call
from nic_daemon import daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")


@pytest.fixture
def store(tmp_path):
    """Return a folder with files, and the address of its daemon."""
    folder = tmp_path / "files"
    for number in range(200):
        path = folder / f"train/{number % 7}/{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
    (folder / "latest").symlink_to("train/0")
    return folder, f"unix:{tmp_path}/socket"


def serve(store, tmp_path, *words):
    folder, address = store
    words = ("--export", folder, "--listen", address, *words)
    return daemon(*words, command=("iod", "serve"))


def test_listed_files_and_folders_are_in_the_cache_afterwards(store, tmp_path):
    folder, address = store
    listed = tmp_path / "list"
    cached = ("--cache", tmp_path / "cache", "--fresh", "1 h")
    with serve(store, tmp_path, *cached) as (process, _):
        listed.write_text("train/1\n/train/2/2\n\nlatest\ntrain/none\n")
        done = call("iod", "prefetch", listed, "--address", address, "--json")
        found = json.loads(done.stdout)
        ones, zeros = (len(list((folder / f"train/{name}").iterdir())) for name in (1, 0))
        assert found["files"] == ones + 1 + zeros
        assert list(found["failed"]) == ["train/none"]
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "train/none: No such file" in done.stderr

        done = call("iod", "prefetch", "-", "--address", address, stdin="train\n")
        assert (done.returncode, done.stdout) == (0, "200 files in the cache\n")
        shutil.rmtree(folder / "train")
        fsspec = pytest.importorskip("fsspec")
        fs = fsspec.filesystem("iod", address=address)
        for number in range(200):
            assert fs.cat(f"train/{number % 7}/{number}") == str(number).encode()
        descriptors = list(Path(f"/proc/{process.pid}/fd").iterdir())
        assert len(descriptors) < 100, "files stay open"


def test_what_cannot_be_prefetched_is_one_line(store, tmp_path):
    _, address = store
    listed, empty = tmp_path / "list", tmp_path / "empty"
    listed.write_text("train/1\n")
    empty.write_text("\n")
    with serve(store, tmp_path):
        for words, text in [
            ((listed, "--address", address), "--cache"),
            ((tmp_path / "none", "--address", address), "No such file"),
            ((empty, "--address", address), "it has no path"),
            ((listed, "--address", "unix:/nowhere"), "is the daemon running"),
        ]:
            done = call("iod", "prefetch", *words)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert text in done.stderr
    for words in (["--fresh", "1 s"], ["--cache", os.fspath(tmp_path / "c"), "--fresh", "1"]):
        done = call(
            "iod", "serve", "--export", tmp_path, "--listen", f"unix:{tmp_path}/other", *words
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "--fresh" in done.stderr

"""``iod://``: files of a daemon for fsspec, and for the libraries that use it."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import mkdtemp

import fsspec
import pytest
from fsspec.tests import abstract

from conftest import REPOSITORY
from iod_libraries import round_trips
from isthmus.errors import IsthmusError
from nic_daemon import PATIENCE, daemon, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Serve a folder to the tests of this module. Return it, and the address."""
    folder = tmp_path_factory.mktemp("iod")
    (folder / "files").mkdir()
    address = f"unix:{folder}/socket"
    words = ("--export", folder / "files", "--listen", address)
    with daemon(*words, command=("iod", "serve")):
        yield folder / "files", address


@pytest.fixture
def files(served):
    """Return the folder of a test in the export, and a file system with it as its root."""
    folder, address = served
    folder = Path(mkdtemp(dir=folder))
    return folder, fsspec.filesystem("iod", address=address, export=str(folder))


class Fixtures(abstract.AbstractFixtures):
    """What fsspec's tests of file systems need."""

    @pytest.fixture
    def fs(self, served):
        return fsspec.filesystem("iod", address=served[1])

    @pytest.fixture
    def fs_path(self, served):
        return Path(mkdtemp(dir=served[0])).name


class TestCopy(Fixtures, abstract.AbstractCopyTests):
    pass


class TestGet(Fixtures, abstract.AbstractGetTests):
    pass


class TestPut(Fixtures, abstract.AbstractPutTests):
    pass


class TestOpen(Fixtures, abstract.AbstractOpenTests):
    pass


class TestPipe(Fixtures, abstract.AbstractPipeTests):
    pass


def test_files_are_those_of_the_export(files):
    folder, fs = files
    data = os.urandom(9 << 20)
    fs.pipe({"a/b/large": data, "a/small": b"small", "empty": b""})
    assert (folder / "a/b/large").read_bytes() == data
    assert (folder / "empty").read_bytes() == b""
    assert fs.cat(["a/b/large", "a/small", "empty"]) == {
        "a/b/large": data,
        "a/small": b"small",
        "empty": b"",
    }
    for start, end in [(0, 5), (5, None), (-5, None), (None, -1), (1, 8 << 20), (9 << 20, None)]:
        assert fs.cat_file("a/b/large", start, end) == data[start:end], (start, end)
    status = (folder / "a/small").stat()
    entry = fs.info("iod://a/small")
    assert (entry["size"], entry["mode"], entry["ino"] > 0) == (5, status.st_mode, True)
    assert entry["mtime"] == pytest.approx(status.st_mtime, abs=1e-6)
    assert fs.modified("/a/small").timestamp() == pytest.approx(status.st_mtime, abs=1e-5)
    assert fs.find("") == ["a/b/large", "a/small", "empty"]
    assert fs.glob("**/*l*") == ["a/b/large", "a/small"]
    assert fs.du("") == (9 << 20) + 5
    with pytest.raises(OSError, match="one file"):
        fs.cp_file("a/small", "a//small")
    fs.mv("a/small", "a/b")
    assert fs.ls("a/b", detail=False) == ["a/b/large", "a/b/small"]
    with pytest.raises(IsADirectoryError, match="recursive"):
        fs.rm("a")
    fs.rm("a", recursive=True)
    assert fs.ls("", detail=False) == ["empty"]


def test_open_files_read_write_append_and_report(files):
    folder, fs = files
    with fs.open("log", "w") as file:
        file.write("line\n" * 3)
    with fs.open("log", "ab", block_size=10) as file:
        assert file.tell() == 15
        file.write(b"more" * 10)
    assert (folder / "log").read_bytes() == b"line\n" * 3 + b"more" * 10
    with fs.open("log", "rb", block_size=7) as file:
        file.seek(-4, 2)
        assert file.read() == b"more"
        file.seek(0)
        assert file.readline() == b"line\n"
    with pytest.raises(FileExistsError), fs.open("log", "xb"):
        pass
    with pytest.raises(FileNotFoundError, match="none"):
        fs.open("none")
    with pytest.raises(IsthmusError, match="mode"):
        fs.open("log", "r+b")
    with pytest.raises(FileExistsError):
        fs.pipe_file("log", b"", mode="create")


def test_symbolic_links_are_followed_in_the_export_and_removed_as_links(files):
    folder, fs = files
    fs.pipe("data/step-1/file", b"one")
    (folder / "latest").symlink_to("data/step-1")
    (folder / "data/link").symlink_to("../latest/file")
    (folder / "loop").symlink_to("loop")
    (folder / "outside").symlink_to("/etc")
    (folder / "above").symlink_to("../../../etc")
    assert fs.cat("latest/file") == fs.cat("data/link") == b"one"
    assert fs.ls("latest", detail=False) == ["latest/file"]
    assert fs.isdir("latest")
    fs.pipe("latest/file", b"two")
    assert (folder / "data/step-1/file").read_bytes() == b"two"
    assert fs.find("") == ["above", "data/link", "data/step-1/file", "latest", "loop", "outside"]
    for path in ("loop", "outside/passwd", "above/passwd"):
        with pytest.raises(OSError, match="symbolic link"):
            fs.cat(path)
    fs.rm(["latest", "data/link"])
    assert (folder / "data/step-1/file").exists()


def test_errors_are_those_of_the_system(files):
    folder, fs = files
    fs.pipe("file", b"data")
    for operation, error in [
        (lambda: fs.cat("none"), FileNotFoundError),
        (lambda: fs.cat(""), IsADirectoryError),
        (lambda: fs.info("file/none"), FileNotFoundError),
        (lambda: fs.ls("none"), FileNotFoundError),
        (lambda: fs.mkdir("file"), FileExistsError),
        (lambda: fs.makedirs("file"), FileExistsError),
        (lambda: fs.rm("none"), FileNotFoundError),
        (lambda: fs.rmdir("file"), NotADirectoryError),
        (lambda: fs.mv("none", "other"), FileNotFoundError),
        (lambda: fs.pipe("file/inner", b""), NotADirectoryError),
    ]:
        with pytest.raises(error):
            operation()
    assert fs.ls("file", detail=False) == ["file"]
    assert not fs.exists("file/none")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_arguments_and_daemons_that_do_not_exist_are_one_line(tmp_path):
    for options, name in [
        ({"address": 5}, "address"),
        ({"address": "unix:/a", "timeout": "5"}, "timeout"),
        ({"address": "unix:/a", "token_file": tmp_path / "none"}, "token_file"),
    ]:
        with pytest.raises(IsthmusError, match=name):
            fsspec.filesystem("iod", **options)
    fs = fsspec.filesystem("iod", address=f"unix:{tmp_path}/none")
    for _ in range(2):
        with pytest.raises(ConnectionError, match="is the daemon running"):
            fs.ls("")


def test_a_file_is_safe_when_commit_returns(tmp_path):
    (tmp_path / "files").mkdir()
    address = f"unix:{tmp_path}/socket"
    cache = ("--cache", tmp_path / "cache", "--dirty-age", "1 h")
    words = ("--export", tmp_path / "files", "--listen", address, *cache)
    with daemon(*words, command=("iod", "serve")):
        fs = fsspec.filesystem("iod", address=address)
        with fs.open("file", "wb") as file:
            file.write(b"data" * 1000)
            file.flush()
            fs.pipe_file("other", b"other")
            fs.commit("file", level="cached")
        fs.commit("other")
        assert (tmp_path / "files/other").read_bytes() == b"other"
        with pytest.raises(IsthmusError, match="level"):
            fs.commit("other", level="safe")


def test_a_daemon_that_is_killed_and_started_again_is_a_pause(tmp_path):
    (tmp_path / "files").mkdir()
    address = f"unix:{tmp_path}/socket"
    words = ("--export", tmp_path / "files", "--listen", address)
    fs = fsspec.filesystem("iod", address=address)
    end, written = threading.Event(), list[int]()

    def write():
        with fs.open("log", "wb", block_size=1 << 10) as file:
            while not end.is_set():
                file.write(bytes([len(written) % 256]) * 2048)
                fs.pipe_file(f"{len(written)}", b"data")
                written.append(fs.info(f"{len(written)}")["size"])

    with daemon(*words, command=("iod", "serve")) as (first, _):
        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: len(written) > 20, "file")
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE)
    with daemon(*words, command=("iod", "serve")):
        before = len(written)
        until(lambda: len(written) > before + 20, "file")
        end.set()
        writer.join(PATIENCE)
        assert set(written) == {4}
        parts = [bytes([number % 256]) * 2048 for number in range(len(written))]
        assert (tmp_path / "files/log").read_bytes() == b"".join(parts)


def test_a_program_that_ends_without_a_close_keeps_what_it_has_written(files):
    folder, fs = files
    program = (
        "import fsspec, json, sys\n"
        "fs = fsspec.filesystem('iod', **json.loads(sys.argv[1]))\n"
        "file = fs.open('file', 'wb')\n"
        "file.write(b'data')\n"
        "other = fs.open('file', 'rb')\n"
    )
    command = [sys.executable, "-c", program, json.dumps(fs.storage_options)]
    assert subprocess.run(command, timeout=PATIENCE, check=True).returncode == 0
    assert (folder / "file").read_bytes() == b"data"


def test_event_loops_and_processes_have_connections_of_their_own(files):
    _, fs = files
    again = pickle.loads(pickle.dumps(fs))
    again.pipe("file", b"data")

    async def read():
        own = fsspec.filesystem("iod", asynchronous=True, **fs.storage_options)
        return await asyncio.gather(*(own._cat_file("file", 0, 2) for _ in range(300)))

    assert asyncio.run(read()) == asyncio.run(read()) == [b"da"] * 300
    assert fs.cat("file") == b"data"


def test_pandas_zarr_and_xarray_write_and_read(files):
    folder, fs = files
    round_trips(fs.storage_options)
    assert (folder / "array.zarr/zarr.json").exists()


def test_the_example_of_the_page_runs(served):
    folder, address = served
    page = (REPOSITORY / "docs/io-daemon.md").read_text("utf-8")
    (example,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(example.replace("unix:/tmp/iod.sock", address), {})
    assert (folder / "results/step-1.bin").read_bytes() == bytes(1 << 20)
    assert (folder / "results/steps.csv").exists()

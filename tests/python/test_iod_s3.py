"""``isthmus iod serve --export s3://…``: a bucket as the store of an I/O daemon."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import s3
from command_line import call
from conftest import MORE_CASES
from iod_libraries import round_trips
from iod_rig import no_fuse
from nic_daemon import PATIENCE, daemon, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")
fsspec = pytest.importorskip("fsspec")
pytest.importorskip("moto")

URL = f"s3://{s3.BUCKET}/run"
CONFLICT = "conflict: another program has changed or removed the object"
LARGE = 20 << 20
"""The size in bytes of an object that is stored in parts."""


class Rig:
    """A bucket, and daemons that serve what is below `URL`."""

    def __init__(self, folder: Path, store: s3.Store) -> None:
        self.folder, self.store = folder, store

    @contextmanager
    def serve(self, *words, name="a"):
        """Serve the bucket. Give the process and a file system."""
        address = f"unix:{self.folder}/{name}"
        given = ("--export", URL, "--listen", address, "--cache", self.folder / f"cache-{name}")
        given += ("--log", self.folder / f"log-{name}", "--dirty-age", "1 h", *words)
        with daemon(*given, command=("iod", "serve"), **self.store.environment) as (process, _):
            yield process, fsspec.filesystem("iod", address=address, skip_instance_cache=True)

    @contextmanager
    def mounted(self, name="a"):
        """Mount the files of a daemon, and give the folder."""
        if reason := no_fuse():
            pytest.skip(reason)
        mount = self.folder / f"mount-{name}"
        mount.mkdir(exist_ok=True)
        words = (mount, "--address", f"unix:{self.folder}/{name}")
        with daemon(*words, command=("iod", "mount")) as (process, _):
            try:
                yield mount
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE)

    def call(self, command, *words, name="a"):
        return call("iod", command, *words, "--address", f"unix:{self.folder}/{name}")

    def unstored(self):
        return json.loads(self.call("status", "--json").stdout)["unstored"]

    def log(self, name="a"):
        return (self.folder / f"log-{name}").read_text()

    def names(self):
        """Return the names of the objects below the prefix."""
        return [key.removeprefix("run/") for key in self.store.names() if key.startswith("run/")]

    def get(self, name):
        return self.store.get(f"run/{name}")

    def put(self, name, data):
        self.store.put(f"run/{name}", data)


@pytest.fixture
def rig(tmp_path):
    with s3.moto() as store:
        yield Rig(tmp_path, store)


def error_of(call, *arguments):
    """Return the error number with which a call fails."""
    with pytest.raises(OSError) as failed:
        call(*arguments)
    return failed.value.errno


def test_files_are_objects_under_their_own_names(rig):
    rig.put("in/a b.txt", b"theirs")
    rig.store.put("elsewhere", b"not below the prefix")
    with rig.serve() as (_, files):
        assert files.ls("", detail=False) == ["in"]
        assert files.cat("in/a b.txt") == b"theirs"
        files.pipe({"out/x": b"ours", "out/deep/y": b"", "é": b"text"})
        # A name is in the bucket at once, the data when it is stored.
        assert rig.names() == ["in/a b.txt", "out/deep/y", "out/x", "é"]
        assert rig.call("drain").stdout == "everything is stored\n"
        assert (rig.get("out/x"), rig.get("é")) == (b"ours", b"text")
        rig.put("out/z", b"later")
        rig.store.remove("run/out/x")
        assert sorted(files.ls("out", detail=False)) == ["out/deep", "out/z"]
        assert files.info("out/z")["size"] == 5
        files.mv("out/z", "moved")
        files.rm("in/a b.txt")
        assert rig.names() == ["moved", "out/deep/y", "é"]
        assert rig.get("moved") == b"later"
        # Of a directory, the bucket knows only what is in it.
        assert files.ls("in") == []
        files.rmdir("in")
        files.mkdir("empty")
        assert sorted(files.ls("", detail=False)) == ["empty", "moved", "out", "é"]
        assert error_of(files.rmdir, "out") == errno.ENOTEMPTY


def test_what_a_bucket_does_not_have_is_refused(rig):
    rig.put("d/a", b"a")
    rig.put("b", b"b")
    with rig.serve(), rig.mounted() as mount:
        assert error_of(os.link, mount / "b", mount / "c") == errno.EPERM
        assert error_of(os.symlink, "b", mount / "c") == errno.EPERM
        assert error_of(os.mkfifo, mount / "c") == errno.EPERM
        assert error_of(os.setxattr, mount / "b", "user.x", b"1") == errno.EOPNOTSUPP
        assert error_of(os.rename, mount / "d", mount / "e") == errno.EXDEV
        assert error_of(os.rename, mount / "b", mount / "d") == errno.EISDIR
        assert error_of(os.open, mount / "new\\line\n", os.O_CREAT) == errno.EINVAL
        assert error_of(os.open, os.fsencode(mount) + b"/\xff", os.O_CREAT) == errno.EILSEQ
        (mount / "b").rename(mount / "b")
        assert sorted(path.name for path in mount.iterdir()) == ["b", "d"]
        assert os.statvfs(mount).f_bavail > 1 << 30
        # Programs that archive sparse files take a file without blocks for a hole.
        assert (mount / "b").stat().st_blocks == 1
    assert rig.names() == ["b", "d/a"]


def test_an_object_that_is_changed_in_place_is_stored_as_a_whole(rig):
    data = bytearray(random.Random(1).randbytes(LARGE))
    rig.put("large", bytes(data))
    with rig.serve() as (_, files), rig.mounted() as mount:
        with (mount / "large").open("r+b") as file:
            file.seek(9_000_000)
            file.write(b"in the middle")
            data[9_000_000:9_000_013] = b"in the middle"
            assert rig.get("large") != data
            file.flush()
            os.fsync(file.fileno())
            assert rig.get("large") == data
            for size in (12_000_001, 12_500_000, 3, 5):
                file.truncate(size)
                data = data[:size].ljust(size, b"\0")
                assert (mount / "large").stat().st_size == size
            os.fsync(file.fileno())
        assert rig.get("large") == data
        assert rig.call("drain").returncode == 0
        os.truncate(mount / "large", 4)
        assert files.cat("large") == data[:4]
        assert rig.call("drain").returncode == 0
        assert rig.get("large") == data[:4]
        with (mount / "large").open("wb"):
            assert rig.get("large") == b""
        assert error_of(os.truncate, mount / "large", 1 << 40) == errno.EFBIG


@pytest.mark.parametrize("is_removed", [False, True])
@pytest.mark.parametrize("size", [100, LARGE])
def test_an_object_that_changed_under_dirty_data_is_a_conflict(rig, size, is_removed):
    rig.put("file", bytes(size))
    with rig.serve() as (_, files), rig.mounted() as mount:
        (mount / "file").read_bytes()
        (mount / "file").chmod(0o600)
        file = os.open(mount / "file", os.O_RDWR)
        os.write(file, b"ours")
        rig.store.remove("run/file") if is_removed else rig.put("file", b"theirs")
        assert error_of(os.fsync, file) == errno.ESTALE
        (left,) = rig.unstored()
        assert (left["path"], left["error"]) == (f"{URL}/file", CONFLICT)
        assert error_of(os.close, file) == errno.ESTALE
        assert rig.call("drain").returncode == 1
        # What the cache has of the version that was written to can be read.
        assert files.cat_file("file", 0, 100) == b"ours" + bytes(96)
        assert rig.names() == ([] if is_removed else ["file"])
        assert is_removed or rig.get("file") == b"theirs"
        what = "removed" if is_removed else "changed"
        assert f"conflict: another program has {what} the object" in rig.log()
        assert rig.call("abandon", f"{URL}/file").returncode == 0
        if is_removed:
            assert files.ls("") == []
        else:
            assert files.cat("file") == b"theirs"
        files.pipe("file", b"again")
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"again"


def test_of_two_that_create_a_file_one_gets_it(rig):
    with rig.serve() as (_, files), rig.mounted() as mount:
        assert files.ls("") == []
        rig.put("file", b"theirs")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        assert error_of(os.open, mount / "file", flags) == errno.EEXIST
        with (mount / "file").open("ab") as file:
            file.write(b" and ours")
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"theirs and ours"


def test_an_answer_that_is_lost_is_no_conflict(rig):
    """The store has the object, but the daemon gets an error, or is killed before the answer."""
    rig.put("file", b"before")

    def lose(request):
        is_upload = request["REQUEST_METHOD"] == "PUT" and request.get("CONTENT_LENGTH") == "5"
        return "after" if is_upload else None

    with rig.serve("--store-timeout", "2 s") as (process, _), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_RDWR)
        rig.store.fault = lose
        os.write(file, b"after")
        os.ftruncate(file, 5)
        assert error_of(os.fsync, file) == errno.EIO
        assert rig.get("file") == b"after"
        rig.store.fault = lambda _: "before"
        assert error_of(os.fsync, file) == errno.EIO
        rig.store.fault = None
        os.fsync(file)
        rig.store.fault = lose
        os.pwrite(file, b"later", 0)
        assert error_of(os.fsync, file) == errno.EIO
        process.send_signal(signal.SIGKILL)
        process.wait()
    rig.store.fault = None
    with rig.serve():
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"later"


def test_a_bucket_that_is_gone_and_comes_back(rig):
    rig.put("read", b"cached")
    rig.put("other", b"not cached")
    with rig.serve("--store-timeout", "1 s") as (_, files), rig.mounted() as mount:
        with (mount / "read").open("rb") as read, (mount / "new").open("wb") as file:
            assert read.read() == b"cached"
            rig.store.fault = lambda _: "before"
            file.write(b"data")
            file.flush()
            assert error_of(os.fsync, file.fileno()) == errno.EIO
            assert os.pread(read.fileno(), 10, 0) == b"cached"
            assert error_of(files.cat, "other") == errno.EIO
            assert len(rig.unstored()) == 1
            rig.store.fault = None
            os.fsync(file.fileno())
            assert rig.get("new") == b"data"
        assert files.cat("other") == b"not cached"
    assert 'store "run/new"' not in rig.log() and 'store "new"' in rig.log()


def test_what_a_daemon_has_left_is_stored_without_one(rig):
    with rig.serve() as (process, _), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_WRONLY | os.O_CREAT)
        os.write(file, b"acknowledged")
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert rig.get("file") == b""
    words = ("--cache", rig.folder / "cache-a")
    done = call("iod", "drain", *words, environment=rig.store.environment)
    assert (done.returncode, done.stdout) == (0, "everything is stored\n")
    assert rig.get("file") == b"acknowledged"


def test_two_daemons_see_what_is_stored_and_opened_afterwards(rig):
    with rig.serve() as (_, ours), rig.serve("--fresh", "1 h", name="b") as (_, theirs):
        ours.pipe("file", b"first")
        ours.commit("file")
        assert theirs.cat("file") == b"first"
        ours.pipe("file", b"then")
        ours.commit("file")
        # Within --fresh, the other daemon does not look.
        assert theirs.cat("file") == b"first"
        with rig.serve(name="c") as (_, others):
            assert others.cat("file") == b"then"
            others.pipe("file", b"second")
            others.commit("file")
            assert ours.cat("file") == b"second"


def test_a_cut_is_kept_when_the_daemon_is_killed(rig):
    with rig.serve() as (process, _), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_RDWR | os.O_CREAT)
        os.pwrite(file, b"begin", 0)
        os.pwrite(file, b"end", 8 << 20)
        os.ftruncate(file, 5 << 20)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with rig.serve():
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"begin".ljust(5 << 20, b"\0")


def test_cuts_and_writes_start_from_the_newest_version(rig):
    rig.put("file", b"a" * 300)
    with rig.serve("--fresh", "1 h") as (_, files), rig.mounted() as mount:
        assert files.cat("file") == b"a" * 300
        rig.put("file", b"b" * 200)
        os.truncate(mount / "file", 100)
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"b" * 100
        rig.put("file", b"c" * 200)
        (mount / "file").write_bytes(b"ours")
        assert rig.call("drain").returncode == 0
        assert rig.get("file") == b"ours"


def test_a_conflict_stays_one_under_another_name(rig):
    rig.put("file", b"before")
    with rig.serve(), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_RDWR)
        os.write(file, b"ours")
        rig.put("file", b"theirs")
        assert error_of(os.rename, mount / "file", mount / "other") == errno.ESTALE
        assert rig.get("file") == b"theirs"
        assert rig.unstored()[0]["bytes"] == 4
        os.close(file)


def test_a_name_that_cannot_be_removed_after_a_rename(rig):
    def refuse(request):
        return "before" if request["QUERY_STRING"] == "delete" else None

    with rig.serve(), rig.mounted() as mount:
        file = os.open(mount / "new", os.O_RDWR | os.O_CREAT)
        os.write(file, b"data")
        rig.store.fault = refuse
        (mount / "new").rename(mount / "final")
        rig.store.fault = None
        os.close(file)
        assert rig.call("drain").returncode == 0
        assert (rig.get("final"), rig.get("new")) == (b"data", b"")
        assert 'remove "new"' in rig.log()


def test_a_removed_file_that_is_open_is_no_conflict(rig):
    with rig.serve("--dirty-age", "10 ms"), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_RDWR | os.O_CREAT)
        os.write(file, b"data")
        (mount / "file").unlink()
        os.write(file, b"more")
        os.fsync(file)
        assert os.pread(file, 10, 0) == b"datamore"
        os.close(file)
        assert rig.call("drain").returncode == 0
        assert (rig.names(), "conflict" in rig.log()) == ([], False)


def test_what_is_abandoned_was_never_cut(rig):
    rig.put("file", b"a" * 300)
    with rig.serve() as (_, files), rig.mounted() as mount:
        file = os.open(mount / "file", os.O_RDWR)
        os.ftruncate(file, 100)
        assert rig.call("abandon", "--all").returncode == 0
        with suppress(OSError):
            os.close(file)
        assert files.cat("file") == b"a" * 300


def test_a_tree_that_was_lost_with_the_host_is_made_again(rig):
    rig.put("d/file", b"before")
    with rig.serve() as (process, _), rig.mounted() as mount:
        file = os.open(mount / "d/file", os.O_RDWR)
        os.write(file, b"after!")
        process.send_signal(signal.SIGKILL)
        process.wait()
    shutil.rmtree(rig.folder / "cache-a/names")
    with rig.serve():
        assert rig.call("drain").returncode == 0
        assert rig.get("d/file") == b"after!"


def test_a_file_is_renamed_while_it_is_being_stored(rig):
    data = random.Random(2).randbytes(LARGE)
    parts = []

    def slow(request):
        if "uploadId" in request["QUERY_STRING"] and request["REQUEST_METHOD"] == "PUT":
            parts.append(request["PATH_INFO"])
            time.sleep(0.5)

    with rig.serve(), rig.mounted() as mount:
        rig.store.fault = slow
        (mount / "new").write_bytes(data)
        until(lambda: parts, "part")
        (mount / "new").rename(mount / "final")
        rig.store.fault = None
        assert rig.call("drain").returncode == 0
        assert rig.names() == ["final"]
        assert rig.get("final") == data


def test_a_folder_of_the_bucket_is_mounted(rig):
    rig.put("in/deep/file", b"data")
    with rig.serve():
        fs = fsspec.filesystem("iod", address=f"unix:{rig.folder}/a", export=f"{URL}/in/deep")
        assert fs.cat("file") == b"data"


@pytest.mark.parametrize("store", ["moto", "rclone"])
def test_pandas_zarr_and_xarray_write_and_read(store, tmp_path):
    (tmp_path / "buckets").mkdir()
    with s3.moto() if store == "moto" else s3.rclone(tmp_path / "buckets") as served:
        rig = Rig(tmp_path, served)
        with rig.serve() as (_, files):
            round_trips(files.storage_options)
            assert rig.call("drain").returncode == 0
            assert "array.zarr/zarr.json" in rig.names()
            assert rig.get("table.csv").startswith(b"x,y\n")


STEPS = 60 * MORE_CASES


@pytest.mark.parametrize("seed", range(3))
def test_random_steps_with_kills_leave_what_was_acknowledged(rig, seed):
    """One client changes files at random while the daemon is killed; a dictionary is the model."""
    chance, model = random.Random(seed), {}
    names = ["a", "b", "d/a", "d/b", "d/e/a"]

    def step(mount):
        name = chance.choice(names)
        data = model.get(name)
        kind = chance.choice(("write", "write", "append", "truncate", "rename", "remove", "read"))
        (mount / name).parent.mkdir(parents=True, exist_ok=True)
        if kind == "write":
            start = chance.randrange(len(data or b"") + 100)
            new = chance.randbytes(chance.choice((1, 100, 70_000)))
            file = os.open(mount / name, os.O_WRONLY | os.O_CREAT)
            os.pwrite(file, new, start)
            if chance.random() < 0.3:
                os.fsync(file)
            os.close(file)
            data = (data or b"").ljust(start, b"\0")
            model[name] = data[:start] + new + data[start + len(new) :]
        elif kind == "append":
            new = chance.randbytes(50)
            with (mount / name).open("ab") as file:
                file.write(new)
            model[name] = (data or b"") + new
        elif data is None:
            assert error_of(os.stat, mount / name) == errno.ENOENT
        elif kind == "truncate":
            size = chance.choice((0, 10, len(data), len(data) + 10))
            os.truncate(mount / name, size)
            model[name] = data[:size].ljust(size, b"\0")
        elif kind == "rename":
            other = chance.choice(names)
            (mount / other).parent.mkdir(parents=True, exist_ok=True)
            (mount / name).rename(mount / other)
            model[other] = model.pop(name)
        elif kind == "remove":
            (mount / name).unlink()
            del model[name]
        else:
            assert (mount / name).read_bytes() == data

    words = ("--dirty-age", chance.choice(("10 ms", "1 h")))
    done = 0
    with ExitStack() as mounted:
        while done < STEPS:
            with rig.serve(*words) as (process, _):
                if done == 0:
                    mount = mounted.enter_context(rig.mounted())
                for _ in range(chance.randrange(5, 40)):
                    step(mount)
                    done += 1
                process.send_signal(signal.SIGKILL)
                process.wait()
                # What was under way is carried out before the next daemon begins.
                until(lambda: not rig.store.busy, "end of the requests")
        with rig.serve():
            assert rig.call("drain").returncode == 0
            assert {name: rig.get(name) for name in rig.names()} == model


@pytest.mark.parametrize(
    ("words", "environment", "text"),
    [
        ([URL], {}, "a bucket requires a cache: add --cache DIR"),
        (["s3://", "--cache", "c"], {}, "the bucket is missing or the prefix has an empty part"),
        (["s3://none", "--cache", "c"], {}, "the store replies NoSuchBucket: name a bucket that"),
        ([URL, "--cache", "c"], {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "AWS_ENDPOINT_URL"),
        ([URL, "--cache", "c"], {"AWS_ALLOW_HTTP": "false"}, "AWS_ALLOW_HTTP"),
        ([URL, "--cache", "c"], {"AWS_ENDPOINT_URL": "127.0.0.1:1"}, "give a URL such as"),
    ],
)
def test_bad_calls_are_one_line(rig, tmp_path, words, environment, text):
    words = ("--export", *words, "--listen", f"unix:{tmp_path}/socket", "--store-timeout", "1 s")
    environment = {**rig.store.environment, **environment}
    done = call("iod", "serve", *words, cwd=tmp_path, environment=environment)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert text in done.stderr

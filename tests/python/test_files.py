"""Files that cannot be written: which one and why, in one error; nothing is left half."""

import errno
import os
import resource
import subprocess
import sys

import pytest

from conftest import SMALL
from isthmus import IsthmusError
from isthmus.files import FileError, write_bytes, write_new, write_text
from isthmus.owned import Identity, OwnedFolder
from isthmus.owned.mark import RESULT
from test_cli import one_line

KEPT = "finished points are kept"


@pytest.fixture
def full(monkeypatch):
    """A disk that is full, found when data are to be on it."""

    def fails(_number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill():
        monkeypatch.setattr(os, "fsync", fails)

    return fill


def limited(size, *words, cwd):
    """The command where no file may have more than so many bytes."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "isthmus", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


@pytest.mark.parametrize("write", [write_bytes, write_new])
def test_a_file_that_cannot_be_written_is_named_with_the_reason(tmp_path, full, write):
    full()
    with pytest.raises(FileError) as caught:
        write(tmp_path / "x", b"data")
    assert str(caught.value) == f"{tmp_path / 'x'}: cannot be written (No space left on device)"
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_replaces_nothing(tmp_path, monkeypatch):
    write_text(tmp_path / "x", "mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("x", "link"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, b"new")
    # Also where another process is faster, or hard links are not known.
    monkeypatch.setattr(os.path, "lexists", lambda _path: False)
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "x", b"new")
    monkeypatch.undo()

    def unknown(*_words):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unknown)
    write_new(tmp_path / "y", b"new")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "x", "y"]


def test_a_start_is_written_whole_or_not_at_all(tmp_path):
    done = limited(100, "init", "sci", "mine.toml", cwd=tmp_path)
    one_line(done, "mine.toml: cannot be written (File too large)")
    assert list(tmp_path.iterdir()) == []
    assert limited(10**6, "init", "sci", "mine.toml", cwd=tmp_path).returncode == 0
    again = limited(10**6, "init", "hypercube", "mine.toml", cwd=tmp_path)
    one_line(again, "mine.toml: there is one already; give another name")


def test_saving_to_a_full_disk_is_an_error_of_ours(tmp_path, full, load_sweep):
    full()
    with pytest.raises(IsthmusError, match="No space left on device") as caught:
        load_sweep.save(tmp_path / "out")
    assert KEPT not in str(caught.value)


def test_a_folder_that_cannot_be_made_below_ours_is_told(tmp_path, monkeypatch):
    def fails(_self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with OwnedFolder.opened(tmp_path / "o", Identity("run", "a", "d" * 64, 1, False, "0")) as own:
        own.write("a.png", b"a", "p")
        monkeypatch.setattr("pathlib.Path.mkdir", fails)
        with pytest.raises(FileError, match=r"o/plots: cannot be made \(No space left"):
            own.write("plots/a.png", b"a", "p")
        monkeypatch.undo()
        own.write(RESULT, b"{}", "result")
    # Where there are numbers, they are said to be kept.
    with (
        pytest.raises(FileError, match=f"No space left on device.; {KEPT} in {tmp_path / 'o'}"),
        OwnedFolder.opened(tmp_path / "o", Identity("run", "a", "d" * 64, 1, False, "0")) as own,
    ):
        monkeypatch.setattr("pathlib.Path.mkdir", fails)
        own.write("plots/a.png", b"a", "p")


def test_points_are_called_kept_only_where_there_are_any(isthmus, tmp_path):
    draw = ("topology", "--dimension", "3", "--draw")
    for place in ("/proc/x.png", "/proc/x/y.png"):
        line = one_line(isthmus(*draw, place), "/proc/x", "cannot be written (")
        assert KEPT not in line
        assert "--out" not in line
    (tmp_path / "small.toml").write_text(SMALL)
    words = ("run", "small.toml", "--quick", "--out", "out")
    # The numbers of this run have less, its report more.
    done = limited(400_000, *words, cwd=tmp_path)
    one_line(done, "out/report.html: cannot be written (File too large)", f"{KEPT} in out: ")
    done = limited(10**9, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr

"""``isthmus iod mount``: a folder of this host with the files of a daemon, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

from command_line import call
from nic_daemon import PATIENCE, daemon, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")


@pytest.fixture
def folders(tmp_path):
    """Return the folders of an export and a mount, and the address of a daemon."""
    for name in ("files", "mount"):
        (tmp_path / name).mkdir()
    return tmp_path / "files", tmp_path / "mount", f"unix:{tmp_path}/socket"


def serve(folders, *words):
    """Serve the files."""
    files, _, address = folders
    return daemon("--export", files, "--listen", address, *words, command=("iod", "serve"))


@contextmanager
def mount(folders, *words):
    """Mount the files; skip the test where that is not possible."""
    _, folder, address = folders
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("this host has no /dev/fuse for its users")
    command = ("iod", "mount")
    try:
        with daemon(folder, "--address", address, *words, command=command) as (process, status):
            assert status == {"mounted": str(folder)}
            yield process
    except AssertionError as error:
        if "Operation not permitted" in str(error) or "FUSE is missing" in str(error):
            pytest.skip(str(error))
        raise
    finally:
        unmount = ["umount", "-l", str(folder)]
        subprocess.run(unmount, stderr=subprocess.DEVNULL, check=False)


def ended(process):
    """Return the status of a process that ends, and what it has written on standard error."""
    status = process.wait(PATIENCE)
    return status, process.stderr.read()


def test_a_signal_unmounts(folders):
    files, folder, _ = folders
    with serve(folders), mount(folders) as process:
        (folder / "file").write_text("text")
        assert (files / "file").read_text() == "text"
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (0, "")
        assert list(folder.iterdir()) == []


def test_files_in_use_are_an_error_at_the_end_and_fail_then(folders):
    _, folder, _ = folders
    with serve(folders), mount(folders) as process:
        file = os.open(folder / "file", os.O_CREAT | os.O_WRONLY)
        process.send_signal(signal.SIGINT)
        status, text = ended(process)
        assert (status, text.count("\n")) == (1, 1)
        assert "in use" in text
        with pytest.raises(OSError, match="not connected"):
            os.fstat(file)
        with suppress(OSError):
            os.close(file)
        assert list(folder.iterdir()) == []


def test_files_are_not_hidden_and_a_folder_is_mounted_once(folders):
    _, folder, address = folders
    with serve(folders):
        (folder / "own").write_text("text")
        done = call("iod", "mount", folder, "--address", address)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "it has files" in done.stderr
        (folder / "own").unlink()
        with mount(folders):
            done = call("iod", "mount", folder, "--address", address)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert "mounted already" in done.stderr


def test_the_user_unmounts(folders):
    _, folder, _ = folders
    with serve(folders), mount(folders) as process:
        subprocess.run(["umount", folder], check=True)
        assert ended(process) == (0, "")


def test_a_mount_whose_process_was_killed_is_replaced(folders):
    _, folder, _ = folders
    with serve(folders), mount(folders) as process:
        (folder / "file").write_text("text")
        process.kill()
        process.wait(PATIENCE)
        with pytest.raises(OSError, match="not connected"):
            folder.stat()
        with mount(folders, "--read-only"):
            assert (folder / "file").read_text() == "text"
            with pytest.raises(OSError, match="Read-only"):
                (folder / "file").write_text("more")


TRANSACTIONS = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=60)
database.execute("create table records (number integer)")
number = 0
while not os.path.exists(sys.argv[2]):
    with database:
        database.execute("insert into records values (?)", (number,))
    number += 1
    print(number, file=open(sys.argv[3], "w"))
count = database.execute("select count(*) from records").fetchone()[0]
(check,) = database.execute("pragma integrity_check").fetchone()
print(number, count, check)
"""
"""A program that commits transactions until a file exists, and writes their number to another."""


def test_a_database_outlives_kills_of_the_daemon(folders, tmp_path):
    _, folder, _ = folders
    end, committed = tmp_path / "end", tmp_path / "committed"
    # A process of its own: one that starts the daemon must not have files of the mount open.
    command = [sys.executable, "-c", TRANSACTIONS, folder / "database", end, committed]
    with (
        serve(folders) as (first, _),
        mount(folders),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program,
    ):
        until(committed.exists, "the first transaction")
        first.kill()
        first.wait(PATIENCE)
        for _ in range(4):
            committed.unlink()
            with serve(folders) as (daemon_, _):
                until(committed.exists, "a transaction")
                time.sleep(0.3)
                daemon_.kill()
                daemon_.wait(PATIENCE)
        with serve(folders):
            end.touch()
            number, count, check = program.communicate(timeout=PATIENCE)[0].split()
    assert number == count
    assert check == "ok"


def test_what_was_written_outlives_a_kill_of_mount_and_daemon(folders, tmp_path):
    files, folder, _ = folders
    cached = ("--cache", tmp_path / "cache", "--dirty-age", "1 h")
    with serve(folders, *cached) as (server, _):
        with mount(folders) as process:
            file = os.open(folder / "file", os.O_CREAT | os.O_WRONLY)
            assert os.write(file, b"data" * 50_000) == 200_000
            process.kill()
            process.wait(PATIENCE)
            with suppress(OSError):
                os.close(file)
        server.kill()
        server.wait(PATIENCE)
    with serve(folders, *cached) as (server, _):
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
    assert (files / "file").read_bytes() == b"data" * 50_000


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["FOLDER", "--address", "unix:/nowhere/socket"], "No such file"),
        (["FOLDER/none", "--address", "ADDRESS"], "make it first"),
        (["FOLDER/../socket", "--address", "ADDRESS"], "no directory"),
        (["FOLDER", "--address", "ADDRESS", "--export", "/elsewhere"], "No such file"),
        (["FOLDER", "--address", "tcp:nowhere"], "a host and a port are missing"),
        (["FOLDER", "--address", "ADDRESS", "--timeout", "1 ms"], "--timeout"),
        (["FOLDER", "--address", "ADDRESS", "--tls-ca", "FOLDER"], "tls:"),
        (["FOLDER", "--address", "ADDRESS", "--token-file", "FOLDER/none"], "--token-file"),
    ],
)
def test_what_cannot_be_mounted_is_one_line(folders, words, text):
    _, folder, address = folders
    words = [word.replace("FOLDER", str(folder)).replace("ADDRESS", address) for word in words]
    with serve(folders):
        done = call("iod", "mount", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert text in done.stderr
    assert not os.path.ismount(folder)


def test_a_daemon_that_is_gone_is_reported(folders):
    _, folder, _ = folders
    with mount_of_killed(folders) as process:
        with pytest.raises(OSError, match="Input/output"):
            (folder / "file").stat()
        with serve(folders):
            until(lambda: os.access(folder, os.F_OK), "mount that works again")
            assert (folder / "new").write_text("text") == 4
        process.send_signal(signal.SIGTERM)
        status, text = ended(process)
    assert status == 0
    for each in ("is gone", "fail with EIO", "is back"):
        assert each in text


@contextmanager
def mount_of_killed(folders):
    """Mount the files of a daemon, and kill it."""
    with serve(folders) as (server, _), mount(folders, "--timeout", "0.5 s") as process:
        server.kill()
        server.wait(PATIENCE)
        yield process

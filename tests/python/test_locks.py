"""One process at a time in a folder of results."""

import json
import os
import signal
import subprocess
import sys
import time

from isthmus.owned import MARK, OwnedFolder
from isthmus.owned.lock import LOCK
from isthmus.results.folder import write_tables
from test_owned import TINY, A, files, job, refused

HOLD = """
import sys, time
from pathlib import Path
from isthmus.owned import Identity, OwnedFolder
with OwnedFolder.opened(Path(sys.argv[1]), Identity("run", "a", "d" * 64, 1, False, "0")):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_folder(tmp_path, isthmus, small):
    process = hold(tmp_path / "out")
    try:
        for more in ((), ("--fresh",)):
            done = isthmus("run", small, "--out", "out", *more)
            assert done.returncode == 2
            (line,) = done.stderr.splitlines()
            assert f"out: process {process.pid} on " in line
            assert "is working in this folder" in line
    finally:
        process.kill()
        process.wait()
    # The lock of a dead process is free at once.
    with OwnedFolder.opened(tmp_path / "out", A):
        pass
    assert (tmp_path / "out" / LOCK).read_bytes() == b""


def test_a_folder_is_not_held_twice_in_one_process(tmp_path):
    with OwnedFolder.opened(tmp_path / "out", A):
        call = lambda: job().run_into(tmp_path / "out")  # noqa: E731
        refused(call, f"process {os.getpid()} on ", "is working in this folder")


def test_two_processes_at_once_leave_what_one_leaves(tmp_path):
    """Of two that begin at once one is told of the other, or finds all done."""
    code = (
        "import sys; from pathlib import Path; from isthmus.execution import Job\n"
        "from isthmus.errors import IsthmusError\n"
        "from isthmus.results.folder import write_tables\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "try: Job(Path(sys.argv[1]).read_text(), 'tiny.toml', quick=True).run_into("
        "Path(sys.argv[2]), write=lambda folder, results, _: write_tables(folder, results))\n"
        "except IsthmusError as error: sys.exit(str(error))\n"
    )
    (tmp_path / "tiny.toml").write_text(TINY)
    job().run_into(tmp_path / "whole", write=lambda own, found, _: write_tables(own, found))
    whole = files(tmp_path / "whole")
    told = 0
    for number in range(3):
        folder = tmp_path / f"two-{number}"
        words = [sys.executable, "-c", code, str(tmp_path / "tiny.toml"), str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        both = [subprocess.Popen(words, **pipes, text=True) for _ in range(2)]
        for process in both:
            assert process.stdout.readline() == "ready\n"
        for process in both:
            process.stdin.write("\n")
            process.stdin.flush()
        for process in both:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0 or "is working in this folder" in err, err
            told += process.returncode != 0
        left = files(folder)
        del left["provenance.json"]
        assert left == {n: d for n, d in whole.items() if n != "provenance.json"}
    assert told <= 3


def test_ctrl_c_frees_the_folder(tmp_path):
    process = hold(tmp_path / "out")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert (tmp_path / "out" / LOCK).read_bytes() == b""
    assert json.loads((tmp_path / "out" / MARK).read_text())["of"]["name"] == "a"

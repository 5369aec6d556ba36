"""Programs that use a mount, checked by themselves: fio, git, make and a C compiler, sqlite.

    python tests/python/iod_programs.py            the long form: minutes
    python tests/python/iod_programs.py --short --only git --only make

| name | what it does |
|---|---|
| fio | 4 jobs that write and verify for 60 s, with checksums in each block |
| git | a repository, a clone of it, `git fsck` and `git status` of both |
| make | `make -j2` of a C project of 30 files, twice; the program must print its sum |
| rollback, wal | 1,000 sqlite transactions with kills of the daemon, then `integrity_check` |
| wal-exclusive | the same with `locking_mode=exclusive`, which maps no shared memory |

A program that is missing is left out, with the reason. The daemon has a cache. The programs run in
processes of their own: this one starts the daemon, and must not open files of the mount.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from iod_rig import Rig, no_fuse

TIMEOUT_S = 600
SOURCES = 30
IDENTITY = ["-c", "user.name=test", "-c", "user.email=test@example.org"]


class LeftOut(Exception):  # noqa: N818 - no error
    """A program that is missing."""


def run(*words: object, cwd: Path | None = None) -> str:
    """Run a program, and return what it prints."""
    name = str(words[0])
    if shutil.which(name) is None:
        raise LeftOut(f"{name} is missing")
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def fio(rig: Rig, short: bool) -> str:
    """Write and verify."""
    seconds, size = (2, "8M") if short else (60, "64M")
    words = [f"--directory={rig.mount}", "--name=verify", "--numjobs=4", f"--size={size}"]
    words += ["--rw=randwrite", "--bsrange=512-256k", "--ioengine=psync", "--fallocate=none"]
    words += [
        "--verify=crc32c",
        "--verify_backlog=64",
        "--do_verify=1",
        "--verify_fatal=1",
        "--verify_state_save=0",
    ]
    words += ["--fsync=100", f"--runtime={seconds}", "--time_based"]
    result = json.loads(run("fio", *words, "--output-format=json"))
    jobs = result["jobs"]
    assert len(jobs) == 4
    errors = [job["error"] for job in jobs]
    assert errors == [0] * 4, errors
    # The jobs read to verify, and for nothing else.
    verified, wrote = (sum(job[kind]["io_bytes"] for job in jobs) for kind in ("read", "write"))
    assert verified > wrote // 2 > 0
    return f"{wrote >> 20} MiB written, {verified >> 20} MiB verified by 4 jobs"


def git(rig: Rig, short: bool) -> str:
    """Make a repository, and clone it."""
    first, clone = rig.mount / "first", rig.mount / "clone"
    chance = random.Random(1)
    run("git", "init", "--quiet", first)
    commits = 3 if short else 20
    for commit in range(commits):
        # The files are written by another process.
        text = "".join(f"line {chance.random()}\n" for _ in range(200))
        for number in range(10):
            name = f"folder-{number % 3}/file-{commit if number > 5 else number}-{number}"
            run("mkdir", "-p", (first / name).parent)
            done = subprocess.run(
                ["tee", first / name],
                input=f"{name} {text}".encode(),
                check=True,
                stdout=subprocess.DEVNULL,
            )
            assert done.returncode == 0
        run("git", *IDENTITY, "add", ".", cwd=first)
        run("git", *IDENTITY, "commit", "--quiet", "-m", f"commit {commit}", cwd=first)
    run("git", "gc", "--quiet", cwd=first)
    run("git", "clone", "--quiet", "--no-hardlinks", first, clone)
    for folder in (first, clone):
        run("git", "fsck", "--full", "--strict", cwd=folder)
        assert run("git", "status", "--porcelain", cwd=folder) == ""
    count = run("git", "rev-list", "--count", "HEAD", cwd=clone).strip()
    assert int(count) == commits
    return f"{count} commits cloned and checked"


def make(rig: Rig, short: bool) -> str:
    """Build a C project."""
    if shutil.which("gcc") is None:
        raise LeftOut("gcc is missing")
    count = 8 if short else SOURCES
    project = rig.folder / "project"
    project.mkdir()
    names = [f"part{number}" for number in range(count)]
    for number, name in enumerate(names):
        text = f'#include "parts.h"\nint {name}(void) {{ return {number}; }}\n'
        (project / f"{name}.c").write_text(text)
    (project / "parts.h").write_text("".join(f"int {name}(void);\n" for name in names))
    calls = " + ".join(f"{name}()" for name in names)
    main_ = (
        f'#include <stdio.h>\n#include "parts.h"\nint main(void) {{ printf("%d\\n", {calls}); }}\n'
    )
    (project / "main.c").write_text(main_)
    objects = " ".join(f"{name}.o" for name in (*names, "main"))
    rules = f"sum: {objects}\n\tgcc -o $@ $^\n%.o: %.c parts.h\n\tgcc -O1 -c -o $@ $<\n"
    (project / "Makefile").write_text(rules)
    run("cp", "-r", project, rig.mount)
    there = rig.mount / "project"
    run("make", "-j2", cwd=there)
    assert int(run(there / "sum")) == sum(range(count))
    assert "up to date" in run("make", "-j2", cwd=there)
    run("touch", there / "parts.h")
    run("make", "-j2", cwd=there)
    assert int(run(there / "sum")) == sum(range(count))
    return f"{count + 1} files compiled twice"


TRANSACTIONS = """
import sqlite3, sys
path, count, journal, locking = sys.argv[1:]
database = sqlite3.connect(path, timeout=60)
database.execute(f"pragma locking_mode={locking}")
(mode,) = database.execute(f"pragma journal_mode={journal}").fetchone()
if mode != journal:
    sys.exit(f"journal_mode {mode}")
database.execute("create table records (number integer, text text)")
for number in range(int(count)):
    with database:
        database.execute("insert into records values (?, ?)", (number, "x" * (number % 3000)))
        if number % 7 == 0:
            database.execute("update records set text = 'y' where number = ?", (number // 2,))
    print(number, flush=True)
found = database.execute("select count(*), max(number) from records").fetchone()
(check,) = database.execute("pragma integrity_check").fetchone()
database.close()
print("end", *found, check)
"""
"""A program that commits transactions, prints the number of each, and checks its database."""
CHECK = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
(count,) = database.execute("select count(*) from records").fetchone()
(check,) = database.execute("pragma integrity_check").fetchone()
print(count, check)
"""


def sqlite(rig: Rig, short: bool, journal: str, locking: str) -> str:
    """Commit transactions while the daemon is killed, then check the database in the store."""
    count = 60 if short else 1000
    name = f"{journal}-{locking}"
    path = rig.mount / name
    words = [sys.executable, "-c", TRANSACTIONS, path, count, journal, locking]
    chance, kills = random.Random(name), 0
    end = time.monotonic() + TIMEOUT_S
    with subprocess.Popen(
        list(map(str, words)),
        stdout=(rig.folder / f"{name}.out").open("w"),
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        while program.poll() is None:
            assert time.monotonic() < end, "the program hangs"
            time.sleep(chance.uniform(0.05, 0.4))
            rig.kill_daemon()
            kills += 1
            time.sleep(chance.uniform(0, 0.1))
            start(rig)
        error = program.stderr.read() if program.stderr else ""
    lines = (rig.folder / f"{name}.out").read_text().splitlines()
    if program.returncode:
        raise AssertionError(f"{name}: {len(lines)} transactions, then {error.strip()}")
    assert lines[-1] == f"end {count} {count - 1} ok", lines[-1]
    assert rig.end_daemon() == 0
    stored = run(sys.executable, "-c", CHECK, rig.files / name).split()
    start(rig)
    assert stored == [str(count), "ok"], stored
    return f"{count} transactions, {kills} kills of the daemon, integrity ok"


PROGRAMS: dict[str, Callable[[Rig, bool], str]] = {
    "fio": fio,
    "git": git,
    "make": make,
    "rollback": lambda rig, short: sqlite(rig, short, "delete", "normal"),
    "wal": lambda rig, short: sqlite(rig, short, "wal", "normal"),
    "wal-exclusive": lambda rig, short: sqlite(rig, short, "wal", "exclusive"),
}


def start(rig: Rig) -> None:
    """Start the daemon."""
    rig.start_daemon("--cache", rig.cache, "--cache-size", "256 MiB", "--grace", "60 s")


def main() -> None:
    """Run the programs, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--short", action="store_true", help="a few seconds each")
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    given = parser.parse_args()
    if why := no_fuse():
        sys.exit(f"left out: {why}")
    # What is mounted is unmounted at the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = False
    for name in given.only or PROGRAMS:
        with tempfile.TemporaryDirectory() as where, Rig(Path(where)) as rig:
            start(rig)
            rig.start_mount()
            began = time.monotonic()
            try:
                text = PROGRAMS[name](rig, given.short)
            except LeftOut as reason:
                text = f"left out: {reason}"
            except AssertionError as error:
                failed, text = True, f"FAILED: {error}"
        print(f"{name}: {text} ({time.monotonic() - began:.1f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

"""The cases of `iod_posix.py` that take several processes, or more than calls with paths.

A function gives names of checks and calls that return ``True``.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

Checks = Iterator[tuple[str, Callable[[], object]]]


def _elsewhere(call: Callable[[], object]) -> object:
    """Return whether a call in another process returns a true value without an error."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    status = 1
    try:
        status = 0 if call() else 1
    finally:
        os._exit(status)


def _fails(error: int, call: Callable[[], object]) -> bool:
    """Return whether a call fails with this error."""
    try:
        call()
    except OSError as found:
        return found.errno == error
    return False


def locks(folder: Path) -> Checks:
    """Locks of byte ranges, among processes."""
    path = folder / "file"
    path.write_bytes(bytes(100))
    with path.open("r+b") as file:

        def free(start: int, count: int, kind: int = fcntl.LOCK_EX) -> bool:
            """Take a lock in the process that calls."""
            with path.open("r+b") as own:
                try:
                    fcntl.lockf(own, kind | fcntl.LOCK_NB, count, start)
                except OSError as error:
                    assert error.errno in (errno.EAGAIN, errno.EACCES)
                    return False
                return True

        def wait() -> bool:
            """Wait for a lock that this process holds, until a thread releases it."""
            release = threading.Timer(0.05, fcntl.lockf, (file, fcntl.LOCK_UN))
            release.start()
            took = _elsewhere(lambda: not fcntl.lockf(path.open("r+b"), fcntl.LOCK_EX))
            release.join()
            return bool(took)

        lock = fcntl.lockf
        yield "no lock", lambda: _elsewhere(lambda: free(0, 0))
        yield "lock", lambda: lock(file, fcntl.LOCK_EX, 10, 20) is None
        yield "held", lambda: _elsewhere(lambda: not free(0, 0))
        yield "before", lambda: _elsewhere(lambda: free(0, 20))
        yield "after", lambda: _elsewhere(lambda: free(30, 0))
        yield "within", lambda: _elsewhere(lambda: not free(25, 1))
        yield "the same process again", lambda: lock(file, fcntl.LOCK_EX, 50, 0) is None
        yield "unlock a part", lambda: lock(file, fcntl.LOCK_UN, 2, 22) is None
        yield "the part", lambda: _elsewhere(lambda: free(22, 2))
        yield "the rest", lambda: _elsewhere(lambda: not free(24, 1) and not free(21, 1))
        yield "share", lambda: lock(file, fcntl.LOCK_SH, 0, 0) is None
        yield "shared", lambda: _elsewhere(lambda: free(0, 0, fcntl.LOCK_SH) and not free(0, 0))
        yield "exclusive again", lambda: lock(file, fcntl.LOCK_EX) is None
        yield "a process that waits", wait
        yield "another descriptor is closed", lambda: lock(file, fcntl.LOCK_EX) is None
        path.read_bytes()
        yield "the locks are gone", lambda: _elsewhere(lambda: free(0, 0))
    with path.open("rb") as reader:
        bad = lambda: lock(reader, fcntl.LOCK_EX)  # noqa: E731
        yield "exclusive for a reader", lambda: _fails(errno.EBADF, bad)

    def ended() -> bool:
        """Take a lock, and end with it."""
        own = os.open(path, os.O_RDWR)
        fcntl.lockf(own, fcntl.LOCK_EX)
        return True

    yield "a process that ends", lambda: _elsewhere(ended)
    yield "its lock", lambda: free(0, 0)
    yield "flock", lambda: _elsewhere(lambda: _flock(path))


def _flock(path: Path) -> bool:
    """Return whether `flock` excludes another descriptor."""
    with path.open() as one, path.open() as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        is_held = _fails(errno.EAGAIN, lambda: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB))
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return is_held


def appends(folder: Path) -> Checks:
    """Records that processes append at once."""
    path = folder / "file"

    def write(letter: bytes) -> bool:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return all(os.write(file, letter * 100) == 100 for _ in range(100))

    def both() -> bool:
        child = os.fork()
        if not child:
            os._exit(0 if write(b"a") else 1)
        return write(b"b") and os.waitpid(child, 0)[1] == 0

    yield "writes", both
    records = [b"a" * 100] * 100 + [b"b" * 100] * 100
    data = path.read_bytes()
    parts = sorted(data[at : at + 100] for at in range(0, len(data), 100))
    yield "whole records", lambda: parts == records


def listing(folder: Path) -> Checks:
    """A listing while entries come and go: the entries that stay appear once."""
    stay = {f"stay-{number:04}-{'x' * 40}" for number in range(400)}
    for name in stay:
        (folder / name).touch()

    def changes() -> list[str]:
        names = []
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                names.append(entry.name)
                (folder / f"new-{number}").touch()
                if number % 2:
                    (folder / f"new-{number - 1}").unlink()
        return names

    names = [name for name in changes() if name.startswith("stay")]
    yield "all that stay", lambda: set(names) == stay
    yield "each once", lambda: len(names) == len(stay)

    def removal() -> bool:
        with os.scandir(folder) as entries:
            for entry in entries:
                os.unlink(entry.path)
        return True

    yield "removal of what is listed", removal
    yield "nothing is left", lambda: os.listdir(folder) == []
    (folder / "own").touch()
    yield "types", lambda: [entry.is_file() for entry in os.scandir(folder)] == [True]
    numbers = [entry.inode() for entry in os.scandir(folder)]
    yield "numbers", lambda: numbers == [(folder / "own").stat().st_ino]


def sparse(folder: Path) -> Checks:
    """A file above 4 GiB with holes."""
    path = folder / "file"
    with path.open("w+b") as file:
        for number in range(5):
            os.pwrite(file.fileno(), b"%d" % number, number << 30)
        yield "size", lambda: path.stat().st_size == (4 << 30) + 1
        os.fsync(file.fileno())
        yield "blocks", lambda: path.stat().st_blocks * 512 < 1 << 20
        ends = [os.pread(file.fileno(), 2, (number << 30) - 1) for number in range(1, 5)]
        yield "data", lambda: ends == [b"\0%d" % number for number in range(1, 5)]
        hole = os.pread(file.fileno(), 100_000, 3_000_000_000)
        yield "hole", lambda: hole == bytes(100_000)
        yield "end", lambda: os.pread(file.fileno(), 10, 4 << 30) == b"4"
        position = os.lseek(file.fileno(), 1, os.SEEK_HOLE)
        yield "a hole is found", lambda: 1 <= position <= (4 << 30) + 1
        large = lambda: os.ftruncate(file.fileno(), 1 << 40)  # noqa: E731
        yield "a terabyte", lambda: large() is None and path.stat().st_size == 1 << 40
        yield "and back", lambda: os.ftruncate(file.fileno(), 1) is None
        os.ftruncate(file.fileno(), 10)
        yield "zeros", lambda: path.read_bytes() == b"0" + bytes(9)


def mappings(folder: Path) -> Checks:
    """Mapped files, beside reads and writes."""
    path = folder / "file"
    path.write_bytes(b"0123456789" * 1000)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        yield "read", lambda: mapped[9990:] == b"0123456789"
        mapped[0:4] = b"abcd"
        mapped.flush()
        yield "stored", lambda: path.read_bytes()[:6] == b"abcd45"
        os.pwrite(file.fileno(), b"XY", 5000)
        yield "written", lambda: mapped[5000:5003] == b"XY2"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        path.unlink()
        yield "removed", lambda: mapped[0:4] == b"abcd"


def programs(folder: Path) -> Checks:
    """A program that runs cannot be written to."""
    path = folder / "program"
    shutil.copy(shutil.which("sleep") or sys.executable, path)
    yield "mode", lambda: os.access(path, os.X_OK)
    with subprocess.Popen([path, "60"]) as process:
        yield "open", lambda: _fails(errno.ETXTBSY, lambda: path.open("r+b"))
        yield "truncate", lambda: _fails(errno.ETXTBSY, lambda: os.truncate(path, 0))
        process.kill()
    with path.open("ab"):
        yield "run", lambda: _fails(errno.ETXTBSY, lambda: subprocess.run([path], check=False))


def descriptors(folder: Path) -> Checks:
    """Descriptors that processes share, vectors, copies, and paths relative to folders."""
    (folder / "file").write_bytes(b"0123456789")
    file = os.open(folder / "file", os.O_RDWR)
    other = os.dup(file)
    yield "offset", lambda: os.read(file, 3) + os.read(other, 3) == b"012345"
    yield "of a child", lambda: _elsewhere(lambda: os.read(file, 2) == b"67")
    yield "after it", lambda: os.read(other, 9) == b"89"
    os.close(other)
    yield "vector", lambda: os.pwritev(file, [b"ab", b"cd"], 2) == 4
    buffers = [bytearray(3), bytearray(9)]
    yield "of reads", lambda: os.preadv(file, buffers, 0) == 10 and buffers[0] == b"01a"
    with (folder / "copy").open("wb") as copy:
        yield "copy", lambda: os.copy_file_range(file, copy.fileno(), 10, 0) == 10
        yield "send", lambda: os.sendfile(copy.fileno(), file, 0, 10) == 10
    yield "twice", lambda: (folder / "copy").read_bytes() == b"01abcd6789" * 2
    os.close(file)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield "mkdirat", lambda: os.mkdir("d", dir_fd=place) is None
    yield "renameat", lambda: os.rename("d", "e", src_dir_fd=place, dst_dir_fd=place) is None
    yield "fchdir", lambda: os.fchdir(place) is None and Path.cwd() == folder
    yield "statat", lambda: os.stat("e", dir_fd=place).st_ino == (folder / "e").stat().st_ino
    yield "fsync of a folder", lambda: os.fsync(place) is None
    yield "unlinkat", lambda: os.rmdir("e", dir_fd=place) is None
    os.close(place)
    os.chdir("/")


FUNCTIONS = {
    function.__name__: function
    for function in (locks, appends, listing, sparse, mappings, programs, descriptors)
}

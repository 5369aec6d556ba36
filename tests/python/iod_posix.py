"""Behaviours of POSIX files, tried in a mount and in a plain folder: a difference is a failure.

    python tests/python/iod_posix.py MOUNT PLAIN

Both folders must be empty. PLAIN should be of the same file system as the export. A case is a list
of steps in `iod_posix_cases.py`, or a function in `iod_posix_functions.py`. The table also states
the result on the plain folder, so that a step that fails for another reason is found.

The cases follow the list of pjdfstest: chmod, chown, ftruncate, link, mkdir, mkfifo, mknod, open,
posix_fallocate, rename, rmdir, symlink, truncate, unlink, utimensat. Left out of that list are:

- what takes two users: `EPERM` for other owners, groups and sticky folders of others. A mount is
  seen by one user. Errors of a permission are tried where the process has no privileges;
- `EFAULT`, which takes an invalid address, and chflags, lchmod and NFSv4 lists, which Linux lacks;
- `EROFS`, which `test_iod_mount.py` tries; `ENOSPC`, which `iod_kill_rounds.py` tries; `EMLINK`;
- times of access after reads, which depend on the options of the plain file system.

With `--cached`, for a daemon with a cache, times of change (`ctime`) are not compared: they change
again when data is stored.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import re
import shutil
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from iod_posix_cases import CASES, LEFT_OUT
from iod_posix_functions import FUNCTIONS

LIBC = ctypes.CDLL(None, use_errno=True)
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
"""`UTIME_NOW` and `UTIME_OMIT`."""
TICK_S = 0.012
"""Longer than the clock of a file system takes to advance."""
CALLS: dict[str, Callable[..., object]] = {
    "rmdir": os.rmdir,
    "unlink": os.unlink,
    "rename": os.rename,
    "symlink": os.symlink,
    "readlink": os.readlink,
    "removex": os.removexattr,
}
"""Operations whose arguments are words."""
Result = list[tuple[str, str]]


def attempt(call: Callable[[], object]) -> str:
    """Return the text of what a call returns, or the name of its error."""
    try:
        return str(call() or "")
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))


class Steps:
    """The operations of the table, in the working directory. `~` is the folder `other`."""

    def __init__(self, other: Path, times: str) -> None:
        self.other = other
        self.times = times
        self.held: dict[str, int] = {}
        self.seen: dict[str, tuple[int, int]] = {}

    def run(self, line: str) -> str:
        """Run a step: a name and its arguments."""
        name, *words = line.split()
        operation = CALLS.get(name) or getattr(self, f"do_{name}")
        return attempt(lambda: operation(*map(self.word, words)))

    def close(self) -> None:
        """Close all files and restore the umask."""
        os.umask(0o22)
        for file in self.held.values():
            os.close(file)

    def word(self, word: str) -> str:
        """Replace `@255` by a name of this length, `@path` by a path that is too long."""
        word = word.replace("@path", "./" * 2047 + "no").replace("@long", "./" * 2047)
        word = re.sub(r"@(\d+)", lambda found: "n" * int(found[1]), word)
        return word.replace("~", str(self.other))

    # Names.

    def do_make(self, kind: str, path: str) -> None:
        """Make an entry of a type."""
        makers = {"file": self.do_put, "dir": self.do_mkdir, "fifo": self.do_mkfifo}
        makers |= {"socket": self.do_mksock, "symlink": lambda path: os.symlink("target", path)}
        makers[kind](path)

    def do_mkdir(self, path: str, mode: str = "755") -> None:
        os.mkdir(path, int(mode, 8))

    def do_mkfifo(self, path: str, mode: str = "644") -> None:
        os.mkfifo(path, int(mode, 8))

    def do_mksock(self, path: str, mode: str = "644") -> None:
        os.mknod(path, stat.S_IFSOCK | int(mode, 8))

    def do_mknod(self, path: str, kind: str) -> None:
        os.mknod(path, {"block": stat.S_IFBLK, "char": stat.S_IFCHR}[kind] | 0o644, 0x101)

    def do_bind(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path)

    def do_link(self, old: str, new: str) -> None:
        os.link(old, new, follow_symlinks=False)

    def do_list(self, path: str) -> str:
        return " ".join(sorted(os.listdir(path)))

    def do_cd(self, path: str) -> None:
        os.chdir(path)

    # Attributes.

    def do_lstat(self, path: str, fields: str) -> str:
        return self.fields(os.lstat(path), fields)

    def do_stat(self, path: str, fields: str) -> str:
        return self.fields(os.stat(path), fields)

    def do_fstat(self, file: str, fields: str) -> str:
        return self.fields(os.fstat(self.held[file]), fields)

    def fields(self, status: os.stat_result, fields: str) -> str:
        """Return some attributes."""
        all_ = {
            "type": oct(stat.S_IFMT(status.st_mode)),
            "mode": f"{stat.S_IMODE(status.st_mode):04o}",
            "atime": status.st_atime_ns,
            "mtime": status.st_mtime_ns,
        }
        return " ".join(str(all_.get(f) or getattr(status, f"st_{f}")) for f in fields.split(","))

    def do_chmod(self, path: str, mode: str) -> None:
        os.chmod(path, int(mode, 8))

    def do_fchmod(self, file: str, mode: str) -> None:
        os.fchmod(self.held[file], int(mode, 8))

    def do_chown(self, path: str, user: str, group: str) -> None:
        os.chown(path, *self.owner(user, group))

    def do_lchown(self, path: str, user: str, group: str) -> None:
        os.lchown(path, *self.owner(user, group))

    def owner(self, user: str, group: str) -> tuple[int, int]:
        """Convert owners: `me` is this user, and `-` leaves the owner as it is."""
        ids = {"-": -1, "me": os.getuid() if user == "me" else -1}
        groups = {"-": -1, "me": os.getgid()}
        return (
            ids[user] if user in ids else int(user),
            groups[group] if group in groups else int(group),
        )

    def do_umask(self, mode: str) -> None:
        os.umask(int(mode, 8))

    def do_access(self, path: str, mode: str) -> str:
        bits = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
        return str(os.access(path, sum(bits[each] for each in mode)))

    def do_utimens(self, path: str, accessed: str, modified: str, flags: str = "") -> None:
        """Set times: `now`, `omit`, or seconds and nanoseconds with a point between."""
        times = []
        for time_ in (accessed, modified):
            seconds, _, nanoseconds = time_.partition(".")
            special = {"now": (0, NOW), "omit": (0, OMIT)}
            times += special.get(time_) or (int(seconds), int(nanoseconds or "0"))
        array = (ctypes.c_long * 4)(*times)
        follow = 0x100 if flags == "nofollow" else 0
        if LIBC.utimensat(-100, path.encode(), array, follow):
            raise OSError(ctypes.get_errno(), path)

    def do_tick(self) -> None:
        time.sleep(TICK_S)

    def do_changed(self, *paths: str) -> str:
        """Return which times of modification and change differ from those seen before."""
        text = []
        for path in paths:
            status = os.lstat(path)
            now = status.st_mtime_ns, status.st_ctime_ns
            before = self.seen.get(path, now)
            changed = (
                n for n, a, b in zip("mc", before, now, strict=True) if a != b and n in self.times
            )
            text.append(":".join((path, *changed)))
            self.seen[path] = now
        return " ".join(text)

    def do_setx(self, path: str, name: str, value: str = "", flags: str = "0") -> None:
        os.setxattr(path, name, value.encode(), int(flags))

    def do_getx(self, path: str, name: str) -> str:
        return repr(os.getxattr(path, name))

    def do_listx(self, path: str) -> str:
        return " ".join(sorted(n for n in os.listxattr(path) if n.startswith("user.")))

    def do_statvfs(self, path: str) -> str:
        return str(os.statvfs(path).f_namemax)

    # Data.

    def do_open(self, path: str, flags: str, mode: str = "644") -> None:
        os.close(os.open(path, self.flags(flags), int(mode, 8)))

    def do_hold(self, file: str, path: str, flags: str, mode: str = "644") -> None:
        self.held[file] = os.open(path, self.flags(flags), int(mode, 8))

    def flags(self, names: str) -> int:
        """Return the flags of their names, such as `w,creat`."""
        short = {"r": "rdonly", "w": "wronly", "rw": "rdwr"}
        value = 0
        for name in names.split(","):
            value |= getattr(os, f"O_{short.get(name, name)}".upper())
        return value

    def do_close(self, file: str) -> None:
        os.close(self.held.pop(file))

    def do_put(self, path: str, text: str = "text") -> None:
        with open(path, "w") as file:
            file.write(text)

    def do_cat(self, path: str) -> str:
        with open(path, "rb") as file:
            return repr(file.read())

    def do_write(self, file: str, text: str) -> str:
        return str(os.write(self.held[file], text.encode()))

    def do_pwrite(self, file: str, text: str, at: str) -> str:
        return str(os.pwrite(self.held[file], text.encode(), int(at)))

    def do_read(self, file: str, count: str) -> str:
        return repr(os.read(self.held[file], int(count)))

    def do_pread(self, file: str, count: str, at: str) -> str:
        return repr(os.pread(self.held[file], int(count), int(at)))

    def do_seek(self, file: str, at: str, base: str = "0") -> str:
        return str(os.lseek(self.held[file], int(at), int(base)))

    def do_truncate(self, path: str, size: str) -> None:
        os.truncate(path, int(size))

    def do_ftruncate(self, file: str, size: str) -> None:
        os.ftruncate(self.held[file], int(size))

    def do_fallocate(self, file: str, at: str, count: str) -> None:
        os.posix_fallocate(self.held[file], int(at), int(count))

    def do_fsync(self, file: str) -> None:
        os.fsync(self.held[file])


def privileged(folder: Path) -> bool:
    """Return whether permissions of files do not bind this process."""
    probe = folder / "probe"
    probe.touch(mode=0)
    try:
        probe.read_bytes()
    except PermissionError:
        return False
    finally:
        probe.unlink()
    return True


def cases(is_privileged: bool) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give the name and the steps of each case, and the result that each step must have."""
    for name, lines in CASES.items():
        if name.endswith("[user]") and is_privileged:
            continue
        steps = (line.partition(" -> ") for line in lines)
        yield name, [(step, expected) for step, _, expected in steps]


def run_case(folder: Path, other: Path, steps: list[tuple[str, str]], times: str) -> Result:
    """Run the steps of a case in a folder."""
    folder.mkdir()
    os.chdir(folder)
    run = Steps(other, times)
    try:
        return [(step, run.run(step)) for step, _ in steps]
    finally:
        run.close()
        os.chdir("/")


def differences(name: str, mounted: Result, plain: Result) -> list[str]:
    """Return what differs, except what is left out."""
    found = []
    for (step, one), (_, other) in zip(mounted, plain, strict=True):
        is_left_out = any(
            re.fullmatch(case, name) and re.match(each, step) for case, each, _ in LEFT_OUT
        )
        if one != other and not is_left_out:
            found.append(f"{name}: {step[:80]}: {one[:80]!r} in the mount, {other[:80]!r} outside")
    return found


def compare(mount: Path, plain: Path, times: str) -> tuple[int, list[str]]:
    """Run all cases in both folders, and compare these times of files.

    Returns:
        The number of checks, and a line for each that is wrong.
    """
    count, wrong = 0, []
    for number, (name, steps) in enumerate(cases(privileged(plain))):
        one, other = mount / f"case-{number}", plain / f"case-{number}"
        results = run_case(one, plain, steps, times), run_case(other, mount, steps, times)
        count += len(steps)
        wrong += differences(name, *results)
        for (step, expected), (_, found) in zip(steps, results[1], strict=True):
            is_error = found in errno.errorcode.values()
            if expected != "?" and (found if is_error else "") not in expected.split("|"):
                wrong.append(f"{name}: {step[:80]}: {found!r} outside, not {expected!r}")
    for name, function in FUNCTIONS.items():
        results = []
        for folder in (mount / name, plain / name):
            folder.mkdir()
            results.append([(step, attempt(call)) for step, call in function(folder)])
        count += len(results[0])
        wrong += differences(name, *results)
        wrong += [f"{name}: {step}: {text} outside" for step, text in results[1] if text != "True"]
    for folder in (mount, plain):
        shutil.rmtree(folder, ignore_errors=True)
    return count, wrong


def main() -> None:
    """Compare two folders, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("mount", type=Path)
    parser.add_argument("plain", type=Path)
    parser.add_argument("--cached", action="store_true", help="the daemon has a cache")
    given = parser.parse_args()
    times = "m" if given.cached else "mc"
    count, wrong = compare(given.mount.absolute(), given.plain.absolute(), times)
    for line in wrong:
        print(line)
    print(f"{count} checks, {len(wrong)} wrong, {len(LEFT_OUT)} known differences")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

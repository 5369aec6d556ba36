"""The command line within the process of the tests.

Most commands cost less than a start of Python with the imports of the package. A test of a
terminal, a pipe, a signal, a limit, a lock or of two commands at once starts a process.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

import pytest

import isthmus
from isthmus.cli import main
from isthmus.cli import process as ending

TIMEOUT_S = 300
"""Longer than any command of a test takes on a busy machine."""
READ_ONCE = ("PYTHON", "LC_", "LANG", "LD_", "MPL", "POLARS_", "OPENBLAS_", "OMP_", "TZ")
"""Beginnings of variables that Python and libraries read when they start."""
ENTRY = str(Path(isthmus.__file__).with_name("__main__.py"))
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SILENT = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""What Python does not print of libraries unless asked to."""

Done = subprocess.CompletedProcess[str]


class _LeftError(BaseException):
    """`os._exit` of a command: nothing on the way may catch it."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def process(
    *words: object,
    cwd: Path | None = None,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command of `isthmus` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "isthmus", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        timeout=TIMEOUT_S,
        check=False,
    )


def call(
    *words: object,
    cwd: Path | None = None,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command of `isthmus` here, and return what its process would have returned.

    It starts a process if a variable is one that Python reads at its start, and if another thread
    than the main one calls: folder, environment and output belong to the whole process.
    """
    given = dict(environment or {})
    alone = threading.current_thread() is threading.main_thread()
    if not alone or any(name.startswith(READ_ONCE) for name in given):
        return process(*words, cwd=cwd, stdin=stdin, environment=given)
    line = [ENTRY, *map(str, words)]
    with ExitStack() as stack:
        source, out, error = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write((stdin or "").encode())
        source.seek(0)
        with _surroundings(cwd, given, line), _streams(source, out, error), _limited(line):
            status = _status()
        return subprocess.CompletedProcess(line, status, _text(out), _text(error))


def _status() -> int:
    """Run the command line of `sys.argv`; its exit status."""
    try:
        main()
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    except _LeftError as left:
        if left.status == ending.INTERRUPTED:
            # A test that interrupts a command gives it a process: this was for the tests.
            raise KeyboardInterrupt from None
        return left.status


@contextmanager
def _surroundings(
    cwd: Path | None, environment: Mapping[str, str], line: list[str]
) -> Iterator[None]:
    """Set what a new process has; afterwards all that a command sets is as it was."""
    pid, leave, words = os.getpid(), os._exit, sys.argv
    folder, variables, mask = os.open(".", os.O_RDONLY), dict(os.environ), os.umask(0o22)
    os.umask(mask)
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    threshold, hook = gc.get_threshold(), sys.unraisablehook

    def left(status: int) -> NoReturn:
        if os.getpid() != pid:
            leave(status)
        raise _LeftError(status)

    try:
        os.environ.update(environment)
        if cwd is not None:
            os.chdir(cwd)
        sys.argv = line
        os._exit = left  # type: ignore[assignment]
        for number in HANDLED[:2]:
            signal.signal(number, signal.default_int_handler)
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for category in SILENT:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = _shown  # type: ignore[assignment]
            yield
    finally:
        sys.argv, os._exit, sys.unraisablehook = words, leave, hook  # type: ignore[assignment]
        ending._ended_by = signal.SIGINT
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.unfreeze()
        gc.set_threshold(*threshold)
        os.umask(mask)
        os.fchdir(folder)
        os.close(folder)
        os.environ.clear()
        os.environ.update(variables)


def _shown(message: object, category: type[Warning], filename: str, lineno: int, *_: object):
    print(warnings.formatwarning(str(message), category, filename, lineno), file=sys.stderr, end="")


@contextmanager
def _streams(*files: IO[bytes]) -> Iterator[None]:
    """Have descriptors 0 to 2 be these files: the core and other programs write there, too."""
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    kept = [os.dup(number) for number in range(len(files))]
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        # They are closed with the files.
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _limited(line: list[str]) -> Iterator[None]:
    """Fail the test of a command that goes on for `TIMEOUT_S`."""

    def late(_number: int, _frame: FrameType | None) -> NoReturn:
        pytest.fail(f"{line} goes on after {TIMEOUT_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(file).read()

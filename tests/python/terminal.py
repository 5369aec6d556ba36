"""A command on a pseudo-terminal, and the screen as a person sees it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

LIMIT_S = 600.0
SHORT = (
    "machine.dimension=3",
    "stop.precision=50%",
    "stop.messages_first=2000",
    "stop.messages_max=4000",
    "search.resolution=50%",
)
"""Changes with which a scenario of a hypercube runs in seconds."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")


class Terminal:
    """A process of its own on a terminal of its own; `stdout` may go elsewhere."""

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        *,
        columns: int = 80,
        lines: int = 40,
        stdout: Path | None = None,
        stdin: str | None = None,
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, lines, history=100_000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        """All that was written to the terminal."""
        self.seen: list[str] = []
        """Every line that was on the screen at some time and looked like a bar."""
        self.widest = 0
        given: dict[str, str | None] = {
            "TERM": "xterm-256color",
            "NO_COLOR": None,
            "COLUMNS": None,
            "LINES": None,
            **(environment or {}),
        }
        whole = {k: v for k, v in {**os.environ, **given}.items() if v is not None}
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            self._become(words, cwd, whole, columns, lines, stdout, stdin)
        self._began = time.monotonic()

    @staticmethod
    def _become(
        words: Sequence[str],
        cwd: Path,
        environment: dict[str, str],
        columns: int,
        lines: int,
        stdout: Path | None,
        stdin: str | None,
    ) -> None:
        try:
            # Whoever runs the tests in the background may ignore Ctrl-C; a terminal does not.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            size = struct.pack("HHHH", lines, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.chdir(cwd)
            if stdout is not None:
                os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            if stdin is not None:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.execve(sys.executable, [sys.executable, *words], environment)
        finally:
            os._exit(127)

    def read(self, wait_s: float = 0.05) -> bool:
        """Take what the process has written; False when it has ended."""
        ready, _, _ = select.select([self._fd], [], [], wait_s)
        if not ready:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return False
        if not data:
            return False
        self.raw += data
        # Cut at returns, so that each state of a line that is drawn over is seen.
        for piece in re.split(rb"(?<=\r)", data):
            self._stream.feed(piece)
            self._note()
        return True

    def _note(self) -> None:
        for line in self.screen.display:
            text = line.rstrip()
            if re.search(r"building|simulating|writing|drawing", text) and text not in self.seen:
                self.seen.append(text)
                self.widest = max(self.widest, len(text))

    def until(self, condition: Callable[[], object]) -> None:
        """Read until something is on the screen."""
        while not condition():
            assert time.monotonic() - self._began < LIMIT_S, self.text()
            assert self.read(), f"ended early:\n{self.text()}"

    def end(self) -> int:
        """Read to the end; the exit status, negative for a signal."""
        while self.read(0.2):
            assert time.monotonic() - self._began < LIMIT_S, self.text()
        _, status = os.waitpid(self.pid, 0)
        os.close(self._fd)
        return os.waitstatus_to_exitcode(status)

    def close(self) -> int:
        """Close the window; the exit status of what ran in it, as of `end`."""
        os.close(self._fd)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def press(self, key: bytes) -> None:
        """Type, as at the keyboard: ``b"\\x03"`` is Ctrl-C."""
        os.write(self._fd, key)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def resize(self, columns: int, lines: int = 40) -> None:
        """Pull at the corner of the window, which shows what was written before."""
        while select.select([self._fd], [], [], 0)[0] and self.read(0):
            pass
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def text(self) -> str:
        """The screen with what has scrolled away, without trailing blanks."""
        past = [
            "".join(line[x].data for x in range(self.screen.columns))
            for line in self.screen.history.top
        ]
        return "\n".join(line.rstrip() for line in [*past, *self.screen.display]).rstrip()

    def bars(self) -> list[str]:
        """The lines that were bars."""
        return [line for line in self.seen if "█" in line or "░" in line]

    @property
    def cursor_is_there(self) -> bool:
        """Whether the cursor can be seen and is at the start of a line."""
        return not self.screen.cursor.hidden and self.screen.cursor.x == 0

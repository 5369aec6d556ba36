"""Progress on standard error: a bar on a terminal, lines elsewhere.

The bar is one line, never wider than the terminal. The cursor stays visible at its start, so that
the terminal stays usable however the process ends. Erasing from there to the end of the screen also
removes lines that the terminal wrapped when its window became narrower.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from isthmus.progress import Progress, Watch
from isthmus.progress.line import BLOCKS, HASHES, Pace, bar_line, plain_line

TICK_S = 0.1
"""Seconds between two updates of the bar: its clock advances even without progress."""
LINE_S = 10.0
"""Seconds between two lines of progress on a terminal that cannot draw a bar."""
WIDTH = 80
"""Default width of a terminal, in columns."""
WIDTH_MAX = 120
"""The maximum width of the bar, in columns."""
ERASE = "\x1b[J"
"""Control sequence that erases from the cursor to the end of the screen."""


def here() -> bool:
    """Return whether standard error is a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):
        return False


def draws() -> bool:
    """Return whether the terminal understands control sequences, so that a bar can be drawn."""
    return os.environ.get("TERM", "") not in ("dumb", "unknown", "")


@contextmanager
def shown() -> Iterator[Watch]:
    """Show the progress of a run during a ``with`` block: as a bar, or as lines if the terminal
    cannot draw. Yield the update function.
    """
    if not draws():
        with lines(LINE_S) as update:
            yield update
        return
    bar = _Bar(sys.stderr)
    bar.start()
    try:
        yield bar.update
    finally:
        bar.stop()


@contextmanager
def lines(every_s: float = 0.0) -> Iterator[Watch]:
    """Print the progress as text lines during a ``with`` block: one when the phase changes, and at
    most one per `every_s` seconds when points are done or the state of other processes changes.
    """
    pace, said_at, said = Pace(time.monotonic()), float("-inf"), ""
    last = Progress("")

    def update(progress: Progress) -> None:
        """Record new progress, and print a line if it is due."""
        nonlocal said_at, said, last
        now = time.monotonic()
        pace.update(progress, now)
        new = (progress.phase, progress.title) != (last.phase, last.title)
        more = progress.points_done > last.points_done or progress.state != last.state
        text = plain_line(pace, now)
        if (new or (more and now - said_at >= every_s)) and text != said:
            said_at, said, last = now, text, progress
            say(text)

    yield update


def say(text: str) -> None:
    """Print one line on standard error, if possible.

    On a terminal it overwrites the current line: the ^C that the terminal printed, or a bar, which
    is drawn again below it.
    """
    start = f"\r{ERASE}" if here() and draws() else ""
    try:
        print(f"{start}isthmus: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


class _Bar:
    """A progress bar: a line of the terminal that a thread draws repeatedly."""

    def __init__(self, stream: TextIO) -> None:
        """Prepare the bar on a terminal; `start` draws it."""
        self._stream = stream
        self._pace = Pace(time.monotonic())
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="isthmus-bar", daemon=True)
        utf = (getattr(stream, "encoding", "") or "").lower().replace("-", "") == "utf8"
        self._blocks = BLOCKS if utf else HASHES
        self._colour = not os.environ.get("NO_COLOR")

    def start(self) -> None:
        """Draw the bar and start the thread that draws it again."""
        self._draw()
        self._ticker.start()

    def stop(self) -> None:
        """End the thread that draws the bar, and erase the bar."""
        self._ended.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self._write("\r" + ERASE)

    def update(self, progress: Progress) -> None:
        """Record new progress for the next drawing of the bar."""
        with self._lock:
            self._pace.update(progress, time.monotonic())

    def _tick(self) -> None:
        """Draw the bar again every `TICK_S` seconds until `stop` is called."""
        while not self._ended.wait(TICK_S):
            self._draw()

    def _draw(self) -> None:
        """Draw the bar at the cursor's line."""
        with self._lock:
            line = bar_line(self._pace, time.monotonic(), self._width(), blocks=self._blocks)
        if self._colour:
            done = self._blocks[0]
            first, last = line.find(done), line.rfind(done)
            if first >= 0:
                line = f"{line[:first]}\x1b[36m{line[first : last + 1]}\x1b[0m{line[last + 1 :]}"
        self._write(f"\r{line}{ERASE}\r")

    def _width(self) -> int:
        """Return the maximum width of the bar on this terminal."""
        try:
            width = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            width = 0
        # Leave the last column free: a character there makes some terminals begin a new line.
        return min(width or WIDTH, WIDTH_MAX + 1) - 1

    def _write(self, text: str) -> None:
        """Write text to the terminal; stop drawing if that fails."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone: stop drawing. The run continues.
            self._ended.set()

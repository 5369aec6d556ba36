"""The progress on standard error: a bar on a terminal, lines elsewhere.

The bar is one line that is never wider than the terminal. The cursor stays visible at its start,
so that whatever ends the process leaves a usable terminal, and erasing from there to the end of the
screen also takes what a terminal has wrapped when its window was made narrower.
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
"""Seconds between two drawings: the time goes on even where nothing is told."""
LINE_S = 10.0
"""Seconds between two lines of a terminal that draws nothing."""
WIDTH = 80
"""Columns of a terminal that does not tell."""
WIDTH_MAX = 120
"""Most columns that the bar takes."""
ERASE = "\x1b[J"
"""From the cursor to the end of the screen."""


def here() -> bool:
    """Whether standard error is a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):
        return False


def draws() -> bool:
    """Whether the terminal understands control sequences."""
    return os.environ.get("TERM", "") not in ("dumb", "unknown", "")


@contextmanager
def shown() -> Iterator[Watch]:
    """Show a bar; lines on a terminal that can only print."""
    if not draws():
        with lines(LINE_S) as told:
            yield told
        return
    bar = _Bar(sys.stderr)
    bar.start()
    try:
        yield bar.told
    finally:
        bar.stop()


@contextmanager
def lines(every_s: float = 0.0) -> Iterator[Watch]:
    """Print a line when the phase changes, and one in `every_s` when points are done or the state
    is another.
    """
    pace, said_at, said = Pace(time.monotonic()), float("-inf"), ""
    last = Progress("")

    def told(progress: Progress) -> None:
        nonlocal said_at, said, last
        now = time.monotonic()
        pace.told(progress, now)
        new = (progress.phase, progress.title) != (last.phase, last.title)
        more = progress.points_done > last.points_done or progress.state != last.state
        text = plain_line(pace, now)
        if (new or (more and now - said_at >= every_s)) and text != said:
            said_at, said, last = now, text, progress
            say(text)

    yield told


def say(text: str) -> None:
    """Print one line on standard error, if it can be printed.

    On a terminal it goes over what is on the line: the ^C that the terminal itself has written, or
    a bar, which is drawn again below it.
    """
    start = f"\r{ERASE}" if here() and draws() else ""
    try:
        print(f"{start}isthmus: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


class _Bar:
    """A line of the terminal that is drawn again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._pace = Pace(time.monotonic())
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="isthmus-bar", daemon=True)
        utf = (getattr(stream, "encoding", "") or "").lower().replace("-", "") == "utf8"
        self._blocks = BLOCKS if utf else HASHES
        self._colour = not os.environ.get("NO_COLOR")

    def start(self) -> None:
        self._draw()
        self._ticker.start()

    def stop(self) -> None:
        self._ended.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self._write("\r" + ERASE)

    def told(self, progress: Progress) -> None:
        with self._lock:
            self._pace.told(progress, time.monotonic())

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            line = bar_line(self._pace, time.monotonic(), self._width(), blocks=self._blocks)
        if self._colour:
            done = self._blocks[0]
            first, last = line.find(done), line.rfind(done)
            if first >= 0:
                line = f"{line[:first]}\x1b[36m{line[first : last + 1]}\x1b[0m{line[last + 1 :]}"
        self._write(f"\r{line}{ERASE}\r")

    def _width(self) -> int:
        try:
            told = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            told = 0
        # The last column stays free: a character there makes some terminals begin a new line.
        return min(told or WIDTH, WIDTH_MAX + 1) - 1

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal has gone; the run has not.
            self._ended.set()

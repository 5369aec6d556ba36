"""A spinner on a terminal during work of the core without known progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_S = 0.7
"""Seconds before the spinner appears."""


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show `words` beside a spinner on standard error, if it is a terminal and the work is long."""
    from isthmus.cli.voice import voice
    from isthmus.progress import terminal

    if voice().quiet or not (terminal.here() and terminal.draws()):
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{words} (Ctrl-C stops)")
    timer = threading.Timer(DELAY_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()

"""A sign of life on a terminal while the core works without a bar."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_S = 0.7
"""What takes no longer needs no sign."""


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show `words` beside a spinner on standard error, if that is a terminal and it takes long."""
    if not sys.stderr.isatty():
        yield
        return
    from isthmus.cli.console import console

    status = console(stderr=True).status(f"{words} (Ctrl-C stops)")
    timer = threading.Timer(DELAY_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()

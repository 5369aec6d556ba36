"""Progress in a notebook: a bar below the cell that disappears at the end."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from isthmus.progress import Progress, Watch
from isthmus.progress.line import Pace, plain_line, share

TICK_S = 0.25
"""The minimum number of seconds between two updates of the bar in the same phase."""


def here() -> bool:
    """Return whether the program runs in a notebook, which shows HTML below a cell."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def shown() -> Iterator[Watch]:
    """Show a progress bar below the cell during a ``with`` block; yield its update function."""
    from IPython.display import HTML, display

    pace, drawn = Pace(time.monotonic()), {"at": float("-inf")}
    place = display(HTML(_html(pace, time.monotonic())), display_id=True)  # type: ignore[no-untyped-call, unused-ignore]

    def update(progress: Progress) -> None:
        """Record new progress, and draw the bar again at most every `TICK_S`."""
        now, before = time.monotonic(), pace.progress
        pace.update(progress, now)
        if before.phase != progress.phase or now - drawn["at"] >= TICK_S:
            drawn["at"] = now
            place.update(HTML(_html(pace, now)))  # type: ignore[no-untyped-call, unused-ignore]

    try:
        yield update
    finally:
        place.update(HTML(""))  # type: ignore[no-untyped-call, unused-ignore]


def _html(pace: Pace, now: float) -> str:
    """Return the progress bar and its text as HTML."""
    value = f' value="{share(pace.progress):.4f}"' if pace.progress.points_total else ""
    text = html.escape(plain_line(pace, now))
    return f'<progress max="1"{value} style="width: 16em"></progress> {text}'

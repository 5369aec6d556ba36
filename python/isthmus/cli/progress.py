"""The progress bar: points, messages per second, time left; on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from isthmus.execution import Progress


@contextmanager
def shown(title: str) -> Iterator[Callable[[Progress], None]]:
    """Show a bar on a terminal, and nothing where standard error is a file or a pipe."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich import progress as rich

    from isthmus.cli.console import console

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(bar_width=None),
        rich.TextColumn("{task.completed:.0f}/{task.total:.0f} points"),
        rich.TextColumn("{task.fields[rate]}"),
        rich.TimeRemainingColumn(compact=True),
        rich.TextColumn("left"),
    )
    began = time.monotonic()
    with rich.Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(_short(title), total=None, rate="")

        def show(progress: Progress) -> None:
            elapsed = max(time.monotonic() - began, 1e-3)
            bar.update(
                task,
                completed=progress.points_done,
                total=progress.points_total or None,
                rate=f"{_rate(progress.messages / elapsed)} messages/s",
            )

        yield show


def _short(title: str, limit: int = 40) -> str:
    return title if len(title) <= limit else title[: limit - 1].rstrip() + "…"


def _rate(per_second: float) -> str:
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if per_second >= size:
            return f"{per_second / size:.1f}{letter}"
    return f"{per_second:.0f} "

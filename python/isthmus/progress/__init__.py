"""How far a run is, and who shows it: a terminal, a notebook, nobody."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """How far a run is; a saturation search counts as a point."""

    phase: str = "building"
    """``building``, ``simulating``, ``writing`` or ``drawing``; the last two may alternate."""
    points_done: int = 0
    points_total: int = 0
    """0 as long as nobody knows."""
    messages: int = 0
    step: int = 0
    """Files or pictures that are done, while these are written or drawn."""
    steps: int = 0
    """Their number; 0 if nobody knows."""
    title: str = ""
    """Of what is run."""
    state: str = ""
    """How those are doing who do it, where others do."""


Watch = Callable[[Progress], None]
"""Called with the progress again and again."""
Tell = Callable[[str, int, int], None]
"""Called with a phase, the steps of it that are done, and their number."""


def unwatched(_progress: Progress) -> None:
    """Show nothing."""


def untold(_phase: str, _step: int, _steps: int) -> None:
    """Tell nobody."""


def telling(watch: Watch, title: str, points: int = 0) -> Tell:
    """What is written and drawn after a simulation, as progress of the same run."""
    last = Progress("writing", points, points, title=title)

    def tell(phase: str, step: int, steps: int) -> None:
        watch(replace(last, phase=phase, step=step, steps=steps))

    return tell


def bar(wanted: bool | None = None) -> AbstractContextManager[Watch]:
    """A bar for as long as the context lasts; it leaves nothing behind.

    Args:
        wanted: None for a bar in a notebook or where standard error is a terminal, True for one
            anywhere, lines of text where nothing can be drawn, False for none.

    """
    from isthmus.progress import notebook, terminal

    if wanted is False:
        return nullcontext(unwatched)
    if notebook.here():
        return notebook.shown()
    if terminal.here():
        return terminal.shown()
    return terminal.lines() if wanted else nullcontext(unwatched)

"""Progress of a run, and its display in a terminal, a notebook or nowhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """The progress of a run; a saturation search counts as a point."""

    phase: str = "building"
    """``building``, ``simulating``, ``writing`` or ``drawing``; the last two may alternate."""
    points_done: int = 0
    points_total: int = 0
    """Number of all points of the run; 0 while unknown."""
    messages: int = 0
    step: int = 0
    """Number of finished files or pictures, while files are written or pictures are drawn."""
    steps: int = 0
    """Number of files or pictures to write or draw; 0 if unknown."""
    title: str = ""
    """Title of the run."""
    state: str = ""
    """State of other processes that do the run, if any."""


Watch = Callable[[Progress], None]
"""Function that is called with the progress repeatedly."""
Tell = Callable[[str, int, int], None]
"""Function that is called with a phase, its number of finished steps, and its number of steps."""


def unwatched(_progress: Progress) -> None:
    """Ignore the progress: a `Watch` that shows nothing."""


def untold(_phase: str, _step: int, _steps: int) -> None:
    """Ignore the steps: a `Tell` that shows nothing."""


def telling(watch: Watch, title: str, points: int = 0) -> Tell:
    """Return a function that reports writing and drawing as progress of a simulated run."""
    last = Progress("writing", points, points, title=title)

    def tell(phase: str, step: int, steps: int) -> None:
        """Report a step of writing or drawing."""
        watch(replace(last, phase=phase, step=step, steps=steps))

    return tell


def bar(wanted: bool | None = None) -> AbstractContextManager[Watch]:
    """Show a progress bar while the context lasts; the bar is erased at the end.

    Args:
        wanted: None for a bar in a notebook or on a terminal at standard error; True for a bar
            anywhere, as lines of text if nothing can be drawn; False for none.

    """
    from isthmus.progress import notebook, terminal

    if wanted is False:
        return nullcontext(unwatched)
    if notebook.here():
        return notebook.shown()
    if terminal.here():
        return terminal.shown()
    return terminal.lines() if wanted else nullcontext(unwatched)

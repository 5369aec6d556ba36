"""Progress of a run, and its display in a terminal, a notebook or nowhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """State of a running command: its phase and its number of finished points (searches count as
    points).
    """

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
    """Text about other processes that do the run, for example ``waits for 3 points of others``."""


Watch = Callable[[Progress], None]
"""Type of a callback that receives the `Progress` of a run repeatedly, for example to show it."""
StepCallback = Callable[[str, int, int], None]
"""Type of a callback that receives the name of a phase, its finished steps and all its steps."""


def ignore_progress(_progress: Progress) -> None:
    """Do nothing: a callback for the progress of a run that shows nothing."""


def ignore_steps(_phase: str, _step: int, _steps: int) -> None:
    """Do nothing: a callback for the steps of writing and drawing that shows nothing."""


def step_callback(watch: Watch, title: str, points: int = 0) -> StepCallback:
    """Return a callback that passes steps of writing and drawing to `watch` as progress."""
    last = Progress("writing", points, points, title=title)

    def tell(phase: str, step: int, steps: int) -> None:
        """Pass the number of finished steps of writing or drawing to `watch`."""
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
        return nullcontext(ignore_progress)
    if notebook.here():
        return notebook.shown()
    if terminal.here():
        return terminal.shown()
    return terminal.lines() if wanted else nullcontext(ignore_progress)

"""Common code of `run`, `faults` and `papers run`: options, folder, interruption."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isthmus import arguments
from isthmus.arguments import JOBS_MAX, SEED_MAX
from isthmus.cli.process import DONE, INTERRUPTED
from isthmus.cli.voice import voice
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from isthmus.execution import Job
    from isthmus.results.collection import Results

F = TypeVar("F", bound=Callable[..., Any])


def jobs_option(command: F) -> F:
    """Add the option --jobs to a command."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, JOBS_MAX),
        metavar="N",
        help="Threads [all usable processors].",
    )(command)


def seed_option(text: str) -> Callable[[F], F]:
    """Add the option --seed with a help text to a command."""
    return click.option("--seed", type=click.IntRange(0, SEED_MAX), help=text)


def memory_option(command: F) -> F:
    """Add the option --memory to a command."""
    return click.option(
        "--memory",
        metavar="SIZE",
        help="Memory that simulations may take, such as '4 GB' [half of what there is].",
    )(command)


def threads(jobs: int | None) -> int:
    """Return the number of threads in --jobs; the default is one for each usable processor."""
    from isthmus.core import processors

    return jobs or processors()


def folder_given(out: Path | None) -> Path | None:
    """Return the folder in --out.

    Raises:
        IsthmusError: it is the current folder, which results must not fill.

    """
    if out is not None:
        arguments.path("--out", out, "out/mine")
        if not os.fspath(out).strip("."):
            raise IsthmusError("--out: results need a folder of their own; give its name")
    return out


Ending = Callable[[], int]
"""Last step of a command after its progress bar: prints the result, returns the exit status."""


def ended(run: Callable[[], Results], job: Job, folder: Path, *, as_json: bool) -> Ending:
    """Run the job to its end. Return the last step of the command, which prints warnings, and the
    answer or a report of the interruption.
    """
    from isthmus.execution import Stopped

    def ending() -> int:
        """Print warnings, and the answer or the interruption; return the exit status."""
        for warning in job.warnings:
            voice().note(f"{job.file}: {warning}")
        if results is None:
            return interrupted(folder, reached)
        return print_results(results, folder, as_json=as_json)

    results, reached = None, None
    try:
        results = run()
    except Stopped as stop:
        reached = stop.reached
    except KeyboardInterrupt:
        # Ctrl-C before the first or after the last point: there are no results to print.
        pass
    return ending


def print_results(results: Results, folder: Path, *, as_json: bool) -> int:
    """Print the answer of a run, or its result as JSON; return the exit status."""
    from isthmus.cli.streams import document
    from isthmus.sweeps.words import of_memory

    voice().step(f"results are in {folder}")
    if short := results.run.short_of_memory:
        voice().note(of_memory(short, folder))
    if as_json:
        document(results.json)
        return DONE
    from isthmus.cli.console import print_answer

    print_answer(results.answer)
    click.echo(f"Report: {folder / 'report.html'}")
    return DONE


def interrupted(folder: Path, reached: tuple[int, int] | None = None) -> int:
    """Report the points that were saved before Ctrl-C and how to continue; return the
    exit status.
    """
    from isthmus.progress.terminal import say
    from isthmus.wording import counted

    if not folder.is_dir():
        say("interrupted; nothing was started")
        return INTERRUPTED
    if reached is None:
        kept = f"finished points are kept in {folder}"
    else:
        done, total = reached
        verb = "is" if total == 1 else "are"
        kept = f"{done:,} of {counted(total, 'point')} {verb} kept in {folder}"
        if done == total:
            kept = f"all {counted(total, 'point')} are kept in {folder}, not all is drawn"
    say(f"interrupted; {kept}; run the same command again to go on from there")
    return INTERRUPTED

"""The process of a command: how it begins, how it ends, what it says of a mistake.

Exit statuses are those of docs/command-line.md.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer  # not where it is needed: there, nothing can be imported safely
from types import FrameType
from typing import Any, NoReturn

NAME, COMPLETE = "isthmus", "_ISTHMUS_COMPLETE"
"""The command, and the variable by which a shell asks it to complete a word."""
NO_MEMORY = "not enough memory; give the process more, or run less at a time (--memory, --jobs)"
DONE, FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


def run() -> NoReturn:
    """Run the command that the process was started for, and end the process."""
    try:
        with _interrupts_heard():
            _settle()
            status = _command()
    except KeyboardInterrupt:
        _interrupted()
    _end(status)


def _settle() -> None:
    """Set the process up for a command."""
    # A run that is ended from outside tidies up as after Ctrl-C.
    signal.signal(signal.SIGTERM, _terminated)
    # Its terminal has gone; one that was begun by nohup goes on.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminated)
    # Results of many points are millions of objects without circles: to look for these in all
    # of them again and again would take longer than to read and draw them.
    gc.set_threshold(100_000, 20, 100)
    # Nothing here multiplies matrices, and numpy's threads for that would spin for a while when
    # it is imported: a tenth of a second of processor in each process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Where Ctrl-C hits a destructor, Python would print it and forget it.
    sys.unraisablehook = _unraisable


def _command() -> int:
    """Run the command; the exit status. A mistake becomes one line on standard error."""
    from isthmus.cli import streams

    streams.settle()
    import click

    from isthmus.errors import IsthmusError, RunFailedError

    try:
        with _interrupts_heard():
            status = _invoke()
            sys.stdout.flush()
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        return _say(_usage(error), BAD_INPUT)
    except RunFailedError as error:
        return _say(str(error), FAILED)
    except IsthmusError as error:
        return _say(str(error), BAD_INPUT)
    except streams.OutputError as error:
        if error.broken_pipe:
            return BROKEN_PIPE
        return _say(f"standard output cannot be written ({error})", FAILED)
    except OSError as error:
        return _say(_of_file(error), BAD_INPUT)
    except MemoryError:
        return _say(NO_MEMORY, FAILED)
    except Exception as error:
        return _say(_unexpected(error), FAILED)
    return status if isinstance(status, int) else DONE


def _invoke() -> object:
    """Complete a word for a shell that asks for it, or run the command."""
    from click.exceptions import Exit

    from isthmus.cli.commands import cli

    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, NAME, COMPLETE, asked)
    try:
        with cli.make_context(NAME, sys.argv[1:]) as context:
            return cli.invoke(context)
    except Exit as end:
        # After --help or --version.
        return end.exit_code


def _say(message: str, status: int) -> int:
    """Print a mistake in one line; nobody hears it where standard error cannot be written."""
    from isthmus.errors import one_line
    from isthmus.progress.terminal import say

    say(one_line(message))
    return status


def _usage(error: Any) -> str:
    """What was wrong with the words of the command line, and where its help is."""
    import click

    message: str = error.format_message()
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(sorted(error.possibilities or ()))
        message = f"no option {error.option_name}" + (f"; did you mean {near}?" if near else "")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        link = " " if message.endswith("?") else "; "
        message = f"{message.rstrip('.')}{link}see `{error.ctx.command_path} --help`"
    return message


def _of_file(error: OSError) -> str:
    """A disk that fails, a folder taken away: the message names the file where there is one."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


@contextmanager
def _interrupts_heard() -> Iterator[None]:
    """Raise Ctrl-C again where something else was raised of it, as Python before 3.12 does where it
    hits a class that is being made.
    """
    try:
        yield
    except Exception as error:
        # An error may be its own cause.
        seen: list[BaseException] = []
        cause: BaseException | None = error
        while cause is not None and not any(cause is each for each in seen):
            seen.append(cause)
            cause = cause.__cause__
        if not any(isinstance(each, KeyboardInterrupt) for each in seen):
            raise
        raise KeyboardInterrupt from None


def _unexpected(error: Exception) -> str:
    """A mistake of isthmus itself: enough to find it, and how to see more."""
    import traceback

    if os.environ.get("ISTHMUS_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, NameError) and frames and "polars" in frames[-1].filename:
        # It warns, and goes on, where its library could not be loaded.
        return f"polars could not be loaded: {NO_MEMORY}, or install polars again"
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""  # noqa: PTH119
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"an error of isthmus itself: {told}{place}; please report it with the command "
        "(ISTHMUS_TRACEBACK=1 shows where it comes from)"
    )


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """Told to end: the same way out as Ctrl-C, with a status of its own."""
    global _ended_by  # noqa: PLW0603 - signal handlers have nothing else
    _ended_by = number
    # A terminal that goes is told by the system and by the shell: once is enough.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise KeyboardInterrupt


_ended_by: int = signal.SIGINT


def ended() -> None:
    """End a command that goes on until it is told to end: well after Ctrl-C, after another signal
    with its status.

    Raises:
        Exit: it was SIGTERM or SIGHUP.

    """
    from click.exceptions import Exit

    if _ended_by != signal.SIGINT:
        raise Exit(128 + _ended_by)


def _unraisable(told: Any) -> None:
    """Ctrl-C in a destructor or a callback: raised again where it can be heard."""
    if told.exc_type is not None and issubclass(told.exc_type, KeyboardInterrupt):
        # A little later: here, too, it would be lost.
        again = Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
    elif os.environ.get("ISTHMUS_TRACEBACK"):
        sys.__unraisablehook__(told)


def _interrupted() -> NoReturn:
    """End at once after Ctrl-C: threads of the core may still work, and nobody waits for them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _say("interrupted", INTERRUPTED)
    _quit(128 + _ended_by)


def _quit(status: int) -> NoReturn:
    """End without asking anyone."""
    _flushed()
    os._exit(status)


def _flushed() -> bool:
    """Whether all that was said is out; Python tries the rest again when it ends, and complains."""
    from isthmus.cli.streams import OutputError

    well = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, OutputError):
            well = False
    return well


def _end(status: int) -> NoReturn:
    """End the process; nothing that happens from here on is told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if status in (INTERRUPTED, BROKEN_PIPE):
        _quit(128 + _ended_by if status == INTERRUPTED else status)
    if not _flushed():
        _quit(status)
    # Nor does it look for circles in millions of objects that go with the process.
    gc.freeze()
    sys.exit(status)

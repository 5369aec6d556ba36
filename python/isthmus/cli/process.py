"""The process of a command: its start, its end, and its error messages.

Exit statuses are those of docs/command-line.md.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer  # imported here, as signal handlers cannot import safely
from types import FrameType
from typing import Any, NoReturn

NAME, COMPLETE = "isthmus", "_ISTHMUS_COMPLETE"
"""The name of the command, and the environment variable of shell completion."""
NO_MEMORY = "not enough memory; give the process more, or run less at a time (--memory, --jobs)"
DONE, FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


def run() -> NoReturn:
    """Run the command and end the process."""
    try:
        with _interrupts_handled():
            _configure_process()
            status = _command()
    except KeyboardInterrupt:
        _interrupted()
    _end(status)


def _configure_process() -> None:
    """Configure signals, garbage collection and threads of the process for a command."""
    # SIGTERM cleans up like Ctrl-C.
    signal.signal(signal.SIGTERM, _terminated)
    # SIGHUP means that the terminal has closed; under nohup the command continues.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminated)
    # Collect garbage rarely. Results of many points are millions of objects without reference
    # cycles, and frequent garbage collection would take longer than reading and plotting them.
    gc.set_threshold(100_000, 20, 100)
    # Limit numpy's threads for matrix products to one. Matrix products are not used, and after the
    # import more threads would waste 0.1 s of processor time in each process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Set a handler of exceptions in destructors: by default, Python prints and drops a Ctrl-C that
    # arrives in a destructor.
    sys.unraisablehook = _unraisable


def _command() -> int:
    """Run the command and return the exit status. An error is one line on standard error."""
    from isthmus.cli import streams

    streams.settle()
    import click

    from isthmus.errors import IsthmusError, RunFailedError

    try:
        with _interrupts_handled():
            status = _invoke()
            sys.stdout.flush()
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        return _print_error(_usage_message(error), BAD_INPUT)
    except RunFailedError as error:
        return _print_error(str(error), FAILED)
    except IsthmusError as error:
        return _print_error(str(error), BAD_INPUT)
    except streams.OutputError as error:
        if error.broken_pipe:
            return BROKEN_PIPE
        return _print_error(f"standard output cannot be written ({error})", FAILED)
    except OSError as error:
        return _print_error(_os_error_message(error), BAD_INPUT)
    except MemoryError:
        return _print_error(NO_MEMORY, FAILED)
    except Exception as error:
        return _print_error(_internal_error_message(error), FAILED)
    return status if isinstance(status, int) else DONE


def _invoke() -> object:
    """Answer a shell completion request, or run the command."""
    from click.exceptions import Exit

    from isthmus.cli.commands import cli

    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, NAME, COMPLETE, asked)
    try:
        with cli.make_context(NAME, sys.argv[1:]) as context:
            return cli.invoke(context)
    except Exit as end:
        # click raises this exception after --help or --version.
        return end.exit_code


def _print_error(message: str, status: int) -> int:
    """Print an error in one line, if standard error is writable."""
    from isthmus.errors import one_line
    from isthmus.progress.terminal import say

    say(one_line(message))
    return status


def _usage_message(error: Any) -> str:
    """Return the message of a usage error, with a pointer to the help."""
    import click

    message: str = error.format_message()
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(sorted(error.possibilities or ()))
        message = f"no option {error.option_name}" + (f"; did you mean {near}?" if near else "")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        link = " " if message.endswith("?") else "; "
        message = f"{message.rstrip('.')}{link}see `{error.ctx.command_path} --help`"
    return message


def _os_error_message(error: OSError) -> str:
    """Return the message of an OS error, with the file name if known."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


@contextmanager
def _interrupts_handled() -> Iterator[None]:
    """Raise `KeyboardInterrupt` instead of any error in the block that a Ctrl-C caused.

    Before 3.12, Python replaces a Ctrl-C during the creation of a class by another error.
    """
    try:
        yield
    except Exception as error:
        # Remember the visited causes, because the chain of causes may contain a cycle.
        seen: list[BaseException] = []
        cause: BaseException | None = error
        while cause is not None and not any(cause is each for each in seen):
            seen.append(cause)
            cause = cause.__cause__
        if not any(isinstance(each, KeyboardInterrupt) for each in seen):
            raise
        raise KeyboardInterrupt from None


def _internal_error_message(error: Exception) -> str:
    """Return the message of an internal error, with its location and how to get a traceback."""
    import traceback

    if os.environ.get("ISTHMUS_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, NameError) and frames and "polars" in frames[-1].filename:
        # This NameError means that polars could not load its library, about which it only warned.
        return f"polars could not be loaded: {NO_MEMORY}, or install polars again"
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""  # noqa: PTH119
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"an error of isthmus itself: {text}{place}; please report it with the command "
        "(ISTHMUS_TRACEBACK=1 shows where it comes from)"
    )


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """Handle a termination signal: exit like Ctrl-C, with another status."""
    global _ended_by  # noqa: PLW0603 - signal handlers have nothing else
    _ended_by = number
    # A closed terminal sends SIGHUP twice, from the system and the shell; ignore the second.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise KeyboardInterrupt


_ended_by: int = signal.SIGINT


def ended() -> None:
    """Exit a command that runs until it is stopped: with success after Ctrl-C, with the status of
    any other signal.

    Raises:
        Exit: it was SIGTERM or SIGHUP.

    """
    from click.exceptions import Exit

    if _ended_by != signal.SIGINT:
        raise Exit(128 + _ended_by)


def _unraisable(hook_args: Any) -> None:
    """Raise a Ctrl-C in a destructor or callback again where it can be handled."""
    if hook_args.exc_type is not None and issubclass(hook_args.exc_type, KeyboardInterrupt):
        # Send the signal again slightly later: an exception raised here would be lost as well.
        again = Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
    elif os.environ.get("ISTHMUS_TRACEBACK"):
        sys.__unraisablehook__(hook_args)


def _interrupted() -> NoReturn:
    """Exit at once after Ctrl-C, without waiting for threads of the core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _print_error("interrupted", INTERRUPTED)
    _quit(128 + _ended_by)


def _quit(status: int) -> NoReturn:
    """Exit at once with this status, without clean-up by Python."""
    _flushed()
    os._exit(status)


def _flushed() -> bool:
    """Flush standard output and standard error. Return false if that failed: then Python would
    retry at exit and print an error.
    """
    from isthmus.cli.streams import OutputError

    well = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, OutputError):
            well = False
    return well


def _end(status: int) -> NoReturn:
    """End the process without further messages."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if status in (INTERRUPTED, BROKEN_PIPE):
        _quit(128 + _ended_by if status == INTERRUPTED else status)
    if not _flushed():
        _quit(status)
    # Skip the garbage collection of objects that end with the process.
    gc.freeze()
    sys.exit(status)

"""Calls into the core, with its refusals as `IsthmusError`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from isthmus.errors import IsthmusError

P = ParamSpec("P")
R = TypeVar("R")


TICK_S = 0.05
"""How long an interrupt may go unheard while the core works."""


def ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the core; its ValueErrors are one complete line for the user.

    Raises:
        IsthmusError: the core refuses.
        KeyboardInterrupt: Ctrl-C, at once; what the core was doing is left to itself.

    """
    try:
        if threading.current_thread() is threading.main_thread():
            return _interruptible(lambda: function(*args, **kwargs))
        return function(*args, **kwargs)
    except ValueError as error:
        raise IsthmusError(str(error)) from error


def _interruptible(call: Callable[[], R]) -> R:
    """Make the call in a thread of its own: only the main thread hears Ctrl-C, and not within."""
    answers: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # It is raised again by the thread that asks.
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(TICK_S)
    if errors:
        raise errors[0]
    return answers[0]


def ask_json(function: Callable[[str], str], spec: dict[str, Any]) -> dict[str, Any]:
    """Call a function of the core that takes and gives JSON."""
    answer = json.loads(ask(function, json.dumps(spec)))
    assert isinstance(answer, dict)
    return answer


def read_text(path: Path) -> str:
    """Read a file the user named.

    Raises:
        IsthmusError: it cannot be read or is not text.

    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise IsthmusError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise IsthmusError(f"{path}: not a text file in UTF-8 ({error.reason})") from error


def overrides(words: tuple[str, ...]) -> list[str]:
    """Check that each word has the form key=value.

    Raises:
        IsthmusError: one has not.

    """
    for word in words:
        key, sign, _ = word.partition("=")
        if not sign or not key.strip():
            raise IsthmusError(
                f"{word!r}: not of the form key=value; for example machine.dimension=5 "
                "or 'workload.locality=[0.2, 0.5]'"
            )
    return list(words)

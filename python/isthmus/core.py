"""Calls into the core, with its refusals as `IsthmusError`."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from isthmus.errors import IsthmusError, RunFailedError

P = ParamSpec("P")
R = TypeVar("R")


TICK_S = 0.1
"""Seconds after which a signal is heard while the core works."""


def ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the core; its ValueErrors are one complete line for the user.

    The core cannot be interrupted from Python, so that it works in a thread of its own: Ctrl-C is
    heard at once, and a bar that is shown goes on.

    Raises:
        IsthmusError: the core refuses what it was asked.
        RunFailedError: the core failed.
        KeyboardInterrupt: Ctrl-C; the thread ends by itself and its answer is forgotten.

    """
    answer: list[R] = []
    failure: list[BaseException] = []

    def call() -> None:
        try:
            answer.append(function(*args, **kwargs))
        except BaseException as error:
            failure.append(error)

    if threading.current_thread() is threading.main_thread():
        thread = threading.Thread(target=call, name="isthmus-core", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(TICK_S)
    else:
        call()
    if not failure:
        return answer[0]
    error = failure[0]
    if isinstance(error, UnicodeEncodeError):
        raise IsthmusError(f"{error.object!r}: not text in UTF-8") from error
    if isinstance(error, ValueError):
        raise IsthmusError(str(error)) from error
    if isinstance(error, RuntimeError):
        raise RunFailedError(str(error)) from error
    raise error


def ask_json(function: Callable[[str], str], spec: dict[str, Any]) -> dict[str, Any]:
    """Call a function of the core that takes and gives JSON."""
    answer = json.loads(ask(function, json.dumps(spec)))
    assert isinstance(answer, dict)
    return answer


def processors() -> int:
    """Threads of a run if nobody says how many: processors that this process may use."""
    from isthmus import _core

    return _core.processors()


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
    return [_decoded(word) for word in words]


def _decoded(word: str) -> str:
    """A word of the command line, in UTF-8 even where the locale knows ASCII only."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        try:
            return os.fsencode(word).decode("utf-8")
        except UnicodeDecodeError as error:
            raise IsthmusError(f"{word!r}: not text in UTF-8 ({error.reason})") from error
    return word

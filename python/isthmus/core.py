"""Calls into the core, with its refusals as `IsthmusError`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from isthmus.errors import IsthmusError, RunFailedError

P = ParamSpec("P")
R = TypeVar("R")


def ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the core; its errors are one complete line for the user."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        raise IsthmusError(str(error)) from error
    except RuntimeError as error:
        raise RunFailedError(str(error)) from error


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

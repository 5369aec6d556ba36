"""Calls of functions of the Rust core, whose errors become `IsthmusError`."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from isthmus.errors import IsthmusError, RunFailedError

TEXT_MAX = 200_000_000
"""Maximum size of a text file in bytes, because reading a device such as /dev/zero never ends."""

P = ParamSpec("P")
R = TypeVar("R")


def ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the Rust core, and convert its exceptions to those of isthmus.

    Raises:
        IsthmusError: the core refuses the arguments.
        RunFailedError: the core failed.
        KeyboardInterrupt: Ctrl-C, which all long calls handle; see the stub of the core.

    """
    try:
        return function(*args, **kwargs)
    except UnicodeEncodeError as error:
        raise IsthmusError(f"{error.object!r}: not text in UTF-8") from error
    except ValueError as error:
        raise IsthmusError(str(error)) from error
    except RuntimeError as error:
        raise RunFailedError(str(error)) from error


def ask_json(function: Callable[[str], str], spec: dict[str, Any]) -> dict[str, Any]:
    """Call a function of the Rust core whose argument and result are JSON."""
    answer = json.loads(ask(function, json.dumps(spec)))
    assert isinstance(answer, dict)
    return answer


def processors() -> int:
    """Return the default number of threads: the usable processors."""
    from isthmus import _core

    return _core.processors()


def read_text(path: Path) -> str:
    """Read a text file.

    Raises:
        IsthmusError: the file cannot be read or is not text.

    """
    try:
        with path.open("rb") as file:
            return decoded(file, str(path))
    except OSError as error:
        raise IsthmusError(f"{path}: cannot be read ({error.strerror})") from error


def decoded(file: BinaryIO, shown: str) -> str:
    """Return all text of an open file; messages call it `shown`.

    Raises:
        OSError: the file cannot be read.
        IsthmusError: the file is not text, or longer than `TEXT_MAX`.

    """
    data = file.read(TEXT_MAX + 1)
    if len(data) > TEXT_MAX:
        most = TEXT_MAX // 1_000_000
        raise IsthmusError(f"{shown}: longer than {most} MB; give a file of at most that")
    try:
        # Decode through a text stream, which converts line ends.
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise IsthmusError(f"{shown}: not a text file in UTF-8 ({error.reason})") from error


def overrides(words: tuple[str, ...]) -> list[str]:
    """Return the words of the command line as overrides, which must have the form key=value.

    Raises:
        IsthmusError: a word has another form.

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
    """Return an argument of the command line as UTF-8, also in an ASCII locale."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        try:
            return os.fsencode(word).decode("utf-8")
        except UnicodeDecodeError as error:
            raise IsthmusError(f"{word!r}: not text in UTF-8 ({error.reason})") from error
    return word


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parse TOML; errors call it `source`.

    Raises:
        IsthmusError: it is not TOML.

    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise IsthmusError(f"{source}: not TOML: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        IsthmusError: it cannot be read or is not TOML.

    """
    return parse_toml(read_text(path), str(path))

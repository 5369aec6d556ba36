"""Robust standard output and error: closed, full or ASCII-only streams.

Characters outside a stream's encoding are replaced by ASCII with the same meaning. Documents (JSON,
TOML) are always UTF-8.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import unicodedata
from typing import Any

_ASCII = {
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "x",
    "·": ".",
    "•": "*",
    "…": "...",
    "±": "+/-",
    "µ": "u",
    "μ": "u",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "²": "^2",
    "³": "^3",
    "°": " deg",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "█": "#",
    "░": ".",
    "ß": "ss",
    "\u00a0": " ",
}
"""ASCII replacements of characters that an output stream cannot encode."""


class OutputError(Exception):
    """Error: standard output cannot be written.

    It is not an OSError, so that no library handles it.
    """

    def __init__(self, error: OSError) -> None:
        """Create the error with the system's text, and record whether the cause is a broken
        pipe.
        """
        super().__init__(error.strerror or str(error))
        self.broken_pipe = error.errno == errno.EPIPE


def settle() -> None:
    """Replace standard output and error by streams that can be written even if the originals
    are closed, unwritable or limited to ASCII.
    """
    _fill_descriptors()
    codecs.register_error("isthmus", _replace_by_ascii)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = _text(_Unwritable(errno.EBADF))
    elif isinstance(sys.stdout, io.TextIOWrapper):
        encoding = sys.stdout.encoding
        interactive = sys.stdout.isatty()
        raw = _Guarded(sys.stdout.detach())
        sys.stdout = _text(raw, encoding, line_buffering=interactive)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="isthmus")


def document(text: str) -> None:
    """Print a JSON or TOML text to standard output, in UTF-8 and with one line end at its end."""
    data = (text.rstrip("\n") + "\n").encode("utf-8", "surrogateescape")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode())
        return
    buffer.write(data)
    buffer.flush()


def _fill_descriptors() -> None:
    """Open the null device on standard descriptors (0 to 2) that are closed, so that no other
    file gets their numbers.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _text(raw: io.BufferedIOBase, encoding: str = "utf-8", **options: Any) -> io.TextIOWrapper:
    """Wrap a binary stream in a text stream that writes ASCII replacements for characters that
    the encoding lacks.
    """
    return io.TextIOWrapper(raw, encoding=encoding, errors="isthmus", **options)  # type: ignore[arg-type, unused-ignore]


class _Guarded(io.BufferedIOBase):
    """A binary stream whose write errors become `OutputError`: this distinguishes them from
    errors with other files.
    """

    def __init__(self, inner: Any) -> None:
        """Wrap a binary stream."""
        self._inner = inner

    def writable(self) -> bool:
        """Return True: the stream can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write data to the wrapped stream, and return the number of bytes written."""
        try:
            return int(self._inner.write(data))
        except OSError as error:
            raise OutputError(error) from None

    def flush(self) -> None:
        """Flush the wrapped stream."""
        try:
            self._inner.flush()
        except OSError as error:
            raise OutputError(error) from None

    def fileno(self) -> int:
        """Return the descriptor of the wrapped stream."""
        return int(self._inner.fileno())

    def isatty(self) -> bool:
        """Return whether the wrapped stream is a terminal."""
        return bool(self._inner.isatty())


class _Unwritable(io.BufferedIOBase):
    """A replacement for a standard stream that was already closed when the process started:
    every write fails.
    """

    def __init__(self, number: int) -> None:
        """Store the system's error number (errno) with which each write fails."""
        self._number = number

    def writable(self) -> bool:
        """Return True, as a text stream can only be opened on a stream that is writable."""
        return True

    def write(self, data: Any) -> int:
        """Raise an error instead of writing, because the stream is closed."""
        raise OutputError(OSError(self._number, os.strerror(self._number)))


def _replace_by_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that an encoding lacks by ASCII text, as an error handler for codecs.
    Return the replacement and the position at which encoding continues.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_ascii(letter) for letter in letters), error.end


def _ascii(letter: str) -> str:
    """Return text in ASCII that replaces a character."""
    if letter in _ASCII:
        return _ASCII[letter]
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or "?"

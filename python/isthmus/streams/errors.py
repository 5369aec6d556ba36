"""Errors of sessions and streams, with one sentence each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from isthmus import _core
from isthmus.errors import IsthmusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")


class StreamsError(IsthmusError):
    """Error: a call of a session, connection or stream failed."""


class UnreachableError(StreamsError):
    """Error: no daemon can be reached at the address."""


class RefusedError(StreamsError):
    """Error: the daemon refuses the request; nothing was changed."""

    def __init__(self, text: str, kind: str = "") -> None:
        """Set the message, and the category of the refusal that the daemon sent."""
        super().__init__(text)
        self.kind = kind
        """The kind of refusal: ``denied``, ``unknown``, ``limit``, ``conflict``, ``ending``, or
        ``version``.
        """


class NotKeptError(StreamsError):
    """Error: a file was not kept when its connection was closed; an earlier version still
    exists.
    """


class SessionOverError(StreamsError):
    """Error: the daemon has ended, or the session was closed."""


class TimedOutError(StreamsError, TimeoutError):
    """Error: no progress within the timeout; the message names the awaited resources."""


class LinkError(StreamsError):
    """Error: a link cannot be used."""


class StreamFailedError(StreamsError):
    """Error: a stream failed, was cancelled, or ended in the middle of an ADU."""


class IncompleteError(StreamsError):
    """Error: an ADU arrived without some of its bytes; later ADUs can be received."""

    def __init__(self, text: str, adu: int, missing: list[tuple[int, int]], data: Any) -> None:
        """Set the message, the number of the ADU, its missing bytes and its data."""
        super().__init__(text)
        self.adu = adu
        """Number of the incomplete ADU (application data unit)."""
        self.missing = missing
        """Ranges (start, end) of missing bytes; the end is the first byte after the range. Missing
        bytes are 0 in `data`.
        """
        self.data: NDArray[Any] = data
        """The received data of the ADU, with zeros in place of missing bytes."""


_KINDS: dict[str, type[StreamsError]] = {
    "unreachable": UnreachableError,
    "gone": SessionOverError,
    "timed-out": TimedOutError,
    "link": LinkError,
    "stream": StreamFailedError,
}


def ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the core, and translate its errors to those of this package.

    Raises:
        StreamsError: the core refuses or fails.
        KeyboardInterrupt: Ctrl-C while the core waits.

    """
    try:
        return function(*args, **kwargs)
    except _core.NicError as error:
        kind, text, reason = error.args
        if kind == "refused" and reason == "failed":
            raise NotKeptError(text) from None
        if kind == "refused":
            raise RefusedError(text, reason) from None
        raise _KINDS.get(kind, StreamsError)(text) from None
    except ValueError as error:
        raise StreamsError(str(error)) from error

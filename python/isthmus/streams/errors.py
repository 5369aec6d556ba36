"""What goes wrong with sessions and streams: one sentence each."""

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
    """What is asked cannot be done."""


class UnreachableError(StreamsError):
    """No daemon can be reached there."""


class RefusedError(StreamsError):
    """The daemon refuses; nothing was done."""

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        """``denied``, ``unknown``, ``limit``, ``conflict``, ``ending``, or ``version``."""


class NotKeptError(StreamsError):
    """A file was not kept when its connection was closed; what was there before is there still."""


class SessionOverError(StreamsError):
    """The daemon is gone, or the session was closed."""


class TimedOutError(StreamsError, TimeoutError):
    """Nothing was moved for as long as the caller had patience; it says who waits for what."""


class LinkError(StreamsError):
    """A link cannot be used."""


class StreamFailedError(StreamsError):
    """A stream failed, was cancelled, or was left in the middle of an ADU."""


class IncompleteError(StreamsError):
    """An ADU came of which bytes are missing; those that follow can be received."""

    def __init__(self, text: str, adu: int, missing: list[tuple[int, int]], data: Any) -> None:
        super().__init__(text)
        self.adu = adu
        """Its number."""
        self.missing = missing
        """Bytes that did not come: from one to before another. They are 0 in `data`."""
        self.data: NDArray[Any] = data
        """What came."""


_KINDS: dict[str, type[StreamsError]] = {
    "unreachable": UnreachableError,
    "gone": SessionOverError,
    "timed-out": TimedOutError,
    "link": LinkError,
    "stream": StreamFailedError,
}


def told(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the core, with its refusals as errors of this package.

    Raises:
        StreamsError: what the core says.
        KeyboardInterrupt: Ctrl-C, heard while it waits.

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
